"""The wait for a job: what a deployment is told of a job, of one that vanished, and when nobody answers."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pulumi
import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Unavailable
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.core.running.outcome import Metrics, recorded_outcome
from pulumi_vertex_training.kinds.custom_job.provider import DECLARED
from pulumi_vertex_training.program.arguments.run_options import WaitPolicy
from pulumi_vertex_training.program.waiting import interruption
from pulumi_vertex_training.program.waiting.completion import completion, ended_outcome
from pulumi_vertex_training.program.waiting.job_wait import JobWait
from pulumi_vertex_training.program.waiting.progress import Progress
from pulumi_vertex_training.program.waiting.waits import Wait
from pulumi_vertex_training.timeouts import ORDINARY
from support.scripted_service import Answer, Asked, Service, refusal
from support.waiting import TIMEOUT
from vertex_emulator.client.launcher import LauncherError

NAME = "projects/7/locations/us-central1/customJobs/1"
KEYS = {"state", "job", "error", "start_time", "end_time", "model_directory", "metrics"}
GONE = refusal(404, "NOT_FOUND", "The CustomJob does not exist.")
Script = list[Answer | Callable[[Asked], Answer]]


@pytest.fixture(autouse=True)
def no_guard_is_left() -> Iterator[None]:
    yield
    interruption.end_watchdog()


def in_state(word: str) -> Answer:
    return Answer(document={"name": NAME, "displayName": "train", "state": f"JOB_STATE_{word}"})


def wait(
    service: Service,
    *answers: Answer | Callable[[Asked], Answer],
    policy: WaitPolicy | None = None,
    engine: str | None = None,
    is_used: bool = False,
) -> Any:
    """Return the completion of a job that an earlier deployment started, or raise its error."""
    script(service, *answers)
    policy = policy or WaitPolicy(until="done", timeout=20)
    return asyncio.run(_completion(service, policy, engine, is_used=is_used))


def script(service: Service, *answers: Answer | Callable[[Asked], Answer]) -> None:
    """Script the service's responses about the job, one for each poll; the last one repeats."""
    states: Script = list(answers)

    def answer(asked: Asked) -> Answer:
        if "customJobs" not in asked.path:
            return refusal(403, "PERMISSION_DENIED", "no storage for you")
        if "/_local/" in asked.path:
            return GONE
        if asked.path.endswith(":cancel"):
            return Answer(document={})
        state = states.pop(0) if len(states) > 1 else states[0]
        return state if isinstance(state, Answer) else state(asked)

    service.script(answer)


def endpoint(service: Service) -> Endpoint:
    return Endpoint(
        kind="emulator",
        project="local",
        location="us-central1",
        url=service.url,
        storage_url=service.url,
        token="t",
    )


async def _completion(
    service: Service,
    policy: WaitPolicy,
    engine: str | None = None,
    asked_by: str | None = None,
    *,
    is_used: bool = False,
) -> Any:
    return await completion(
        job_wait(
            lambda: endpoint(service),
            policy=policy,
            asked_by=asked_by,
            engine=engine,
            is_used=lambda: is_used,
        )
    )


def job_wait(connect: Callable[[], Endpoint], **more: Any) -> JobWait:
    return JobWait(
        resource=None,  # type: ignore[arg-type]
        connect=connect,
        name=NAME,
        wait=Wait(name="train"),
        base_output_directory="gs://a-bucket/train/abc-1/",
        **more,
    )


def test_metrics_that_cannot_be_read_are_a_warning(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = wait(service, in_state("SUCCEEDED"))
    assert outcome["state"] == "SUCCEEDED"
    assert outcome["metrics"]["accuracy"] is None
    assert "custom job 1: its metrics cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("until", "is_used", "fails"),
    [
        ("done", False, True),
        ("running", True, True),
        ("running", False, False),
        ("none", True, False),
    ],
)
@pytest.mark.parametrize(
    "answer", [in_state("FAILED"), in_state("CANCELLED"), GONE], ids=["FAILED", "CANCELLED", "GONE"]
)
def test_a_job_that_failed_before_fails_each_deployment_that_needs_its_result(
    service: Service,
    capsys: pytest.CaptureFixture[str],
    answer: Answer,
    until: Any,
    is_used: bool,
    fails: bool,
) -> None:
    policy = WaitPolicy(until=until, timeout=20)
    if fails:
        with pytest.raises(pulumi.RunError, match="train failed"):
            wait(service, answer, policy=policy, is_used=is_used)
    else:
        outcome = wait(service, answer, policy=policy, is_used=is_used)
        assert outcome.keys() == KEYS
        assert outcome["state"] in ("FAILED", "CANCELLED", "GONE")
        assert outcome["metrics"]["accuracy"] is None
    shown = capsys.readouterr().err
    level = "error" if fails else "warning"
    assert f"{level}: train: custom job 1 " in shown, shown
    if answer is not GONE:
        assert "pulumi up --replace URN" in shown
        assert ("each deployment fails until it has succeeded" in shown) == fails
    else:
        assert "how it ended is not recorded. `pulumi refresh` removes it from the state" in shown


def test_after_a_trouble_the_row_says_again_how_the_job_stands(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    script(service, GONE)
    running = JobRecord(name=NAME, display_name="train", state=JobState.JOB_STATE_RUNNING)

    async def watch() -> None:
        progress = Progress(None, WaitPolicy(until="done"), DECLARED, label="train")  # type: ignore[arg-type]
        await progress.show(endpoint(service), running)
        await progress.show(endpoint(service), running)
        progress.trouble(Unavailable("no connection"))
        progress.trouble(Unavailable("no connection"))
        await progress.show(endpoint(service), running)
        await progress.show(endpoint(service), running)

    asyncio.run(watch())
    assert capsys.readouterr().err.splitlines() == [
        "info: running",
        "info: retrying: no connection",
        "info: running",
    ]


def test_a_metric_that_is_not_finite_is_one_warning(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check a job that ends between two reads, so that only the report of its end has the NaN."""
    loss = {"value": "NaN", "since": 5, "lastStep": 4, "lastValue": 3.394}
    reports = [{"step": 4, "metrics": {"loss": 3.394}}, {"step": 9, "notFinite": {"loss": loss}}]
    read = threading.Event()

    def answer(asked: Asked) -> Answer:
        if "vertex_cluster_progress" not in asked.path:
            return GONE
        report = reports[1 if read.is_set() else 0]
        read.set()
        return Answer(document=report)

    service.script(answer)
    record = JobRecord(name=NAME, display_name="train", state=JobState.JOB_STATE_RUNNING)

    async def watch() -> None:
        progress = Progress(None, WaitPolicy(until="done"), DECLARED, "gs://b/run/", label="train")  # type: ignore[arg-type]
        await progress.show(endpoint(service), record)
        assert await asyncio.to_thread(read.wait, TIMEOUT)
        for _ in range(2):
            await progress.show(endpoint(service), replace(record, state=JobState.JOB_STATE_SUCCEEDED))

    asyncio.run(watch())
    [warning] = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert warning == "warning: train: loss is NaN since step 5; it was last finite at step 4 (3.394)"


def test_metrics_in_the_outputs_equal_themselves(service: Service) -> None:
    def answer(asked: Asked) -> Answer:
        if "metrics.json" in asked.path:
            return Answer(text='{"loss": NaN, "norm": [Infinity]}')
        return Answer(document={"name": NAME, "state": "JOB_STATE_SUCCEEDED", "jobSpec": spec})

    spec = {"baseOutputDirectory": {"outputUriPrefix": "gs://b/run/"}}
    service.script(answer)
    first, second = (
        recorded_outcome(endpoint(service), DECLARED.gateway.get(endpoint(service), NAME), DECLARED)[
            "metrics"
        ]
        for _ in range(2)
    )
    assert first == second == {"loss": "NaN", "norm": ["Infinity"]}


def test_a_job_that_vanishes_while_waited_for_fails_the_deployment(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(pulumi.RunError, match="train failed"):
        wait(service, in_state("RUNNING"), GONE)
    assert "deleted while this deployment waited" in capsys.readouterr().err


def test_an_emulator_that_cannot_be_started_is_one_clean_line(capsys: pytest.CaptureFixture[str]) -> None:
    def connect() -> Endpoint:
        raise LauncherError("the folder cannot be read")

    with pytest.raises(pulumi.RunError, match="train failed"):
        asyncio.run(completion(job_wait(connect, policy=WaitPolicy(), asked_by=None)))
    assert capsys.readouterr().err == "error: train: the folder cannot be read\n"
    assert ended_outcome(connect, NAME) is None


@pytest.mark.parametrize(
    ("error", "again"),
    [
        ("Internal error occurred for the current attempt.", True),
        ("The following quotas are exceeded: exceed quota limits: custom_model_training_cpus.", True),
        ("Resources are insufficient in region: us-central1.", True),
        ("Model projects/7/locations/us-central1/models/m already exists.", True),
        ("The replica workerpool0-0 ran out of memory.", False),
        ("Something that no table has.", True),
    ],
)
def test_a_failure_has_one_remedy_to_change_the_job_or_the_command_that_runs_it_again(
    service: Service, capsys: pytest.CaptureFixture[str], error: str, again: bool
) -> None:
    failed = {"name": NAME, "displayName": "train", "state": "JOB_STATE_FAILED", "error": {"message": error}}
    with pytest.raises(pulumi.RunError):
        wait(service, in_state("RUNNING"), Answer(document=failed))
    shown = capsys.readouterr().err
    assert ("Run it again as it is: pulumi up --replace URN" in shown) == again, shown
    assert "run_token" not in shown


@pytest.mark.parametrize(
    ("until", "is_ours", "lines"),
    [("running", True, 1), ("running", False, 0), ("done", True, 1), ("done", False, 1)],
    ids=["it runs", "it runs since an earlier deployment", "the time is over", "the time is over again"],
)
def test_a_wait_that_leaves_a_job_in_training_says_how_to_follow_it(
    service: Service, capsys: pytest.CaptureFixture[str], until: Any, is_ours: bool, lines: int
) -> None:
    script(service, in_state("RUNNING"))
    engine = service.url.rpartition("/")[2]
    policy = WaitPolicy(until=until, timeout=20 if until == "running" else 0.3)
    found = asyncio.run(_completion(service, policy, engine, engine if is_ours else "127.0.0.1:1"))
    assert found["state"] == "RUNNING"
    shown = capsys.readouterr().err
    assert shown.count("To follow its log, run `") == lines, shown
    assert (" logs 1 --follow`" in shown or f" logs {NAME} --follow`" in shown) == bool(lines), shown


def test_metrics_are_what_was_written() -> None:
    assert Metrics({"accuracy": 0.9}) == {"accuracy": 0.9}


def test_the_wait_ends_at_its_deadline_with_a_warning(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = wait(service, in_state("RUNNING"), policy=WaitPolicy(until="done", timeout=0.3))
    assert outcome["state"] == "RUNNING"
    assert "RUNNING after 0.3 s; no longer waiting" in capsys.readouterr().err


@pytest.mark.timeout(60)
def test_a_service_that_fails_does_not_hold_up_the_deadline(service: Service) -> None:
    """Retry a call no longer than an answer is awaited at the deadline: the program waits for its thread."""
    script(service, in_state("RUNNING"), refusal(500, "INTERNAL", "not now"))
    impatient = replace(ORDINARY, least_answer=0.1, retry_emulator=600.0)
    waiting = job_wait(
        lambda: replace(endpoint(service), timeouts=impatient),
        policy=WaitPolicy(until="done", timeout=3),  # the first answer comes before this deadline
        asked_by=None,
    )
    assert asyncio.run(completion(waiting))["state"] == "RUNNING"


@pytest.mark.parametrize(
    ("on_interrupt", "says", "cancels"),
    [
        ("leave", "interrupted; train: custom job 1 keeps running: `pulumi up` joins it again", 0),
        ("cancel", "interrupted; train: custom job 1 was cancelled", 1),
    ],
)
def test_an_interrupted_wait_says_what_becomes_of_the_job(
    service: Service, on_interrupt: Any, says: str, cancels: int
) -> None:
    def running(_: Asked) -> Answer:
        os.kill(os.getpid(), signal.SIGINT)
        return in_state("RUNNING")

    with pytest.raises(pulumi.RunError, match=says):
        wait(
            service, in_state("RUNNING"), running, policy=WaitPolicy(until="done", on_interrupt=on_interrupt)
        )
    asked = [one for one in service.asked if one.path.endswith(":cancel")]
    assert len(asked) == cancels


def test_a_deployment_that_was_killed_cancels_as_well(service: Service) -> None:
    policy = WaitPolicy(until="done", on_interrupt="cancel")
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))  # and does not listen
        engine = f"127.0.0.1:{dead.getsockname()[1]}"
        with pytest.raises(pulumi.RunError, match="was cancelled"):
            wait(service, in_state("RUNNING"), policy=policy, engine=engine)
    assert service.asked[-1].path.endswith(":cancel")


def test_a_look_that_hangs_does_not_hold_up_ctrl_c(service: Service) -> None:
    interrupted, answered_first = threading.Event(), threading.Event()

    def hangs(_: Asked) -> Answer:
        os.kill(os.getpid(), signal.SIGINT)
        if not interrupted.wait(TIMEOUT):
            answered_first.set()
        return Answer(document={})

    async def body() -> None:
        with pytest.raises(pulumi.RunError):
            await _completion(service, WaitPolicy(until="done"))
        interrupted.set()  # before the loop ends, which waits for its threads

    script(service, in_state("RUNNING"), hangs)
    asyncio.run(body())
    assert not answered_first.is_set()
