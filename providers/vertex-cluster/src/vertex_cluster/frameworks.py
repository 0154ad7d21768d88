"""The cluster in the settings of frameworks other than TensorFlow.

    os.environ.update(frameworks.settings(cluster, "mxnet", resolve=socket.gethostbyname))
    jax.distributed.initialize(**frameworks.arguments(cluster, "jax"))

A replica that takes no part in the framework's communication gets an empty dictionary. These are evaluators,
and servers with any framework except MXNet (reduction servers run their own program).

The port is CLUSTER_SPEC's. The replica must not use it for anything else.

There are two ways to count replicas, and a job that mixes them hangs. Google's Model Garden trainer counts
chief and workers (`trainers`); the launcher of the SDK and xmanager count all replicas of all pools
(`all_replicas`). Use `trainers` for data-parallel training: reduction servers and evaluators contribute no
gradients.
"""

from __future__ import annotations

import difflib
import importlib
import ipaddress
import threading
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional

from .cluster import Cluster, ClusterError, split_address

__all__ = [
    "FRAMEWORKS",
    "Ranks",
    "all_replicas",
    "arguments",
    "settings",
    "start_rendezvous",
    "trainers",
]


@dataclass(frozen=True)
class Ranks:
    """A numbering of replicas, as seen from one of them."""

    rank: int | None
    """Rank of this replica, 0 for the chief; None if its pool is not counted."""

    addresses: tuple[str, ...]
    """``host:port`` of every counted replica, by rank."""

    @property
    def world_size(self) -> int:
        """The number of counted replicas."""
        return len(self.addresses)


def trainers(cluster: Cluster) -> Ranks:
    """Return the numbering of replicas that train: the chief is 0, worker i is i + 1, others have no rank."""
    rank = {"chief": 0, "worker": 1 + cluster.index}.get(cluster.role)
    return Ranks(rank=rank, addresses=cluster.pools[0] + cluster.pools[1])


def all_replicas(cluster: Cluster) -> Ranks:
    """Return the numbering of all replicas, in the order of the pools.

    Raises ClusterError if the cluster was read from TF_CONFIG, which does not list evaluators.
    """
    if cluster.source == "TF_CONFIG":
        raise ClusterError(
            variable=cluster.source,
            path="cluster",
            message="does not list evaluators, so not all replicas can be counted",
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
    "horovod": "environment",
}
"""Every framework by name, and the kind of its settings: environment variables, or arguments of a function or
command. ``pytorch`` is another name of ``torch``."""

_WHOLE_NUMBERS = frozenset(
    {"num_processes", "process_id", "dmlc_tracker_port", "num_machines", "local_listen_port"}
)


def settings(cluster: Cluster, framework: str, *, slots: int = 1, resolve: Resolve = None) -> dict[str, str]:
    """Return the settings of this replica, all as text.

    `slots` is the number of processes on each machine, usually one for each GPU. torchrun starts them, and
    with horovod the settings are the first one's. Other frameworks count replicas and need 1.
    `resolve` maps a host name to its IP address, such as ``socket.gethostbyname``; mxnet and lightgbm need
    it, because they do not work with names.

    * torch: variables of ``init_process_group("env://")``, one process for each replica
    * torchrun: the PET_ variables, which replace its options
    * mxnet: the DMLC_ variables; the chief is the scheduler and does not train. ``{}`` for a chief alone
    * jax: arguments of ``jax.distributed.initialize``
    * xgboost: arguments of ``xgboost.collective.CommunicatorContext``; the chief runs
      ``RabitTracker(n_workers, host_ip, port, sortby="task")`` on that port as well
    * lightgbm: parameters of the training
    * horovod: the HOROVOD_ variables, without ``horovodrun`` and ssh; the chief runs the rendezvous as well
      (`start_rendezvous`)

    Raises ValueError for an unknown framework or wrong slots, ClusterError if the cluster does not fit.
    """
    if framework not in FRAMEWORKS:
        near = difflib.get_close_matches(framework, FRAMEWORKS, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Use one of {', '.join(FRAMEWORKS)}."
        raise ValueError(f"{framework!r} is not a known framework. {hint}")
    if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
        raise ValueError(
            f"slots is {slots!r}, not a whole number of at least 1. Give the number of processes on each "
            "machine."
        )
    if framework == "torchrun":
        return _torchrun(cluster, slots)
    if framework == "horovod":
        return _horovod(cluster, slots, resolve)
    if slots != 1:
        raise ValueError(
            f"slots is {slots}, but {framework} counts replicas. Leave it out, or use torchrun or horovod."
        )
    if framework in ("mxnet", "lightgbm"):
        return (_mxnet if framework == "mxnet" else _lightgbm)(cluster, resolve)
    return {"jax": _jax, "xgboost": _xgboost}.get(framework, _torch)(cluster)


def arguments(cluster: Cluster, framework: str, *, slots: int = 1, resolve: Resolve = None) -> dict[str, Any]:
    """Return the `settings` of a framework that takes arguments, with numbers as int.

    Raises ValueError for a framework that reads the environment, and the errors of `settings`.
    """
    values = settings(cluster, framework, slots=slots, resolve=resolve)
    if FRAMEWORKS[framework] != "arguments":
        raise ValueError(
            f"{framework} reads its settings from the environment. Put settings() into os.environ."
        )
    return {name: int(value) if name in _WHOLE_NUMBERS else value for name, value in values.items()}


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
    """Return the settings of torchrun (torch.distributed.argparse_util: PET_SOME_NAME is --some-name)."""
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
    """Return the settings of MXNet ("Distributed Training in MXNet", "Manually launching jobs").

    The scheduler is the chief, as in AI Platform Training ("Distributed training with containers").
    """
    workers, servers = len(cluster.pools[1]), len(cluster.pools[2])
    if cluster.role == "evaluator" or workers + servers == 0:
        return {}
    if not workers or not servers:
        raise ClusterError(
            variable=cluster.source or "CLUSTER_SPEC",
            path="cluster",
            message=f"has {workers} workers and {servers} servers, but MXNet needs at least one of each",
            remedy="Declare worker pools 1 and 2: with MXNet, the chief is only the scheduler",
        )
    variables = {
        "DMLC_ROLE": {"chief": "scheduler", "parameter_server": "server"}.get(cluster.role, cluster.role),
        "DMLC_PS_ROOT_URI": _ip(cluster, cluster.chief_host, "MXNet", resolve),
        "DMLC_PS_ROOT_PORT": str(cluster.chief_port),
        "DMLC_NUM_WORKER": str(workers),
        "DMLC_NUM_SERVER": str(servers),
    }
    if cluster.role == "worker":
        variables["DMLC_WORKER_ID"] = str(cluster.index)
    return variables


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
    """Return the settings of XGBoost, whose task ids have leading zeros because it sorts them as text."""
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
    """Return the settings of LightGBM ("Parameters", "Network Parameters").

    LightGBM finds itself in the list by its IP address, and splits entries at colons. It compares with the
    addresses of interfaces, and loopback has 127.0.0.1 alone.
    """
    ranks = trainers(cluster)
    if ranks.rank is None:
        return {}
    machines = []
    for address in ranks.addresses:
        host, port = split_address(address)
        ip = _ip(cluster, host, "LightGBM", resolve, only_version_4=True)
        machines.append(f"{'127.0.0.1' if ip.startswith('127.') else ip}:{port}")
    return {
        "machines": ",".join(machines),
        "num_machines": str(ranks.world_size),
        "local_listen_port": str(cluster.port),
    }


def _horovod(cluster: Cluster, slots: int, resolve: Resolve) -> dict[str, str]:
    """Return the settings of the first process of a replica, as Horovod's own launcher for Gloo sets them."""
    ranks = trainers(cluster)
    if ranks.rank is None:
        return {}
    address = cluster.chief_host if resolve is None else resolve(cluster.chief_host)
    variables = {
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": address,
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(cluster.chief_port),
        "HOROVOD_HOSTNAME": f"replica{ranks.rank}",
        "HOROVOD_RANK": str(ranks.rank * slots),
        "HOROVOD_SIZE": str(ranks.world_size * slots),
        "HOROVOD_LOCAL_RANK": "0",
        "HOROVOD_LOCAL_SIZE": str(slots),
        "HOROVOD_CROSS_RANK": str(ranks.rank),
        "HOROVOD_CROSS_SIZE": str(ranks.world_size),
    }
    local = address == "localhost" or address.startswith("127.")
    return {**variables, "HOROVOD_GLOO_IFACE": "lo"} if local else variables


def start_rendezvous(cluster: Cluster, *, slots: int = 1) -> None:
    """Serve the rendezvous of Horovod in a thread of the chief; do nothing in other replicas.

    Call it before ``horovod.*.init()``. It needs Horovod.
    """
    if not cluster.is_chief:
        return
    hosts_of = importlib.import_module("horovod.runner.common.util.hosts")
    http = importlib.import_module("horovod.runner.http.http_server")
    size = trainers(cluster).world_size
    hosts = hosts_of.parse_hosts(",".join(f"replica{rank}:{slots}" for rank in range(size)))
    address = ("0.0.0.0", cluster.chief_port)  # noqa: S104 - the other replicas connect to it
    server = http.RendezvousHTTPServer(address, http.RendezvousHandler, False)
    server.init(hosts_of.get_host_assignments(hosts, size * slots))
    threading.Thread(target=server.serve_forever, daemon=True).start()


def _ip(
    cluster: Cluster, host: str, framework: str, resolve: Resolve, *, only_version_4: bool = False
) -> str:
    address = host if resolve is None else resolve(host)
    try:
        version: int = ipaddress.ip_address(address).version
    except ValueError:
        version = 0
    if version == 4 or (version == 6 and not only_version_4):
        return address
    wanted = "an IPv4 address" if only_version_4 else "an IP address"
    raise ClusterError(
        variable=cluster.source or "CLUSTER_SPEC",
        path="cluster",
        message=f"has the host {address!r}, but {framework} needs {wanted}",
        remedy="Pass resolve=socket.gethostbyname",
    )
