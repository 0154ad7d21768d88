"""CLUSTER_SPEC and TF_CONFIG of a job on Vertex AI.

Two contracts, for where Vertex AI's documentation ("Distributed training", "Environment variables for your
cluster") and what jobs were seen to get are not the same:

* `observed`: a job of one replica is called `chief` in CLUSTER_SPEC, and `job` is a JSON string with
  `python_module`, `package_uris` and `job_args`;
* `documented`: the pools are `workerpool0` to `workerpool3` in every job, and `job` is the `CustomJobSpec`,
  all of it, with the values of its variables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vertex_training.environment.hosts import Addresses, job_digits
from vertex_training.job import custom_job
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.pools import PythonPackageSpec, WorkerPoolSpec
from vertex_training.topology.roles import CHIEF, Role, is_distributed, role_of

Contract = Literal["observed", "documented"]

_TENSORFLOW_TASKS = {
    Role.CHIEF: "chief",
    Role.WORKER: "worker",
    Role.PARAMETER_SERVER: "ps",
    Role.EVALUATOR: "evaluator",
}
_NO_PACKAGE = PythonPackageSpec(executor_image_uri="", package_uris=(), python_module="")


@dataclass(frozen=True, kw_only=True)
class ClusterVariables:
    """What the two variables of all replicas have in common; the mappings are shared, so do not change them.

    `tf_cluster` is None in a job of one replica, which has no TF_CONFIG.
    """

    pool_names: tuple[str, ...]
    tf_tasks: tuple[str | None, ...]
    cluster: Mapping[str, Sequence[str]]
    tf_cluster: Mapping[str, Sequence[str]] | None
    jobs: tuple[object, ...]
    cloud: str
    trial: str | None
    open_ports: tuple[int, ...]

    def cluster_spec(self, pool: int, index: int) -> dict[str, Any]:
        """CLUSTER_SPEC of a replica. `open_ports` is only there when there are any, as in real jobs."""
        spec: dict[str, Any] = {
            "cluster": self.cluster,
            "environment": "cloud",
            "task": self._with_trial({"type": self.pool_names[pool], "index": index}),
            "job": self.jobs[pool],
        }
        if self.open_ports:
            spec["open_ports"] = list(self.open_ports)
        return spec

    def tf_config(self, pool: int, index: int) -> dict[str, Any] | None:
        """TF_CONFIG of a replica; None in a job of one replica, and for a reduction server.

        Reduction servers are no TensorFlow tasks and not listed as `ps` either: MultiWorkerMirroredStrategy
        waits for ever for one. The evaluator has a task but is never part of the cluster.
        """
        task = self.tf_tasks[pool]
        if self.tf_cluster is None or task is None:
            return None
        return {
            "cluster": self.tf_cluster,
            "environment": "cloud",
            "job": self.jobs[pool],
            "task": self._with_trial({"type": task, "index": index, "cloud": self.cloud}),
        }

    def _with_trial(self, task: dict[str, object]) -> dict[str, object]:
        return task if self.trial is None else {**task, "trial": self.trial}


def cluster_variables(
    spec: CustomJobSpec,
    addresses: Addresses,
    *,
    contract: Contract,
    job_id: str,
    trial: str | None,
    open_ports: Sequence[int],
) -> ClusterVariables:
    """The common part for a job; `addresses` has a list for each of its pools. ValueError past four pools."""
    pools = spec.worker_pool_specs
    alone = not is_distributed(pools)
    names = tuple(
        "chief" if alone and contract == "observed" and position == CHIEF else f"workerpool{position}"
        for position in range(len(pools))
    )
    tasks = tuple(_TENSORFLOW_TASKS.get(role_of(position, pool)) for position, pool in enumerate(pools))
    listed = [list(hosts) for hosts in addresses]
    return ClusterVariables(
        pool_names=names,
        tf_tasks=tasks,
        cluster={name: hosts for name, hosts in zip(names, listed, strict=True) if hosts},
        tf_cluster=None
        if alone
        else {
            task: hosts
            for task, hosts in zip(tasks, listed, strict=True)
            if hosts and task is not None and task != "evaluator"
        },
        jobs=_jobs(spec, contract),
        cloud=job_digits("cloud " + job_id, 16),
        trial=trial,
        open_ports=tuple(open_ports),
    )


def _jobs(spec: CustomJobSpec, contract: Contract) -> tuple[object, ...]:
    """What `job` says in each pool."""
    if contract == "documented":
        return (custom_job.to_wire(spec)["jobSpec"],) * len(spec.worker_pool_specs)
    return tuple(_package(pool) for pool in spec.worker_pool_specs)


def _package(pool: WorkerPoolSpec) -> str:
    """The package that a pool runs, empty for a container; "=" is escaped as in real jobs."""
    package = pool.python_package_spec or _NO_PACKAGE
    described = {
        "python_module": package.python_module,
        "package_uris": list(package.package_uris),
        "job_args": list(package.args),
    }
    return json.dumps(described, separators=(",", ":")).replace("=", "\\u003d")
