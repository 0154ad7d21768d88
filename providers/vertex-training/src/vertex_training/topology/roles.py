"""The role of a worker pool, which its position decides.

Source: Vertex AI documentation, "Distributed training".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from vertex_training.topology.pools import WorkerPoolSpec

MAX_POOLS = 4
CHIEF, WORKERS, SERVERS, EVALUATORS = range(MAX_POOLS)

_REDUCTION_SERVER = re.compile(
    r"(us|europe|asia)-docker\.pkg\.dev/vertex-ai-restricted/training/reductionserver([:@].*)?"
)


class Role(str, Enum):
    """The five roles; parameter servers and reduction servers share the third position."""

    CHIEF = "chief"
    WORKER = "worker"
    PARAMETER_SERVER = "parameter_server"
    REDUCTION_SERVER = "reduction_server"
    EVALUATOR = "evaluator"

    def __str__(self) -> str:
        return str(self.value)

    def in_words(self, count: int) -> str:
        """Name the role of `count` replicas in a sentence; only the evaluator has a singular."""
        if self is Role.CHIEF:
            return "chief"
        if self is Role.EVALUATOR and count <= 1:
            return "evaluator"
        return str(self).replace("_", " ") + "s"


@dataclass(frozen=True, kw_only=True)
class Replica:
    """One replica of a job; `index` is its index within `pool`."""

    pool: int
    index: int
    role: Role

    @property
    def name(self) -> str:
        """The service's name of the replica: "workerpool0-0"."""
        return replica_name(self.pool, self.index)


def is_reduction_server_image(image_uri: str) -> bool:
    """Return whether an image is Google's reduction server, in any region, with any tag or digest."""
    return _REDUCTION_SERVER.fullmatch(image_uri) is not None


def role_of(position: int, pool: WorkerPoolSpec) -> Role:
    """Return the role of a pool at a position. Raises ValueError past the fourth."""
    if position == CHIEF:
        return Role.CHIEF
    if position == WORKERS:
        return Role.WORKER
    if position == SERVERS:
        container = pool.container_spec
        if container is not None and is_reduction_server_image(container.image_uri):
            return Role.REDUCTION_SERVER
        return Role.PARAMETER_SERVER
    if position == EVALUATORS:
        return Role.EVALUATOR
    raise ValueError(f"no role for worker pool {position}: a job has at most {MAX_POOLS} worker pools")


def replica_name(pool: int, index: int) -> str:
    """Return the service's name of a replica, as in `webAccessUris` and log entries: "workerpool0-0"."""
    return f"workerpool{pool}-{index}"


def replicas(pools: Sequence[WorkerPoolSpec]) -> Iterator[Replica]:
    """Yield every replica of a job, pool by pool."""
    for position, pool in enumerate(pools):
        for index in range(pool.replica_count):
            yield Replica(pool=position, index=index, role=role_of(position, pool))


def is_distributed(pools: Sequence[WorkerPoolSpec]) -> bool:
    """Return whether the job has more than one replica, over all pools."""
    return sum(pool.replica_count for pool in pools) > 1
