"""A rule about a declaration: its name, level and document. What breaks it is a `problems.Problem`.

Each module that checks something declares its rules beside the checks; `docs/rules.md` lists them all.
"""

from __future__ import annotations

from dataclasses import dataclass

from vertex_training.findings.problems import Level, Problem


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`name` is short and stays ("chief-replicas"), `says` the rule in a sentence, `source` the document and
    section that has it; "ours" marks a rule that no document has, with its reason.
    """

    name: str
    says: str
    source: str
    level: Level = "error"

    def broken(
        self, path: str, message: str, *, rests_on: tuple[str, ...] = (), level: Level | None = None
    ) -> Problem:
        """A finding of this rule; `level` where a switch changes it."""
        return Problem(
            path=path, message=message, level=level or self.level, rests_on=rests_on, rule=self.name
        )
