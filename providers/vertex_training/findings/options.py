"""What a check is told beside the declaration itself."""

from __future__ import annotations

from dataclasses import dataclass

from vertex_training.findings.problems import Level


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """`location`: the job's region; None skips the rules of regions. `framework`: the declared strategy, a
    name of `rules.frameworks`. The two switches: `allow_unknown_types` makes a machine or accelerator that
    the tables do not have a warning, since Google adds types; `allow_legacy_types` accepts names that Google
    has retired, such as NVIDIA_TESLA_K80. `with_tasks` is false for a declaration that has no tasks at all.
    """

    location: str | None = None
    framework: str | None = None
    allow_unknown_types: bool = False
    allow_legacy_types: bool = False
    with_tasks: bool = True

    @property
    def level_of_unknown(self) -> Level:
        """Of what the tables do not have: a name, or something that a machine can have."""
        return "warning" if self.allow_unknown_types else "error"


DEFAULT = CheckOptions()
