"""Options of a check, besides the declaration itself."""

from __future__ import annotations

from dataclasses import dataclass

from vertex_training.findings.problems import Level


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """Facts and switches that the rules need besides the declaration.

    `location` is the job's region; None skips the rules of regions. `framework` is the declared strategy, a
    name of `rules.frameworks`. `allow_unknown_types` turns a machine or accelerator that the tables do not
    have into a warning, since Google adds types. `allow_legacy_types` accepts names that Google has retired,
    such as NVIDIA_TESLA_K80. `with_tasks` is false for a declaration that has no tasks at all.
    """

    location: str | None = None
    framework: str | None = None
    allow_unknown_types: bool = False
    allow_legacy_types: bool = False
    with_tasks: bool = True

    @property
    def level_of_unknown(self) -> Level:
        """The level of a finding about a name or a combination that the tables do not have."""
        return "warning" if self.allow_unknown_types else "error"


DEFAULT_OPTIONS = CheckOptions()
