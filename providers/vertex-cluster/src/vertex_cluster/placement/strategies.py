"""Placement strategies: assign the parts of an ensemble to workers, and variables to parameter servers.

This is the arithmetic of adanet.distributed.placement and adanet.distributed.devices, without TensorFlow. A
strategy decides for one worker at a time, so that a replica can call it for itself:

    me = PlacedWorker.of(vertex_cluster.from_environment(), subnetworks=3)
    strategy = RoundRobinStrategy()
    if strategy.build_ensemble(me):
        ...
    for subnetwork in strategy.build_subnetworks(me):
        ...

To write a strategy, subclass `PlacementStrategy` and implement `worker_tasks`. The other methods follow from
it, and each can be overridden. Unlike AdaNet, an index outside the cluster is an error (`PlacementError`).

The orders of costs are from the docstrings of ReplicationStrategy and RoundRobinStrategy in AdaNet. An order
shows how a cost grows, without constant factors: compare the figures of one strategy for two clusters. See
`Plan.counted_costs` for the costs of a plan.
"""

from __future__ import annotations

import abc
import hashlib
from dataclasses import dataclass
from typing import Collection, Sequence

from .worker import PlacedWorker, PlacementError

__all__ = [
    "ENSEMBLE_TASK",
    "STANDARD_PS_OPS",
    "Cost",
    "PlacementStrategy",
    "ReplicationStrategy",
    "RoundRobinStrategy",
    "ensemble_variable_device",
    "replication_costs",
    "round_robin_costs",
    "subnetwork_variable_device",
    "variable_device",
]

MEANINGS = {
    "training_speedup": "workers that train each subnetwork",
    "parameter_fetches": "fetches from parameter servers in one step of all workers",
    "worker_memory": "subnetworks on one worker",
    "stale_gradients": "gradients of one subnetwork computed at the same time",
}
"""Meaning of each cost, by its name, for m workers, n parameter servers and k subnetworks."""


@dataclass(frozen=True)
class Cost:
    """A cost of a strategy, as an order of growth."""

    name: str
    """Name of the cost, one of `MEANINGS`."""

    figure: float
    """The order as a number."""

    formula: str
    """The order for m workers, n parameter servers and k subnetworks, such as ``m * n / k``."""

    @property
    def meaning(self) -> str:
        """The text in `MEANINGS` for this cost."""
        return MEANINGS[self.name]


def replication_costs(m: int, n: int, k: int) -> tuple[Cost, ...]:
    """Return the orders if every worker has the whole graph."""
    return (
        Cost("training_speedup", float(m), "m"),
        Cost("parameter_fetches", float(m * n * k), "m * n * k"),
        Cost("worker_memory", float(k), "k"),
        Cost("stale_gradients", float(m), "m"),
    )


def round_robin_costs(m: int, n: int, k: int, *, dedicated: bool) -> tuple[Cost, ...]:
    """Return the orders if each worker trains one of the subnetworks.

    AdaNet documents ``m * n / k`` fetches: a worker fetches from the n / k servers of its subnetwork.
    Without dedicated servers it fetches from all n; AdaNet does not document that order.
    """
    fetches = (
        Cost("parameter_fetches", m * n / k, "m * n / k")
        if dedicated
        else Cost("parameter_fetches", float(m * n), "m * n")
    )
    return (
        Cost("training_speedup", m / k, "m / k"),
        fetches,
        Cost("worker_memory", 1.0, "1"),
        Cost("stale_gradients", m / k, "m / k"),
    )


ENSEMBLE_TASK = 0
"""The task of training the ensemble; the task of training subnetwork s is s + 1."""


class PlacementStrategy(abc.ABC):
    """Base of the strategies, which decide what each worker of a cluster builds and trains.

    All replicas must get the same results, so a strategy must depend on nothing but its arguments.
    """

    @abc.abstractmethod
    def worker_tasks(self, worker: PlacedWorker) -> Collection[int]:
        """Return the tasks of this worker: 0 (`ENSEMBLE_TASK`) is the ensemble, s + 1 is subnetwork s.

        An ordered collection must be ascending. An ascending range needs no memory for its items.
        """

    def build_ensemble(self, worker: PlacedWorker) -> bool:
        """Return whether this worker builds the ensemble, with the variables that weigh the subnetworks."""
        return ENSEMBLE_TASK in self.worker_tasks(worker)

    def build_subnetworks(self, worker: PlacedWorker) -> Collection[int]:
        """Return the subnetworks that this worker builds: those that it trains, or all for the ensemble."""
        if self.build_ensemble(worker):
            return range(worker.subnetworks)
        return self.trained_subnetworks(worker)

    def build_subnetwork(self, worker: PlacedWorker, subnetwork: int) -> bool:
        """Return whether this worker builds the subnetwork. Raises PlacementError if it does not exist."""
        check_subnetwork(worker, subnetwork)
        return subnetwork in self.build_subnetworks(worker)

    def trained_subnetworks(self, worker: PlacedWorker) -> Collection[int]:
        """Return the subnetworks that this worker trains."""
        tasks = self.worker_tasks(worker)
        if isinstance(tasks, range) and tasks.step > 0:
            return range(tasks.start - 1, tasks.stop - 1, tasks.step)[int(ENSEMBLE_TASK in tasks) :]
        return tuple(sorted({task - 1 for task in tasks if task != ENSEMBLE_TASK}))

    def train_subnetworks(self, worker: PlacedWorker) -> bool:
        """Return whether this worker trains the subnetworks that it builds, not only the ensemble."""
        return len(self.trained_subnetworks(worker)) > 0

    def parameter_server_group(self, worker: PlacedWorker, subnetwork: int) -> tuple[int, ...]:
        """Return the parameter servers with the subnetwork's variables, the same for every worker.

        These are all servers, unless a strategy dedicates some to the subnetwork. Raises PlacementError if
        the subnetwork does not exist.
        """
        check_subnetwork(worker, subnetwork)
        return tuple(range(worker.parameter_servers))

    def costs(
        self,
        workers: int,  # noqa: ARG002
        parameter_servers: int,  # noqa: ARG002
        subnetworks: int,  # noqa: ARG002
    ) -> tuple[Cost, ...]:
        """Return the orders of the costs; empty if they are not known."""
        return ()


@dataclass(frozen=True)
class ReplicationStrategy(PlacementStrategy):
    """Strategy in which every worker trains everything; variables are spread over all parameter servers."""

    def worker_tasks(self, worker: PlacedWorker) -> Collection[int]:
        return range(worker.subnetworks + 1)

    def costs(self, workers: int, parameter_servers: int, subnetworks: int) -> tuple[Cost, ...]:
        return replication_costs(workers, parameter_servers, subnetworks)


@dataclass(frozen=True)
class RoundRobinStrategy(PlacementStrategy):
    """Strategy that assigns the ensemble and the k subnetworks to groups of k + 1 workers.

    The first worker of a group builds the ensemble, and all subnetworks to feed it, which it does not train.
    Each other worker trains one subnetwork. The workers of an incomplete last group share the subnetworks.
    With a single subnetwork or a single worker, every worker does everything.
    """

    drop_remainder: bool = False
    """Each worker of an incomplete group trains a single subnetwork; complete groups train all of them.

    If there is no complete group, that is with k workers or fewer, some subnetworks are not trained: see
    `Plan.dropped_subnetworks`."""

    dedicate_parameter_servers: bool = True
    """Each subnetwork has its own parameter servers, as far as there are enough."""

    def worker_tasks(self, worker: PlacedWorker) -> Collection[int]:
        tasks = worker.subnetworks + 1
        if worker.subnetworks == 1 or worker.workers == 1:
            return range(tasks)
        task = worker.index % tasks
        if task == ENSEMBLE_TASK:
            return range(1)
        if self.drop_remainder:
            return range(task, task + 1)
        in_last_group = worker.index >= worker.workers - worker.workers % tasks
        trainers = worker.workers % tasks - 1 if in_last_group else worker.subnetworks
        return range(task, tasks, trainers)

    def parameter_server_group(self, worker: PlacedWorker, subnetwork: int) -> tuple[int, ...]:
        """Return consecutive servers for the subnetwork.

        If the servers cannot be divided evenly, the first subnetworks have one more. With fewer servers than
        subnetworks, each subnetwork has one server, in turn.
        """
        all_servers = super().parameter_server_group(worker, subnetwork)
        if not all_servers or not self.dedicate_parameter_servers:
            return all_servers
        servers, subnetworks = worker.parameter_servers, worker.subnetworks
        if subnetworks > servers:
            return (subnetwork % servers,)
        size, larger = divmod(servers, subnetworks)
        first = subnetwork * size + min(subnetwork, larger)
        return all_servers[first : first + size + (subnetwork < larger)]

    def costs(self, workers: int, parameter_servers: int, subnetworks: int) -> tuple[Cost, ...]:
        return round_robin_costs(
            workers, parameter_servers, subnetworks, dedicated=self.dedicate_parameter_servers
        )


def check_subnetwork(worker: PlacedWorker, subnetwork: int) -> None:
    """Raise PlacementError unless the iteration has this subnetwork."""
    whole = isinstance(subnetwork, int) and not isinstance(subnetwork, bool)
    if not whole or not 0 <= subnetwork < worker.subnetworks:
        raise PlacementError(
            path="subnetwork",
            message=f"is {subnetwork!r}, but the iteration has {worker.subnetworks} subnetworks, 0 to "
            f"{worker.subnetworks - 1}",
            remedy="Give the subnetwork's index in this iteration",
        )


STANDARD_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
    "BoostedTreesQuantileStreamResourceHandleOp",
    "ResourceConditionalAccumulator",
    "DecisionTreeResource",
)
"""Types of operations that have state and are placed on parameter servers.

Source: tensorflow.python.training.device_setter of TensorFlow 2; older versions have only the first ten."""


def variable_device(
    operation: str, group: Sequence[int], *, operation_type: str = "VarHandleOp"
) -> str | None:
    """Return the device ``/job:ps/task:N`` of an operation, where N is a server in `group`.

    Return None, which leaves the operation where it is, if `group` is empty or the type is not one of
    `STANDARD_PS_OPS`. The server follows from a hash of the operation's name, so that all workers agree, even
    if their graphs differ.

    Source: adanet.distributed.devices. The hash is the SHA-256 of the name in UTF-8, read as a big-endian
    number, modulo the size of the group.
    """
    if not group or operation_type not in STANDARD_PS_OPS:
        return None
    hashed = int.from_bytes(hashlib.sha256(operation.encode("utf-8")).digest(), "big")
    return f"/job:ps/task:{group[hashed % len(group)]}"


def subnetwork_variable_device(
    strategy: PlacementStrategy,
    worker: PlacedWorker,
    subnetwork: int,
    operation: str,
    *,
    operation_type: str = "VarHandleOp",
) -> str | None:
    """Return the device of a variable of a subnetwork (see `variable_device`).

    If the strategy dedicates no servers to the subnetwork, the variable may be on any server. Raises
    PlacementError if the subnetwork does not exist.
    """
    group = strategy.parameter_server_group(worker, subnetwork)
    return variable_device(operation, group, operation_type=operation_type)


def ensemble_variable_device(
    worker: PlacedWorker, operation: str, *, operation_type: str = "VarHandleOp"
) -> str | None:
    """Return the device of a variable outside all subnetworks: any parameter server, also a dedicated one."""
    return variable_device(operation, range(worker.parameter_servers), operation_type=operation_type)
