"""What frameworks other than TensorFlow want to be told about the cluster.

    os.environ.update(frameworks.settings(cluster, "mxnet", resolve=socket.gethostbyname))
    jax.distributed.initialize(**frameworks.arguments(cluster, "jax"))

A replica that takes no part in the framework's own communication gets an empty dictionary: evaluators always,
servers with every framework but MXNet (reduction servers run their own program), workers with Horovod (they
wait for the launcher on the chief).

The port is that of CLUSTER_SPEC, which a replica must not use for anything else then.

Google's own code knows both, and mixing them up makes a job hang: the Model Garden trainer counts chief and
workers only; others (the launcher of the SDK, xmanager) count all replicas of all pools. Data-parallel
training wants `trainers`: a reduction server or an evaluator contributes no gradient.
"""

from __future__ import annotations

import difflib
import ipaddress
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional

from .cluster import Cluster, ClusterError, split_address

__all__ = ["FRAMEWORKS", "Ranks", "all_replicas", "arguments", "settings", "trainers"]


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


Resolve = Optional[Callable[[str], str]]

FRAMEWORKS: Mapping[str, str] = {
    "torch": "environment",
    "pytorch": "environment",
    "torchrun": "environment",
    "mxnet": "environment",
    "jax": "arguments",
    "xgboost": "arguments",
    "lightgbm": "arguments",
    "horovod": "arguments",
}
"""Every framework by name (``pytorch`` is another name of ``torch``), and how its settings are given to it:
as variables of the environment, or as arguments of a function or command."""

_WHOLE_NUMBERS = frozenset(
    {"num_processes", "process_id", "dmlc_tracker_port", "num_machines", "local_listen_port", "np"}
)


def settings(cluster: Cluster, framework: str, *, slots: int = 1, resolve: Resolve = None) -> dict[str, str]:
    """The settings of this replica, all as text.

    `slots`: processes on each machine, usually one for each GPU; torchrun and horovod start them, the other
    frameworks count replicas and refuse any number but 1. `resolve`: a function from a host name to its IP
    address, such as ``socket.gethostbyname``; mxnet and lightgbm do not work with names.

    * torch: variables of ``init_process_group("env://")``, one process a replica
    * torchrun: the PET_ variables that stand for its options
    * mxnet: the DMLC_ variables; the chief is the scheduler, which trains nothing. ``{}`` for a chief alone
    * jax: arguments of ``jax.distributed.initialize``
    * xgboost: arguments of ``xgboost.collective.CommunicatorContext``; the chief runs
      ``RabitTracker(n_workers, host_ip, port, sortby="task")`` on that port besides
    * lightgbm: parameters of the training
    * horovod: on the chief, ``-np`` and ``-H`` of ``horovodrun``

    Raises ValueError for an unknown framework or bad slots, ClusterError when the cluster cannot be used so.
    """
    if framework not in FRAMEWORKS:
        near = difflib.get_close_matches(framework, FRAMEWORKS, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Use one of {', '.join(FRAMEWORKS)}."
        raise ValueError(f"{framework!r} is not a framework that is known here. {hint}")
    if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
        raise ValueError(
            f"slots is {slots!r}, not a whole number from 1. Give the processes on each machine."
        )
    if framework in ("torchrun", "horovod"):
        return (_torchrun if framework == "torchrun" else _horovod)(cluster, slots)
    if slots != 1:
        raise ValueError(
            f"slots is {slots}, and {framework} counts replicas. Leave it out, or use torchrun or horovod."
        )
    if framework in ("mxnet", "lightgbm"):
        return (_mxnet if framework == "mxnet" else _lightgbm)(cluster, resolve)
    return {"jax": _jax, "xgboost": _xgboost}.get(framework, _torch)(cluster)


def arguments(cluster: Cluster, framework: str, *, slots: int = 1, resolve: Resolve = None) -> dict[str, Any]:
    """`settings` of a framework that takes arguments, with numbers as numbers. Raises ValueError for one that
    reads the environment, and as `settings` does.
    """
    found = settings(cluster, framework, slots=slots, resolve=resolve)
    if FRAMEWORKS[framework] != "arguments":
        raise ValueError(
            f"{framework} reads its settings from the environment. Put settings() into os.environ."
        )
    return {name: int(value) if name in _WHOLE_NUMBERS else value for name, value in found.items()}


def _torch(cluster: Cluster) -> dict[str, str]:
    ranks = trainers(cluster)
    if ranks.rank is None:
        return {}
    return {
        "MASTER_ADDR": cluster.chief_host,
        "MASTER_PORT": str(cluster.chief_port),
        "RANK": str(ranks.rank),
        "WORLD_SIZE": str(ranks.world_size),
    }


def _torchrun(cluster: Cluster, slots: int) -> dict[str, str]:
    """Source: torch.distributed.argparse_util, every option --some-name reads PET_SOME_NAME."""
    ranks = trainers(cluster)
    if ranks.rank is None:
        return {}
    host = cluster.chief_host
    return {
        "PET_NNODES": str(ranks.world_size),
        "PET_NODE_RANK": str(ranks.rank),
        "PET_NPROC_PER_NODE": str(slots),
        "PET_MASTER_ADDR": f"[{host}]" if ":" in host else host,  # torchrun puts host and port together
        "PET_MASTER_PORT": str(cluster.chief_port),
    }


def _mxnet(cluster: Cluster, resolve: Resolve) -> dict[str, str]:
    """Sources: MXNet, "Distributed Training in MXNet", "Manually launching jobs"; AI Platform, "Distributed
    training with containers": scheduler, workers and servers are master, workers and parameter servers.
    """
    workers, servers = len(cluster.pools[1]), len(cluster.pools[2])
    if cluster.role == "evaluator" or workers + servers == 0:
        return {}
    if not workers or not servers:
        raise ClusterError(
            variable=cluster.source or "CLUSTER_SPEC",
            path="cluster",
            message=f"has {workers} workers and {servers} servers, and MXNet needs some of both",
            remedy="Declare worker pools 1 and 2: with MXNet the chief only schedules",
        )
    found = {
        "DMLC_ROLE": {"chief": "scheduler"}.get(cluster.role, cluster.role),
        "DMLC_PS_ROOT_URI": _ip(cluster, cluster.chief_host, "MXNet", resolve),
        "DMLC_PS_ROOT_PORT": str(cluster.chief_port),
        "DMLC_NUM_WORKER": str(workers),
        "DMLC_NUM_SERVER": str(servers),
    }
    if cluster.role == "worker":
        found["DMLC_WORKER_ID"] = str(cluster.index)
    return found


def _jax(cluster: Cluster) -> dict[str, str]:
    ranks = trainers(cluster)
    if ranks.rank is None:
        return {}
    return {
        "coordinator_address": cluster.chief_address,
        "num_processes": str(ranks.world_size),
        "process_id": str(ranks.rank),
    }


def _xgboost(cluster: Cluster) -> dict[str, str]:
    """XGBoost sorts task ids as text, so they have leading zeros."""
    ranks = trainers(cluster)
    if ranks.rank is None:
        return {}
    width = max(4, len(str(ranks.world_size - 1)))
    return {
        "dmlc_tracker_uri": cluster.chief_host,
        "dmlc_tracker_port": str(cluster.chief_port),
        "dmlc_task_id": f"{ranks.rank:0{width}}",
    }


def _lightgbm(cluster: Cluster, resolve: Resolve) -> dict[str, str]:
    """Source: LightGBM, "Parameters", "Network Parameters". It finds itself by its own IP address in the
    list, and splits entries at colons.
    """
    ranks = trainers(cluster)
    if ranks.rank is None:
        return {}
    machines = []
    for address in ranks.addresses:
        host, port = split_address(address)
        machines.append(f"{_ip(cluster, host, 'LightGBM', resolve, only_version_4=True)}:{port}")
    return {
        "machines": ",".join(machines),
        "num_machines": str(ranks.world_size),
        "local_listen_port": str(cluster.port),
    }


def _horovod(cluster: Cluster, slots: int) -> dict[str, str]:
    if not cluster.is_chief:
        return {}
    hosts = [split_address(address)[0] for address in trainers(cluster).addresses]
    return {"np": str(slots * len(hosts)), "hosts": ",".join(f"{host}:{slots}" for host in hosts)}


def _ip(
    cluster: Cluster, host: str, framework: str, resolve: Resolve, *, only_version_4: bool = False
) -> str:
    found = host if resolve is None else resolve(host)
    try:
        version: int = ipaddress.ip_address(found).version
    except ValueError:
        version = 0
    if version == 4 or (version == 6 and not only_version_4):
        return found
    wanted = "an IPv4 address" if only_version_4 else "an IP address"
    raise ClusterError(
        variable=cluster.source or "CLUSTER_SPEC",
        path="cluster",
        message=f"names the host {found!r}, and {framework} needs {wanted}",
        remedy="Pass resolve=socket.gethostbyname",
    )
