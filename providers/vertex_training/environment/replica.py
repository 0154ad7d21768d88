"""What one replica of a job finds in its environment.

Two contracts, for where Vertex AI's documentation ("Distributed training", "Environment variables for your
cluster") and what jobs were seen to get are not the same:

* `observed`: a job of one replica is called `chief` in CLUSTER_SPEC, and `job` is a JSON string with
  `python_module`, `package_uris` and `job_args`;
* `documented`: the pools are `workerpool0` to `workerpool3` in every job, and `job` is the job's spec.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from vertex_training.environment.expansion import expand
from vertex_training.specs import uris, wire
from vertex_training.topology.pools import PythonPackageSpec, WorkerPoolSpec
from vertex_training.topology.roles import CHIEF, WORKERS, Role, is_distributed, role_of

Contract = Literal["observed", "documented"]

_TENSORFLOW_TASKS = {
    Role.CHIEF: "chief",
    Role.WORKER: "worker",
    Role.PARAMETER_SERVER: "ps",
    Role.EVALUATOR: "evaluator",
}
_OURS_FIRST = ("CLUSTER_SPEC", "TF_CONFIG", "AIP_")
"""Where a name begins like this, the service's value wins over the spec's `env`."""


def replica_environment(
    *,
    pools: Sequence[WorkerPoolSpec],
    addresses: Sequence[Sequence[str]],
    pool: int,
    index: int,
    job_id: str,
    project_number: str,
    location: str,
    base_output_directory: str | None,
    contract: Contract = "observed",
    open_ports: Sequence[int] = (),
) -> dict[str, str]:
    """Every variable that replica `index` of pool `pool` gets, the `env` of its task included and expanded.

    `addresses` has a list for each pool, one `host:port` per replica, none for an empty pool. `open_ports`
    are further ports of each replica, which CLUSTER_SPEC lists when there are any. Raises ValueError for a
    replica that the job does not have and for addresses that do not fit the pools.
    """
    _check(pools, addresses, pool, index)
    job = _job(pools, pool, base_output_directory, contract)
    service = {
        "HOSTNAME": host_name(job_id, pool, index),
        "CLOUD_ML_PROJECT_ID": project_number,
        "CLOUD_ML_JOB_ID": job_id,
        "CLOUD_ML_REGION": location,
        "CLUSTER_SPEC": _dumps(_cluster_spec(pools, addresses, pool, index, contract, job, open_ports)),
        **_directories(base_output_directory),
    }
    if is_distributed(pools):
        service |= _ranks(pools, addresses, pool, index)
        config = _tf_config(pools, addresses, pool, index, job_id, job)
        if config is not None:
            service["TF_CONFIG"] = _dumps(config)
    return _with_own_variables(pools[pool], service)


def host_name(job_id: str, pool: int, index: int) -> str:
    """The name of a replica's machine, as the service writes it: cmle-training-workerpool0-<10 digits>-0."""
    return f"cmle-training-workerpool{pool}-{_digits(job_id, 10)}-{index}"


def _check(
    pools: Sequence[WorkerPoolSpec], addresses: Sequence[Sequence[str]], pool: int, index: int
) -> None:
    if not (0 <= pool < len(pools) and 0 <= index < pools[pool].replica_count):
        raise ValueError(f"the job has no replica {index} in worker pool {pool}")
    counts = [spec.replica_count for spec in pools]
    if [len(pool_addresses) for pool_addresses in addresses] != counts:
        raise ValueError(
            f"the worker pools have {counts} replicas, but there are "
            f"{[len(pool_addresses) for pool_addresses in addresses]} addresses"
        )


def _cluster_spec(
    pools: Sequence[WorkerPoolSpec],
    addresses: Sequence[Sequence[str]],
    pool: int,
    index: int,
    contract: Contract,
    job: object,
    open_ports: Sequence[int],
) -> dict[str, Any]:
    alone = contract == "observed" and not is_distributed(pools)
    names = [
        "chief" if alone and position == CHIEF else f"workerpool{position}" for position in range(len(pools))
    ]
    spec: dict[str, Any] = {
        "cluster": {names[i]: list(hosts) for i, hosts in enumerate(addresses) if hosts},
        "environment": "cloud",
        "task": {"type": names[pool], "index": index},
        "job": job,
    }
    if open_ports:
        spec["open_ports"] = list(open_ports)
    return spec


def _tf_config(
    pools: Sequence[WorkerPoolSpec],
    addresses: Sequence[Sequence[str]],
    pool: int,
    index: int,
    job_id: str,
    job: object,
) -> dict[str, Any] | None:
    """TF_CONFIG of a distributed job; None for a reduction server, which is no TensorFlow task.

    Reduction servers are not listed as `ps` either: MultiWorkerMirroredStrategy waits for ever for one. The
    evaluator has a task but is never part of the cluster.
    """
    roles = [role_of(position, spec) for position, spec in enumerate(pools)]
    task = _TENSORFLOW_TASKS.get(roles[pool])
    if task is None:
        return None
    cluster = {
        _TENSORFLOW_TASKS[role]: list(hosts)
        for role, hosts in zip(roles, addresses, strict=True)
        if hosts and role in (Role.CHIEF, Role.WORKER, Role.PARAMETER_SERVER)
    }
    return {
        "cluster": cluster,
        "environment": "cloud",
        "job": job,
        "task": {"type": task, "index": index, "cloud": _digits("cloud " + job_id, 16)},
    }


def _ranks(
    pools: Sequence[WorkerPoolSpec], addresses: Sequence[Sequence[str]], pool: int, index: int
) -> dict[str, str]:
    """What torch.distributed reads: the chief has rank 0, worker i rank i + 1, counted in nodes.

    Servers and evaluators do not train: with WORLD_SIZE in their environment a program there would wait for
    ranks that nobody has, so they get none of the four.
    """
    if pool > WORKERS:
        return {}
    trainers = [spec.replica_count for spec in pools[: WORKERS + 1]]
    host, _, port = addresses[CHIEF][0].rpartition(":")
    return {
        "MASTER_ADDR": host,
        "MASTER_PORT": port,
        "RANK": str(index if pool == CHIEF else trainers[CHIEF] + index),
        "WORLD_SIZE": str(sum(trainers)),
    }


def _directories(base_output_directory: str | None) -> dict[str, str]:
    if not base_output_directory:
        return {}
    base = uris.directory(base_output_directory)
    return {
        "AIP_MODEL_DIR": f"{base}model/",
        "AIP_CHECKPOINT_DIR": f"{base}checkpoints/",
        "AIP_TENSORBOARD_LOG_DIR": f"{base}logs/",
    }


def _job(
    pools: Sequence[WorkerPoolSpec], pool: int, base_output_directory: str | None, contract: Contract
) -> object:
    if contract == "documented":
        spec: dict[str, Any] = {"workerPoolSpecs": [wire.to_json(each) for each in pools]}
        if base_output_directory:
            spec["baseOutputDirectory"] = {"outputUriPrefix": uris.directory(base_output_directory)}
        return spec
    package = pools[pool].python_package_spec or PythonPackageSpec(
        executor_image_uri="", package_uris=(), python_module=""
    )
    described = {
        "python_module": package.python_module,
        "package_uris": list(package.package_uris),
        "job_args": list(package.args),
    }
    return _dumps(described).replace("=", "\\u003d")


def _with_own_variables(pool: WorkerPoolSpec, service: Mapping[str, str]) -> dict[str, str]:
    """The service's variables and the task's own; a value may refer to either kind set before it."""
    variables = dict(service)
    for variable in pool.task.env if pool.task else ():
        value = expand(variable.value, variables)
        if variable.name not in service or not variable.name.startswith(_OURS_FIRST):
            variables[variable.name] = value
    return variables


def _digits(text: str, count: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:count]


def _dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
