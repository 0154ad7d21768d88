"""The output of a deployment that waits for a job, the failures it survives, and Ctrl-C; on the real engine.

The tests share a stack; the deployment of each deletes the jobs of the others.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import vertex_cluster
from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.client import terminal as terminals
from support.client.engine import GATE, Engine, Result, read_output_until
from support.client.shared_engine import diagnostics
from support.emulated.command import run
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"

PROGRAM = f"""
def pool(script, replicas=1):
    return vt.WorkerPoolSpecArgs(
        replica_count=replicas,
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        container_spec=vt.ContainerSpecArgs(
            image_uri="{IMAGE}", command=["python3", "-u", "-c"], args=[script]
        ),
    )
"""
LONG = "import time; print('at work'); time.sleep(300)"


def declare(name: str, *scripts: str, more: str = "") -> str:
    """Return the line of a program that declares a job with a pool for each script."""
    pools = ", ".join(f"pool({script!r})" for script in scripts)
    return f"{name} = vt.CustomJob({name!r}, worker_pool_specs=[{pools}], {more})\n"


def write(engine: Engine, *declared: str) -> None:
    engine.write(f"{PROGRAM}\n{''.join(declared)}")


def start(engine: Engine) -> subprocess.Popen[str]:
    return engine.start("up", "--yes", "--skip-preview", "--non-interactive")


def jobs(engine: Engine) -> list[JobRecord]:
    return [] if launcher.find(engine.data_dir) is None else custom_jobs.list_jobs(engine.endpoint())


def states(engine: Engine, *names: str) -> dict[str, str]:
    """Return the states of the jobs with these names, by name."""
    return {job.display_name: job.state.word for job in jobs(engine) if job.display_name in names}


def control(engine: Engine) -> Control:
    eventually(lambda: launcher.find(engine.data_dir) is not None)
    emulator = launcher.find(engine.data_dir)
    assert emulator is not None
    return Control(url=emulator.url, token=emulator.token)


def interrupt(process: subprocess.Popen[str]) -> str:
    """Press Ctrl-C and return the output after it. The engine ends long before the job would."""
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode != 0
    assert "Traceback" not in output, output
    return output


REPORTING = f"""
import pathlib, sys, time
sys.path.append({str(Path(vertex_cluster.__file__).parents[1])!r})
import vertex_cluster
vertex_cluster.report(step=0, total=100)
time.sleep(1)
vertex_cluster.report(step=28, total=100, loss=1.7123)
while not pathlib.Path("/gcs/reports-bucket/go").exists():
    time.sleep(0.1)
"""
TICKS = "import time\nfor n in range(3000): print(f'tick <{n}>'); time.sleep(0.1)"
STEPS = (
    r"import os, time; print('step 0'); print('\x1b[31mstep 1\x1b[0m')"
    + """
while not os.path.exists('/gcs/waits-flags/printed'): time.sleep(0.05)
time.sleep(1); print('step 2')""",
    "print('hello'); print('y' * 3000); open('/gcs/waits-flags/printed', 'w').close()",
)
"""The chief waits for what the worker prints, which is ended with it."""
FLOOD = "[print('line', n) for n in range(5000)]; import time; time.sleep(2); import flowers"
EVALUATE = f"""
settings = vt.EnvVarArgs(name="STATE", value=trained.completion["state"])
task = vt.ContainerSpecArgs(image_uri={IMAGE!r}, command=["true"], env=[settings])
machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
last = vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task)
vt.CustomJob("evaluate", worker_pool_specs=[last], wait="done", protect_running=True)
"""
SHOWN = 'wait="done", stream_logs=True'


@dataclass(kw_only=True)
class Waits:
    """The output of each deployment of one stack, and its jobs after each."""

    first: Result
    ticking: list[JobRecord]
    unchanged: Result
    second: Result
    recorded: list[list[tuple[str, Any]]]
    """Id and inputs of every resource in the state, after each."""


@pytest.fixture(scope="module")
def waits(shared_engine: Engine) -> Waits:
    engine = shared_engine
    ticking: list[JobRecord] = []
    recorded: list[list[tuple[str, Any]]] = []

    def note() -> None:
        ticking.extend(job for job in jobs(engine) if job.display_name == "ticking")
        recorded.append(sorted((one["id"], one["inputs"]) for one in engine.state()))

    buckets.create(engine.endpoint(), {"name": "waits-flags", "location": "us-central1"})
    trained = declare("trained", "print('trained')", more='wait="done"') + EVALUATE
    joined = 'wait="running", stream_logs=True'
    write(engine, declare("logs", *STEPS, more=SHOWN), declare("ticking", TICKS, more=joined), trained)
    first = engine.up().ok()
    note()

    other = 'wait="running", wait_timeout=40, stream_logs=True, on_interrupt="cancel"'
    steady = declare("logs", *STEPS, more=other)
    steady += declare("ticking", TICKS, more='wait="done", wait_timeout=8, stream_logs=True') + trained
    write(engine, steady)
    unchanged, second = engine.preview_and_up("--expect-no-changes")
    second.ok()
    note()
    return Waits(first=first, ticking=ticking, unchanged=unchanged, second=second, recorded=recorded)


def test_a_failure_is_one_message_with_replica_exit_code_lines_cause_and_remedy(
    shared_engine: Engine,
) -> None:
    engine = shared_engine
    write(engine, declare("train", LONG, "import flowers", more='wait="done"'))
    failed = engine.up()
    assert failed.code != 0
    said = diagnostics(failed.output)
    assert said.count("ModuleNotFoundError: No module named 'flowers'") == 1, said
    assert "FAILED: The replica workerpool1-0 exited with a non-zero status of 1." in said
    assert "Likely cause: the Python module flowers is missing. Add it" in said
    assert said.count("vertex-training logs") == 1
    (name,) = (job.name for job in jobs(engine) if job.display_name == "train")
    assert name in [one["id"] for one in engine.state()]


def test_a_failure_whose_log_was_shown_does_not_repeat_it_and_a_flood_is_cut(shared_engine: Engine) -> None:
    engine = shared_engine
    roses = declare("roses", "print('only this'); import roses", more=SHOWN)
    write(engine, declare("flood", FLOOD, more=SHOWN), roses)
    failed = engine.up()
    assert failed.code != 0
    said = diagnostics(failed.output)
    shown = said.count("[flood workerpool0-0] ")
    cut = re.findall(
        r"\[flood\] (\d+) lines? (?:was|were) left out here; all lines: vertex-training logs \d+", said
    )
    assert 250 < shown < sum(map(int, cut)), said
    assert 5000 <= shown + sum(map(int, cut)) < 5050, "each line is shown or counted once"
    assert "Likely cause: the Python module flowers" in said

    assert said.count("No module named 'roses'") == 1, said
    assert "[roses service] Job failed. The replica workerpool0-0" in said
    assert "Likely cause: the Python module roses" in said


def test_logs_are_shown_once(waits: Waits) -> None:
    said = diagnostics(waits.first.output, "logs")
    for line in ("0] step 0", "0] step 1", "0] step 2"):
        assert said.count(f"[logs workerpool0-{line}\n") == 1, said
    assert "[logs workerpool1-0] hello\n" in said
    assert "y... (+2000 characters)" in said
    assert "[logs service] Job completed successfully." in said
    assert "step" not in waits.second.output, "the log of a job that had ended is not shown again"


def test_how_to_wait_is_no_part_of_the_job(waits: Waits) -> None:
    waits.unchanged.ok()
    assert waits.recorded[0] == waits.recorded[1]
    assert len(waits.recorded[0]) == 4, "four jobs"


def test_streaming_ends_with_the_wait_and_a_deployment_that_joins_shows_new_lines(waits: Waits) -> None:
    before, after = waits.ticking
    assert (before.name, before.state.word) == (after.name, "RUNNING")
    said = diagnostics(waits.second.output, "ticking")
    ticks = [int(number) for number in re.findall(r"\[ticking workerpool0-0\] tick <(\d+)>\n", said)]
    assert ticks == list(range(ticks[0], ticks[0] + len(ticks)))
    assert ticks[0] > 10
    assert "showing the log from now on; to print all of it, run vertex-training logs" in said
    assert "RUNNING after 8 s; no longer waiting" in said


def test_the_completion_of_a_job_is_known_in_a_preview_and_may_be_an_input(waits: Waits) -> None:
    # Four jobs, the stack, and its key.
    assert "6 unchanged" in waits.unchanged.ok().output


# Shown quicker in tests/pulumi_vertex_training: core/running/test_rows_below.py;
# tests/engine/package/test_rows.py, for the form of the package
@pytest.mark.slow
def test_a_program_reports_how_far_it_is_at_every_width(
    engine: Engine, request: pytest.FixtureRequest
) -> None:
    job = declare("reporting", REPORTING, "print('done')", more='staging_bucket=bucket, wait="done"')
    bucket = 'bucket = vt.StagingBucket("reports", name="reports-bucket", force_destroy=True)\n'
    write(engine, bucket, job)
    with terminals.running(engine, "up", "--yes", "--skip-preview", columns=80) as terminal:
        rows = ("vertex-training watch", "Ctrl-C leaves it running", "28%", "created (")
        for columns in (80, 100, 120):
            terminal.capture("program", columns, *rows, record=request.config.getoption("--record"))
        environ = {"VERTEX_TRAINING_DATA_DIR": str(engine.data_dir)}
        jobs_live = run("jobs", "--live", "--json", env=environ).json["jobs"]
        (listed,) = [one for one in jobs_live if one["displayName"] == "reporting"]
        status = run("status", listed["id"], env=environ)
        objects.upload(engine.endpoint(), "reports-bucket", "go", b"")
        assert terminal.process.wait(timeout=TIMEOUT) == 0, terminal.text
        eventually(lambda: "Duration:" in terminal.text, what=lambda: terminal.text)
    assert (listed["progress"]["percent"], listed["progress"]["metrics"]) == (28, {"loss": 1.7123})
    assert "Progress: 28%" in status.out
    said = diagnostics(terminal.text)
    assert "Ctrl-C" not in said
    assert "waiting" not in said
    assert said.count(f"Emulator on this machine: data in {engine.data_dir}\n") == 1
    assert "warning" not in said
    objects.delete(engine.endpoint(), "reports-bucket", "go")
    write(engine, bucket, job.replace("staging_bucket", 'run_token="2", staging_bucket'))
    with terminals.running(engine, "up", "--yes", "--skip-preview", columns=80) as terminal:
        rows = ("vertex-training watch", "Ctrl-C leaves it running", "28%")
        for columns in (80, 100, 120):
            terminal.capture("program-rerun", columns, *rows, record=request.config.getoption("--record"))


def test_a_job_that_has_not_started_says_what_it_waits_for(shared_engine: Engine) -> None:
    engine = shared_engine
    emulator = control(engine)
    emulator.set_start_delay(3600)
    write(engine, declare("delayed", "print('done')", more='wait="done"'))
    process = start(engine)
    try:
        read_output_until(process, "pending, waits for the start delay of 1 h to pass")
    finally:
        emulator.set_start_delay(0)
    (job,) = (job for job in jobs(engine) if job.display_name == "delayed")
    custom_jobs.cancel(engine.endpoint(), job.name)
    output, _ = process.communicate(timeout=TIMEOUT)
    assert "CANCELLED" in output and "Traceback" not in output


def test_a_stack_that_does_not_choose_the_emulator_is_warned_once(engine: Engine) -> None:
    file = engine.folder / "Pulumi.test.yaml"
    settings = yaml.safe_load(file.read_text())
    del settings["config"]["vertex-training:endpoint"]
    file.write_text(yaml.safe_dump(settings))
    write(engine, *(declare(name, "print('hello')") for name in ("one", "two")))
    warned = engine.preview().ok().output
    said = diagnostics(warned)
    assert said.count("stack test has no vertex-training:endpoint, so it deploys to the emulator") == 1
    assert said.count("Emulator on this machine") == 1
    digest = json.loads(engine.preview("--json").ok().output)
    kinds = sorted(one["urn"].split("::")[-2].rpartition(":")[2] for one in digest["steps"])
    assert kinds == ["CustomJob", "CustomJob", "Stack", "StackKey"]


def test_ctrl_c_cancels_the_job_when_that_is_wanted_and_says_so_before(shared_engine: Engine) -> None:
    engine = shared_engine
    write(engine, declare("interrupted", LONG, more='wait="done", on_interrupt="cancel"'))
    process = start(engine)
    read_output_until(process, "Ctrl-C cancels it (on_interrupt)")
    eventually(lambda: states(engine, "interrupted") == {"interrupted": "RUNNING"})
    interrupt(process)
    eventually(lambda: states(engine, "interrupted") == {"interrupted": "CANCELLED"})
    (name,) = (job.name for job in jobs(engine) if job.display_name == "interrupted")
    assert name in [one["id"] for one in engine.state()]
    assert not engine.checkpoint().get("pending_operations")


def test_a_deployment_that_is_killed_while_it_waits_leaves_nothing_pending(shared_engine: Engine) -> None:
    engine = shared_engine
    write(engine, declare("killed", LONG, more='wait="done"'))
    process = start(engine)
    read_output_until(process, "Ctrl-C leaves it running")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=TIMEOUT)
    engine.unlock()
    (name,) = (job.name for job in jobs(engine) if job.display_name == "killed")
    assert name in [one["id"] for one in engine.state()]
    assert not engine.checkpoint().get("pending_operations")


def test_ctrl_c_while_jobs_are_created_cancels_those_that_are_to_be_cancelled(shared_engine: Engine) -> None:
    engine = shared_engine
    policies = ("leave", "cancel")
    write(engine, *(declare(each, LONG, more=f'wait="done", on_interrupt="{each}"') for each in policies))
    control(engine).add_fault({"method": "CreateCustomJob", "stall": 3, "times": 2})
    process = start(engine)
    eventually(lambda: control(engine).faults()[0]["seen"] == 2)
    interrupt(process)
    wanted = {"leave": "RUNNING", "cancel": "CANCELLED"}
    eventually(lambda: states(engine, *policies) == wanted)
    control(engine).clear_faults()


def test_ctrl_c_twice_cancels_as_well(engine: Engine) -> None:
    write(engine, declare("train", LONG, more='wait="done", on_interrupt="cancel"'))
    process = start(engine)
    read_output_until(process, "Ctrl-C cancels it (on_interrupt)")
    os.killpg(process.pid, signal.SIGINT)
    read_output_until(process, "^C received")
    interrupt(process)
    eventually(lambda: states(engine, "train") == {"train": "CANCELLED"})


def test_faults_of_the_service_are_survived_and_end_nothing(engine: Engine) -> None:
    launcher.ensure(engine.data_dir)
    admin = control(engine)
    for fault in ({"status": 429}, {"status": 500}, {"status": 503}, {"drop": "before"}, {"drop": "after"}):
        admin.add_fault({"method": "GetCustomJob", "nth": 2, "times": 2, **fault})
        admin.add_fault({"method": "LoggingServiceV2.ListLogEntries", "nth": 2, "times": 2, **fault})
    admin.add_fault({"method": "GetCustomJob", "stall": 1, "times": 1})
    with socket.socket() as gate:
        gate.bind(("127.0.0.1", 0))
        script = GATE.format(port=gate.getsockname()[1]) + "print('done')"
        job = declare("train", script, more=SHOWN)
        write(engine, job, 'pulumi.export("state", train.completion["state"])')
        process = start(engine)
        eventually(lambda: all(each["fired"] for each in admin.faults()), what=admin.faults)
        gate.listen()
        output, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, output
    assert engine.outputs() == {"state": "SUCCEEDED"}
    assert output.count("[train workerpool0-0] done\n") >= 1
    assert len(jobs(engine)) == 1


@pytest.mark.slow
def test_a_service_that_fails_for_long_ends_the_wait_with_a_warning_at_its_deadline(engine: Engine) -> None:
    write(engine, declare("train", LONG, more='wait="done", wait_timeout=8'))
    process = start(engine)
    read_output_until(process, "Ctrl-C leaves it running")
    control(engine).add_fault({"method": "GetCustomJob", "status": 500, "times": "always"})
    output, _ = process.communicate(timeout=TIMEOUT)
    control(engine).clear_faults()
    assert process.returncode == 0, output
    assert "no longer waiting" in output
