"""The log in the output of a deployment: everything once, bounded, to the end, no failure of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pulumi_vertex_training.cloud.errors import CloudError, Internal, PermissionDenied
from pulumi_vertex_training.cloud.logs import LogEntry
from pulumi_vertex_training.runs.logs import Limits, LogLines, ShownMessages, stream
from pulumi_vertex_training.runs.monitoring.watching import Pace
from support.tables import every_row
from support.waiting import TIMEOUT


def entry(message: str, task: str = "workerpool0-0") -> LogEntry:
    return LogEntry(
        timestamp="2026-01-01T00:00:00Z", severity="INFO", task=task, message=message, insert_id="1"
    )


@dataclass
class Log:
    """The entries of each poll, the last ones for ever; the wait is over after so many polls."""

    looks: list[Sequence[LogEntry] | CloudError]
    over_after: int = 0
    limits: Limits = field(default_factory=Limits)
    now: float = 0.0
    count: int = 0
    shown: list[str] = field(default_factory=list)

    def run(self, *, quiet_looks: int = 1, drain_seconds: float = 30.0) -> LogLines:
        lines = LogLines(label="train", command="CMD", limits=self.limits, clock=lambda: self.now)
        asyncio.run(self._run(lines, quiet_looks, drain_seconds))
        return lines

    async def _run(self, lines: LogLines, quiet_looks: int, drain_seconds: float) -> None:
        finished = asyncio.Event()
        if self.over_after == 0:
            finished.set()

        async def look() -> Sequence[LogEntry]:
            self.count += 1
            if self.count >= self.over_after:
                finished.set()
            answer = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
            if isinstance(answer, CloudError):
                raise answer
            return answer

        async def pause(seconds: float) -> None:
            self.now += seconds

        await stream(
            look,
            lines,
            self.shown.append,
            finished=finished,
            pace=Pace(first=0.01, most=0.02),
            quiet_looks=quiet_looks,
            drain_seconds=lambda: drain_seconds,
            clock=lambda: self.now,
            pause=pause,
        )


def test_lines_have_the_names_of_resource_and_replica() -> None:
    log = Log([[entry("one\ntwo"), entry("three", task="")], []])
    assert log.run().complete
    assert log.shown == ["[train workerpool0-0] one", "[train workerpool0-0] two", "[train service] three"]


def test_it_goes_on_after_the_end_until_nothing_comes_any_more() -> None:
    log = Log([[entry("1")], [], [entry("2")], [], []], over_after=1)
    log.run(quiet_looks=2)
    assert log.shown == ["[train workerpool0-0] 1", "[train workerpool0-0] 2"]


def test_but_not_for_ever() -> None:
    log = Log([[entry("more")]])
    log.run(drain_seconds=0.1)
    assert log.now < 0.2


def test_what_is_too_much_is_counted() -> None:
    log = Log([[entry(str(n)) for n in range(10)], []], limits=Limits(per_second=1.0, burst=3))
    assert not log.run().complete
    assert log.shown[:3] == [f"[train workerpool0-0] {n}" for n in range(3)]
    assert log.shown[3:] == ["[train] 7 lines were left out here; all lines: CMD"]


def test_time_brings_new_lines_with_the_notice_where_the_gap_is() -> None:
    log = Log([], limits=Limits(per_second=1.0, burst=2))
    lines = LogLines(label="train", command="CMD", limits=log.limits, clock=lambda: log.now)
    shown = [line for n in range(4) for line in lines.of(entry(str(n)))]
    log.now = 1.0
    shown += lines.of(entry("late"))
    assert [line.partition("] ")[2] for line in shown] == [
        "0",
        "1",
        "2 lines were left out here; all lines: CMD",
        "late",
    ]
    assert list(lines.notice()) == []


def test_what_the_service_says_of_a_failure_does_not_repeat_the_log() -> None:
    said = "Job failed. The replica x failed.\nThe last lines of its log:\n    one\nTo find out more"
    log = Log([[entry(said, task="")], []])
    log.run()
    assert log.shown == ["[train service] Job failed. The replica x failed."]


def test_an_error_that_passes_is_said_once() -> None:
    log = Log([Internal("oh"), Internal("oh"), [entry("1")], []], over_after=3)
    assert log.run().complete
    assert log.shown == ["the log cannot be read at present: oh", "[train workerpool0-0] 1"]


def test_an_error_that_stays_ends_the_log_and_nothing_else() -> None:
    log = Log([PermissionDenied("no")], over_after=100)
    assert not log.run().complete
    assert (log.shown, log.count) == (["the log cannot be read: no"], 1)


def test_an_end_while_it_sleeps_is_noticed_at_once() -> None:
    async def run() -> float:
        finished = asyncio.Event()
        loop = asyncio.get_running_loop()
        began = loop.time()
        loop.call_later(0.05, finished.set)
        look: Callable[[], Any] = _nothing
        await stream(
            look,
            LogLines(label="train", command="CMD"),
            print,
            finished=finished,
            pace=Pace(first=3600.0, most=3600.0),
            quiet_looks=1,
            drain_seconds=lambda: 0.0,
        )
        return loop.time() - began

    assert asyncio.run(run()) < TIMEOUT


async def _nothing() -> Sequence[LogEntry]:
    return ()


WORDS = "Job failed. The replica workerpool0-0 exited."
FAILED = f"{WORDS}\nThe last lines of its log:\n    boom\nTo find out more: x"
NOTICE = "Emulator: the image a is not run."


@every_row(
    "shown, messages",
    [
        (ShownMessages(), [NOTICE, None, "Emulator: other", "30%\nok", WORDS]),
        (ShownMessages(with_tails=True), [NOTICE, None, "Emulator: other", "30%\nok", FAILED]),
        (ShownMessages(raw=True), [NOTICE, NOTICE, "Emulator: other", "\r10%\r30%\r\nok", FAILED]),
    ],
)
def test_what_people_have_read_is_not_said_again(shown: ShownMessages, messages: list[str | None]) -> None:
    entries = [
        replace(entry(NOTICE), severity="NOTICE"),
        replace(entry(NOTICE, task="workerpool1-0"), severity="NOTICE"),
        replace(entry("Emulator: other", task="trial-2/workerpool0-0"), severity="NOTICE"),
        entry("\r10%\r30%\r\nok"),
        entry(FAILED, task=""),
    ]
    assert [shown.of(each) for each in entries] == messages
    assert shown.of(entry(FAILED, task="trial-2/service")) == messages[-1]
    assert shown.of(entry(FAILED.replace("its log", "pip"), task="")) == FAILED.replace("its log", "pip")


def test_each_step_before_a_trial_runs_is_said_once() -> None:
    steps = ("Vertex AI is setting up this job.", "Job is preparing.", "Job is running.")
    shown = ShownMessages()
    first, second = (
        [shown.of(entry(text, task=f"trial-{number}/service")) for text in steps] for number in (1, 2)
    )
    assert (first, second) == ([*steps], [None, None, "Job is running."])
    own = ShownMessages()
    assert [own.of(entry(text, task="")) for text in (*steps, *steps)] == [*steps, *steps]


def test_a_brief_notice_has_what_stands_in_for_the_image_and_the_warnings() -> None:
    text = (
        "Emulator: the image a/sklearn-cpu.1-6.py310:latest is not run; this replica uses Python 3.11.7 of "
        "this machine (/usr/bin/python3.11), with those packages of /work/.venv that the image has. It runs "
        "as the user 7, whom no other files belong to. WARNING: the base image has Python 3.10."
    )
    found = ShownMessages(is_brief=True).of(replace(entry(text), severity="NOTICE"))
    assert found == (
        "Emulator: the image a/sklearn-cpu.1-6.py310:latest is not run; this replica uses Python 3.11.7 of "
        "this machine. WARNING: the base image has Python 3.10."
    )
    assert ShownMessages().of(replace(entry(text), severity="NOTICE")) == text
