"""How many replicas AI Platform gave each role, and what TF_CONFIG called the first of them."""

from __future__ import annotations

import re

from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import tables
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.rules import replicas_of, tier_of
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import TrainingInput
from vertex_training.topology.roles import EVALUATORS

_FIRST_WITH_CHIEF = (2, 1)


def role_counts(training_input: TrainingInput) -> tuple[int, int, int, int]:
    """How many masters, workers, parameter servers and evaluators a job has; the scale tier decides.

    Only CUSTOM has counts of its own. A TPU is declared as a worker, but it is the master's: no program runs
    there, so it is not counted.
    """
    workers, servers, evaluators = (
        replicas_of(training_input, role) for role in ("worker", "parameter_server", "evaluator")
    )
    tier = tables.TIERS.get(tier_of(training_input))
    worker_type = training_input.worker_type if tier is None else tier.worker[0]
    return (1, 0 if worker_type == tables.CLOUD_TPU else workers, servers, evaluators)


def chief_name(training_input: TrainingInput) -> str:
    """What TF_CONFIG calls the master ("TF_CONFIG and distributed training", "chief versus master").

    `chief` from runtime version 2.1 on, beside an evaluator, and in custom containers that ask for it with
    `use_chief_in_tf_config`; `master` in all other jobs, custom containers of any framework included.
    """
    version = re.fullmatch(r"(\d+)\.(\d+)", training_input.runtime_version or "")
    recent = version is not None and (int(version[1]), int(version[2])) >= _FIRST_WITH_CHIEF
    asked = training_input.has_container and training_input.use_chief_in_tf_config
    return "chief" if recent or asked or role_counts(training_input)[EVALUATORS] else "master"
