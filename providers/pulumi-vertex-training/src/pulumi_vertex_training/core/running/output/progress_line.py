"""The row of a job while a deployment waits for it.

A row has little space on a terminal: about 28 characters of 100 columns are left for it. So the line is
short, with the important first: `45% 3m10s left loss 0.25 4/4 2m05s`.
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
    """Return the row of a job, such as `45% 3m10s left loss 0.25 4/4 2m05s, worker 2/2 done`.

    Before the first report it begins with the state: `running 4/4 2m05s`. A job that has not started has the
    reason: `pending, waits for 50 replica slots; 32 run at once here`.
    """
    state = record.state.word.lower()
    if record.state.is_terminal:
        return state
    if wait and record.state.word in NOT_STARTED:
        return f"{state}, {in_short(wait)}"
    metrics = metrics_in_words(report) if report else []
    if report and report.percent is not None:
        left = [f"{duration(report.seconds_left)} left"] if report.seconds_left else []
        head, parts = [f"{report.percent}%", *left, *metrics[:1], counts.short], metrics[1:]
    else:
        head = [state, counts.short]
        parts = [*([f"step {report.step:g}"] if report and report.step is not None else []), *metrics]
    if record.start_time and not record.end_time:
        seconds = (datetime.now(timezone.utc) - timestamps.parse(record.start_time)).total_seconds()
        head += [duration(seconds)] if seconds >= 0 else []  # the emulator's clock may be ahead
    parts += [counts.details, *map(in_words, stragglers[:1]), start_in_words(report) if report else ""]
    return ", ".join(filter(None, [" ".join(filter(None, head)), *parts]))
