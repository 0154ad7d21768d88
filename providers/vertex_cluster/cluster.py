"""The cluster as one replica sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping

__all__ = ["ROLES", "Cluster", "ClusterError", "split_address"]

ROLES = ("chief", "worker", "server", "evaluator")
"""Role of a worker pool by its position (Vertex AI documentation, "Distributed training").

The third pool holds parameter servers or reduction servers; the variables do not say which.
"""


class ClusterError(ValueError):
    """An environment variable that describes the job cannot be used.

    ``str(error)`` is one line: the variable, the place in its JSON, what is there, and what to do.
    """

    def __init__(self, *, variable: str, path: str, message: str, remedy: str) -> None:
        self.variable = variable
        self.path = path
        """Place inside the JSON, such as ``cluster.workerpool1[0]``; empty for the whole value."""
        self.message = message
        self.remedy = remedy
        where = f"{variable}: {path}" if path else variable
        super().__init__(f"{where} {message}. {remedy}.")


@dataclass(frozen=True)
class Cluster:
    """Who takes part in the job, and which of them this process is."""

    pools: tuple[tuple[str, ...], ...]
    """``host:port`` of every replica, by pool and index. Always four pools; a skipped one is ``()``."""

    pool: int
    """Position of this replica's pool, 0 to 3."""

    index: int
    """This replica's place in its pool, from 0."""

    trial: str | None = None
    """Number of the hyperparameter tuning trial, from "1"; None outside a tuning job."""

    source: str = ""
    """The variable that this was read from: CLUSTER_SPEC, TF_CONFIG, or "" when neither was set."""

    open_ports: tuple[int, ...] = ()
    """Further ports that Vertex AI opens between replicas: ``(3333,)`` where seen, often absent."""

    job: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What the variable says about the job itself. Its content differs between the documentation (the
    CustomJobSpec) and real jobs (``python_module``, ``package_uris``, ``job_args``): do not build on it."""

    @property
    def role(self) -> str:
        """One of `ROLES`."""
        return ROLES[self.pool]

    @property
    def name(self) -> str:
        """Name of this replica in the logs of Vertex AI, such as ``workerpool1-0``."""
        return f"workerpool{self.pool}-{self.index}"

    @property
    def is_chief(self) -> bool:
        return self.pool == 0

    @property
    def address(self) -> str:
        """``host:port`` of this replica. Raises ClusterError on an evaluator that was given TF_CONFIG
        only, because that variable does not list evaluators.
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
        return split_address(self.address)[0]

    @property
    def port(self) -> int:
        return split_address(self.address)[1]

    @property
    def chief_address(self) -> str:
        """``host:port`` of the chief: what other frameworks call the master or coordinator address."""
        return self.pools[0][0]

    @property
    def chief_host(self) -> str:
        return split_address(self.chief_address)[0]

    @property
    def chief_port(self) -> int:
        return split_address(self.chief_address)[1]


def split_address(address: str) -> tuple[str, int]:
    """``"host:2222"`` to ``("host", 2222)``; the brackets of ``"[::1]:2222"`` are taken off.

    Raises ValueError when there is no host or the port is not in 1..65535.
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
