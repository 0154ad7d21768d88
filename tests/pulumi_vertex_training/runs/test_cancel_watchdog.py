"""The guard cancels what a program held when that program was killed, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.runs import cancel_watchdog
from pulumi_vertex_training.runs.cancel_watchdog import Order, held, read
from pulumi_vertex_training.timeouts import Timeouts
from support.waiting import eventually
from vertex_emulator.testing.emulator import VertexEmulator
from vertex_training.fields.labels import KEY_LABEL

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"

PROGRAM = """
import json, sys
from pulumi_vertex_training.program.waiting import interruption
from pulumi_vertex_training.cloud.endpoint import Endpoint
endpoint = Endpoint(**json.loads(sys.argv[1]))
{orders}
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def endpoint(vertex_emulator: VertexEmulator) -> Endpoint:
    return Endpoint(
        kind="emulator",
        project="local",
        location="us-central1",
        url=vertex_emulator.host,
        token=vertex_emulator.token,
        data_dir=str(vertex_emulator.data_dir),
    )


def submit(endpoint: Endpoint, key: str = "k-1") -> str:
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": 1,
        "containerSpec": {"imageUri": IMAGE, "command": ["sleep", "300"]},
    }
    job = {"displayName": "train", "labels": {KEY_LABEL: key}, "jobSpec": {"workerPoolSpecs": [pool]}}
    return custom_jobs.create(endpoint, job).name


def killed(endpoint: Endpoint, orders: str, *, before: Callable[[], Any] = lambda: None) -> None:
    """Run a program with these orders, and kill it as Pulumi does."""
    import json

    place = {"kind": "emulator", "project": "local", "location": "us-central1"}
    place |= {"url": str(endpoint.url), "token": str(endpoint.token)}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(orders=textwrap.dedent(orders)), json.dumps(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        before()
        process.kill()


def state(endpoint: Endpoint, name: str) -> str:
    return custom_jobs.get(endpoint, name).state.word


def test_an_order_arrives_as_it_was_written() -> None:
    addresses = (("logging.googleapis.com", "http://127.0.0.1:1"),)
    place = Endpoint(
        kind="google",
        project="p",
        location="us-central1",
        addresses=addresses,
        timeouts=Timeouts(last_cancel=180.0),
    )
    order = Order(name="projects/p/locations/us-central1/customJobs/1", hold=True, endpoint=place, since="s")
    (found,) = cancel_watchdog.held([cancel_watchdog.read(order.line().decode())]).values()
    assert (found, hash(found.endpoint)) == (order, hash(place))


def test_what_is_held_when_the_program_is_killed_is_cancelled(endpoint: Endpoint) -> None:
    job, other = submit(endpoint), submit(endpoint)
    killed(endpoint, f"interruption.hold({job!r}, endpoint)")
    eventually(lambda: state(endpoint, job) == "CANCELLED")
    assert state(endpoint, other) in ("PENDING", "RUNNING")


def test_what_was_released_goes_on(endpoint: Endpoint) -> None:
    released, marker = submit(endpoint), submit(endpoint)
    killed(
        endpoint,
        f"""
        interruption.hold({released!r}, endpoint)
        interruption.release({released!r})
        interruption.hold({marker!r}, endpoint)
        """,
    )
    eventually(lambda: state(endpoint, marker) == "CANCELLED")
    assert state(endpoint, released) in ("PENDING", "RUNNING")


def test_of_a_resource_only_a_job_that_is_created_after_the_order_is_meant(endpoint: Endpoint) -> None:
    key = "k-2"
    order = Order(
        name=f"{cancel_watchdog.KEY_PREFIX}{key}", hold=True, endpoint=endpoint, since=cancel_watchdog.now()
    )
    job, other = submit(endpoint, key), submit(endpoint, "k-22")
    assert "was cancelled" in cancel_watchdog.stop(order)
    assert state(endpoint, job) in ("CANCELLING", "CANCELLED")
    assert state(endpoint, other) in ("PENDING", "RUNNING")


def test_a_job_that_was_there_long_before_is_not(endpoint: Endpoint) -> None:
    job = submit(endpoint, "k-3")
    later = "2100-01-01T00:00:00+00:00"
    soon = replace(endpoint, timeouts=Timeouts(last_submission=1.0))
    order = Order(name=f"{cancel_watchdog.KEY_PREFIX}k-3", hold=True, endpoint=soon, since=later)
    assert cancel_watchdog.stop(order) == ""
    assert state(endpoint, job) in ("PENDING", "RUNNING")


def test_errors_that_pass_are_survived(endpoint: Endpoint, vertex_emulator: VertexEmulator) -> None:
    job = submit(endpoint)
    vertex_emulator.fault("CancelCustomJob", status=503, times=3)
    assert "was cancelled" in cancel_watchdog.stop(Order(name=job, hold=True, endpoint=endpoint))


def test_an_error_that_stays_is_said(endpoint: Endpoint, vertex_emulator: VertexEmulator) -> None:
    job = submit(endpoint)
    vertex_emulator.fault("CancelCustomJob", status=403)
    said = cancel_watchdog.stop(Order(name=job, hold=True, endpoint=endpoint))
    assert "was NOT cancelled and is still running" in said
    assert f"`vertex-training cancel {job.rpartition('/')[2]} " in said
    assert said.endswith(" --yes` stops it.")


def test_a_job_that_has_ended_is_no_error(endpoint: Endpoint) -> None:
    job = submit(endpoint)
    order = Order(name=job, hold=True, endpoint=endpoint)
    assert cancel_watchdog.stop(order)
    eventually(lambda: state(endpoint, job) == "CANCELLED")
    assert cancel_watchdog.stop(order) == ""


def test_orders_are_what_was_written() -> None:
    one = Order(name="a", hold=True, endpoint=Endpoint(kind="google", project="p", location="l"))
    two = Order(name="b", hold=True, endpoint=one.endpoint, since=cancel_watchdog.now())
    lines = [one, two, Order(name="a", hold=False)]
    assert held(read(order.line().decode()) for order in lines) == {"b": two}
