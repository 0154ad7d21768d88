"""The time that a sum of money allows: `max_cost` gives each run of a job a timeout, by its known price.

A job has one service-side stop that costs no watcher: its timeout. `limit_of` converts what is left of
`max_cost` to that timeout, by the cost of the job at most. The timeout is no part of the declared spec: a
job has the limit of its run as a label, and a comparison with the declaration takes it out (`without_limit`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from vertex_training.cost.cost import Cost, declared_timeout, use_of
from vertex_training.cost.words import usd
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import duration
from vertex_training.job.job_spec import JobSpec, Scheduling, map_parts, normal_scheduling, parts

Spec = TypeVar("Spec")

FIELD = "max_cost"
LABEL = "vertex-training-cost"
"""Label with the limit of a run."""
STEP = 60
"""Derived timeouts are whole minutes. What is cut off pays for the seconds in which replicas are stopped."""

_MILLIONTHS = 1_000_000
_RETRIES = "retries"
_ATTEMPTS = {"spot": 7}
"""Starts of a job with a strategy, the first included: Spot VMs are restarted up to six times."""
_OTHER_ATTEMPTS = 4
"""The service restarts a job up to three times."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The limit of one run, in seconds and US dollars.

    `seconds` is the timeout, for a tuning job of each trial. `most` is the cost of the run until then,
    `spent` the cost of all earlier runs of the declaration. With `keeps_retries`, the service's own restarts
    are left on; whether its clock then begins again is not documented.
    """

    seconds: int
    most: float
    spent: float = 0.0
    keeps_retries: bool = False

    @property
    def total(self) -> float:
        """The cost of this run at most, and of all earlier ones."""
        return self.most + self.spent

    @property
    def label(self) -> str:
        """The limit as the value of a label, with amounts in millionths of a dollar."""
        amounts = (math.ceil(amount * _MILLIONTHS) for amount in (self.most, self.spent))
        return "-".join([str(self.seconds), *map(str, amounts), *([_RETRIES] if self.keeps_retries else [])])


def read_label(value: object) -> Limit | None:
    """Return the limit in a label's value; None for any other value."""
    numbers, _, retries = str(value).partition(f"-{_RETRIES}")
    seconds, *amounts = numbers.split("-")
    if retries or len(amounts) != 2 or not all(map(str.isdecimal, (seconds, *amounts))):
        return None
    most, spent = (int(amount) / _MILLIONTHS for amount in amounts)
    return Limit(
        seconds=int(seconds), most=most, spent=spent, keeps_retries=str(value).endswith(f"-{_RETRIES}")
    )


def amount_fault(value: object) -> str | None:
    """Return what is wrong with an amount, and the remedy; None for US dollars above 0."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf:
        return None
    return f"{value!r} is no limit of the cost; give US dollars above 0, such as 50"


def at_most(spec: Spec, cost_of: Callable[[Spec], Cost | None]) -> Cost | None:
    """Return the cost of a spec at most: the price on demand counts where Spot or Flex-start has none."""
    cost = cost_of(spec)
    if cost is None or cost.hourly is not None:
        return cost

    def without_strategy(_: str, part: JobSpec) -> JobSpec:
        return replace(part, scheduling=part.scheduling and replace(part.scheduling, strategy=None))

    on_demand = cost_of(map_parts(spec, without_strategy))
    return cost if on_demand is None or on_demand.hourly is None else on_demand


def limit_of(cost: Cost, max_cost: float, *, spent: float = 0.0, keeps_retries: bool = False) -> Limit | None:
    """Return the limit of a run with this cost at most; None if less than a minute of running is left.

    A shorter timeout of the declaration, or the service's default, stays. `cost` has a known `per_timeout`.
    """
    rate = _rate(cost)
    allowed = max_cost - spent
    if allowed < rate * STEP:
        return None
    # A quotient that is a whole number must not lose a minute to rounding.
    seconds = min(math.floor(allowed / (rate * STEP) + 1e-9) * STEP, cost.timeout_seconds or 0)
    return Limit(seconds=seconds, most=seconds * rate, spent=spent, keeps_retries=keeps_retries)


def problems(spec: object, cost: Cost | None, max_cost: float) -> Iterator[Problem]:
    """Yield why `max_cost` cannot stop a job; `cost` is its cost at most."""
    for path, part in parts(spec):
        if part.persistent_resource_id:
            yield Problem(
                path=FIELD,
                message="cannot stop a job on a persistent resource, whose machines cost the same without "
                "the job; leave it out, or set scheduling.timeout",
                rests_on=(FIELD, f"{path}.persistent_resource_id".lstrip(".")),
            )
            return
    if cost is None or not cost.per_timeout:
        gaps = "; ".join(dict.fromkeys(f"{gap.what}: {gap.why}" for gap in cost.unknown)) if cost else ""
        yield Problem(
            path=FIELD,
            message=f"has no bound, because a price is not known ({gaps or 'no machines'}); run "
            "`vertex-training prices refresh`, choose another machine, or set scheduling.timeout instead",
        )
        return
    limit = limit_of(cost, max_cost)
    if limit is None:
        minute = _rate(cost) * STEP
        yield Problem(
            path=FIELD,
            message=f"{usd(max_cost)} is below the cost of a minute of running{_of_trials(cost)}, "
            f"{usd(minute)}; give at least {_cents_above(minute)}",
        )
    elif not cost.is_default_timeout and limit.seconds < (cost.timeout_seconds or 0):
        at = next((path for path, part in parts(spec) if part.scheduling and part.scheduling.timeout), "")
        yield Problem(
            path=f"{at}.scheduling.timeout".lstrip("."),
            message=f"{duration(cost.timeout_seconds or 0)} cost up to {usd(cost.per_timeout)}"
            f"{_of_trials(cost)}, above max_cost of {usd(max_cost)}; leave the timeout out, give at most "
            f"{limit.seconds}s, or raise max_cost to {_cents_above(cost.per_timeout)}",
        )


def with_limit(spec: Spec, limit: Limit | None) -> Spec:
    """Return the spec of a run: with the limit's timeout, and without retries unless the limit keeps them.

    A declared timeout that is not longer stays.
    """
    if limit is None:
        return spec
    return map_parts(spec, lambda _, part: replace(part, scheduling=_limited(part.scheduling, limit)))


def without_limit(declared: Spec, found: Spec, limit: Limit | None) -> Spec:
    """Return a live spec without the limit of its run: with the declared scheduling where that is all."""
    if limit is None:
        return found
    wanted = dict(parts(declared))

    def restored(path: str, part: JobSpec) -> JobSpec:
        own = wanted.get(path)
        if own is None or part.scheduling != _limited(own.scheduling, limit):
            return part
        return replace(part, scheduling=own.scheduling)

    return map_parts(found, restored)


def as_declared(found: Spec, limit: Limit | None) -> Spec:
    """Return the spec of a past run without its limit, to compare it with another run's."""
    if limit is None:
        return found

    def cleared(part: JobSpec) -> JobSpec:
        if part.scheduling is None or part.scheduling.timeout != f"{limit.seconds}s":
            return part
        off = part.scheduling.disable_retries and limit.keeps_retries
        return replace(
            part, scheduling=normal_scheduling(replace(part.scheduling, timeout=None, disable_retries=off))
        )

    return map_parts(found, lambda _, part: cleared(part))


def keeps_retries(spec: object) -> bool:
    """Return whether a declaration asks for the service's restarts by `restart_job_on_worker_restart`."""
    return any(part.scheduling and part.scheduling.restart_job_on_worker_restart for _, part in parts(spec))


def attempts(spec: object) -> int:
    """Return how often the service starts a job at most, if it is not told otherwise."""
    uses = {use_of(part.scheduling.strategy) for _, part in parts(spec) if part.scheduling}
    return max((_ATTEMPTS.get(use, _OTHER_ATTEMPTS) for use in uses), default=_OTHER_ATTEMPTS)


def sentence(limit: Limit, max_cost: float, *, starts: int, trials: int = 1) -> str:
    """Describe a limit, after the name of the job: "stops after 3 h 10 min of running, at most $50.00".

    `starts` is for a limit that keeps the retries: how often the service may start the job.
    """
    each = f"stops each of its {trials} trials" if trials > 1 else "stops"
    # A timeout of whole minutes leaves less than the cost of one.
    is_derived = max_cost - limit.total < limit.most / limit.seconds * STEP
    most = usd(max_cost if is_derived else limit.total)
    text = f"{each} after {duration(limit.seconds)} of running, at most {most}"
    if limit.spent:
        text += f", of which its earlier runs have used {usd(limit.spent)}"
    if limit.keeps_retries and starts > 1:
        worst = limit.spent + limit.most * starts
        text += (
            f". In the worst case {usd(worst)}: if the service restarts it {starts - 1} times, its clock may "
            "begin again each time; set disable_retries to rule that out"
        )
    return text


def _limited(scheduling: Scheduling | None, limit: Limit) -> Scheduling:
    own = scheduling or Scheduling()
    declared = declared_timeout(own)
    return replace(
        own,
        timeout=own.timeout if declared and declared <= limit.seconds else f"{limit.seconds}s",
        disable_retries=own.disable_retries or not limit.keeps_retries,
    )


def _rate(cost: Cost) -> float:
    """Return the cost of a second of the timeout: of a tuning job, of a second of each of its trials."""
    return (cost.per_timeout or 0.0) / (cost.timeout_seconds or 1)


def _of_trials(cost: Cost) -> str:
    return f" of each of {cost.trials} trials" if cost.trials > 1 else ""


def _cents_above(amount: float) -> str:
    """Return an amount, rounded up to a whole cent, as a program gives it."""
    return f"{math.ceil(amount * 100 - 1e-9) / 100:.2f}"
