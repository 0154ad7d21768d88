"""What the emulator itself gives to a custom job that it creates, for a trial or a training pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Addition:
    """`trial`: the number of a tuning job's trial, from "1". `variables` are part of every replica's
    environment; they win over all others."""

    trial: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


NOTHING = Addition()
"""Of a job that somebody creates by the API."""
