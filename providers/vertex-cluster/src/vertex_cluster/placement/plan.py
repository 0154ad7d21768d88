"""The placement of an ensemble on a cluster: the work of every worker, and warnings about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Collection, Sequence

from ..cluster import Cluster
from .strategies import PlacementStrategy
from .worker import PlacedWorker, PlacementError, check_number, cluster_size

__all__ = [
    "LARGEST_NUMBER",
    "LARGEST_PLAN",
    "Plan",
    "WorkerPlan",
    "plan",
    "plan_for",
    "plan_warnings",
    "plans",
]

LARGEST_NUMBER = 10_000
"""Maximum number of workers, parameter servers, subnetworks or iterations of a plan."""

LARGEST_PLAN = 1_000_000
"""Maximum number of pairs of a worker, or a parameter server, and a subnetwork, over all iterations.

A plan lists these pairs."""


@dataclass(frozen=True)
class WorkerPlan:
    """The work of one worker in one iteration."""

    index: int
    """0 is the chief."""

    name: str
    """Name of the replica in the logs of Vertex AI."""

    build_ensemble: bool
    """True on a worker that builds the ensemble."""

    build_subnetworks: tuple[int, ...]
    """Subnetworks that it builds."""

    train_subnetworks: bool
    """False on a worker that builds subnetworks only for the ensemble."""

    trained_subnetworks: tuple[int, ...]
    """Subnetworks that it trains."""


@dataclass(frozen=True)
class Plan:
    """The work of all workers in one iteration."""

    parameter_servers: int
    """Number of parameter servers."""

    subnetworks: int
    """Number of subnetworks."""

    workers: tuple[WorkerPlan, ...]
    """The work of each worker, the chief first."""

    parameter_server_groups: tuple[tuple[int, ...], ...]
    """By subnetwork, the parameter servers with its variables: all servers if none are dedicated."""

    @property
    def trainers(self) -> tuple[int, ...]:
        """By subnetwork, the number of workers that train it."""
        counts = [0] * self.subnetworks
        for worker in self.workers:
            for subnetwork in worker.trained_subnetworks:
                counts[subnetwork] += 1
        return tuple(counts)

    @property
    def dropped_subnetworks(self) -> tuple[int, ...]:
        """Subnetworks that no worker trains, although the workers of the ensemble build them."""
        return tuple(subnetwork for subnetwork, count in enumerate(self.trainers) if count == 0)

    @property
    def ensemble_workers(self) -> tuple[int, ...]:
        """Indices of the workers that build the ensemble."""
        return tuple(worker.index for worker in self.workers if worker.build_ensemble)

    @property
    def counted_costs(self) -> dict[str, int]:
        """The costs of this plan, by the names in `strategies.MEANINGS`.

        `training_speedup` is the minimum number of trainers of a subnetwork. `parameter_fetches` is the sum,
        over the subnetworks that each worker builds, of the servers it fetches from. `worker_memory` is the
        maximum number of subnetworks on a worker, `stale_gradients` the maximum number of trainers.
        """
        sizes = [len(group) for group in self.parameter_server_groups]
        return {
            "training_speedup": min(self.trainers),
            "parameter_fetches": sum(sizes[s] for worker in self.workers for s in worker.build_subnetworks),
            "worker_memory": max(len(worker.build_subnetworks) for worker in self.workers),
            "stale_gradients": max(self.trainers),
        }


def plan(strategy: PlacementStrategy, workers: int, parameter_servers: int, subnetworks: int) -> Plan:
    """Return the placement of one iteration. `workers` includes the chief.

    Raises PlacementError for invalid numbers, for numbers above `LARGEST_NUMBER` and `LARGEST_PLAN`, and for
    a strategy that gives a worker a task that does not exist.
    """
    _check_sizes(workers, parameter_servers, "subnetworks", subnetworks)
    _check_product(workers, parameter_servers, subnetworks, "subnetworks")
    return _plan(strategy, workers, parameter_servers, subnetworks)


def plans(
    strategy: PlacementStrategy,
    workers: int,
    parameter_servers: int,
    subnetworks_per_iteration: Sequence[int],
) -> tuple[Plan, ...]:
    """Return the placements of several iterations on one cluster, each with its number of subnetworks.

    Raises the errors of `plan`. `LARGEST_PLAN` limits all iterations together.
    """
    path = "subnetworks_per_iteration"
    if not 1 <= len(subnetworks_per_iteration) <= LARGEST_NUMBER:
        raise PlacementError(
            path=path,
            message=f"has {len(subnetworks_per_iteration)} iterations, but a plan can have 1 to "
            f"{LARGEST_NUMBER}",
            remedy="Give the number of subnetworks of each iteration",
        )
    for position, subnetworks in enumerate(subnetworks_per_iteration):
        _check_sizes(workers, parameter_servers, f"{path}[{position}]", subnetworks)
    _check_product(workers, parameter_servers, sum(subnetworks_per_iteration), path)
    by_count = {k: _plan(strategy, workers, parameter_servers, k) for k in set(subnetworks_per_iteration)}
    return tuple(by_count[k] for k in subnetworks_per_iteration)


def plan_for(
    strategy: PlacementStrategy, cluster: Cluster, subnetworks: int, *, parameter_servers: int | None = None
) -> Plan:
    """Return the placement of one iteration on a cluster. All replicas get the same plan.

    `parameter_servers` defaults to the size of the third pool. Pass 0 if that pool has reduction servers.
    """
    workers, servers = cluster_size(cluster)
    return plan(strategy, workers, servers if parameter_servers is None else parameter_servers, subnetworks)


def _plan(strategy: PlacementStrategy, workers: int, parameter_servers: int, subnetworks: int) -> Plan:
    placed = [
        PlacedWorker(
            index=index, workers=workers, parameter_servers=parameter_servers, subnetworks=subnetworks
        )
        for index in range(workers)
    ]
    groups = tuple(tuple(strategy.parameter_server_group(placed[0], s)) for s in range(subnetworks))
    for group in groups:
        _check_range(strategy, "parameter_server_group", group, parameter_servers)
    return Plan(
        parameter_servers=parameter_servers,
        subnetworks=subnetworks,
        workers=tuple(_worker_plan(strategy, worker) for worker in placed),
        parameter_server_groups=groups,
    )


def _worker_plan(strategy: PlacementStrategy, worker: PlacedWorker) -> WorkerPlan:
    _check_range(strategy, "worker_tasks", strategy.worker_tasks(worker), worker.subnetworks + 1)
    trains = strategy.train_subnetworks(worker)
    trained = tuple(strategy.trained_subnetworks(worker)) if trains else ()
    built = tuple(strategy.build_subnetworks(worker))
    _check_range(strategy, "build_subnetworks", built, worker.subnetworks)
    return WorkerPlan(
        index=worker.index,
        name=worker.name,
        build_ensemble=strategy.build_ensemble(worker),
        build_subnetworks=built,
        train_subnetworks=trains,
        trained_subnetworks=trained,
    )


def _check_range(strategy: PlacementStrategy, method: str, numbers: Collection[int], count: int) -> None:
    """Raise PlacementError if a strategy returns numbers outside 0 to `count` - 1."""
    if numbers and not 0 <= min(numbers) <= max(numbers) < count:
        raise PlacementError(
            path=f"{type(strategy).__name__}.{method}",
            message=f"returned {min(numbers)} to {max(numbers)}, but there are {count}, counted from 0",
            remedy="Task 0 is the ensemble, and task s + 1 is subnetwork s; subnetworks and servers count "
            "from 0",
        )


def _check_sizes(workers: int, parameter_servers: int, subnetworks_path: str, subnetworks: int) -> None:
    numbers = (
        ("workers", workers, 1, "Count the chief and the workers"),
        ("parameter_servers", parameter_servers, 0, "Give 0 for a cluster without them"),
        (subnetworks_path, subnetworks, 1, "Give the number that the iteration trains"),
    )
    for path, number, least, remedy in numbers:
        check_number(path, number, least, remedy)
        if number > LARGEST_NUMBER:
            raise PlacementError(
                path=path,
                message=f"is {number}, but the maximum is {LARGEST_NUMBER}",
                remedy="Plan a smaller cluster: placements repeat in groups of subnetworks + 1 workers",
            )


def _check_product(workers: int, parameter_servers: int, subnetworks: int, path: str) -> None:
    for what, number in (("workers", workers), ("parameter servers", parameter_servers)):
        if number * subnetworks > LARGEST_PLAN:
            raise PlacementError(
                path=path,
                message=f"times {what} is {number * subnetworks}, but the maximum is {LARGEST_PLAN}",
                remedy="Plan a smaller cluster, or fewer subnetworks or iterations at once",
            )


def plan_warnings(plan: Plan) -> tuple[str, ...]:
    """Return warnings about a plan, of one or two sentences each."""
    return tuple(filter(None, (_dropped(plan), _uneven(plan), _late_ensemble_worker(plan))))


def _dropped(plan: Plan) -> str:
    dropped = plan.dropped_subnetworks
    if not dropped:
        return ""
    if len(dropped) == dropped[-1] - dropped[0] + 1:
        which = str(dropped[0]) if len(dropped) == 1 else f"{dropped[0]} to {dropped[-1]}"
    else:
        which = f"first {dropped[0]}, last {dropped[-1]}"
    return (
        f"{len(dropped)} of {plan.subnetworks} subnetworks are dropped ({which}): workers build them for "
        "the ensemble, but no worker trains them. RoundRobinStrategy trains all of them with "
        f"{plan.subnetworks + 1} workers or more, or without drop_remainder."
    )


def _uneven(plan: Plan) -> str:
    training = [worker for worker in plan.workers if worker.train_subnetworks]
    if not training:
        return ""
    most = max(training, key=lambda worker: len(worker.trained_subnetworks))
    count, fewest = len(most.trained_subnetworks), min(len(one.trained_subnetworks) for one in training)
    if count <= fewest + 1:
        return ""
    return (
        f"{most.name} trains {count} subnetworks, others only {fewest}, so its steps take longest. "
        f"A multiple of {plan.subnetworks + 1} workers shares them evenly."
    )


def _late_ensemble_worker(plan: Plan) -> str:
    last = plan.workers[-1]
    if len(plan.workers) == 1 or not last.build_ensemble or last.train_subnetworks:
        return ""
    return (
        f"{last.name} starts a new group, so it builds the ensemble again and trains no subnetwork. Use "
        "one worker more or less."
    )
