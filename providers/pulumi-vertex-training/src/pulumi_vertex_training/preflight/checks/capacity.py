"""Checks of capacity: quota minus what live jobs take, and reservations."""

from __future__ import annotations

import functools
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pulumi_vertex_training.cloud.project import compute, quotas
from pulumi_vertex_training.cloud.project.compute import Reservation
from pulumi_vertex_training.preflight import live, remedies
from pulumi_vertex_training.preflight.finding import Finding, Level, Thing
from pulumi_vertex_training.preflight.live import LiveJob
from pulumi_vertex_training.preflight.question import Check, Facts, Question, Trouble
from pulumi_vertex_training.preflight.scope import Scope, member_of_caller, not_known
from pulumi_vertex_training.preflight.subject import Part, demand_of
from vertex_training.findings.words import all_of
from vertex_training.topology.rules.reservations import KEY
from vertex_training.topology.slices import machines_of

LIMITS: Question[Mapping[str, int]] = Question(key="quota limits", look=quotas.limits)
USAGE: Question[Mapping[str, int]] = Question(key="quota usage", look=quotas.usage)
LIVE: Question[tuple[LiveJob, ...]] = Question(key="live jobs", look=live.live_jobs)

QUOTA_VIEWER, METRIC_VIEWER = "roles/cloudquotas.viewer", "roles/monitoring.viewer"
COMPUTE_VIEWER = "roles/compute.viewer"

_NAMED = 8
"""The most jobs that a finding names."""


class _Want(NamedTuple):
    """The quota of one metric that a job asks for."""

    job: str
    amount: int


def checks(scope: Scope) -> Iterator[Check]:
    """Yield the checks of quota and reservations."""
    yield _quota(scope)
    for name, (machine, count, part, path) in _reservations(scope).items():
        yield _reservation(scope, name, machine, count, part, path)


def _quota(scope: Scope) -> Check:
    wants, later = _wants(scope), _wants(scope, scheduled=True)

    def judge(facts: Facts) -> Iterator[Finding]:
        for subject in scope.subjects:
            for path in demand_of(subject.parts).uncounted:
                about = f"quota of {path}"
                yield Thing(check="quota", about=about, resource=subject.name, path=path).finding(
                    "unknown",
                    "the quota that these machines take is not known",
                    remedy="" if scope.is_emulator else remedies.quota_page(scope.project),
                )
        if not wants and not later:
            return
        limits = facts.of(LIMITS)
        if isinstance(limits, Trouble):
            remedy = remedies.on_project(scope.project, member_of_caller(facts), QUOTA_VIEWER)
            yield not_known(Thing(check="quota", about=f"quotas in {scope.location}"), limits, remedy=remedy)
            return
        used = _used(facts, scope)
        for metric, several in wants.items():
            in_use = used if isinstance(used, Trouble) else used[metric]
            yield from _of_metric(scope, metric, several, limits.get(metric), in_use)
        for metric, several in later.items():
            yield from (_of_schedule(scope, metric, want, limits.get(metric)) for want in several)
        if isinstance(used, Trouble):
            remedy = remedies.on_project(scope.project, member_of_caller(facts), METRIC_VIEWER)
            yield not_known(
                Thing(check="quota", about=f"quota in use in {scope.location}"), used, remedy=remedy
            )

    return Check(questions=(LIMITS, USAGE, LIVE), judge=judge)


def quota_together(scope: Scope) -> Iterator[Check]:
    """Yield a check of quotas that are enough for each job of a scope alone, and not for all of them."""

    def judge(facts: Facts) -> Iterator[Finding]:
        limits, used = facts.of(LIMITS), _used(facts, scope)
        for metric, wants in _wants(scope).items():
            limit = None if isinstance(limits, Trouble) else limits.get(metric)
            if limit is None or limit == quotas.UNLIMITED:
                continue
            in_use = 0 if isinstance(used, Trouble) else used[metric]
            fitting = [want for want in wants if want.amount <= limit - in_use]
            if sum(want.amount for want in fitting) > limit - in_use:
                yield _exceeded_together(scope, metric, fitting, limit, in_use)

    yield Check(questions=(LIMITS, USAGE, LIVE), judge=judge)


def _wants(scope: Scope, *, scheduled: bool = False) -> Mapping[str, Sequence[_Want]]:
    """Return the jobs that ask for each metric: those that are submitted now, or by schedules."""
    wants: dict[str, list[_Want]] = {}
    for subject in scope.subjects:
        if subject.is_scheduled is not scheduled:
            continue
        for metric, count in demand_of(subject.parts).counts.items():
            wants.setdefault(metric, []).append(_Want(job=subject.name, amount=count))
    return dict(sorted(wants.items()))


def _used(facts: Facts, scope: Scope) -> Counter[str] | Trouble:
    """Return the quota in use by metric without the jobs that are replaced.

    Google's count lags and has the quota of jobs in other places than the list; the larger count is taken.
    """
    replaced = [subject.replaces for subject in scope.subjects if subject.replaces]
    usage, jobs = facts.of(USAGE), facts.of(LIVE)
    used: Counter[str] = Counter()
    if not isinstance(jobs, Trouble):
        used |= Counter(live.taken(jobs, without=replaced))
    if not isinstance(usage, Trouble):
        counted = Counter(usage)
        if not isinstance(jobs, Trouble):
            counted -= Counter(live.taken(jobs)) - Counter(live.taken(jobs, without=replaced))
        used |= counted
    elif isinstance(jobs, Trouble):
        return usage
    return used


def _of_metric(
    scope: Scope, metric: str, wants: Sequence[_Want], limit: int | None, used: int | Trouble
) -> Iterator[Finding]:
    wanted = sum(want.amount for want in wants)
    in_use = 0 if isinstance(used, Trouble) else used
    thing, more = _thing(scope, metric, wants), _more_quota(scope, metric, wanted + in_use)
    if limit is None:
        yield thing.finding("unknown", f"{wanted} asked for; Google lists no such quota here", remedy=more)
        return
    if limit == quotas.UNLIMITED:
        yield thing.finding("ok", f"{wanted} asked for, without a limit")
        return
    possible = [want for want in wants if want.amount <= limit]
    if len(possible) < len(wants):
        for want in wants:
            if want.amount > limit:
                message = f"{want.amount} asked for, but the quota is {limit}"
                yield _thing(scope, metric, [want]).finding("error", message, remedy=more)
        if possible:
            yield from _of_metric(scope, metric, possible, limit, used)
    elif wanted > limit - in_use and len(wants) > 1:
        yield _exceeded_together(scope, metric, wants, limit, in_use)
    elif isinstance(used, Trouble):
        message = f"{wanted} asked for, the quota is {limit}; how much is in use is not known"
        yield thing.finding("unknown", message, remedy=more)
    elif wanted > limit - used:
        message = (
            f"{wanted} asked for, but {used} of {limit} are in use: the service refuses the job, or queues "
            "it until others end"
        )
        yield thing.finding("warning", message, remedy=more)
    else:
        yield thing.finding("ok", f"{wanted} asked for, {used} of {limit} in use")


def _of_schedule(scope: Scope, metric: str, want: _Want, limit: int | None) -> Finding:
    """Return the finding about a job that is submitted later. What is in use now says nothing about then."""
    thing, more = _thing(scope, metric, [want]), _more_quota(scope, metric, want.amount)
    if limit is None:
        return thing.finding(
            "unknown", f"{want.amount} asked for by each run; Google lists no such quota here", remedy=more
        )
    if limit != quotas.UNLIMITED and want.amount > limit:
        message = f"{want.amount} asked for by each run, but the quota is {limit}"
        return thing.finding("error", message, remedy=more)
    limited = "without a limit" if limit == quotas.UNLIMITED else f"the quota is {limit}"
    return thing.finding("ok", f"{want.amount} asked for by each run, {limited}")


def _exceeded_together(scope: Scope, metric: str, wants: Sequence[_Want], limit: int, used: int) -> Finding:
    """Return the finding about jobs that do not fit at the same time. They may run one after another."""
    names, wanted = [want.job for want in wants], sum(want.amount for want in wants)
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} other jobs"]
    if wanted > limit:
        limited = f"the quota is {limit}" + (f" and {used} are in use" if used else "")
    else:
        limited = f"{used} of {limit} are in use"
    return _thing(scope, metric, wants).finding(
        "warning",
        f"{all_of(names)} ask for {wanted} together, but {limited}; a job that waits for the completion of "
        "another one does not need it at the same time",
        remedy=_more_quota(scope, metric, wanted + used),
    )


def _thing(scope: Scope, metric: str, wants: Sequence[_Want]) -> Thing:
    name = metric.rpartition("/")[2]
    job = wants[0].job if len(wants) == 1 else ""
    return Thing(check="quota", about=f"{name} in {scope.location}", resource=job)


def _more_quota(scope: Scope, metric: str, limit: int) -> str:
    """Return what gives the project a quota of `limit`."""
    if scope.is_emulator:
        return remedies.quota_of_emulator(metric.rpartition("/")[2], limit, scope.location)
    return remedies.quota_page(scope.project)


def _reservations(scope: Scope) -> dict[str, tuple[str, int, Part, str]]:
    """Return each named reservation with the machine type and number of machines, and where it is named.

    The jobs of schedules ask for no machines now.
    """
    reservations: dict[str, tuple[str, int, Part, str]] = {}
    for part in scope.parts:
        for path, pool in part.pools:
            affinity = pool.machine_spec.reservation_affinity if pool.machine_spec else None
            at = f"{path}.machine_spec.reservation_affinity.values"
            if pool.machine_spec is None or affinity is None or affinity.key != KEY:
                continue
            for name in affinity.values:
                if not part.subject.looks_up(at, name):
                    continue
                whole = name.partition("/reservationBlocks/")[0]
                before = reservations[whole][1] if whole in reservations else 0
                wanted = pool.replica_count * part.copies * (machines_of(pool.machine_spec) or 1)
                count = before + (0 if part.subject.is_scheduled else wanted)
                reservations[whole] = (pool.machine_type, count, part, at)
    return reservations


def _reservation(scope: Scope, name: str, machine: str, count: int, part: Part, path: str) -> Check:
    thing = Thing(check="reservations", about=f"reservation {name}", resource=part.subject.name, path=path)
    if scope.is_emulator:
        finding = thing.finding("unknown", "the emulator has no reservations")
        return Check(questions=(), judge=lambda _: [finding])
    question: Question[Reservation] = Question(
        key=f"reservation:{name}", look=functools.partial(compute.reservation, name=name)
    )

    def judge(facts: Facts) -> Iterator[Finding]:
        answer = facts.of(question)
        project = name.split("/")[1]
        level: Level
        if isinstance(answer, Trouble):
            if answer.cause != "missing":
                remedy = remedies.on_project(project, member_of_caller(facts), COMPUTE_VIEWER)
                yield not_known(thing, answer, remedy=remedy)
                return
            level, message = "error", "does not exist"
        elif answer.machine_type and answer.machine_type != machine:
            level, message = "error", f"has {answer.machine_type}, but the job asks for {machine}"
        elif answer.status not in ("READY", ""):
            level, message = "warning", f"is in state {answer.status}"
        elif not count:
            level, message = "ok", f"present, {answer.in_use} of {answer.count} in use"
        elif count > answer.count - answer.in_use:
            level = "warning"
            message = f"{count} machines asked for, but {answer.in_use} of {answer.count} are in use"
        else:
            level, message = "ok", f"{count} machines asked for, {answer.in_use} of {answer.count} in use"
        listing = f"gcloud compute reservations list --project={shlex.quote(project)}"
        yield thing.finding(level, message, remedy="" if level == "ok" else listing)

    return Check(questions=(question,), judge=judge)
