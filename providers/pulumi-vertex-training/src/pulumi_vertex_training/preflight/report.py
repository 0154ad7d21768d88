"""The findings of a preflight of one or several places, as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.preflight.finding import LEVELS, Finding, Level
from pulumi_vertex_training.preflight.scope import Scope
from vertex_training.fields.document import json_of


@dataclass(frozen=True, kw_only=True)
class Report:
    """The findings by place. `title` names the file or the stack."""

    title: str
    places: tuple[tuple[Scope, tuple[Finding, ...]], ...]

    @property
    def counts(self) -> dict[Level, int]:
        """The number of findings by level, 0 for none."""
        levels = [finding.level for _, findings in self.places for finding in findings]
        return {level: levels.count(level) for level in LEVELS}

    @property
    def failed(self) -> bool:
        """True if something is certain to stop a job."""
        return self.counts["error"] > 0

    def document(self) -> dict[str, Any]:
        """Return the report as plain values for JSON."""
        return {
            "counts": dict(self.counts),
            "findings": [
                {
                    **json_of(finding),
                    "endpoint": "emulator" if scope.is_emulator else "google",
                    "project": scope.project,
                    "location": scope.location,
                }
                for scope, finding in self.entries()
            ],
        }

    def entries(self) -> Iterator[tuple[Scope, Finding]]:
        """Yield each finding with its place."""
        for scope, findings in self.places:
            for finding in findings:
                yield scope, finding
