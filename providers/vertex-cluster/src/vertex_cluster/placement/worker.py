"""A worker of a cluster that trains an ensemble, and the checks of its numbers.

AdaNet numbers the workers of a cluster from 0: the chief, then the workers. On Vertex AI these are the
single replica of the first pool, then the second pool. Parameter servers are the third pool. Evaluators are
not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..cluster import Cluster

__all__ = ["PlacedWorker", "PlacementError", "cluster_size"]


class PlacementError(ValueError):
    """A number or a cluster that has no placement.

    The message is one line.
    """

    def __init__(self, *, path: str, message: str, remedy: str) -> None:
        self.path = path
        """The argument, such as ``workers`` or ``subnetworks_per_iteration[1]``."""
        self.message = message
        self.remedy = remedy
        super().__init__(f"{path} {message}. {remedy}.")


@dataclass(frozen=True)
class PlacedWorker:
    """A worker and the sizes of its cluster, the input of a strategy. Raises PlacementError if invalid."""

    index: int
    """0 is the chief, i is replica i - 1 of the worker pool."""

    workers: int
    """Number of workers, including the chief."""

    parameter_servers: int
    """Number of parameter servers."""

    subnetworks: int
    """Number of subnetworks in this iteration; other iterations may have other numbers."""

    def __post_init__(self) -> None:
        check_number("workers", self.workers, 1, "Count the chief and the workers")
        check_number("parameter_servers", self.parameter_servers, 0, "Give 0 for a cluster without them")
        check_number("subnetworks", self.subnetworks, 1, "Give the number that the iteration trains")
        check_number("index", self.index, 0, "The chief is 0, and worker i of its pool is i + 1")
        if self.index >= self.workers:
            raise PlacementError(
                path="index",
                message=f"is {self.index}, but there are {self.workers} workers, 0 to {self.workers - 1}",
                remedy="Count the chief as 0, then the workers, without parameter servers and evaluators",
            )

    @property
    def name(self) -> str:
        """Name of the replica in the logs of Vertex AI."""
        return "workerpool0-0" if self.index == 0 else f"workerpool1-{self.index - 1}"

    @classmethod
    def of(cls, cluster: Cluster, *, subnetworks: int, parameter_servers: int | None = None) -> PlacedWorker:
        """Return the worker of this process.

        `parameter_servers` defaults to the size of the third pool. Pass 0 if that pool has reduction servers:
        the environment variables do not tell them apart. Raises PlacementError on a server or an evaluator,
        which build no part of the ensemble.
        """
        workers, servers = cluster_size(cluster)
        if cluster.role not in ("chief", "worker"):
            raise PlacementError(
                path="cluster",
                message=f"is seen from {cluster.name}, whose role, {cluster.role}, has no worker index",
                remedy="Branch by cluster.role first: only chief and workers build parts of an ensemble",
            )
        return cls(
            index=0 if cluster.is_chief else cluster.index + 1,
            workers=workers,
            parameter_servers=servers if parameter_servers is None else parameter_servers,
            subnetworks=subnetworks,
        )


def cluster_size(cluster: Cluster) -> tuple[int, int]:
    """Return the numbers of workers (including the chief) and of servers.

    Raises PlacementError unless there is exactly one chief.
    """
    chiefs = len(cluster.pools[0])
    if chiefs != 1:
        raise PlacementError(
            path="cluster",
            message=f"has {chiefs} replicas in the first pool",
            remedy="A job has exactly one chief: give the first pool one address",
        )
    return 1 + len(cluster.pools[1]), len(cluster.pools[2])


def check_number(path: str, value: object, least: int, remedy: str) -> None:
    """Raise PlacementError unless `value` is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise PlacementError(path=path, message=f"is {value!r}, not a whole number", remedy=remedy)
    if value < least:
        raise PlacementError(path=path, message=f"is {value}, but the minimum is {least}", remedy=remedy)
