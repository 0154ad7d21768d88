"""The sections of the parity page, in their order."""

from __future__ import annotations

from support.parity.custom_jobs import CUSTOM_JOBS
from support.parity.experiments import EXPERIMENTS
from support.parity.interface import INTERFACE
from support.parity.persistent_resources import PERSISTENT_RESOURCES
from support.parity.pipelines import DATASETS, MODELS, PIPELINES
from support.parity.projects import PROJECTS
from support.parity.schedules import SCHEDULES
from support.parity.storage import REGISTRY, STORAGE
from support.parity.tuning_jobs import TUNING_JOBS

SECTIONS = (
    INTERFACE,
    CUSTOM_JOBS,
    TUNING_JOBS,
    PIPELINES,
    DATASETS,
    MODELS,
    PERSISTENT_RESOURCES,
    EXPERIMENTS,
    STORAGE,
    REGISTRY,
    SCHEDULES,
    PROJECTS,
)
