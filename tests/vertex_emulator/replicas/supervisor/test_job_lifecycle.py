"""From the create call to the last process: real replicas, seen over HTTP."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from support.emulated.emulator import is_alive
from support.emulated.job_emulator import (
    SLEEP,
    JobEmulator,
    job,
    pool,
    raise_flag,
    running_jobs,
    wait_for_flags,
    wait_until_gone,
)
from support.waiting import eventually
from vertex_emulator.kernel.timeouts import SUPERVISOR
from vertex_emulator.replicas.plan import Plan
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

SERVICE_LINES = [
    "Waiting for job to be provisioned.",
    "Vertex AI is provisioning job running framework. First time usage might take couple of minutes, and "
    "subsequent runs can be much faster.",
    "Vertex AI is setting up this job.",
    "Waiting for training program to start.",
    "Job is preparing.",
    "Job is running.",
]


@pytest.mark.parity("Custom jobs: create, get, list")
def test_a_created_job_is_answered_as_it_was_at_creation(emulator: JobEmulator) -> None:
    answer = emulator.call("POST", "/v1/projects/local/locations/europe-west4/customJobs", job(pool(SLEEP)))
    created = answer.json()
    assert re.fullmatch(r"projects/\d{12}/locations/europe-west4/customJobs/\d{19}", created["name"])
    assert created["state"] == "JOB_STATE_PENDING"
    assert created["createTime"] == created["updateTime"]
    assert not {"startTime", "endTime", "error"} & set(created)
    [echoed] = created["jobSpec"]["workerPoolSpecs"]
    assert echoed["diskSpec"] == {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}
    assert echoed["replicaCount"] == "1"
    assert "scheduling" not in created["jobSpec"]
    by_id = emulator.get(created["name"].replace(created["name"].split("/")[1], "local"))
    assert by_id["name"] == created["name"]


@pytest.mark.parity("Custom jobs: the end of a job")
def test_success_ends_with_the_chief_and_stops_the_rest(emulator: JobEmulator) -> None:
    name = emulator.create(
        pool("print('trained')\n" + wait_for_flags("evaluated", "look")),
        pool(SLEEP, replicas=2),
        {},
        pool("print('ok')\n" + raise_flag("evaluated")),
    )
    running = emulator.wait(name, "JOB_STATE_RUNNING")
    emulator.until(lambda: emulator.replicas(name)["workerpool3-0"]["state"] == "succeeded")
    assert emulator.get(name)["state"] == "JOB_STATE_RUNNING", "another may end early"
    (emulator.flags / "look").touch()
    assert running["startTime"] == running["updateTime"] > running["createTime"]
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_SUCCEEDED"
    assert "error" not in ended
    assert ended["endTime"] == ended["updateTime"] > ended["startTime"]
    wait_until_gone(name)
    replicas = emulator.replicas(name)
    assert {key: (value["role"], value["state"], value["exitCode"]) for key, value in replicas.items()} == {
        "workerpool0-0": ("chief", "succeeded", 0),
        "workerpool1-0": ("worker", "stopped", 143),
        "workerpool1-1": ("worker", "stopped", 143),
        "workerpool3-0": ("evaluator", "succeeded", 0),
    }
    assert emulator.printed(name) == ["trained"]
    assert emulator.printed(name, "workerpool3-0") == ["ok"]
    assert emulator.printed(name, "service") == [*SERVICE_LINES, "Job completed successfully."]


@pytest.mark.parity("Custom jobs: the end of a job", same="the message also has the last lines of the log")
def test_the_first_replica_that_fails_is_named(emulator: JobEmulator) -> None:
    """Fail the worker, and the chief as a consequence: the worker's failure is the job's error.

    The supervisor hears of both at the same time.
    """
    chief = (
        "import fcntl, sys\n"
        + wait_for_flags("locked")
        + "fcntl.flock(open('/gcs/flags/locked'), fcntl.LOCK_EX)  # free when the worker has died\n"
        "time.sleep(1)\n"
        "sys.exit(11)"
    )
    worker = (
        "import fcntl, os, sys, time\n"
        "file = open('/gcs/flags/own', 'w')\n"
        "fcntl.flock(file, fcntl.LOCK_EX)\n"
        "os.rename('/gcs/flags/own', '/gcs/flags/locked')\n"
        "print('about to fail', file=sys.stderr)\n" + wait_for_flags("fail") + "os._exit(3)"
    )
    name = emulator.create(pool(chief), pool(worker), {}, pool(SLEEP))
    emulator.wait(name, "JOB_STATE_RUNNING")
    replicas = emulator.replicas(name)
    failing = [psutil.Process(replicas[each]["pid"]) for each in ("workerpool0-0", "workerpool1-0")]
    supervisor = emulator.supervisor(name)
    os.kill(supervisor, signal.SIGSTOP)
    try:
        (emulator.flags / "fail").touch()
        eventually(lambda: not any(is_alive(each) for each in failing))
    finally:
        os.kill(supervisor, signal.SIGCONT)
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_FAILED"
    assert ended["error"]["code"] == 3
    message = ended["error"]["message"]
    assert message.startswith(
        "The replica workerpool1-0 exited with a non-zero status of 3. Termination reason: Error."
    )
    assert "\n    about to fail\n" in message
    assert message.endswith(
        f"To find out more about why your job exited please check the logs: vertex-training logs {name}"
    )
    wait_until_gone(name)
    assert emulator.printed(name, "service")[-1] == f"Job failed. {message}"


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, "SIGKILL"),
        ("import os; os.abort()", 134, "SIGABRT"),
        ("raise SystemExit(7)", 7, "Error"),
        ("raise ValueError('no such digit')", 1, "ValueError: no such digit"),
    ],
)
def test_exit_status(emulator: JobEmulator, code: str, status: int, words: str) -> None:
    ended = emulator.wait(emulator.create(pool(code)))
    message = ended["error"]["message"]
    assert f"workerpool0-0 exited with a non-zero status of {status}." in message
    assert words in message


def test_a_program_that_does_not_exist(emulator: JobEmulator) -> None:
    ended = emulator.wait(emulator.create(pool(command=["no-such-program"])))
    assert "non-zero status of 127" in ended["error"]["message"]
    assert "no-such-program: no such file or directory" in ended["error"]["message"]


@pytest.mark.parity("Custom jobs: cancel and delete")
def test_cancel(emulator: JobEmulator) -> None:
    name = emulator.create(pool(SLEEP), pool(SLEEP))
    emulator.wait(name, "JOB_STATE_RUNNING")
    answer = emulator.cancel(name)
    assert (answer.status, answer.json()) == (200, {})
    assert emulator.get(name)["state"] in ("JOB_STATE_CANCELLING", "JOB_STATE_CANCELLED")
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_CANCELLED"
    assert ended["error"]["code"] == 1
    assert "endTime" in ended
    wait_until_gone(name)
    again = emulator.cancel(name)
    assert again.status == 400
    assert again.json()["error"]["status"] == "FAILED_PRECONDITION"
    assert again.message == f'The CustomJob "{name}" is in state JOB_STATE_CANCELLED and cannot be canceled.'


@pytest.mark.parity("Custom jobs: cancel and delete")
def test_cancel_right_after_create(emulator: JobEmulator) -> None:
    """Cancel before the supervisor has read its plan."""
    names = [emulator.create(pool(SLEEP)) for _ in range(4)]
    for name in names:
        assert emulator.cancel(name).status == 200
        assert emulator.cancel(name).status in (200, 400)
    for name in names:
        assert emulator.wait(name)["state"] == "JOB_STATE_CANCELLED"
        wait_until_gone(name)


def test_a_program_that_ignores_sigterm_is_killed(emulator: JobEmulator) -> None:
    code = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('no', flush=True))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(1)"
    )
    name = emulator.create(pool(code))
    eventually(lambda: "ready" in emulator.printed(name))
    emulator.cancel(name)
    assert emulator.wait(name)["state"] == "JOB_STATE_CANCELLED"
    wait_until_gone(name)
    assert emulator.printed(name) == ["ready", "no"]
    assert emulator.replicas(name)["workerpool0-0"]["exitCode"] == 137
    assert "workerpool0-0 did not end within 5 s of SIGTERM: killed." in emulator.printed(name, "service")


def test_a_program_may_tidy_up_on_sigterm(emulator: JobEmulator) -> None:
    code = (
        "import signal, time, sys\n"
        "def end(*_):\n    time.sleep(0.1); print('saved', flush=True); sys.exit(5)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(1)"
    )
    name = emulator.create(pool(code))
    eventually(lambda: "ready" in emulator.printed(name))
    emulator.cancel(name)
    assert emulator.wait(name)["state"] == "JOB_STATE_CANCELLED"
    assert emulator.printed(name) == ["ready", "saved"]
    assert emulator.replicas(name)["workerpool0-0"]["exitCode"] == 5


@pytest.mark.parity("Custom jobs: timeout")
def test_timeout(emulator: JobEmulator) -> None:
    name = emulator.create(pool(SLEEP), scheduling={"timeout": "0.3s"})
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_FAILED"
    assert "longer than job_spec.scheduling.timeout, 0.300s" in ended["error"]["message"]
    assert ended["jobSpec"]["scheduling"] == {"timeout": "0.300s"}
    wait_until_gone(name)


def test_children_that_called_setsid_do_not_survive(emulator: JobEmulator) -> None:
    code = (
        "import subprocess, sys\n"
        "child = 'import os, time; os.fork() and os._exit(0); os.setsid(); time.sleep(600)'\n"
        "subprocess.run([sys.executable, '-c', child], start_new_session=True)\n"
        "subprocess.Popen(['sleep', '600'])"
    )
    name = emulator.create(pool(code))
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    wait_until_gone(name)


@pytest.mark.parity(
    "Custom jobs: cancel and delete",
    own_way="a live job cannot be deleted; the messages are those that users quote for pipelines",
)
def test_delete(emulator: JobEmulator) -> None:
    name = emulator.create(pool(SLEEP))
    refused = emulator.delete(name)
    assert (refused.status, refused.json()["error"]["status"]) == (400, "FAILED_PRECONDITION")
    assert name in refused.message
    emulator.cancel(name)
    emulator.wait(name)
    operation = emulator.delete(name).json()
    assert operation["done"] is True
    assert operation["response"] == {"@type": "type.googleapis.com/google.protobuf.Empty"}
    assert operation["metadata"]["@type"].endswith("DeleteOperationMetadata")
    assert emulator.call("GET", f"/v1/{operation['name']}").json() == operation
    assert not emulator.folder(name).exists()
    wait_until_gone(name)
    for answer in (emulator.call("GET", f"/v1/{name}"), emulator.delete(name), emulator.cancel(name)):
        assert (answer.status, answer.json()["error"]["status"]) == (404, "NOT_FOUND")


def test_eight_jobs_at_once(emulator: JobEmulator) -> None:
    """Let each worker connect to its chief: no two jobs share a port."""
    chief = (
        "import json, os, socket\n"
        "host, port = json.loads(os.environ['CLUSTER_SPEC'])['cluster']['workerpool0'][0].split(':')\n"
        "server = socket.create_server((host, int(port)))\n"
        "connection, _ = server.accept()\n"
        "assert connection.recv(100).decode() == os.environ['CLOUD_ML_JOB_ID']"
    )
    worker = (
        "import json, os, socket, time\n"
        "host, port = json.loads(os.environ['CLUSTER_SPEC'])['cluster']['workerpool0'][0].split(':')\n"
        "while True:\n"
        "    try: connection = socket.create_connection((host, int(port)))\n"
        "    except ConnectionRefusedError: time.sleep(0.02)\n"
        "    else: break\n"
        "connection.sendall(os.environ['CLOUD_ML_JOB_ID'].encode())"
    )
    with ThreadPoolExecutor(8) as threads:
        names = list(threads.map(lambda _: emulator.create(pool(chief), pool(worker)), range(8)))
    assert len(set(names)) == 8
    for name in names:
        ended = emulator.wait(name)
        assert ended["state"] == "JOB_STATE_SUCCEEDED", ended["error"]["message"]


@pytest.mark.parity("Custom jobs: replicas")
def test_all_running_is_seen_and_an_exit_is_seen_soon(emulator: JobEmulator) -> None:
    """Print figures with -s; bounds on absolute times are left to the benchmark."""
    code = "import time; time.sleep(0.5); open('/gcs/flags/ended', 'w').write(str(time.time()))"
    begun = time.time()
    name = emulator.create(pool(code), pool(SLEEP, replicas=3), {}, pool(SLEEP))
    emulator.wait(name, "JOB_STATE_RUNNING")
    print(f"create to all of 5 running: {time.time() - begun:.3f} s")
    emulator.wait(name)
    ended = float((emulator.flags / "ended").read_text())
    print(f"the chief's end to SUCCEEDED, with the rest stopped: {time.time() - ended:.3f} s")
    assert {each["state"] for each in emulator.replicas(name).values()} == {"succeeded", "stopped"}


def test_a_supervisor_reports_sigterm(emulator: JobEmulator) -> None:
    name = emulator.create(pool(SLEEP))
    emulator.wait(name, "JOB_STATE_RUNNING")
    os.kill(emulator.supervisor(name), signal.SIGTERM)
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_FAILED"
    assert "SIGTERM from outside" in ended["error"]["message"]
    wait_until_gone(name)


def test_the_start_of_a_job_reaps_the_supervisors_that_have_ended(emulator: JobEmulator) -> None:
    first = emulator.create(pool("print('done')"))
    supervisor = emulator.supervisor(first)
    emulator.wait(first, "JOB_STATE_SUCCEEDED")

    def is_reaped() -> bool:
        emulator.wait(emulator.create(pool("print('done')")), "JOB_STATE_SUCCEEDED")
        return not psutil.pid_exists(supervisor)

    eventually(is_reaped, every=0.5)


def test_a_job_has_the_timeouts_of_its_emulator(tmp_path: Path, sandbox: Sandbox) -> None:
    with running_jobs(tmp_path, sandbox=sandbox, timeout_scale=3) as emulator:
        name = emulator.create(pool("pass"))
        assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
        document = json.loads((emulator.folder(name) / "plan.json").read_text())
        assert Plan.from_json(document).timeouts == SUPERVISOR.at_least(3)
