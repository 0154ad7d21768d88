"""The row of a job while a deployment waits for it.

A row has little space on a terminal: about 28 characters of 100 columns are left for it. So the line is
short, with the important first: `running 4/4 45% 2m05s, 3m10s left, loss 0.25`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.running.declaration import Counts
from pulumi_vertex_training.runs.monitoring.progress import Report, duration, metrics_in_words, start_in_words
from pulumi_vertex_training.runs.monitoring.replica_reports import Straggler, in_words
from pulumi_vertex_training.runs.monitoring.waits import NOT_STARTED, in_short
from vertex_training.fields import timestamps


def line(
    record: JobRecord,
    counts: Counts,
    report: Report | None,
    stragglers: Sequence[Straggler] = (),
    *,
    wait: str = "",
) -> str:
    """Return the row of a job, such as `running 4/4 45% 2m05s, 3m10s left, worker 2/2 done, loss 0.25`.

    A job that has not started has the reason: `pending, waits for 50 replica slots; 32 run at once here`.
    """
    state = record.state.word.lower()
    if record.state.is_terminal:
        return state
    if wait and record.state.word in NOT_STARTED:
        return f"{state}, {in_short(wait)}"
    head = [state, counts.short]
    if report and report.percent is not None:
        head.append(f"{report.percent}%")
    if record.start_time and not record.end_time:
        since = datetime.now(timezone.utc) - timestamps.parse(record.start_time)
        head.append(duration(since.total_seconds()))
    parts = [" ".join(filter(None, head))]
    if report and report.percent is None and report.step is not None:
        parts.append(f"step {report.step:g}")
    if report and report.seconds_left:
        parts.append(f"{duration(report.seconds_left)} left")
    parts.append(counts.details)
    parts += map(in_words, stragglers[:1])
    if report:
        parts += [metrics_in_words(report), start_in_words(report)]
    return ", ".join(filter(None, parts))
