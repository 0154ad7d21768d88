"""What a user of a plan would regret."""

from __future__ import annotations

from .plan import Plan

__all__ = ["plan_warnings"]


def plan_warnings(plan: Plan) -> tuple[str, ...]:
    """One or two sentences each: subnetworks that nobody trains, a worker that trains many more than others,
    a last worker that only repeats the ensemble."""
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
        f"{len(dropped)} of {plan.subnetworks} subnetworks dropped ({which}): built for the ensemble, and "
        f"trained by no worker. RoundRobinStrategy trains all of them with {plan.subnetworks + 1} workers or "
        "more, or without drop_remainder."
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
        f"{last.name} begins a new group, so it builds the ensemble once more and trains no subnetwork. "
        "One worker more or less makes better use of it."
    )
