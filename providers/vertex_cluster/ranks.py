"""Ranks and world sizes, in the two conventions that are in use.

Google's own code knows both, and mixing them up makes a job hang: the Model Garden trainer counts chief and
workers only; others (the launcher of the SDK, xmanager) count all replicas of all pools. Data-parallel
training wants `trainers`: a reduction server or an evaluator contributes no gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

from .cluster import Cluster
from .errors import ClusterError

__all__ = ["Ranks", "all_replicas", "trainers"]


@dataclass(frozen=True)
class Ranks:
    """A numbering of replicas, seen from one of them."""

    rank: int | None
    """This replica's number, from 0 for the chief; None when the convention leaves its pool out."""

    addresses: tuple[str, ...]
    """``host:port`` of every replica that is counted, by rank."""

    @property
    def world_size(self) -> int:
        return len(self.addresses)


def trainers(cluster: Cluster) -> Ranks:
    """Those that train: the chief is 0 and worker i is i + 1. Servers and evaluators have no rank."""
    rank = {"chief": 0, "worker": 1 + cluster.index}.get(cluster.role)
    return Ranks(rank=rank, addresses=cluster.pools[0] + cluster.pools[1])


def all_replicas(cluster: Cluster) -> Ranks:
    """Every replica of every pool, in the order of the pools.

    Raises ClusterError for a cluster read from TF_CONFIG: it never lists evaluators, so it does not say
    how many replicas there are.
    """
    if cluster.source == "TF_CONFIG":
        raise ClusterError(
            variable=cluster.source,
            path="cluster",
            message="does not list evaluators, so the replicas cannot all be counted",
            remedy="Read CLUSTER_SPEC, or count the trainers only",
        )
    before = sum(len(pool) for pool in cluster.pools[: cluster.pool])
    addresses = tuple(address for pool in cluster.pools for address in pool)
    return Ranks(rank=before + cluster.index, addresses=addresses)
