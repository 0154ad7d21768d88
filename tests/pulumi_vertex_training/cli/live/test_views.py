"""The views of `top` and `watch` fit any terminal, and show text of others as text."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from rich.console import Console

from pulumi_vertex_training.cli.live import top, watch_view
from pulumi_vertex_training.cli.live.overview import Job, Overview
from pulumi_vertex_training.cli.live.screen import Frame
from pulumi_vertex_training.cli.live.snapshot import Snapshot
from pulumi_vertex_training.cloud.emulator_api import ReplicaState
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.cloud.logs import LogEntry
from pulumi_vertex_training.runs.monitoring.progress import Report
from vertex_training.cost.runs import Spent

ENDPOINT = Endpoint(
    kind="emulator", project="local", location="us-central1", url="http://127.0.0.1:1", token="t"
)
NOW = datetime(2026, 11, 23, 12, tzinfo=timezone.utc)
ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e[bold]"
SIZES = [(80, 24), (100, 30), (200, 60), (40, 10), (20, 5)]
REPORT = Report(step=45, total=100, metrics={"loss": 0.25}, seconds_per_step=2.0)


def record(number: int, name: str = "train", state: JobState = JobState.JOB_STATE_RUNNING) -> JobRecord:
    created = (NOW - timedelta(minutes=number)).isoformat().replace("+00:00", "Z")
    return JobRecord(
        name=f"projects/1/locations/us-central1/customJobs/{10**18 + number}",
        display_name=name,
        state=state,
        create_time=created,
        start_time=created,
        end_time=NOW.isoformat().replace("+00:00", "Z") if state.is_terminal else None,
    )


def replicas(count: int, state: str = "running") -> tuple[ReplicaState, ...]:
    chief = ReplicaState(name="workerpool0-0", role="chief", state=state)
    return (
        chief,
        *(ReplicaState(name=f"workerpool1-{i}", role="worker", state=state) for i in range(count - 1)),
    )


def job(number: int, **more: Any) -> Job:
    details = {
        "replicas": replicas(4),
        "declared": 4,
        "report": REPORT,
        "details": "45%, 1m50s left, loss 0.25",
        "spent": Spent(total=1.25, known=1.25, replica_hours=4),
    }
    return Job(record=record(number), document={}, **{**details, **more})


def overview(*jobs: Job) -> Overview:
    return Overview(endpoint=ENDPOINT, time=NOW, jobs=jobs)


def drawn(draw: Any, frame: Frame[Any], width: int, height: int) -> list[str]:
    """Return the lines of a frame; each is as wide as the terminal shows it."""
    file = io.StringIO()
    console = Console(
        file=file, width=width, height=height, force_terminal=False, highlight=False, markup=False
    )
    console.print(draw(frame, console))
    return [line.rstrip() for line in file.getvalue().rstrip("\n").split("\n")]


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("count", [0, 1, 100])
def test_a_table_of_any_length_fits_any_terminal(width: int, height: int, count: int) -> None:
    frame = Frame(value=overview(*(job(number) for number in range(count))), trouble="no answer " * 20)
    lines = drawn(top._draw, frame, width, height)
    assert max(map(len, lines)) <= width
    assert len(lines) <= max(height, 7)


def test_a_table_shows_each_job_and_counts_those_without_space() -> None:
    lines = drawn(top._draw, Frame(value=overview(*(job(number) for number in range(40)))), 100, 24)
    assert lines[0].startswith("40 live jobs: 40 running (project local, us-central1, emulator")
    rows = [line for line in lines if line.startswith("train")]
    assert f"and {40 - len(rows)} more" in lines
    assert len(rows) == 18
    assert "RUNNING  4/4" in rows[0]
    assert str(10**18) in rows[0] and "\u2588\u2588\u2588\u2588\u2591" in rows[0] and "45%" in rows[0]


def test_a_narrow_table_has_name_state_replicas_age_cost_and_progress() -> None:
    lines = drawn(top._draw, Frame(value=overview(job(3))), 80, 24)
    assert lines[2].split() == ["NAME", "STATE", "REPLICAS", "AGE", "COST", "PROGRESS"]
    assert lines[3].split()[:5] == ["train", "RUNNING", "4/4", "3m00s", "$1.25"]
    assert lines[3].endswith("  45%, 1m50s left, loss 0.25")


def test_replicas_of_a_service_that_does_not_report_them_are_their_declared_number() -> None:
    assert job(1, replicas=None).replicas_in_words == "4"
    assert (
        job(
            1, replicas=(*replicas(3), ReplicaState(name="x", role="worker", state="failed"))
        ).replicas_in_words
        == "3/4"
    )
    assert job(1, replicas=None, declared=0).replicas_in_words == ""


def snapshot(**more: Any) -> Snapshot:
    entries = tuple(
        LogEntry(
            timestamp="2026-11-23T12:00:00Z",
            severity="INFO",
            task="workerpool0-0",
            message=f"step {i}",
            insert_id=str(i),
        )
        for i in range(watch_view.RECENT)
    )
    values: dict[str, Any] = {
        "record": record(5),
        "replicas": replicas(3),
        "report": REPORT,
        "recent": entries,
    }
    return Snapshot(**{**values, **more})


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("count", [0, 1, 8, 200])
def test_a_job_of_any_size_fits_any_terminal(width: int, height: int, count: int) -> None:
    states = replicas(count, "restarting") if count else None
    frame = Frame(value=snapshot(replicas=states), trouble="no answer " * 20)
    lines = drawn(watch_view.draw, frame, width, height)
    assert max(map(len, lines)) <= width
    assert len(lines) <= height


def test_few_replicas_have_a_line_each_and_many_a_line_for_each_role() -> None:
    few = drawn(watch_view.draw, Frame(value=snapshot()), 80, 24)
    assert [line.split() for line in few[4:7]] == [
        ["workerpool0-0", "chief", "running"],
        ["workerpool1-0", "worker", "running"],
        ["workerpool1-1", "worker", "running"],
    ]
    states = list(replicas(200))
    states[7] = replace(states[7], state="failed", exit_code=137, attempt=2)
    many = drawn(watch_view.draw, Frame(value=snapshot(replicas=tuple(states))), 80, 24)
    assert many[4:7] == [
        "chief: 1 running",
        "worker: 198 running, 1 failed",
        "workerpool1-6  worker  failed, exit code 137, attempt 2",
    ]


def test_the_log_fills_the_rest_with_its_last_lines() -> None:
    lines = drawn(watch_view.draw, Frame(value=snapshot()), 80, 24)
    shown = [line for line in lines if line.startswith("workerpool0-0 | ")]
    assert shown[-1] == f"workerpool0-0 | step {watch_view.RECENT - 1}"
    assert len(lines) >= 22
    assert lines[2].startswith("\u2588") and "45%" in lines[2]


def test_the_names_before_a_log_are_padded_and_each_has_a_colour() -> None:
    recent = tuple(
        LogEntry(
            timestamp="2026-11-23T12:00:00Z", severity="INFO", task=task, message="step 1", insert_id=task
        )
        for task in ("workerpool1-9", "workerpool1-10", "")
    )
    tasks = ("workerpool1-9", "workerpool1-10", "service")
    lines = watch_view._log(snapshot(recent=recent, tasks=tasks), 10, times=False)
    assert [line.plain for line in lines] == [
        "workerpool1-9  | step 1",
        "workerpool1-10 | step 1",
        "service        | step 1",
    ]
    assert len({str(line.style) for line in lines}) == 3
    (line, *_) = watch_view._log(snapshot(recent=recent), 10, times=True)
    assert line.plain.split(" ")[0].count(":") == 2


def test_text_of_others_is_shown_as_escapes() -> None:
    entry = LogEntry(
        timestamp="2026-11-23T12:00:00Z",
        severity="ERROR",
        task=ATTACK,
        message=f"{ATTACK}loss\n",
        insert_id="1",
    )
    hostile = replace(record(5), display_name=f"digits{ATTACK}")
    state = ReplicaState(name=ATTACK, role=ATTACK, state=ATTACK)
    one = snapshot(
        record=hostile, replicas=(state,) * 3, recent=(entry,), waits_for=ATTACK, details=(ATTACK,)
    )
    watched = drawn(watch_view.draw, Frame(value=one, trouble=ATTACK), 200, 30)
    listed = drawn(
        top._draw,
        Frame(value=overview(replace(job(1), record=hostile, details=ATTACK)), trouble=ATTACK),
        200,
        30,
    )
    for lines in (watched, listed):
        text = "\n".join(lines)
        assert not set(text) & set("\x1b\x07\x9b\u202e")
        assert r"digits\x1b]0;owned\x07" in text
        assert "[bold]" in text


def test_a_program_that_draws_a_bar_of_its_own_shows_its_last_state() -> None:
    entry = LogEntry(
        timestamp="2026-11-23T12:00:00Z",
        severity="INFO",
        task="",
        message="10%\r20%\r\x1b[32m30%\x1b[0m",
        insert_id="1",
    )
    lines = drawn(watch_view.draw, Frame(value=snapshot(recent=(entry,))), 80, 24)
    assert "service | 30%" in lines
