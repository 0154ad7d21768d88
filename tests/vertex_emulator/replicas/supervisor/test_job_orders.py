"""Replicas that are killed or preempted on request, and the documented rules for what then happens."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import (
    SLEEP,
    JobEmulator,
    job_id,
    pool,
    raise_flag,
    running_jobs,
    wait_for_flags,
    wait_until_gone,
)
from support.waiting import eventually
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.times import parse
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_emulator.replicas.supervisor.loop import Running
from vertex_emulator.replicas.supervisor.orders import Order, Orders

SPOT = {"strategy": "SPOT"}


def order(emulator: JobEmulator, name: str, kind: str, replica: str = "workerpool0-0", **body: Any) -> None:
    emulator.call("POST", f"/_local/jobs/{job_id(name)}/replicas/{replica}/{kind}", body).ok()


def advance(emulator: JobEmulator, seconds: float) -> None:
    assert emulator.call("POST", "/_local/clock/advance", {"seconds": seconds}).status == 200


def freeze(emulator: JobEmulator) -> None:
    assert emulator.call("POST", "/_local/clock/freeze", {}).status == 200


def attempts(emulator: JobEmulator, name: str) -> dict[str, tuple[int, int]]:
    return {key: (one["attempt"], one["jobAttempt"]) for key, one in emulator.replicas(name).items()}


def test_a_killed_replica_is_started_again(emulator: JobEmulator) -> None:
    name = emulator.create(pool(wait_for_flags("go")), pool(SLEEP))
    order(emulator, name, "kill", "workerpool1-0")
    emulator.until(lambda: attempts(emulator, name).get("workerpool1-0") == (2, 1))
    (emulator.flags / "go").touch()
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    assert attempts(emulator, name) == {"workerpool0-0": (1, 1), "workerpool1-0": (2, 1)}
    [restart] = [line for line in emulator.printed(name, "service") if "estarted" in line]
    assert restart == (
        "The replica workerpool1-0 ended with status 137 (SIGKILL). It is restarted: restart 1 of 5."
    )


def test_out_of_memory_ends_the_job(emulator: JobEmulator) -> None:
    name = emulator.create(pool(SLEEP), pool(SLEEP))
    order(emulator, name, "kill", "workerpool1-0", outOfMemory=True)
    error = emulator.wait(name)["error"]["message"]
    assert error.startswith("The replica workerpool1-0 ran out of memory and exited with a non-zero status")
    assert attempts(emulator, name)["workerpool1-0"] == (1, 1)


def test_at_a_time_after_it_runs(emulator: JobEmulator) -> None:
    freeze(emulator)
    name = emulator.create(pool(SLEEP), pool(SLEEP))
    order(emulator, name, "kill", "workerpool1-0", after=3600, outOfMemory=True)
    emulator.wait(name, "JOB_STATE_RUNNING")
    advance(emulator, 3599)
    emulator.settle(name)
    assert emulator.get(name)["state"] == "JOB_STATE_RUNNING"
    advance(emulator, 1)
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_FAILED"
    assert parse(ended["endTime"]) - parse(ended["startTime"]) == timedelta(hours=1)


def test_the_time_counts_from_each_start(emulator: JobEmulator) -> None:
    """Apply each order to one start of a replica; the next start gets the next order."""
    begun = time.monotonic()
    name = emulator.create(pool(SLEEP), pool(SLEEP))
    order(emulator, name, "kill", "workerpool1-0", after=0.2)
    order(emulator, name, "kill", "workerpool1-0", after=0.2, outOfMemory=True)
    assert "ran out of memory" in emulator.wait(name)["error"]["message"]
    assert time.monotonic() - begun >= 0.4
    assert attempts(emulator, name)["workerpool1-0"] == (2, 1)


def test_an_order_waits_for_the_job(emulator: JobEmulator) -> None:
    emulator.call("PUT", "/_local/start-delay", {"seconds": 3600})
    name = emulator.create(pool(SLEEP))
    order(emulator, name, "kill", outOfMemory=True)
    assert emulator.get(name)["state"] == "JOB_STATE_PENDING"
    advance(emulator, 3600)
    assert "ran out of memory" in emulator.wait(name)["error"]["message"]


@pytest.mark.parity(
    "Custom jobs: restarts",
    same="after a kill; an abort or a segmentation fault restarts the job",
    fields=("job_spec.scheduling.restart_job_on_worker_restart", "job_spec.scheduling.disable_retries"),
)
def test_five_restarts_of_a_replica_then_three_of_the_job(emulator: JobEmulator) -> None:
    """24 starts; one more kill than that would be left over."""
    name = emulator.create(pool(SLEEP), pool(SLEEP))
    order(emulator, name, "kill", "workerpool1-0", times=25)
    ended = emulator.wait(name)
    assert "The job had been restarted 3 times before." in ended["error"]["message"]
    assert attempts(emulator, name) == {"workerpool0-0": (4, 4), "workerpool1-0": (24, 4)}
    wait_until_gone(name)


def test_disable_retries_holds(emulator: JobEmulator) -> None:
    name = emulator.create(pool(SLEEP), scheduling={"disableRetries": True})
    order(emulator, name, "kill")
    assert "disable_retries is true" in emulator.wait(name)["error"]["message"]


@pytest.mark.parity("Custom jobs: strategies")
def test_a_preempted_spot_vm_restarts_the_job(emulator: JobEmulator) -> None:
    """SIGTERM first, and whoever ends with 0 then has not finished."""
    polite = (
        "import os, signal, sys\n"
        "def leave(*_):\n    open('/gcs/flags/saved', 'w').close()\n    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, leave)\n"
        "if os.path.exists('/gcs/flags/saved'): sys.exit(0)\n" + raise_flag("ready") + SLEEP
    )
    name = emulator.create(pool(polite), pool(SLEEP), scheduling=SPOT)
    eventually((emulator.flags / "ready").exists)
    order(emulator, name, "preempt")
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_SUCCEEDED"
    assert ended["jobSpec"]["scheduling"]["strategy"] == "SPOT"
    assert (emulator.flags / "saved").exists()
    assert attempts(emulator, name) == {"workerpool0-0": (2, 2), "workerpool1-0": (2, 2)}
    [restart] = [line for line in emulator.printed(name, "service") if "estarted" in line]
    assert restart == (
        "The machine of the replica workerpool0-0 was preempted, on Spot VMs. The job is restarted: restart "
        "1 of 6."
    )


@pytest.mark.parity("Custom jobs: strategies")
def test_a_job_is_preempted_six_times_and_then_fails(emulator: JobEmulator) -> None:
    name = emulator.create(pool(SLEEP), scheduling=SPOT)
    order(emulator, name, "preempt", times=9)
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_FAILED"
    assert ended["error"]["code"] == 8
    assert ended["error"]["message"].startswith("Resources are insufficient in region: us-central1. Try a ")
    assert attempts(emulator, name) == {"workerpool0-0": (7, 7)}
    wait_until_gone(name)


def test_who_ignores_sigterm_is_killed(emulator: JobEmulator) -> None:
    stubborn = "import signal\nsignal.signal(15, signal.SIG_IGN)\n" + raise_flag("ready") + SLEEP
    name = emulator.create(pool(stubborn), scheduling={**SPOT, "disableRetries": True})
    eventually((emulator.flags / "ready").exists)
    order(emulator, name, "preempt")
    ended = emulator.wait(name)
    assert "Resources are insufficient" in ended["error"]["message"]
    assert emulator.replicas(name)["workerpool0-0"]["exitCode"] == 137
    wait_until_gone(name)


def test_a_preempted_replica_of_another_job_is_replaced(emulator: JobEmulator) -> None:
    name = emulator.create(pool(wait_for_flags("go")), pool(SLEEP))
    order(emulator, name, "preempt", "workerpool1-0", after=0.1)
    emulator.until(lambda: attempts(emulator, name).get("workerpool1-0") == (2, 1))
    (emulator.flags / "go").touch()
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    assert attempts(emulator, name) == {"workerpool0-0": (1, 1), "workerpool1-0": (2, 1)}


class TestRefused:
    def refused(self, emulator: JobEmulator, path: str, body: object, status: int) -> str:
        answer = emulator.call("POST", f"/_local/jobs/{path}", body)
        assert answer.status == status, answer.body
        return answer.message

    def test_jobs_and_replicas_that_are_not_there(self, emulator: JobEmulator) -> None:
        name = emulator.create(pool(SLEEP))
        of_job = f"{job_id(name)}/replicas"
        assert "no job 12" in self.refused(emulator, "12/replicas/workerpool0-0/kill", {}, 404)
        said = self.refused(emulator, f"{of_job}/workerpool0-1/kill", {}, 404)
        assert said == (
            "The job has no replica 'workerpool0-1'. Did you mean 'workerpool0-0'? It has workerpool0-0."
        )
        emulator.cancel(name)
        emulator.wait(name)
        said = self.refused(emulator, f"{of_job}/workerpool0-0/preempt", {}, 400)
        assert said.endswith("is in state JOB_STATE_CANCELLED: none of its replicas is running.")

    def test_a_replica_in_its_grace_time_after_a_cancel(self, tmp_path: Path, sandbox: Sandbox) -> None:
        """Check that no order is promised which the supervisor of a decided job does not carry out."""
        stubborn = "import signal\nsignal.signal(15, signal.SIG_IGN)\n" + raise_flag("ready")
        with running_jobs(tmp_path, sandbox=sandbox, grace=600) as emulator:
            name = emulator.create(pool(stubborn + wait_for_flags("go")))
            eventually((emulator.flags / "ready").exists)
            emulator.cancel(name)
            for kind in ("kill", "preempt"):
                path = f"{job_id(name)}/replicas/workerpool0-0/{kind}"
                said = self.refused(emulator, path, {}, 400)
                assert f"The job {job_id(name)} is being cancelled, which ends its replicas" in said
            (emulator.flags / "go").touch()
            assert emulator.wait(name)["state"] == "JOB_STATE_CANCELLED"

    @pytest.mark.parametrize(
        ("kind", "body", "says"),
        [
            pytest.param("kill", {"after": -1}, "after must be", id="before it runs"),
            pytest.param("kill", {"times": 0}, "times must be", id="never"),
            pytest.param("kill", {"times": 1.5}, "whole number, not 1.5", id="one and a half times"),
            pytest.param("kill", {"outOfMemory": 1}, "true or false", id="memory"),
            pytest.param("preempt", {"outOfMemory": True}, "'outOfMemory' is unknown", id="both"),
        ],
    )
    def test_orders_that_cannot_be(self, emulator: JobEmulator, kind: str, body: object, says: str) -> None:
        name = emulator.create(pool(SLEEP))
        assert says in self.refused(emulator, f"{job_id(name)}/replicas/workerpool0-0/{kind}", body, 400)


class Program:
    """A started program as far as orders look at one."""

    def __init__(self) -> None:
        self.pid = None
        self.exit_code: int | None = None
        self.started = True
        self.signals: list[str] = []

    def terminate(self) -> None:
        self.signals.append("terminate")

    def kill(self) -> None:
        self.signals.append("kill")


def started(program: Program) -> Running:
    """Return a replica that has run since the machine was started."""
    unused: Any = None
    child: Any = program
    return Running(name="one", child=child, log=unused, ends={}, is_replica=True, started_at=0.0)


class TestWhenSomethingIsDue:
    """A time that has passed and stays would let the supervisor look without a pause."""

    def orders(self, folder: Path, *, grace: float = 600) -> Orders:
        """Return a preemption of the first start and a kill of the second."""
        both = [asdict(Order(kind=kind, replica="one")) for kind in ("preempt", "kill")]
        (folder / "orders.json").write_text(json.dumps(both))
        return Orders(JobFolder(folder), Clock(), grace_seconds=grace)

    def looks(self, orders: Orders, one: Running) -> list[float]:
        return [at for at in orders.next_checks([one]) if at is not None]

    def test_at_the_end_of_the_grace(self, tmp_path: Path) -> None:
        orders, one = self.orders(tmp_path), started(Program())
        orders.apply_due([one])
        [at] = self.looks(orders, one)
        assert 590 < at - time.monotonic() <= 600

    def test_never_for_a_replica_that_has_ended(self, tmp_path: Path) -> None:
        orders, one = self.orders(tmp_path), started(Program())
        orders.apply_due([])
        one.child.exit_code = 0
        assert self.looks(orders, one) == []

    def test_never_for_one_that_was_preempted_and_has_ended(self, tmp_path: Path) -> None:
        orders, one = self.orders(tmp_path, grace=0), started(Program())
        orders.apply_due([one])
        one.child.exit_code = 143
        assert self.looks(orders, one) == []

    def test_not_for_the_start_before(self, tmp_path: Path) -> None:
        """Let it end while the job was decided and no order was applied."""
        orders, second = self.orders(tmp_path, grace=0), Program()
        orders.apply_due([started(Program())])
        one = started(second)
        orders.apply_due([one])
        assert (one.order_kind, self.looks(orders, one)) == ("kill", [])
        orders.apply_due([one])
        assert second.signals == []
