"""The replicas of a run that are far behind the others, by the file that each of them writes."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.monitoring.progress import Report, report_at
from vertex_training.fields import timestamps, uris

_LEAST_SHARE, _LEAST_STEPS, _LEAST_SECONDS = 0.1, 2, 10
"""A replica is far behind if it is so much of the others' steps behind, so many steps, and so long."""

_SILENT_SECONDS = 60
"""A replica whose file is this much older than others has stopped reporting: it writes every 15 seconds."""


@dataclass(frozen=True, kw_only=True)
class Straggler:
    """A replica that is far behind. `behind` are steps; `time` is when it last reported (RFC 3339)."""

    replica: str
    step: float
    behind: float
    time: str


def stragglers_of(
    endpoint: Endpoint, record: JobRecord, base_output_directory: str | None
) -> tuple[Straggler, ...]:
    """Return the stragglers of a running job, none of any other.

    A trial has a directory of its own; its replicas are named as in the log: `trial-3/workerpool1-0`. Raises
    as `stragglers`.
    """
    if record.state is not JobState.JOB_STATE_RUNNING:
        return ()
    trials = [one.id for one in gateway_of(record.name).trials(record) if one.state == "ACTIVE"]
    if not trials or not base_output_directory:
        return stragglers(endpoint, base_output_directory)
    folder = base_output_directory.rstrip("/")
    each = call_each(lambda trial: stragglers(endpoint, f"{folder}/{trial}/"), trials)
    return tuple(
        replace(one, replica=f"trial-{trial}/{one.replica}")
        for trial, found in zip(trials, each, strict=True)
        for one in found
    )


def stragglers(endpoint: Endpoint, base_output_directory: str | None) -> tuple[Straggler, ...]:
    """Return the stragglers of a run, by its output directory; none if its replicas write no files.

    Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    if not base_output_directory:
        return ()
    from vertex_cluster.reporting import REPLICAS_FOLDER  # costs 60 ms: only for those who wait or look

    folder = uris.parse(f"{base_output_directory.rstrip('/')}/{REPLICAS_FOLDER}/")
    try:
        found = [one.name for one in objects.list_objects(endpoint, folder.bucket, prefix=folder.name)]
    except NotFound:
        return ()
    names = {name.removeprefix(folder.name).removesuffix(".json"): name for name in found}
    wanted = {replica: name for replica, name in names.items() if name == f"{folder.name}{replica}.json"}
    if len(wanted) < 2:
        return ()
    reports = call_each(lambda name: report_at(endpoint, folder.bucket, name), wanted.values())
    return far_behind({name: one for name, one in zip(wanted, reports, strict=True) if one})


def far_behind(reports: Mapping[str, Report]) -> tuple[Straggler, ...]:
    """Return the replicas that are far behind the median of all at the time of their own last report. Pure.

    Of two replicas, the faster one is the median.
    """
    known = {name: one for name, one in reports.items() if one.step is not None and _seconds(one) is not None}
    paces = [one.seconds_per_step for one in known.values() if one.seconds_per_step]
    if len(known) < 2 or not paces:
        return ()
    pace = statistics.median(paces)
    found = []
    for name, one in known.items():
        step = one.step or 0.0
        median = statistics.median_high(_step_at(other, one) for other in known.values())
        behind = median - step
        if behind >= max(_LEAST_STEPS, _LEAST_SHARE * median) and behind * pace >= _LEAST_SECONDS:
            found.append(Straggler(replica=name, step=step, behind=round(behind), time=one.time or ""))
    return tuple(sorted(found, key=lambda one: (-one.behind, one.replica)))


def _step_at(one: Report, other: Report) -> float:
    """Return the step at which a replica was when another one last reported, by its pace."""
    step, later = one.step or 0.0, (_seconds(one) or 0.0) - (_seconds(other) or 0.0)
    if not one.seconds_per_step or not 0 < later <= _SILENT_SECONDS:
        return step
    return max(0.0, step - later / one.seconds_per_step)


def _seconds(report: Report) -> float | None:
    try:
        return timestamps.parse(report.time or "").timestamp()
    except ValueError:
        return None


def in_words(straggler: Straggler) -> str:
    """Describe a straggler, such as `workerpool1-0 is 340 steps behind, at step 12`."""
    return f"{straggler.replica} is {straggler.behind:g} steps behind, at step {straggler.step:g}"
