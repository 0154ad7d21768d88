"""The environment of one replica in a readable form, as Google Cloud would make it.

The emulator gives replicas addresses of this machine. Values of variables that the job declares
are hidden, as in `vertex-training status`, because some of them are secrets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.ui.source.job import kind_of
from pulumi_vertex_training.views.jobs.hidden_values import without_values
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.replica_environment.replica import ReplicaEnvironment, job_environments


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The environment of a replica.

    `cluster` has the addresses of each task type, `task` is the replica's own task, such as "workerpool1, 0";
    both are empty for a job of one replica. `variables` are all except for CLUSTER_SPEC and TF_CONFIG.
    """

    replica: str
    cluster: tuple[tuple[str, tuple[str, ...]], ...]
    task: str
    cluster_spec: str
    tf_config: str
    variables: tuple[tuple[str, str], ...]


def environment_of(record: JobRecord, replica: str) -> Environment | None:
    """Return the environment of a replica, or None if the job has no such replica."""
    try:
        spec = kind_of(record).from_wire(without_values(record.wire, show=False))
    except ValueError:  # a job of a newer version
        return None
    if not isinstance(spec, CustomJobSpec):
        return None
    _, project_number, _, location, _, job_id = record.name.split("/")
    try:
        found = job_environments(spec, job_id=job_id, project_number=project_number, location=location)
    except ValueError:
        return None
    return next((_readable(one) for one in found if one.name == replica), None)


def _readable(one: ReplicaEnvironment) -> Environment:
    spec: Mapping[str, Any] = one.cluster_spec or {}
    cluster: Mapping[str, Any] = spec.get("cluster") or {}
    task: Mapping[str, Any] = spec.get("task") or {}
    return Environment(
        replica=one.name,
        cluster=tuple((name, tuple(map(str, addresses))) for name, addresses in cluster.items()),
        task=", ".join(str(task[name]) for name in ("type", "index") if name in task),
        cluster_spec=_pretty(one.cluster_spec),
        tf_config=_pretty(one.tf_config),
        variables=tuple(sorted(one.variables.items())),
    )


def _pretty(value: Mapping[str, Any] | None) -> str:
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)
