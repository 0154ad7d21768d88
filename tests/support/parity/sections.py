"""The sections of the parity page, in their order."""

from __future__ import annotations

from support.parity.custom_jobs import CUSTOM_JOBS
from support.parity.pipelines import DATASETS, MODELS, PIPELINES

SECTIONS = (CUSTOM_JOBS, PIPELINES, DATASETS, MODELS)
