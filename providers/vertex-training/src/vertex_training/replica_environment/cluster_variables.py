"""CLUSTER_SPEC, TF_CONFIG and the variables of torch.distributed in a job on Vertex AI.

Vertex AI's documentation ("Distributed training", "Environment variables for your cluster") and the
environment of real jobs differ, so there are two contracts:

* `observed`: a job of one replica is called `chief` in CLUSTER_SPEC, and `job` is a JSON string with
  `python_module`, `package_uris` and `job_args`;
* `documented`: the pools are `workerpool0` to `workerpool3` in every job, and `job` is the whole
  `CustomJobSpec`, with the values of its variables.

The variables of torch.distributed count nodes, not GPUs: AI Platform documentation, "Distributed PyTorch".
Real jobs on Vertex AI have them too, although its documentation does not list them. Parameter servers,
reduction servers and evaluators get none of the four, since they do not train: a program that found
WORLD_SIZE there would wait for ranks that do not exist. A job of one replica has none either (observed).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vertex_cluster.cluster import split_address
from vertex_training.job import custom_job
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.pools import PythonPackageSpec, WorkerPoolSpec
from vertex_training.topology.roles import CHIEF, WORKERS, Role, is_distributed, role_of

PORT = 2222
"""The port of every replica on Vertex AI, and on AI Platform before it."""

Addresses = Sequence[Sequence[str]]
"""`host:port` of every replica: one list for each pool, empty for a skipped pool."""


def host_name(job_id: str, pool: int, index: int) -> str:
    """Return the host name that the service gives a replica: cmle-training-workerpool0-<10 digits>-0."""
    return machine_name(f"workerpool{pool}", job_digits(job_id), index)


def machine_name(kind: str, digits: str, index: int) -> str:
    """Return the host name of one machine; `digits` come from `job_digits`."""
    return f"cmle-training-{kind}-{digits}-{index}"


def job_digits(job_id: str, count: int = 10) -> str:
    """Return hexadecimal digits that identify a job. The service's are random."""
    return hashlib.sha256(job_id.encode()).hexdigest()[:count]


def service_addresses(kinds: Sequence[str], counts: Sequence[int], job_id: str) -> list[list[str]]:
    """Return the addresses that the service would give to `counts` machines of each kind."""
    digits = job_digits(job_id)
    return [
        [f"{machine_name(kind, digits, index)}:{PORT}" for index in range(count)]
        for kind, count in zip(kinds, counts, strict=True)
    ]


def check_addresses(addresses: Addresses, counts: Sequence[int], *, of: str) -> None:
    """Raise ValueError unless there is one address for each replica; `of` names the pools in the message."""
    given = [len(each) for each in addresses]
    if given != list(counts):
        raise ValueError(
            f"{of} have {list(counts)} replicas, but there are {given} addresses; give one per replica"
        )


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
    """The part of CLUSTER_SPEC and TF_CONFIG that all replicas share.

    Do not change the mappings: they are shared. `tf_cluster` is None in a job of one replica, which has no
    TF_CONFIG.
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
        """Return CLUSTER_SPEC of a replica. Like real jobs, it has `open_ports` only if there are any."""
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
        """Return TF_CONFIG of a replica, or None in a job of one replica and for a reduction server.

        Reduction servers are not TensorFlow tasks and must not be listed as `ps`: MultiWorkerMirroredStrategy
        would wait for one forever. The evaluator has a task but is never part of the cluster.
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
    """Return the shared part for a job.

    `addresses` has a list for each pool. Raises ValueError if there are more than four pools.
    """
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
    """Return the value of `job` for each pool."""
    if contract == "documented":
        return (custom_job.to_wire(spec)["jobSpec"],) * len(spec.worker_pool_specs)
    return tuple(_package(pool) for pool in spec.worker_pool_specs)


def _package(pool: WorkerPoolSpec) -> str:
    """Describe the package of a pool, with empty fields for a container. "=" is escaped as in real jobs."""
    package = pool.python_package_spec or _NO_PACKAGE
    described = {
        "python_module": package.python_module,
        "package_uris": list(package.package_uris),
        "job_args": list(package.args),
    }
    return json.dumps(described, separators=(",", ":")).replace("=", "\\u003d")


def rank_variables(
    addresses: Addresses, pool: int, index: int, *, open_ports: Sequence[int] = ()
) -> dict[str, str]:
    """Return MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE of a replica: rank 0 is the chief, i + 1 worker i.

    Other roles, and a job of one replica, have none. MASTER_PORT is the first of `open_ports`, which the
    service calls its training port (3333 where observed), or else the chief's own port; its value on Vertex
    AI is not established. Raises ValueError if the chief's address is not host:port.
    """
    counts = [len(each) for each in addresses]
    if pool > WORKERS or sum(counts) < 2:
        return {}
    host, port = split_address(addresses[CHIEF][0])
    return {
        "MASTER_ADDR": host,
        "MASTER_PORT": str(open_ports[0] if open_ports else port),
        "RANK": str(index if pool == CHIEF else counts[CHIEF] + index),
        "WORLD_SIZE": str(sum(counts[: WORKERS + 1])),
    }
