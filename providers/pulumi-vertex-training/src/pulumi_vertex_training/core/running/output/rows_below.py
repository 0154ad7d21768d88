"""Rows below the resources of a deployment, for the progress of a job on a narrow terminal.

Types, names and states of resources take 70 to 85 columns of Pulumi's table, and their Info column gets the
rest: nothing on 80 columns, and little on 100. A line of the engine's log about a URN without a resource
has a row of its own at the end of the table, which stays. Its type and its name are ours to choose: the text,
and the name of the job. Only a terminal gets such rows. In a pipe, the lines of the job itself are complete.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from pulumi_vertex_training import urns
from pulumi_vertex_training.core.running.declaration import Counts
from pulumi_vertex_training.runs.monitoring.progress import Report, duration, metrics_in_words
from vertex_emulator import machine_clock

WIDEST = 31
"""Letters of `pulumi-python:dynamic:CustomJob` and `vertex-training:index:CustomJob`: no longer text widens
the column of the types."""

FOLLOW = "vertex-training watch"
_FOLLOWS = "shows its replicas, progress and log"
_LEAVES = ("Ctrl-C leaves it running", "`pulumi up` joins it again")
_CANCELS = ("Ctrl-C cancels it", "by its option for interruptions")

_QUARTER, _LAST_QUARTER = 25, 3
_FIRST_MINUTES = 1.0
_MOST_JOBS = 4
ANNOUNCE_SECONDS = 3.0
"""Delay before the effect of Ctrl-C is announced. If it cancels the job, there is no delay."""


class RowsBelow:
    """The rows of a job: its command, the effect of Ctrl-C, then each quarter, and 1, 2, 4, 8... minutes."""

    def __init__(
        self,
        urn: str,
        show: Callable[[str, str], None],
        *,
        cancels: bool,
        jobs: set[str],
        clock: Callable[[], float] = machine_clock.monotonic,
    ) -> None:
        """Take the job's URN. `show` gets the URN of a row, and the text of its Info column.

        `jobs` are the jobs of the deployment that have rows. This one is added, unless they are four already:
        the table of many jobs is long enough.
        """
        self._urn, self._show, self._cancels, self._clock = urn, show, cancels, clock
        self._began = clock()
        self._looks = 0
        self._announced = False
        self._quarter = 0
        self._minutes = _FIRST_MINUTES
        if len(jobs) < _MOST_JOBS:
            jobs.add(urn)
        self._has_rows = urn in jobs

    def note(self, counts: Counts, report: Report | None) -> None:
        """Show what is due about a live job. The first time nothing is: it may be all that is waited for."""
        self._looks += 1
        if self._looks == 1 or not self._has_rows:
            return
        if self._looks == 2:
            self._row(FOLLOW, _FOLLOWS)
        seconds = self._clock() - self._began
        if not self._announced:
            self._announced = self._cancels or seconds > ANNOUNCE_SECONDS
            if not self._announced:
                return
            self._row(*(_CANCELS if self._cancels else _LEAVES))
        quarter = min((report.percent or 0) // _QUARTER, _LAST_QUARTER) if report else 0
        if seconds >= self._minutes * 60 or quarter > self._quarter:
            while seconds >= self._minutes * 60:
                self._minutes *= 2
            self._quarter = max(quarter, self._quarter)
            self._row(short(counts, report, seconds), f"at {datetime.now().astimezone():%H:%M:%S}")

    def _row(self, text: str, info: str) -> None:
        self._show(row_urn(self._urn, text), info)


def short(counts: Counts, report: Report | None, seconds: float) -> str:
    """Return the progress in the width of a row: "28% 18s left loss 1.71 5/5"."""
    text = ""
    for part in _parts(counts, report, seconds):
        if part and len(text) + len(part) < WIDEST:
            text = f"{text} {part}".lstrip()
    return text


def _parts(counts: Counts, report: Report | None, seconds: float) -> Iterator[str]:
    if report and report.percent is not None:
        yield f"{report.percent}%"
        yield f"{duration(report.seconds_left)} left" if report.seconds_left else ""
    else:
        yield duration(seconds)
        yield f"step {report.step:g}" if report and report.step is not None else ""
    yield from metrics_in_words(report)[:1] if report else ()
    yield counts.short


def row_urn(urn: str, text: str) -> str:
    """Return a URN of the same stack and name whose type is a text, without the delimiters of types."""
    known = urns.parse(urn)
    return f"urn:pulumi:{known.stack}::{known.project}::{re.sub(r'[:$]+', ' ', text)}::{known.name}"
