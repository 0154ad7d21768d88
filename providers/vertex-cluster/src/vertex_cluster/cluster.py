"""The cluster as seen from one replica."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping

__all__ = ["ROLES", "Cluster", "ClusterError", "split_address"]

ROLES = ("chief", "worker", "parameter_server", "evaluator")
"""Role of a worker pool by its position (Vertex AI documentation, "Distributed training").

The third pool may hold reduction servers instead, which run an image of Google; the variables do not say so.
"""


class ClusterError(ValueError):
    """An environment variable that describes the job cannot be used.

    The message is one line.
    """

    def __init__(self, *, variable: str, path: str, message: str, remedy: str) -> None:
        self.variable = variable
        self.path = path
        """Path in the JSON, such as ``cluster.workerpool1[0]``; empty for the whole value."""
        self.message = message
        self.remedy = remedy
        where = f"{variable}: {path}" if path else variable
        super().__init__(f"{where} {message}. {remedy}.")


@dataclass(frozen=True)
class Cluster:
    """The replicas of a job, and the position of this process among them."""

    pools: tuple[tuple[str, ...], ...]
    """``host:port`` of every replica, by pool and index. There are always four pools; some may be ``()``."""

    pool: int
    """Position of this replica's pool, 0 to 3."""

    index: int
    """Index of this replica in its pool, from 0."""

    trial: str | None = None
    """Number of the hyperparameter tuning trial, from "1"; None outside a tuning job."""

    source: str = ""
    """The variable that was read: CLUSTER_SPEC, TF_CONFIG, or "" if neither is set."""

    open_ports: tuple[int, ...] = ()
    """Further ports that Vertex AI opens between replicas: often empty, otherwise ``(3333,)`` so far."""

    job: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The variable's description of the job.

    Do not rely on it: the documentation has a CustomJobSpec, real jobs have ``python_module``,
    ``package_uris`` and ``job_args``."""

    @property
    def role(self) -> str:
        """The role of this replica, one of `ROLES`."""
        return ROLES[self.pool]

    @property
    def name(self) -> str:
        """Name of this replica in the logs of Vertex AI, such as ``workerpool1-0``."""
        return f"workerpool{self.pool}-{self.index}"

    @property
    def is_chief(self) -> bool:
        """True for the replica of the first pool."""
        return self.pool == 0

    @property
    def address(self) -> str:
        """``host:port`` of this replica.

        Raises ClusterError on an evaluator that only has TF_CONFIG, which does not list evaluators.
        """
        if self.index >= len(self.pools[self.pool]):
            raise ClusterError(
                variable=self.source or "CLUSTER_SPEC",
                path="cluster",
                message=f"does not list this {self.role}, so its address is unknown",
                remedy="Read CLUSTER_SPEC, which lists every replica",
            )
        return self.pools[self.pool][self.index]

    @property
    def host(self) -> str:
        """The host in `address`."""
        return split_address(self.address)[0]

    @property
    def port(self) -> int:
        """The port in `address`."""
        return split_address(self.address)[1]

    @property
    def chief_address(self) -> str:
        """``host:port`` of the chief. Some frameworks call it the master or coordinator address."""
        return self.pools[0][0]

    @property
    def chief_host(self) -> str:
        """The host in `chief_address`."""
        return split_address(self.chief_address)[0]

    @property
    def chief_port(self) -> int:
        """The port in `chief_address`."""
        return split_address(self.chief_address)[1]


def split_address(address: str) -> tuple[str, int]:
    """Split ``"host:2222"`` into ``("host", 2222)``, and remove the brackets of ``"[::1]:2222"``.

    Raises ValueError if the host is missing or the port is not in 1..65535.
    """
    host, colon, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if bracketed:
        host = host[1:-1]
    digits = port.isascii() and port.isdigit()
    spaces = any(character.isspace() for character in host)
    if not colon or not host or spaces or (":" in host and not bracketed) or not digits:
        raise ValueError(f"{address!r} is not host:port")
    if not 1 <= int(port) <= 65535:
        raise ValueError(f"{address!r} has no port between 1 and 65535")
    return host, int(port)
