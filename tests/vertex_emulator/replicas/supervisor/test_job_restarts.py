"""Replicas and jobs that are started again: real processes, seen over HTTP."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.emulated.job_emulator import (
    SLEEP,
    JobEmulator,
    pool,
    processes_of,
    raise_flag,
    running_jobs,
    wait_for_flags,
    wait_until_gone,
)
from support.waiting import eventually
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

COUNT = (
    "import os\n"
    "with open('/gcs/flags/starts', 'a') as file: file.write('.')\n"
    "number = os.stat('/gcs/flags/starts').st_size\n"
    "print('start', number, flush=True)\n"
)
"""Code that counts how often it was started, in `number`."""

ABORT = "os.abort()\n"


def aborts(times: int) -> str:
    """Code that aborts at its first so many starts."""
    return COUNT + f"if number <= {times}: os.abort()\n"


def starts(emulator: JobEmulator) -> int:
    try:
        return (emulator.flags / "starts").stat().st_size
    except FileNotFoundError:
        return 0


def kill(emulator: JobEmulator, name: str, replica: str, *, number: int = signal.SIGKILL) -> None:
    """Send the signal to the replica's program, as from outside."""
    emulator.until(lambda: emulator.replicas(name)[replica]["pid"])
    os.kill(emulator.replicas(name)[replica]["pid"], number)


def state(emulator: JobEmulator, name: str, replica: str) -> str:
    """Return the replica's state; "" before its supervisor has reported."""
    return str(emulator.replicas(name).get(replica, {}).get("state", ""))


def attempts(emulator: JobEmulator, name: str) -> dict[str, tuple[int, int]]:
    """Return how often each replica was started, and the attempt of the job."""
    return {key: (one["attempt"], one["jobAttempt"]) for key, one in emulator.replicas(name).items()}


def restart_lines(emulator: JobEmulator, name: str) -> list[str]:
    """Return the service's log lines about restarts."""
    return [line for line in emulator.printed(name, "service") if "estarted" in line]


def test_a_job_that_aborts_once_succeeds(emulator: JobEmulator) -> None:
    name = emulator.create(pool(aborts(1)), pool(SLEEP))
    ended = emulator.wait(name)
    wait_until_gone(name)
    assert ended["state"] == "JOB_STATE_SUCCEEDED"
    assert "error" not in ended
    assert emulator.printed(name) == ["start 1", "start 2"], "the log of the first attempt is kept"
    assert restart_lines(emulator, name) == [
        "The replica workerpool0-0 ended with status 134 (SIGABRT), which may be transient. The job is "
        "restarted: restart 1 of 3."
    ]
    assert attempts(emulator, name) == {"workerpool0-0": (2, 2), "workerpool1-0": (2, 2)}
    assert emulator.replicas(name)["workerpool0-0"]["exitCode"] == 0


def test_a_job_that_goes_on_aborting_fails(emulator: JobEmulator) -> None:
    """Run a replica that would succeed at its seventh start."""
    name = emulator.create(pool(SLEEP), pool(aborts(6)))
    ended = emulator.wait(name)
    wait_until_gone(name)
    assert ended["state"] == "JOB_STATE_FAILED"
    assert starts(emulator) == 4
    assert ended["error"]["code"] == 3
    message = ended["error"]["message"]
    assert message.startswith("The replica workerpool1-0 exited with a non-zero status of 134.")
    assert "The job had been restarted 3 times before." in message
    assert message.count("    start ") == 1, "the lines of the last attempt only"
    assert "    start 4\n" in message
    assert attempts(emulator, name)["workerpool1-0"] == (4, 4)
    assert [line[-8:] for line in restart_lines(emulator, name)[:-1]] == [f" {n} of 3." for n in (1, 2, 3)]


def test_a_plain_failure_is_not_tried_again(emulator: JobEmulator) -> None:
    name = emulator.create(pool(COUNT + "raise SystemExit(1)"))
    assert emulator.wait(name)["state"] == "JOB_STATE_FAILED"
    assert (starts(emulator), restart_lines(emulator, name)) == (1, [])


@pytest.mark.parity("Custom jobs: restarts")
def test_disable_retries(emulator: JobEmulator) -> None:
    name = emulator.create(pool(aborts(1)), scheduling={"disableRetries": True})
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_FAILED"
    assert "because job_spec.scheduling.disable_retries is true" in ended["error"]["message"]
    assert starts(emulator) == 1
    assert attempts(emulator, name) == {"workerpool0-0": (1, 1)}


IDENTITY = "import os, socket; print(socket.gethostname(), os.environ['CLUSTER_SPEC'], flush=True)\n"


def test_a_killed_replica_is_restarted_in_its_place(emulator: JobEmulator) -> None:
    """Expect the same host name, addresses and a free port; the other replicas do not notice."""
    serve = (
        "import json\n"
        "host, port = json.loads(os.environ['CLUSTER_SPEC'])['cluster']['workerpool1'][0].split(':')\n"
        "server = socket.create_server((host, int(port)))\n"
        "open('file', 'a').write('.')\nprint(os.stat('file').st_size, 'listening', flush=True)\n"
    )
    chief = "print('once', flush=True)\n" + wait_for_flags("go")
    name = emulator.create(pool(chief), pool(IDENTITY + serve + SLEEP))
    for number in (1, 2, 3):
        eventually(lambda n=number: len(emulator.printed(name, "workerpool1-0")) == 2 * n)
        emulator.wait(name, "JOB_STATE_RUNNING")
        if number < 3:
            kill(emulator, name, "workerpool1-0", number=signal.SIGKILL if number == 1 else signal.SIGTERM)
    emulator.until(lambda: emulator.replicas(name)["workerpool1-0"]["state"] == "running")
    replica = emulator.replicas(name)["workerpool1-0"]
    assert (replica["exitCode"], replica["ended"]) == (None, None)
    (emulator.flags / "go").touch()
    ended = emulator.wait(name)
    wait_until_gone(name)
    assert ended["state"] == "JOB_STATE_SUCCEEDED"
    said = emulator.printed(name, "workerpool1-0")
    assert said[0] == said[2] == said[4]
    assert said[1::2] == ["1 listening", "2 listening", "3 listening"], "the same machine has the same files"
    assert emulator.printed(name) == ["once"]
    assert attempts(emulator, name) == {"workerpool0-0": (1, 1), "workerpool1-0": (3, 1)}
    assert restart_lines(emulator, name) == [
        "The replica workerpool1-0 ended with status 137 (SIGKILL). It is restarted: restart 1 of 5.",
        "The replica workerpool1-0 ended with status 143 (SIGTERM). It is restarted: restart 2 of 5.",
    ]
    entries = emulator.entries(name, 'resource.labels.task_name="workerpool1-0"')
    assert len({entry["insertId"] for entry in entries}) == len(entries) == 6 + 3
    notices = [entry["jsonPayload"]["message"] for entry in entries if entry["severity"] == "NOTICE"]
    assert notices[1:] == ["Emulator: attempt 2.", "Emulator: attempt 3."]


def test_a_killed_chief_is_restarted_too(emulator: JobEmulator) -> None:
    code = COUNT + "import time\nwhile number == 1: time.sleep(600)\n"
    name = emulator.create(pool(code), pool(SLEEP))
    eventually(lambda: starts(emulator) == 1)
    emulator.wait(name, "JOB_STATE_RUNNING")
    kill(emulator, name, "workerpool0-0")
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    assert attempts(emulator, name) == {"workerpool0-0": (2, 1), "workerpool1-0": (1, 1)}


def test_a_replica_that_is_always_killed_ends_the_job(emulator: JobEmulator) -> None:
    name = emulator.create(pool(SLEEP), pool(COUNT + "os.kill(os.getpid(), 9)"))
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_FAILED"
    assert starts(emulator) == 4 * (1 + 5)
    assert attempts(emulator, name) == {"workerpool0-0": (4, 4), "workerpool1-0": (24, 4)}
    assert "after 5 restarts. The job is restarted: restart 1 of 3." in restart_lines(emulator, name)[5]
    wait_until_gone(name)


@pytest.mark.parity("Custom jobs: restarts")
def test_a_worker_restart_restarts_the_job_on_request(emulator: JobEmulator) -> None:
    """Expect that the job stays RUNNING, and begins on new machines."""
    code = (
        "import os\nseen = 'work' in os.listdir('.')\nopen('work', 'w').close()\n"
        "with open('/gcs/flags/chief', 'a') as file: file.write('.')\n"
        "print(seen, flush=True)\n"
        "import time\nwhile os.stat('/gcs/flags/chief').st_size == 1: time.sleep(600)\n"
        + wait_for_flags("go")
    )
    name = emulator.create(
        pool(code),
        pool(SLEEP),
        {},
        pool(raise_flag("evaluated")),
        scheduling={"restartJobOnWorkerRestart": True},
    )
    eventually(lambda: emulator.printed(name) == ["False"])
    before = emulator.wait(name, "JOB_STATE_RUNNING")
    emulator.until(lambda: state(emulator, name, "workerpool3-0") == "succeeded")
    kill(emulator, name, "workerpool1-0")
    eventually(lambda: emulator.printed(name) == ["False", "False"])
    during = emulator.wait(name, "JOB_STATE_RUNNING")
    (emulator.flags / "go").touch()
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_SUCCEEDED"
    assert before["startTime"] == during["startTime"] == ended["startTime"]
    assert attempts(emulator, name) == dict.fromkeys(
        ["workerpool0-0", "workerpool1-0", "workerpool3-0"], (2, 2)
    )
    assert (
        "and restart_job_on_worker_restart is true. The job is restarted" in restart_lines(emulator, name)[0]
    )
    assert emulator.printed(name, "service").count("Job is running.") == 2


def test_a_restart_of_the_job_takes_the_place_of_one_that_is_due(tmp_path: Path, sandbox: Sandbox) -> None:
    """Else the replica that was killed first would be started twice."""
    killed = COUNT + "if number == 1: os.kill(os.getpid(), 9)\n" + SLEEP
    aborted = (
        "import os, sys\nif os.path.exists('/gcs/flags/go'): sys.exit(0)\n"
        + raise_flag("ready")
        + wait_for_flags("go")
        + "os.abort()"
    )
    with running_jobs(tmp_path, sandbox=sandbox, restart_seconds=600.0) as emulator:
        emulator.call("POST", "/_local/clock/freeze", {})
        name = emulator.create(pool(wait_for_flags("end")), pool(killed), {}, pool(aborted))
        emulator.until(lambda: state(emulator, name, "workerpool1-0") == "restarting")
        eventually((emulator.flags / "ready").exists)
        (emulator.flags / "go").touch()
        eventually(lambda: len(restart_lines(emulator, name)) == 2)
        emulator.call("POST", "/_local/clock/advance", {"seconds": 600})  # both would be due
        eventually(lambda: starts(emulator) == 2)
        emulator.until(lambda: state(emulator, name, "workerpool3-0") == "succeeded")
        (emulator.flags / "end").touch()
        assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
        assert set(attempts(emulator, name).values()) == {(2, 2)}
        wait_until_gone(name)


def test_a_plain_failure_ends_a_job_in_which_a_restart_is_due(tmp_path: Path, sandbox: Sandbox) -> None:
    killed = COUNT + "os.kill(os.getpid(), 9)"
    with running_jobs(tmp_path, sandbox=sandbox, restart_seconds=600) as emulator:
        name = emulator.create(pool(wait_for_flags("go") + "raise SystemExit(3)"), pool(killed))
        emulator.until(lambda: state(emulator, name, "workerpool1-0") == "restarting")
        (emulator.flags / "go").touch()
        ended = emulator.wait(name)
        assert ended["error"]["message"].startswith(
            "The replica workerpool0-0 exited with a non-zero status of 3."
        )
        assert emulator.replicas(name)["workerpool1-0"]["exitCode"] == 137
        assert starts(emulator) == 1
        wait_until_gone(name)


def test_nothing_is_restarted_while_a_job_is_stopped(tmp_path: Path, sandbox: Sandbox) -> None:
    """Let the chief end slowly, while the other replica's restart becomes due."""
    chief = (
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('ready', flush=True)\n" + SLEEP
    )
    with running_jobs(tmp_path, sandbox=sandbox, grace=2.0, restart_seconds=600.0) as emulator:
        emulator.call("POST", "/_local/clock/freeze", {})
        name = emulator.create(pool(chief), pool(wait_for_flags("go") + COUNT + "os.kill(os.getpid(), 9)"))
        eventually(lambda: emulator.printed(name) == ["ready"])
        (emulator.flags / "go").touch()
        emulator.until(lambda: state(emulator, name, "workerpool1-0") == "restarting")
        emulator.cancel(name)
        emulator.call("POST", "/_local/clock/advance", {"seconds": 600})
        assert emulator.wait(name)["state"] == "JOB_STATE_CANCELLED"
        wait_until_gone(name)
        assert (starts(emulator), attempts(emulator, name)["workerpool1-0"]) == (1, (1, 1))


@pytest.mark.parity("Custom jobs: timeout")
def test_the_timeout_is_over_all_attempts(emulator: JobEmulator) -> None:
    code = COUNT + "import time\ntime.sleep(0.4)\n" + ABORT
    name = emulator.create(pool(code), scheduling={"timeout": "0.7s"})
    ended = emulator.wait(name)
    message = ended["error"]["message"]
    assert "longer than job_spec.scheduling.timeout" in message, "else all four attempts have aborted"
    wait_until_gone(name)


@pytest.mark.parametrize(
    ("code", "scheduling"),
    [
        pytest.param("os.kill(os.getpid(), 9)", {}, id="of a replica"),
        pytest.param(ABORT, {}, id="of the job"),
    ],
)
class TestWhileARestartIsDue:
    """The wait before the next attempt is long."""

    def job(self, emulator: JobEmulator, code: str, scheduling: dict[str, Any]) -> str:
        name = emulator.create(pool(COUNT + code), pool(SLEEP), scheduling=scheduling)
        eventually(lambda: restart_lines(emulator, name))
        emulator.until(lambda: state(emulator, name, "workerpool0-0") in ("restarting", "failed"))
        # Pending: the other replica may still be starting.
        assert emulator.get(name)["state"] in ("JOB_STATE_PENDING", "JOB_STATE_RUNNING")
        return name

    def test_a_cancelled_job_ends(
        self, tmp_path: Path, sandbox: Sandbox, code: str, scheduling: dict[str, Any]
    ) -> None:
        with running_jobs(tmp_path, sandbox=sandbox, restart_seconds=600) as emulator:
            name = self.job(emulator, code, scheduling)
            emulator.cancel(name)
            assert emulator.wait(name)["state"] == "JOB_STATE_CANCELLED"
            wait_until_gone(name)
            assert starts(emulator) == 1
            assert {one["state"] for one in emulator.replicas(name).values()} <= {"stopped", "failed"}

    def test_the_timeout_ends_it(
        self, tmp_path: Path, sandbox: Sandbox, code: str, scheduling: dict[str, Any]
    ) -> None:
        with running_jobs(tmp_path, sandbox=sandbox, restart_seconds=600) as emulator:
            # On a slow machine the timeout may come before the replica has ended.
            limited = {**scheduling, "timeout": "1s"}
            name = emulator.create(pool(COUNT + code), pool(SLEEP), scheduling=limited)
            assert "longer than" in emulator.wait(name)["error"]["message"]
            wait_until_gone(name)

    def test_a_killed_supervisor_leaves_nothing(
        self, tmp_path: Path, sandbox: Sandbox, code: str, scheduling: dict[str, Any]
    ) -> None:
        with running_jobs(tmp_path, sandbox=sandbox, restart_seconds=600) as emulator:
            name = self.job(emulator, code, scheduling)
            os.kill(emulator.supervisor(name), signal.SIGKILL)
            ended = emulator.wait(name)
            assert "The supervisor of the job was killed" in ended["error"]["message"]
            wait_until_gone(name)
            assert starts(emulator) == 1
            assert {one["state"] for one in emulator.replicas(name).values()} <= {"stopped", "failed"}


def test_a_supervisor_killed_at_any_moment_of_restarts_leaves_nothing(emulator: JobEmulator) -> None:
    """Kill each job's supervisor while it restarts its replicas."""
    forever = "import os, subprocess\nsubprocess.Popen(['sleep', '600'])\n"
    for delay in (0.0, 0.01, 0.03, 0.06, 0.1):
        name = emulator.create(pool(SLEEP), pool(forever + ABORT), pool(forever + "os.kill(os.getpid(), 9)"))
        eventually(lambda n=name: restart_lines(emulator, n))
        time.sleep(delay)
        with suppress(ProcessLookupError):  # on a slow machine the job may be over
            os.kill(emulator.supervisor(name), signal.SIGKILL)
        assert emulator.wait(name)["state"] == "JOB_STATE_FAILED"
        wait_until_gone(name)


@pytest.mark.usefixtures("cold_emulators")
def test_nothing_of_an_attempt_is_left_in_the_next(tmp_path: Path, sandbox: Sandbox) -> None:
    """Leave a child with a session of its own, with namespaces and without."""
    code = (
        "import os, subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        "print('ready', flush=True)\ntime.sleep(600)"
    )
    kinds = [sandbox, Sandbox(kind="process", reason="of a test")]
    for number, kind in enumerate(dict.fromkeys(kinds)):
        with running_jobs(tmp_path / str(number), sandbox=kind, restart_seconds=0.0) as emulator:
            name = emulator.create(pool(code))
            eventually(lambda e=emulator, n=name: e.printed(n) == ["ready"])
            emulator.wait(name, "JOB_STATE_RUNNING")
            before = {line.split()[0] for line in processes_of(name)} - {str(emulator.supervisor(name))}
            kill(emulator, name, "workerpool0-0")
            eventually(lambda e=emulator, n=name: e.printed(n) == ["ready", "ready"])
            assert len(before) >= 3
            assert not [pid for pid in before if psutil.pid_exists(int(pid))]
            emulator.cancel(name)
            emulator.wait(name)
            wait_until_gone(name)
