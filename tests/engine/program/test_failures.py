"""Several failures in one deployment, and the secrets in what it prints; on the real engine."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.client.engine import GATE, Engine, Result, read_output_until
from support.client.shared_engine import diagnostics
from support.waiting import TIMEOUT
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
PASSWORD, PIN = "correct horse/battery", "x7q2"
TWO_LINES = "first line of a key\nsecond line of a key"

PROGRAM = f"""

def job(name, script, wait="done", **more):
    env = [vt.EnvVarArgs(name=key, value=value) for key, value in more.pop("env", dict()).items()]
    task = vt.ContainerSpecArgs(image_uri="{IMAGE}", command=["python3", "-u", "-c"], args=[script], env=env)
    pool = vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"), container_spec=task
    )
    return vt.CustomJob(name, worker_pool_specs=[pool], wait=wait, **more)
"""
SHOWS = """
import os
for name in ("PASSWORD", "KEY", "PIN"):
    print("<", os.environ[name], ">")
print(repr(os.environ["KEY"]), os.environ["PIN"] + "z", "a" * 990 + os.environ["PASSWORD"])
"""
BROKEN = "import os; raise SystemExit('no entry for ' + os.environ['PASSWORD'])"
FAILURES = f"""
secrets = dict(
    PASSWORD=config.require_secret("password"), KEY=pulumi.Output.secret({TWO_LINES!r}),
    PIN=pulumi.Output.secret({PIN!r}),
)
first = job("first", "import flowers")
second = job("second", {BROKEN!r}, env=secrets)
healthy = job("healthy", @GATE@ + {SHOWS!r}, env=secrets, stream_logs=True)
steady = job("steady", "import time; time.sleep(600)", wait="running")
left = job("left", "import time; time.sleep(600)", wait="none")
after = job("after", "print(1)", env=dict(STATE=healthy.completion["state"]))
last = job("last", "print(1)", env=dict(STATE=after.completion["state"]))
never = job("never", "print(1)", env=dict(STATE=first.completion["state"]))
"""
REFUSED = """
failed = job("failed", "import flowers")
opens = job("opens", @GATE@)
endless = job("endless", "import time; time.sleep(600)")
refused = job("refused", "print(1)", env=dict(STATE=opens.completion["state"]))
"""


@dataclass(kw_only=True)
class Failures:
    """The output of each deployment of one stack, and the ids of its jobs by name after it."""

    first: Result
    events: list[dict[str, Any]]
    first_jobs: dict[str, str]
    again: Result
    again_jobs: dict[str, str]
    outputs: dict[str, Any]
    refreshed: Result
    everything: str
    """The state, in the clear, except for secrets."""


def job_ids(engine: Engine) -> dict[str, str]:
    """Return the id of the newest job of each name."""
    oldest_first = reversed(custom_jobs.list_jobs(engine.endpoint()))
    return {job.display_name: job.job_id for job in oldest_first}


@contextmanager
def gate() -> Iterator[socket.socket]:
    """Yield a socket that opens the jobs of a program as soon as it listens."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        yield made


def write(engine: Engine, program: str, gate: socket.socket) -> None:
    script = GATE.format(port=gate.getsockname()[1])
    engine.write(PROGRAM + program.replace("@GATE@", repr(script)))


def up_until_failures(engine: Engine, gate: socket.socket, count: int, *arguments: str) -> Result:
    """Deploy. Open the gate when as many failures have been reported."""
    process = engine.start("up", "--yes", "--skip-preview", "--non-interactive", *arguments)
    try:
        shown = "".join(read_output_until(process, "**creating failed") for _ in range(count))
        gate.listen()
        rest, _ = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
        process.communicate()
    return Result(process.returncode, shown + rest)


@pytest.fixture(scope="module")
def failures(shared_engine: Engine) -> Iterator[Failures]:
    engine = shared_engine
    engine.environment["PULUMI_DEBUG_COMMANDS"] = "true"
    engine.run("config", "set", "--secret", "password", PASSWORD).ok()
    with gate() as opens:
        write(engine, FAILURES, opens)
        first = up_until_failures(engine, opens, 2, "--event-log", str(engine.folder / "events"))
        first_jobs = job_ids(engine)
        lines = (engine.folder / "events").read_text().splitlines()
        found = [json.loads(line).get("diagnosticEvent") for line in lines]

        # The message names the cause and what to change: no command that runs the job as it is.
        assert "Run it again" not in diagnostics(first.output, "first")
        (urn,) = {one["urn"] for one in found if one and one.get("urn", "").endswith("CustomJob::first")}
        again = engine.run("up", "--replace", urn, "--yes", "--skip-preview", "--non-interactive")
        again_jobs = job_ids(engine)

        fixed = FAILURES.replace('"import flowers"', '"print(1)"')
        fixed = fixed.replace(f"{BROKEN!r}, env=secrets", f'{BROKEN!r}, env=secrets, wait="none"')
        write(engine, fixed + 'pulumi.export("error", second.error)\n', opens)
        refreshed = engine.up("--refresh", "--diff").ok()
    yield Failures(
        first=first,
        events=[each for each in found if each is not None and each["severity"] == "error"],
        first_jobs=first_jobs,
        again=again,
        again_jobs=again_jobs,
        outputs=engine.outputs(),
        refreshed=refreshed,
        everything=json.dumps(engine.checkpoint()),
    )


def test_each_failure_is_an_error_of_its_own_resource_and_the_program_ends_with_a_summary(
    failures: Failures,
) -> None:
    assert failures.first.code == 1
    by_resource = {each.get("urn", "").rpartition("::")[2]: each["message"] for each in failures.events[:-2]}
    assert set(by_resource) == {"first", "second"}
    for name in ("first", "second"):
        job = failures.first_jobs[name]
        assert by_resource[name].startswith(f"{name}: custom job {job} FAILED: "), by_resource[name]
        assert f"vertex-training logs {job}" in by_resource[name]
    assert sum(name in ("first", "second") for name in by_resource) == 2
    summary = failures.events[-2]
    assert not summary.get("urn")
    lines = summary["message"].splitlines()
    assert lines[0] == "2 failed, 3 succeeded, 1 still running, 1 not started"
    ids = failures.first_jobs
    assert [line.split(maxsplit=2) for line in lines[1:-1]] == [
        ["first", "FAILED", f"vertex-training logs {ids['first']}"],
        ["second", "FAILED", f"vertex-training logs {ids['second']}"],
        ["healthy", "SUCCEEDED", f"vertex-training logs {ids['healthy']}"],
        ["after", "SUCCEEDED", f"vertex-training logs {ids['after']}"],
        ["last", "SUCCEEDED", f"vertex-training logs {ids['last']}"],
        ["steady", "RUNNING", f"vertex-training logs {ids['steady']} --follow"],
        ["never", "not", "started"],
    ]


def test_what_depends_on_a_healthy_job_is_created_and_what_depends_on_a_failed_one_is_not(
    failures: Failures,
) -> None:
    assert set(failures.first_jobs) == {"first", "second", "healthy", "steady", "left", "after", "last"}


def test_a_job_that_is_left_in_training_has_one_line_with_the_command_that_follows_it(
    failures: Failures,
) -> None:
    for name in ("steady", "left"):
        follow = f"To follow its log, run `vertex-training logs {failures.first_jobs[name]} --follow`."
        assert diagnostics(failures.first.output, name).count(follow) == 1


def test_a_failed_job_stays_and_the_command_in_its_error_runs_it_again(failures: Failures) -> None:
    assert failures.again.code == 1
    before, after = failures.first_jobs, failures.again_jobs
    assert {name for name in before if before[name] != after[name]} == {"first"}
    stays = diagnostics(failures.again.output, "second")
    assert f"error: second: custom job {before['second']} FAILED" in stays
    assert "pulumi up --replace urn:pulumi:test::engine-test::" in stays


def test_a_secret_of_pulumi_in_a_variable_is_a_warning_with_the_remedy(failures: Failures) -> None:
    said = failures.first.output
    for position, name in enumerate(("PASSWORD", "KEY", "PIN")):
        path = f"worker_pool_specs[0].container_spec.env[{position}].value"
        assert f"healthy: {path}: the value of {name} is a secret of Pulumi" in said
        assert f'vertex_cluster.secret(os.environ["{name}"])' in said


def test_no_secret_is_in_what_a_deployment_prints_nor_in_the_clear_in_the_state(failures: Failures) -> None:
    log = diagnostics(failures.first.output, "healthy")
    assert log.count("[healthy workerpool0-0] < [secret]") == 3, log
    assert f"{PIN}z" in log, "a short secret is masked only as a word"
    assert "no entry for [secret]" in diagnostics(failures.first.output, "second")
    assert "no entry for [secret]" in failures.outputs["error"]
    printed = "\n".join(
        [failures.first.output, failures.again.output, failures.refreshed.output, json.dumps(failures.events)]
    )
    for text in (printed, failures.everything):
        for secret in (PASSWORD, PASSWORD[:9], *TWO_LINES.splitlines(), f" {PIN} "):
            assert secret not in text, re.findall(".{300}" + re.escape(secret) + ".{100}", text)[:3]


def test_a_creation_that_the_engine_sees_fail_ends_the_program_although_a_job_runs(
    shared_engine: Engine, failures: Failures
) -> None:
    engine = shared_engine
    emulator = launcher.find(engine.data_dir)
    assert emulator is not None
    control = Control(url=emulator.url, token=emulator.token)
    control.add_fault({"method": "CreateCustomJob", "status": 403, "nth": 4, "times": "always"})
    with gate() as opens:
        write(engine, REFUSED, opens)
        result = up_until_failures(engine, opens, 1)
    control.clear_faults()
    assert result.code != 0
    assert "failed: custom job" in diagnostics(result.output, "failed")
    assert "fails as declared" in diagnostics(result.output, "refused")
