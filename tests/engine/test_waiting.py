"""What a deployment that waits for a job shows and survives, and what Ctrl-C does; on the real engine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import textwrap
import time

import pytest

from support.engine import Engine, hear
from support.waiting import PATIENCE, eventually
from vertex_training.cloud import custom_jobs
from vertex_training.cloud.custom_jobs import JobRecord
from vertex_training.emulator import launcher
from vertex_training.emulator.control import Control

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


def write(engine: Engine, *scripts: str, more: str = "", after: str = "") -> None:
    """A job `train` with a pool for each script."""
    pools = ", ".join(f"pool({script!r})" for script in scripts)
    engine.write(f'{PROGRAM}\njob = vt.CustomJob("train", worker_pool_specs=[{pools}], {more})\n{after}')


def start(engine: Engine) -> subprocess.Popen[str]:
    return engine.start("up", "--yes", "--skip-preview", "--non-interactive")


def jobs(engine: Engine) -> list[JobRecord]:
    return [] if launcher.find(engine.data_dir) is None else custom_jobs.list_jobs(engine.endpoint())


def states(engine: Engine) -> list[str]:
    return [job.state.word for job in jobs(engine)]


def control(engine: Engine) -> Control:
    eventually(lambda: launcher.find(engine.data_dir) is not None)
    emulator = launcher.find(engine.data_dir)
    assert emulator is not None
    return Control(url=emulator.url, token=emulator.token)


def interrupt(process: subprocess.Popen[str]) -> str:
    """Ctrl-C; what was printed after it. The engine goes long before the job would end."""
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert "Traceback" not in output, output
    return output


def diagnostics(output: str) -> str:
    """What stands under the resources at the end, where every line appears once."""
    return output.partition("Diagnostics:")[2]


def test_a_failure_is_one_message_with_replica_exit_code_lines_cause_and_remedy(engine: Engine) -> None:
    write(engine, LONG, "import flowers", more='wait="done"')
    failed = engine.up()
    assert failed.code != 0
    said = diagnostics(failed.output)
    assert said.count("ModuleNotFoundError: No module named 'flowers'") == 1, said
    assert "FAILED: The replica workerpool1-0 exited with a non-zero status of 1." in said
    assert "Likely cause: the Python module flowers is missing. Add it" in said
    assert said.count("vertex-training logs") == 1
    assert [job.name for job in jobs(engine)] == [
        one["id"] for one in engine.state() if one["type"].endswith(":CustomJob")
    ]


def test_logs_are_shown_once_and_how_to_wait_is_no_part_of_the_job(engine: Engine) -> None:
    scripts = (
        r"import time; print('step 0'); print('\x1b[31mstep 1\x1b[0m'); time.sleep(1); print('step 2')",
        "print('hello'); print('y' * 3000)",
    )
    export = 'pulumi.export("state", job.completion["state"])'
    write(engine, *scripts, more='wait="done", stream_logs=True', after=export)
    said = diagnostics(engine.up().ok().output)
    for line in ("0] step 0", "0] step 1", "0] step 2"):
        assert said.count(f"[train workerpool0-{line}\n") == 1, said
    assert "[train workerpool1-0] hello\n" in said
    assert "y... (+2000 characters)" in said
    assert "[train service] Job completed successfully." in said

    before = engine.state()
    other = 'wait="running", wait_timeout=40, stream_logs=True, on_interrupt="cancel"'
    write(engine, *scripts, more=other, after=export)
    engine.run("preview", "--non-interactive", "--expect-no-changes").ok()
    assert "step" not in engine.up().ok().output, "the log of a job that had ended is not shown again"
    assert [(one["id"], one["inputs"]) for one in engine.state()] == [
        (one["id"], one["inputs"]) for one in before
    ]


def test_a_failure_whose_log_was_shown_does_not_repeat_it_and_a_flood_is_cut(engine: Engine) -> None:
    write(
        engine,
        "[print('line', n) for n in range(5000)]; import time; time.sleep(2); import flowers",
        more='wait="done", stream_logs=True',
    )
    failed = engine.up()
    assert failed.code != 0
    said = diagnostics(failed.output)
    assert 250 < len(re.findall(r"\] line \d+\n", said)) < 600
    assert re.search(
        r"\[train\] \d{4} lines were left out here; all lines: vertex-training logs \d+", said
    ), said
    assert "Likely cause: the Python module flowers" in said

    write(engine, "print('only this'); import roses", more='wait="done", stream_logs=True')
    said = diagnostics(engine.up().output)
    assert said.count("No module named 'roses'") == 1, said
    assert "Job failed. The replica workerpool0-0" in said
    assert "Likely cause: the Python module roses" in said


def test_streaming_ends_with_the_wait_and_a_deployment_that_joins_shows_what_is_new(engine: Engine) -> None:
    script = "import time\nfor n in range(600): print(f'tick <{n}>'); time.sleep(0.1)"
    write(engine, script, more='wait="running", stream_logs=True')
    engine.up().ok()
    (job,) = jobs(engine)
    assert job.state.word == "RUNNING"
    write(engine, script, more='wait="done", wait_timeout=3, stream_logs=True')
    said = diagnostics(engine.up().ok().output)
    ticks = [int(number) for number in re.findall(r"\[train workerpool0-0\] tick <(\d+)>\n", said)]
    assert ticks == list(range(ticks[0], ticks[0] + len(ticks)))
    assert ticks[0] > 10
    assert "the log from here on; all of it: vertex-training logs" in said
    assert "RUNNING after 3 s; not waiting any longer" in said
    assert [one.name for one in jobs(engine)] == [job.name]


def test_ctrl_c_cancels_the_job_when_that_is_wanted_and_says_so_before(engine: Engine) -> None:
    write(engine, LONG, more='wait="done", on_interrupt="cancel"')
    process = start(engine)
    hear(process, "Ctrl-C cancels it (on_interrupt)")
    eventually(lambda: states(engine) == ["RUNNING"])
    interrupt(process)
    eventually(lambda: states(engine) == ["CANCELLED"])
    assert jobs(engine)[0].name in [one["id"] for one in engine.state()]


@pytest.mark.parametrize("policy", ["leave", "cancel"])
def test_ctrl_c_while_the_job_is_created(engine: Engine, policy: str) -> None:
    write(engine, LONG, more=f'wait="done", on_interrupt="{policy}"')
    launcher.ensure(engine.data_dir)
    control(engine).add_fault({"method": "CreateCustomJob", "stall": 3})
    process = start(engine)
    eventually(lambda: bool(control(engine).faults()[0]["seen"]))
    interrupt(process)
    eventually(lambda: len(jobs(engine)) == 1)
    wanted = {"leave": ["RUNNING"], "cancel": ["CANCELLED"]}[policy]
    eventually(lambda: states(engine) == wanted)


def test_ctrl_c_twice_cancels_as_well(engine: Engine) -> None:
    write(engine, LONG, more='wait="done", on_interrupt="cancel"')
    process = start(engine)
    hear(process, "Ctrl-C cancels it (on_interrupt)")
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.1)
    interrupt(process)
    eventually(lambda: states(engine) == ["CANCELLED"])


def test_faults_of_the_service_are_survived_and_end_nothing(engine: Engine) -> None:
    write(
        engine,
        "import time; time.sleep(2); print('done')",
        more='wait="done", stream_logs=True',
        after='pulumi.export("state", job.completion["state"])',
    )
    launcher.ensure(engine.data_dir)
    admin = control(engine)
    for fault in ({"status": 429}, {"status": 500}, {"status": 503}, {"drop": "before"}, {"drop": "after"}):
        admin.add_fault({"method": "GetCustomJob", "nth": 2, "times": 2, **fault})
        admin.add_fault({"method": "logging.entries.list", "nth": 2, "times": 2, **fault})
    admin.add_fault({"method": "GetCustomJob", "stall": 1, "times": 1})
    output = engine.up().ok().output
    assert engine.outputs() == {"state": "SUCCEEDED"}
    assert output.count("[train workerpool0-0] done\n") >= 1
    assert len(jobs(engine)) == 1
    assert all(each["fired"] for each in admin.faults()), admin.faults()


def test_a_service_that_fails_for_long_ends_the_wait_with_a_warning_at_its_deadline(engine: Engine) -> None:
    write(engine, LONG, more='wait="done", wait_timeout=8')
    process = start(engine)
    hear(process, "Ctrl-C leaves it running")
    control(engine).add_fault({"method": "GetCustomJob", "status": 500, "times": "always"})
    output, _ = process.communicate(timeout=PATIENCE)
    control(engine).clear_faults()
    assert process.returncode == 0, output
    assert "not waiting any longer" in output


def test_what_a_job_came_to_is_known_in_a_preview_and_may_be_built_on(engine: Engine) -> None:
    after = """
    settings = vt.EnvVarArgs(name="STATE", value=job.completion["state"])
    task = vt.ContainerSpecArgs(image_uri=IMAGE, command=["true"], env=[settings])
    machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
    pool = vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task)
    vt.CustomJob("evaluate", worker_pool_specs=[pool], wait="done", protect_running=True)
    """
    after = textwrap.dedent(after).replace("IMAGE", repr(IMAGE))
    write(engine, "print('trained')", more='wait="done"', after=after)
    engine.up().ok()
    assert "5 unchanged" in engine.preview("--expect-no-changes").ok().output
