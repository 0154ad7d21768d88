"""The provider of `HyperparameterTuningJob`."""

from __future__ import annotations

from pulumi_vertex_training.declared_kinds.tuning_job import DECLARED
from pulumi_vertex_training.providers.running import RunningProvider


class HyperparameterTuningJobProvider(RunningProvider):
    """A tuning job."""

    declared = DECLARED
