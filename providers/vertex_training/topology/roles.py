"""What a worker pool does: its position decides (Vertex AI documentation, "Distributed training")."""

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
    """The five roles; parameter and reduction servers share the third position."""

    CHIEF = "chief"
    WORKER = "worker"
    PARAMETER_SERVER = "parameter_server"
    REDUCTION_SERVER = "reduction_server"
    EVALUATOR = "evaluator"

    def __str__(self) -> str:
        return str(self.value)

    def in_words(self, count: int) -> str:
        """The role in a sentence about `count` replicas; only the evaluator is usually one of a kind."""
        if self is Role.CHIEF:
            return "chief"
        if self is Role.EVALUATOR and count <= 1:
            return "evaluator"
        return str(self).replace("_", " ") + "s"


@dataclass(frozen=True, kw_only=True)
class Replica:
    """One replica of a job: `index` counts within `pool`."""

    pool: int
    index: int
    role: Role

    @property
    def name(self) -> str:
        return replica_name(self.pool, self.index)


def is_reduction_server_image(image_uri: str) -> bool:
    """Whether the image is Google's reduction server, in any region, with any tag or digest."""
    return _REDUCTION_SERVER.fullmatch(image_uri) is not None


def role_of(position: int, pool: WorkerPoolSpec) -> Role:
    """The role of a pool at a position; ValueError past the fourth, which has none."""
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
    """The service's name of a replica, as in `webAccessUris` and in its messages: "workerpool0-0"."""
    return f"workerpool{pool}-{index}"


def replicas(pools: Sequence[WorkerPoolSpec]) -> Iterator[Replica]:
    """Every replica of a job, pool by pool."""
    for position, pool in enumerate(pools):
        for index in range(pool.replica_count):
            yield Replica(pool=position, index=index, role=role_of(position, pool))


def is_distributed(pools: Sequence[WorkerPoolSpec]) -> bool:
    """Whether the job has more than one replica, over all pools."""
    return sum(pool.replica_count for pool in pools) > 1
