"""The environment of each replica of a job on AI Platform Training, the service before Vertex AI.

Sources: AI Platform documentation, "Distributed training with containers" (CLUSTER_SPEC), "TF_CONFIG and
distributed training" and "Distributed PyTorch". The differences from Vertex AI:

* TF_CONFIG is set on every replica of every job, CLUSTER_SPEC in jobs with custom containers only;
* CLUSTER_SPEC names `master`, `worker` and `ps`, and has no `environment`; an evaluator has none;
* TF_CONFIG calls the master `chief` or `master`, by `chief_name`;
* `job` is the training input.

A later revision of "Distributed training with containers" differs: it names four roles, including the
evaluator, and says that CLUSTER_SPEC describes every replica. This module follows the first revision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import (
    TrainingInput,
    chief_name,
    role_counts,
)
from vertex_training.fields import wire
from vertex_training.replica_environment.cluster_variables import (
    Addresses,
    check_addresses,
    job_digits,
    machine_name,
    rank_variables,
    service_addresses,
)
from vertex_training.replica_environment.job_variables import METRIC_FILE, METRIC_TAG, tuning_variables
from vertex_training.replica_environment.replica import ReplicaEnvironment
from vertex_training.topology.roles import CHIEF, EVALUATORS, Role

TASKS = ("master", "worker", "ps", "evaluator")
"""The names of the roles, by the position of the equivalent worker pool on Vertex AI."""

_ROLES = (Role.CHIEF, Role.WORKER, Role.PARAMETER_SERVER, Role.EVALUATOR)


def ai_platform_environments(
    training_input: TrainingInput,
    *,
    job_id: str,
    project_number: str,
    location: str | None = None,
    addresses: Addresses | None = None,
    trial: str | None = None,
    metric_file: str = METRIC_FILE,
) -> list[ReplicaEnvironment]:
    """Return the environment of every replica by role, with names such as "master-replica-0".

    `addresses` has a list for each of `TASKS`, one `host:port` per replica; None stands for the service's
    host names and port 2222. `location` replaces a missing region. The replicas of a tuning job belong to a
    trial, the first if `trial` is None. Raises ValueError for addresses that do not fit the roles, for a
    negative count and for a trial that is not a number.
    """
    counts = role_counts(training_input)
    if min(counts) < 0:
        raise ValueError(f"the counts of {', '.join(TASKS)} are {list(counts)}; a count is never negative")
    if addresses is None:
        addresses = service_addresses((chief_name(training_input), *TASKS[1:]), counts, job_id)
    check_addresses(addresses, counts, of="master, workers, parameter servers and evaluators")
    tuning = training_input.hyperparameters
    if trial is None and tuning is not None:
        trial = "1"
    region = training_input.region or location
    shared = _Shared(
        training_input=training_input,
        addresses=addresses,
        job=wire.to_json(training_input),
        job_id=job_id,
        trial=trial,
        variables={
            "CLOUD_ML_PROJECT_ID": project_number,
            "CLOUD_ML_JOB_ID": job_id,
            **({"CLOUD_ML_REGION": region} if region else {}),
            **tuning_variables(trial, metric_tag=_metric_tag(tuning or {}), metric_file=metric_file),
        },
        cluster=_cluster(TASKS, addresses),
        tf_cluster=_cluster((chief_name(training_input), *TASKS[1:]), addresses),
    )
    return [
        shared.environment(position, index) for position, count in enumerate(counts) for index in range(count)
    ]


@dataclass(frozen=True, kw_only=True)
class _Shared:
    """The values that all replicas of a job share, including `cluster` and `tf_cluster`."""

    training_input: TrainingInput
    addresses: Addresses
    job: Mapping[str, Any]
    job_id: str
    trial: str | None
    variables: Mapping[str, str]
    cluster: Mapping[str, Sequence[str]]
    tf_cluster: Mapping[str, Sequence[str]]

    def environment(self, position: int, index: int) -> ReplicaEnvironment:
        """Return the environment of one replica of a role."""
        chief = chief_name(self.training_input)
        task = chief if position == CHIEF else TASKS[position]
        host = machine_name(task, job_digits(self.job_id), index)
        return ReplicaEnvironment(
            name=f"{TASKS[position]}-replica-{index}",
            role=_ROLES[position],
            pool=position,
            index=index,
            cluster_spec=self._cluster_spec(position, index),
            tf_config={
                "cluster": self.tf_cluster,
                "environment": "cloud",
                "job": self.job,
                "task": self._task(task, index, cloud=f"w{job_digits('cloud ' + self.job_id, 16)}-ml"),
            },
            variables={"HOSTNAME": host, **self.variables, **rank_variables(self.addresses, position, index)},
        )

    def _cluster_spec(self, position: int, index: int) -> dict[str, Any] | None:
        """Return CLUSTER_SPEC, or None without containers and for an evaluator, which has no name in it."""
        if not self.training_input.has_container or position == EVALUATORS:
            return None
        return {"cluster": self.cluster, "task": self._task(TASKS[position], index), "job": self.job}

    def _task(self, kind: str, index: int, **more: str) -> dict[str, object]:
        trial = {} if self.trial is None else {"trial": self.trial}
        return {"type": kind, "index": index, **more, **trial}


def _cluster(names: Sequence[str], addresses: Addresses) -> dict[str, list[str]]:
    """Return the addresses by role name, without empty roles and evaluators, which are in no cluster."""
    listed = zip(names[:EVALUATORS], addresses[:EVALUATORS], strict=True)
    return {name: list(hosts) for name, hosts in listed if hosts}


def _metric_tag(hyperparameters: Mapping[str, object]) -> str:
    tag = hyperparameters.get("hyperparameterMetricTag", hyperparameters.get("hyperparameter_metric_tag"))
    return tag if isinstance(tag, str) and tag else METRIC_TAG
