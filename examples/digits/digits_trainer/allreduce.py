"""The sum of one vector over all trainers, equal on each of them to the last bit.

The workers send their summands to the chief, which adds them in the order of the ranks and sends the sum to
everybody. The fixed order makes the result independent of the order of arrival.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from vertex_cluster import Cluster, trainers

from .errors import PeerError
from .model import Array
from .rendezvous import DIGEST, Membership, accept_workers, connect_to_chief
from .wire import Kind, Peer


class Group(Protocol):
    """The trainers of a job, seen from one of them. Both methods raise PeerError if another one is gone."""

    rank: int
    size: int

    def sum(self, part: Array) -> Array:
        """Return the sum of the parts of all trainers, which must make the same calls with equal lengths."""

    def leave(self, digest: bytes) -> None:
        """End the group, after comparing the SHA-256 digest of the result of all trainers.

        The chief returns only when every worker has read the last sum: a chief that left earlier would tear
        down connections that still hold unread data.
        """


def job_digest(cluster: Cluster, job_id: str) -> bytes:
    """Return a SHA-256 digest of facts that all replicas of this job share and other jobs do not have."""
    facts = [job_id, cluster.trial or "", *map(str, cluster.pools)]
    return hashlib.sha256("\n".join(facts).encode()).digest()


@contextlib.contextmanager
def join(cluster: Cluster, *, job: bytes, arguments: bytes, timeout: float) -> Iterator[Group]:
    """Wait for this cluster's trainers, and yield the group of all of them.

    `job` is its `job_digest`, `arguments` a SHA-256 digest of the arguments that all must share. `timeout` is
    in seconds, for the others to arrive and, later, for each of their answers. Raises PeerError.
    """
    ranks = trainers(cluster)
    if ranks.rank is None:
        raise ValueError(f"{cluster.name} is not a trainer")
    if ranks.world_size == 1:
        yield _Alone()
        return
    member = Membership(rank=ranks.rank, addresses=ranks.addresses, job=job, arguments=arguments)
    peers: list[Peer] = []
    try:
        if cluster.is_chief:
            peers = accept_workers(member, host=cluster.host, port=cluster.port, timeout=timeout)
            yield _Chief(peers)
        else:
            host, port = cluster.chief_host, cluster.chief_port
            peers = [connect_to_chief(member, host=host, port=port, timeout=timeout)]
            yield _Worker(peers[0], rank=ranks.rank, size=ranks.world_size)
    finally:
        for peer in peers:
            peer.connection.close()


class _Alone:
    rank = 0
    size = 1

    def sum(self, part: Array) -> Array:
        return part

    def leave(self, digest: bytes) -> None:
        """Do nothing: there are no other trainers."""


class _Chief:
    rank = 0

    def __init__(self, workers: list[Peer]) -> None:
        self.size = len(workers) + 1
        self._workers = workers
        self._step = 0

    def sum(self, part: Array) -> Array:
        self._step += 1
        total = part.astype("<f8")
        received = np.empty_like(total)
        for worker in self._workers:
            worker.receive(Kind.PART, step=self._step, into=_bytes_of(received))
            total += received
        for worker in self._workers:
            worker.send(Kind.TOTAL, rank=0, step=self._step, body=_bytes_of(total))
        return total

    def leave(self, digest: bytes) -> None:
        for worker in self._workers:
            other = bytearray(DIGEST)
            worker.receive(Kind.DONE, step=self._step, into=memoryview(other))
            if other != digest:
                raise PeerError(
                    f"{worker.name} ended with other weights than the chief. "
                    "Do all replicas run the same image, with the same NumPy?"
                )


class _Worker:
    def __init__(self, chief: Peer, *, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self._chief = chief
        self._step = 0

    def sum(self, part: Array) -> Array:
        self._step += 1
        total = part.astype("<f8")
        self._chief.send(Kind.PART, rank=self.rank, step=self._step, body=_bytes_of(total))
        self._chief.receive(Kind.TOTAL, step=self._step, into=_bytes_of(total))
        return total

    def leave(self, digest: bytes) -> None:
        self._chief.send(Kind.DONE, rank=self.rank, step=self._step, body=digest)


def _bytes_of(vector: Array) -> memoryview:
    return vector.view(np.uint8).data
