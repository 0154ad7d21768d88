"""The cases: what is asked of both endpoints."""

from __future__ import annotations

from scripts.verify_google.cases import (
    custom_jobs,
    data,
    finished_jobs,
    refusals,
    registry,
    storage,
    tuning_and_pipelines,
)
from scripts.verify_google.cases.case import Case

CASES: tuple[Case, ...] = (
    *refusals.CASES,
    *storage.CASES,
    *registry.CASES,
    *data.CASES,
    *custom_jobs.CASES,
    *finished_jobs.CASES,
    *tuning_and_pipelines.CASES,
)
"""All cases, the cheapest first: a small budget is spent in this order."""
