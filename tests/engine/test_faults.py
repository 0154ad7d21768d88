"""Failing programs, kills and interruptions on the real engine: nothing lost, doubled or left running."""

from __future__ import annotations

import os
import signal
import subprocess

import psutil

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobState
from support.emulator import is_alive
from support.engine import Engine, read_output_until
from support.waiting import TIMEOUT, eventually
from vertex_emulator import launcher

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"

PROGRAM = f"""
job = vt.CustomJob(
    "train",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            container_spec=vt.ContainerSpecArgs(
                image_uri="{IMAGE}", command=["python3", "-c"], args=[{{script!r}}]
            ),
        )
    ],
    wait="done",
)
pulumi.export("state", job.completion["state"])
pulumi.export("accuracy", job.completion["metrics"]["accuracy"])
"""
LONG = "import time; print('at work', flush=True); time.sleep(300)"
RAISES = "print('before'); raise RuntimeError('no such flower')"


def write(engine: Engine, script: str) -> None:
    engine.write(PROGRAM.replace("{script!r}", repr(script)))


def kill(process: subprocess.Popen[str]) -> None:
    """SIGKILL for `pulumi` alone; its children keep the pipe, so it is closed from here."""
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def jobs(engine: Engine) -> list[custom_jobs.JobRecord]:
    if launcher.find(engine.data_dir) is None:
        return []
    return custom_jobs.list_jobs(engine.endpoint())


def is_running(engine: Engine) -> bool:
    return any(job.state is JobState.JOB_STATE_RUNNING for job in jobs(engine))


def test_a_program_that_raises_fails_the_deployment_that_started_it_and_no_later_one(engine: Engine) -> None:
    write(engine, RAISES)
    failed = engine.up()
    assert failed.code != 0
    output = failed.output.replace("Traceback", "", 1)  # the training program's own, in its log
    assert "Traceback" not in output
    assert "workerpool0-0" in output
    assert "exited with a non-zero status of 1" in output
    assert "no such flower" in output
    assert "vertex-training logs" in output
    (job,) = jobs(engine)
    assert job.name in [one["id"] for one in engine.state()]
    later = engine.up().ok().output
    assert "warning" in later
    assert "no such flower" in later
    assert engine.outputs() == {"state": "FAILED"}
    assert len(jobs(engine)) == 1


def test_a_killed_deployment_is_joined_by_the_next_one(engine: Engine) -> None:
    write(engine, LONG)
    process = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
    eventually(lambda: is_running(engine))
    family = psutil.Process(process.pid).children(recursive=True)
    plugins = [one for one in family if "pulumi.dynamic" in " ".join(one.cmdline())]
    kill(process)
    (job,) = jobs(engine)
    eventually(lambda: not any(is_alive(one) for one in plugins))

    locked = engine.up().failed().output
    assert "pulumi cancel" in locked
    engine.run("cancel", "--yes").ok()
    joined = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
    read_output_until(joined, "Ctrl-C leaves it running")
    custom_jobs.cancel(engine.endpoint(), job.name)
    output, _ = joined.communicate(timeout=TIMEOUT)
    assert joined.returncode != 0
    assert "CANCELLED" in output
    assert [one.name for one in jobs(engine)] == [job.name]


def test_a_job_submitted_by_a_deployment_that_died_before_recording_it_is_adopted(engine: Engine) -> None:
    """The state is put back to the moment before the job was recorded: what a kill in create leaves."""
    write(engine, LONG)
    process = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
    eventually(lambda: is_running(engine))
    kill(process)
    engine.run("cancel", "--yes").ok()
    (job,) = jobs(engine)
    urn = next(one["urn"] for one in engine.state() if one["type"].endswith(":CustomJob"))
    engine.run("state", "delete", urn, "--yes").ok()

    again = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
    said = read_output_until(again, "Ctrl-C leaves it running")
    assert any(one["id"] == job.name for one in engine.state())
    assert [one.name for one in jobs(engine)] == [job.name]
    custom_jobs.cancel(engine.endpoint(), job.name)
    output, _ = again.communicate(timeout=TIMEOUT)
    assert f"adopted custom job {job.job_id}" in said + output


def test_ctrl_c_leaves_the_job_running_and_says_so(engine: Engine) -> None:
    write(engine, LONG)
    process = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
    said = read_output_until(process, "Ctrl-C leaves it running: `pulumi up` joins it again")
    eventually(lambda: is_running(engine))
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode != 0
    assert "Traceback" not in said + output, output
    (job,) = jobs(engine)
    assert job.state is JobState.JOB_STATE_RUNNING
    assert job.name in [one["id"] for one in engine.state()]
    engine.destroy().ok()
    assert jobs(engine) == []


def test_the_emulator_killed_while_a_job_runs_loses_nothing(engine: Engine) -> None:
    write(engine, "import time; time.sleep(8); print('done')")
    process = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
    eventually(lambda: is_running(engine))
    emulator = launcher.find(engine.data_dir)
    assert emulator is not None
    os.kill(emulator.pid, signal.SIGKILL)
    output, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, output
    assert engine.outputs()["state"] == "SUCCEEDED"
    assert len(jobs(engine)) == 1


def test_a_bucket_name_that_is_taken_is_said_with_the_remedy(engine: Engine) -> None:
    engine.write(
        'vt.StagingBucket("one", name="the-same-name")\nvt.StagingBucket("two", name="the-same-name")\n'
    )
    output = engine.up().failed().output
    assert "bucket the-same-name: the name is taken" in output
    assert "Choose another" in output


def test_two_deployments_at_once_make_one_job(engine: Engine) -> None:
    write(engine, "import time; time.sleep(3)")
    both = [engine.start("up", "--yes", "--skip-preview", "--non-interactive") for _ in range(2)]
    outputs = [process.communicate(timeout=TIMEOUT)[0] for process in both]
    assert sorted(process.returncode == 0 for process in both) == [False, True], outputs
    assert len(jobs(engine)) == 1
