"""The exception of packaging."""

from __future__ import annotations

from collections.abc import Iterable

from vertex_training.findings.problems import Problem


class PackagingError(Exception):
    """A source cannot be packaged; `problems` has all findings, warnings included."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
