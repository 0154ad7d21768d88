"""The environment of one replica, as a whole or in part, for tests of that part."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from support.ground import jobs
from vertex_training.replica_environment.replica import ReplicaEnvironment, job_environments
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.roles import Role

JOB_ID = "2970106362064797696"
JOB_IDENTITY = {"job_id": JOB_ID, "project_number": "116273516712", "location": "us-central1"}
CONTRACTS = ("observed", "documented")
RANK_VARIABLES = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")

FULL = (jobs.pool(), jobs.pool(2), jobs.pool(2), jobs.pool())
"""All roles of Vertex AI: a chief, two workers, two parameter servers, an evaluator."""


def local_addresses(pools: Sequence[WorkerPoolSpec]) -> list[list[str]]:
    """Return an address on 127.0.0.1 for each replica; pool N has the ports from 2000 + 100 * N on."""
    return [
        [f"127.0.0.1:{2000 + 100 * position + index}" for index in range(pool.replica_count)]
        for position, pool in enumerate(pools)
    ]


def environments(*pools: WorkerPoolSpec, **options: Any) -> list[ReplicaEnvironment]:
    """Return the environments of all replicas; options go to `job_environments` or the job."""
    names = ("contract", "addresses", "trial", "metric_tag", "metric_file", "open_ports")
    ours = {name: options.pop(name) for name in names if name in options}
    return job_environments(
        jobs.job(*pools, **options), **{"addresses": local_addresses(pools), **JOB_IDENTITY, **ours}
    )


def environment(*pools: WorkerPoolSpec, pool: int = 0, index: int = 0, **options: Any) -> dict[str, str]:
    """Return all variables of one replica of a job."""
    found = [each for each in environments(*pools, **options) if (each.pool, each.index) == (pool, index)]
    assert len(found) == 1
    return found[0].as_variables()


def cluster_spec(*pools: WorkerPoolSpec, **options: Any) -> dict[str, Any]:
    return json.loads(environment(*pools, **options)["CLUSTER_SPEC"])


def tf_config(*pools: WorkerPoolSpec, **options: Any) -> dict[str, Any]:
    return json.loads(environment(*pools, **options)["TF_CONFIG"])


def ranks(*pools: WorkerPoolSpec, **options: Any) -> dict[str, str]:
    found = environment(*pools, **options)
    return {name: found[name] for name in RANK_VARIABLES if name in found}


def role_names(found: Sequence[ReplicaEnvironment]) -> list[Role]:
    return [each.role for each in found]
