"""`stall_timeout` ends a job that hangs, and the deployment shows the cause; on the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

import vertex_cluster
from support.client.engine import Engine
from support.client.shared_engine import diagnostics

HANGS = f"""
import sys, time
sys.path.append({str(Path(vertex_cluster.__file__).parents[1])!r})
import vertex_cluster
vertex_cluster.report(step=3)
def the_line_that_hangs():
    time.sleep(600)
the_line_that_hangs()
"""
PROGRAM = f"""
image = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
task = vt.task_from_image(image, command=["python3", "-u", "-c", {HANGS!r}])
vt.CustomJob("hangs", **task, stall_timeout=1, wait="done")
"""


@pytest.mark.slow
def test_a_job_that_hangs_fails_with_its_cause_and_a_bad_time_is_refused(shared_engine: Engine) -> None:
    engine = shared_engine
    engine.write(PROGRAM.replace("stall_timeout=1", "stall_timeout=0.5"))
    said = engine.up().failed().output
    assert "stall_timeout: is '0.5'; give a number of seconds, 1 or more, such as 600" in said
    engine.write(PROGRAM)
    said = diagnostics(engine.up().failed().output)
    assert "exited with a non-zero status of 1" in said
    assert "Likely cause: a replica hangs: workerpool0-0 since 20" in said
    assert ", after step 3. Read the stacks of its threads" in said
    (job,) = [one for one in engine.state() if "job_id" in one["outputs"]]
    env = job["inputs"]["worker_pool_specs"][0]["container_spec"]["env"]
    assert env == [{"name": "VERTEX_CLUSTER_STALL_TIMEOUT", "value": "1"}]
