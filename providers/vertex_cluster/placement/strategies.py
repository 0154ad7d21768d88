"""Which worker of a cluster builds and trains which part of an ensemble, and on which parameter servers.

The arithmetic of adanet.distributed.placement, without TensorFlow. A strategy answers for one worker at a
time, so that a replica can ask for itself:

    me = PlacedWorker.of(vertex_cluster.from_environment(), subnetworks=3)
    strategy = RoundRobinStrategy()
    if strategy.build_ensemble(me):
        ...
    for subnetwork in strategy.build_subnetworks(me):
        ...

A strategy of your own is a subclass of `PlacementStrategy` with one method, `worker_tasks`; the others follow
from it, and each can be overridden. What differs from AdaNet: an index outside the cluster is refused (see
`PlacementError`), where AdaNet answers, divides by zero or wraps around.

Source: the docstrings of ReplicationStrategy and RoundRobinStrategy in adanet.distributed.placement. An order
says how a cost grows and leaves out constant factors: compare figures of one strategy for two clusters, and
see `Plan.counted_costs` for what one plan really has.
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
"""What is counted, by the name of the cost, for m workers, n parameter servers and k subnetworks."""


@dataclass(frozen=True)
class Cost:
    """One cost of a strategy."""

    name: str
    """One of `MEANINGS`."""

    figure: float
    formula: str
    """The order with m workers, n parameter servers and k subnetworks, such as ``m * n / k``."""

    @property
    def meaning(self) -> str:
        return MEANINGS[self.name]


def replication_costs(m: int, n: int, k: int) -> tuple[Cost, ...]:
    """The orders of a graph that every worker holds whole."""
    return (
        Cost("training_speedup", float(m), "m"),
        Cost("parameter_fetches", float(m * n * k), "m * n * k"),
        Cost("worker_memory", float(k), "k"),
        Cost("stale_gradients", float(m), "m"),
    )


def round_robin_costs(m: int, n: int, k: int, *, dedicated: bool) -> tuple[Cost, ...]:
    """The orders of subnetworks that are dealt out to workers.

    AdaNet gives ``m * n / k`` for the fetches: a worker asks the n / k servers of its subnetwork. Without
    dedicated servers it asks all n of them; that order is ours.
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
    """Decides what each worker of a cluster builds and trains. The same answers on every replica: an
    implementation must depend on nothing but its arguments.
    """

    @abc.abstractmethod
    def worker_tasks(self, worker: PlacedWorker) -> Collection[int]:
        """What this worker trains: 0 (`ENSEMBLE_TASK`) the ensemble, s + 1 subnetwork s. In ascending order
        where it has one; an ascending range costs nothing, however many subnetworks there are.
        """

    def build_ensemble(self, worker: PlacedWorker) -> bool:
        """Whether this worker builds the ensemble, and with it the variables that weigh the subnetworks."""
        return ENSEMBLE_TASK in self.worker_tasks(worker)

    def build_subnetworks(self, worker: PlacedWorker) -> Collection[int]:
        """The subnetworks that this worker builds: those that it trains, and all of them for the ensemble."""
        if self.build_ensemble(worker):
            return range(worker.subnetworks)
        return self.trained_subnetworks(worker)

    def build_subnetwork(self, worker: PlacedWorker, subnetwork: int) -> bool:
        """Whether this worker builds the subnetwork. Raises PlacementError for one that does not exist."""
        check_subnetwork(worker, subnetwork)
        return subnetwork in self.build_subnetworks(worker)

    def trained_subnetworks(self, worker: PlacedWorker) -> Collection[int]:
        """The subnetworks that this worker trains."""
        tasks = self.worker_tasks(worker)
        if isinstance(tasks, range) and tasks.step > 0:
            return range(tasks.start - 1, tasks.stop - 1, tasks.step)[int(ENSEMBLE_TASK in tasks) :]
        return tuple(sorted({task - 1 for task in tasks if task != ENSEMBLE_TASK}))

    def train_subnetworks(self, worker: PlacedWorker) -> bool:
        """Whether this worker trains the subnetworks that it builds; if not, the ensemble alone."""
        return len(self.trained_subnetworks(worker)) > 0

    def parameter_server_group(self, worker: PlacedWorker, subnetwork: int) -> tuple[int, ...]:
        """The parameter servers that hold the subnetwork's variables: all, unless a strategy dedicates some
        to it. The same for every worker. Raises PlacementError for a subnetwork that does not exist.
        """
        check_subnetwork(worker, subnetwork)
        return tuple(range(worker.parameter_servers))

    def costs(
        self,
        workers: int,  # noqa: ARG002
        parameter_servers: int,  # noqa: ARG002
        subnetworks: int,  # noqa: ARG002
    ) -> tuple[Cost, ...]:
        """The orders in which costs grow, where somebody has worked them out; here none."""
        return ()


@dataclass(frozen=True)
class ReplicationStrategy(PlacementStrategy):
    """Every worker builds and trains everything, and variables are spread over all parameter servers."""

    def worker_tasks(self, worker: PlacedWorker) -> Collection[int]:
        return range(worker.subnetworks + 1)

    def costs(self, workers: int, parameter_servers: int, subnetworks: int) -> tuple[Cost, ...]:
        return replication_costs(workers, parameter_servers, subnetworks)


@dataclass(frozen=True)
class RoundRobinStrategy(PlacementStrategy):
    """Deals the ensemble and the k subnetworks out to groups of k + 1 workers: the first of a group builds
    the ensemble (and, to feed it, every subnetwork, without training them), each other one trains one
    subnetwork. The workers of a last, incomplete group share the subnetworks among them.

    One subnetwork, or one worker, and everybody does everything.
    """

    drop_remainder: bool = False
    """In an incomplete group each worker trains one subnetwork only, and the others are left to complete
    groups. Where there is none, that is with k workers or fewer, they are not trained at all:
    `Plan.dropped_subnetworks`."""

    dedicate_parameter_servers: bool = True
    """Each subnetwork has parameter servers of its own, as far as there are enough."""

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
        """Neighbouring servers, the first subnetworks having one more where they do not come out even; with
        fewer servers than subnetworks one each, in turn.
        """
        everybody = super().parameter_server_group(worker, subnetwork)
        if not everybody or not self.dedicate_parameter_servers:
            return everybody
        servers, subnetworks = worker.parameter_servers, worker.subnetworks
        if subnetworks > servers:
            return (subnetwork % servers,)
        size, larger = divmod(servers, subnetworks)
        first = subnetwork * size + min(subnetwork, larger)
        return everybody[first : first + size + (subnetwork < larger)]

    def costs(self, workers: int, parameter_servers: int, subnetworks: int) -> tuple[Cost, ...]:
        return round_robin_costs(
            workers, parameter_servers, subnetworks, dedicated=self.dedicate_parameter_servers
        )


def check_subnetwork(worker: PlacedWorker, subnetwork: int) -> None:
    """Raises PlacementError unless the iteration has such a subnetwork."""
    whole = isinstance(subnetwork, int) and not isinstance(subnetwork, bool)
    if not whole or not 0 <= subnetwork < worker.subnetworks:
        raise PlacementError(
            path="subnetwork",
            message=f"is {subnetwork!r}, and the iteration has {worker.subnetworks} subnetworks, "
            f"0 to {worker.subnetworks - 1}",
            remedy="Give the subnetwork's place in the list of this iteration",
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
"""Types of operations that hold state, and so live on parameter servers
(tensorflow.python.training.device_setter of TensorFlow 2; older versions have the first ten only)."""


def variable_device(
    operation: str, group: Sequence[int], *, operation_type: str = "VarHandleOp"
) -> str | None:
    """``/job:ps/task:N`` for the operation of that name, N being one of `group`.

    None, which leaves the operation where it is, without parameter servers and for a type of operation that
    is not one of `STANDARD_PS_OPS`.
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
    """The device of a variable of a subnetwork, see `variable_device`. Where the strategy dedicates no
    servers to it the variable is spread over all of them, as AdaNet's estimator does; AdaNet's strategy alone
    then names none.

    Raises PlacementError for a subnetwork that does not exist.
    """
    group = strategy.parameter_server_group(worker, subnetwork)
    return variable_device(operation, group, operation_type=operation_type)


def ensemble_variable_device(
    worker: PlacedWorker, operation: str, *, operation_type: str = "VarHandleOp"
) -> str | None:
    """The device of a variable outside all subnetworks: any parameter server, dedicated ones as well."""
    return variable_device(operation, range(worker.parameter_servers), operation_type=operation_type)
