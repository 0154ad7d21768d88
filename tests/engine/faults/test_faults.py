"""Failing programs, kills and interruptions on the real engine: nothing lost, doubled or left running.

The tests share a stack; each declares jobs of its own names, and its deployment deletes those of the others.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from support.client.engine import GATE, Engine, read_output_until
from support.emulated.emulator import is_alive
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client import launcher

AFTER_A_KILL = Path(__file__).parents[3] / "docs" / "architecture" / "after-a-kill.md"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"

PROGRAM = f"""
def declare(name, script):
    container = vt.ContainerSpecArgs(image_uri="{IMAGE}", command=["python3", "-c"], args=[script])
    machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
    pool = vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=container)
    return vt.CustomJob(name, worker_pool_specs=[pool], wait="done")


"""
EXPORT = """
pulumi.export("state", job.completion["state"])
pulumi.export("accuracy", job.completion["metrics"]["accuracy"])
"""
LONG = "import time; print('at work', flush=True); time.sleep(300)"
RAISES = "print('before'); raise RuntimeError('no such flower')"


def write(engine: Engine, script: str, *names: str) -> None:
    engine.write(PROGRAM + "".join(f"job = declare({name!r}, {script!r})\n" for name in names) + EXPORT)


def start(engine: Engine) -> subprocess.Popen[str]:
    return engine.start("up", "--yes", "--skip-preview", "--non-interactive")


def kill(process: subprocess.Popen[str]) -> None:
    """SIGKILL for `pulumi` alone; its children keep the pipe, so it is closed from here."""
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def jobs(engine: Engine, *names: str) -> list[JobRecord]:
    """Return the jobs with these display names, in their order."""
    if launcher.find(engine.data_dir) is None:
        return []
    found = [job for job in custom_jobs.list_jobs(engine.endpoint()) if job.display_name in names]
    return sorted(found, key=lambda job: names.index(job.display_name))


def are_running(engine: Engine, *names: str) -> bool:
    return [job.state for job in jobs(engine, *names)] == [JobState.JOB_STATE_RUNNING] * len(names)


def recorded(engine: Engine) -> list[str]:
    """Return the ids in the state, also while it is written; empty then."""
    try:
        return [one["id"] for one in engine.state()]
    except (FileNotFoundError, ValueError):
        return []


# Shown quicker in tests/pulumi_vertex_training: program/waiting/test_completion.py;
# tests/engine/jobs/test_waiting.py, tests/engine/package/test_python_programs.py
@pytest.mark.slow
def test_a_program_that_raises_fails_its_deployment_and_each_later_one(shared_engine: Engine) -> None:
    engine = shared_engine
    write(engine, RAISES, "raises")
    failed = engine.up()
    assert failed.code != 0
    output = failed.output.replace("Traceback", "", 1)  # the training program's own, in its log
    assert "Traceback" not in output
    assert "workerpool0-0" in output
    assert "no such flower" in output
    assert "vertex-training logs" in output
    (job,) = jobs(engine, "raises")
    assert job.name in recorded(engine)
    later = engine.up()
    assert later.code != 0
    assert "no such flower" in later.output
    assert "each deployment fails until it has succeeded" in later.output
    assert len(jobs(engine, "raises")) == 1


def test_the_deployment_after_a_killed_one_joins_recorded_jobs_and_adopts_others(
    shared_engine: Engine,
) -> None:
    """`adopted` is taken out of the state: a kill in create leaves that."""
    engine = shared_engine
    write(engine, LONG, "joined", "adopted")
    process = start(engine)
    eventually(lambda: are_running(engine, "joined", "adopted"))
    # The engine records a job a moment after the service has it.
    eventually(lambda: {job.name for job in jobs(engine, "joined", "adopted")} <= set(recorded(engine)))
    family = psutil.Process(process.pid).children(recursive=True)
    plugins = [one for one in family if "pulumi.dynamic" in " ".join(one.cmdline())]
    kill(process)
    joined, adopted = jobs(engine, "joined", "adopted")
    eventually(lambda: not any(is_alive(one) for one in plugins))

    locked = engine.up().failed().output
    assert "pulumi cancel" in locked
    (remedy,) = re.findall(r"`pulumi (cancel [^`]+)`", AFTER_A_KILL.read_text(encoding="utf-8"))
    engine.run(*remedy.split()).ok()
    urn = next(one["urn"] for one in engine.state() if one["urn"].endswith(":CustomJob::adopted"))
    engine.forget(urn)

    again = start(engine)
    output = read_output_until(again, "Ctrl-C leaves it running")
    eventually(lambda: {joined.name, adopted.name} <= set(recorded(engine)))
    names = [job.name for job in (joined, adopted)]
    assert [one.name for one in jobs(engine, "joined", "adopted")] == names
    for name in names:
        custom_jobs.cancel(engine.endpoint(), name)
    output += again.communicate(timeout=TIMEOUT)[0]
    assert again.returncode != 0
    assert "CANCELLED" in output
    assert f"adopted custom job {adopted.job_id}" in output
    assert f"adopted custom job {joined.job_id}" not in output
    assert [one.name for one in jobs(engine, "joined", "adopted")] == names


def test_ctrl_c_leaves_the_job_running_and_says_so(shared_engine: Engine) -> None:
    engine = shared_engine
    write(engine, LONG, "interrupted")
    process = start(engine)
    output = read_output_until(process, "Ctrl-C leaves it running: `pulumi up` joins it again")
    eventually(lambda: are_running(engine, "interrupted"))
    os.killpg(process.pid, signal.SIGINT)
    output += process.communicate(timeout=TIMEOUT)[0]
    assert process.returncode != 0
    assert "Traceback" not in output, output
    (job,) = jobs(engine, "interrupted")
    assert job.state is JobState.JOB_STATE_RUNNING
    assert job.name in recorded(engine)
    # The printed command, as in another shell, which has no stack.
    (command,) = set(re.findall(r"`(vertex-training cancel [^`]+)`", output))
    subprocess.run(command, shell=True, cwd="/", env=engine.environment, check=True, capture_output=True)
    eventually(lambda: [one.state.word for one in jobs(engine, "interrupted")] == ["CANCELLED"])
    engine.destroy().ok()
    assert jobs(engine, "interrupted") == []


def test_two_deployments_at_once_make_one_job_and_a_killed_emulator_loses_none(shared_engine: Engine) -> None:
    engine = shared_engine
    with socket.socket() as gate:
        gate.bind(("127.0.0.1", 0))
        script = GATE.format(port=gate.getsockname()[1]) + "print('done')"
        write(engine, script, "doubled")
        first = start(engine)
        # Of two that lock the stack in the same moment, both may give up.
        locks = engine.folder / "state" / ".pulumi" / "locks"
        eventually(lambda: any(locks.rglob("*.json")) or first.poll() is not None)
        assert "pulumi cancel" in engine.up().failed().output
        eventually(lambda: are_running(engine, "doubled"))
        emulator = launcher.find(engine.data_dir)
        assert emulator is not None
        os.kill(emulator.pid, signal.SIGKILL)
        gate.listen()
        output = first.communicate(timeout=TIMEOUT)[0]
    assert first.returncode == 0, output
    assert engine.outputs()["state"] == "SUCCEEDED"
    assert len(jobs(engine, "doubled")) == 1
