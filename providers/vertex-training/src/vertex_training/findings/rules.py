"""A rule about a declaration: its name, level and source. A `problems.Problem` reports a broken rule.

Each module that checks something declares its rules beside the checks. `docs/reference/rules.md` lists all.
"""

from __future__ import annotations

from dataclasses import dataclass

from vertex_training.findings.problems import Level, Problem


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule.

    `name` is short and stable ("chief-replicas"), `says` is the rule in a sentence, `source` the document and
    section that state it. A source that begins with "ours" marks a rule that no document states, with the
    reason.
    """

    name: str
    says: str
    source: str
    level: Level = "error"

    def broken(
        self, path: str, message: str, *, rests_on: tuple[str, ...] = (), level: Level | None = None
    ) -> Problem:
        """Return a finding of this rule; pass `level` if an option changes it."""
        return Problem(
            path=path, message=message, level=level or self.level, rests_on=rests_on, rule=self.name
        )
