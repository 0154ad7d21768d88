"""An emulator whose custom jobs a test creates and watches over HTTP."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import psutil
from google.auth.credentials import AnonymousCredentials

from support.emulated.changes import until_true
from support.emulated.emulator import Answer, call
from support.waiting import TIMEOUT, TIMEOUT_SCALE, eventually
from vertex_emulator.daemon.daemon import Daemon, Settings
from vertex_emulator.daemon.vertex_ai import open_vertex
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.kernel.timeouts import DAEMON
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

T = TypeVar("T")

IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"
PARENT = "/v1/projects/local/locations/us-central1"
SLEEP = "import time; time.sleep(600)"
DONE = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED")


def raise_flag(name: str) -> str:
    """Return code that raises a flag, for which `wait_for_flags` waits."""
    return f"open('/gcs/flags/{name}', 'w').close()\n"


def wait_for_flags(*names: str) -> str:
    """Return code that waits until other replicas, or the test, have raised these flags."""
    return f"import os, time\nwhile not {set(names)!r} <= set(os.listdir('/gcs/flags')): time.sleep(0.01)\n"


def pool(code: str = "", *, replicas: int = 1, **task: Any) -> dict[str, Any]:
    """Return a pool whose replicas run Python code or `command`; no code and `SLEEP` need no Python."""
    without = {"": ["true"], SLEEP: ["sh", "-c", "exec sleep 600"]}
    command = task.pop("command", without.get(code, ["python3", "-c", code]))
    return {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": replicas,
        "containerSpec": {"imageUri": IMAGE, "command": command, **task},
    }


def job(*pools: Mapping[str, Any], name: str = "digits", **spec: Any) -> dict[str, Any]:
    """Return a custom job in the API's JSON; all options except `labels` go into jobSpec."""
    outer = {key: spec.pop(key) for key in ("labels",) if key in spec}
    return {"displayName": name, "jobSpec": {"workerPoolSpecs": list(pools), **spec}, **outer}


class JobEmulator:
    """An emulator in this process, with requests about its custom jobs."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.data_dir = daemon.folder.root
        self.flags = self.data_dir / "buckets" / "flags"
        self.flags.mkdir(exist_ok=True)

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        return call(self.daemon.url, method, path, body=body, token=self.daemon.token)

    def create(self, *pools: Mapping[str, Any], **options: Any) -> str:
        """Create a job. Return its name."""
        answer = self.call("POST", f"{PARENT}/customJobs", job(*pools, **options))
        assert answer.status == 200, answer.body
        return str(answer.json()["name"])

    def refused(self, body: Any, *, path: str = f"{PARENT}/customJobs") -> dict[str, Any]:
        """Send a create request that is rejected. Return its error."""
        answer = self.call("POST", path, body)
        assert answer.status >= 400, answer.body
        error: dict[str, Any] = answer.json()["error"]
        assert error["code"] == answer.status
        return error

    def get(self, name: str) -> dict[str, Any]:
        return self.call("GET", f"/v1/{name}").ok().json()

    def wait(self, name: str, *states: str, seconds: float = TIMEOUT) -> dict[str, Any]:
        """Wait until the job is in one of the states (default: has ended). Return the job."""
        found: dict[str, Any] = {}

        def reached() -> bool:
            found.update(self.get(name))
            return found["state"] in (states or DONE)

        self.until(reached, seconds=seconds, what=lambda: str(found))
        return found

    def until(self, condition: Callable[[], T], **options: Any) -> T:
        """Call `condition` after each change of a job or a replica (`support.emulated.changes`)."""
        return until_true(self.call, condition, **options)

    def cancel(self, name: str) -> Answer:
        return self.call("POST", f"/v1/{name}:cancel", {})

    def delete(self, name: str) -> Answer:
        return self.call("DELETE", f"/v1/{name}")

    def replicas(self, name: str) -> dict[str, dict[str, Any]]:
        answer = self.call("GET", f"/_local/jobs/{job_id(name)}")
        return {replica["name"]: replica for replica in answer.json()["replicas"]}

    def entries(self, name: str, more: str = "", **body: Any) -> list[dict[str, Any]]:
        """Return the entries of a job's log, from all pages."""
        text = f'resource.type="ml_job" AND resource.labels.job_id="{job_id(name)}"'
        request = {
            "resourceNames": ["projects/local"],
            "filter": f"{text} AND {more}" if more else text,
            "orderBy": "timestamp asc",
            "pageSize": 1000,
            **body,
        }
        found: list[dict[str, Any]] = []
        while True:
            answer = self.call("POST", "/v2/entries:list", request)
            assert answer.status == 200, answer.body
            found += answer.json()["entries"]
            if "nextPageToken" not in answer.json():
                return found
            request["pageToken"] = answer.json()["nextPageToken"]

    def printed(self, name: str, task: str = "workerpool0-0") -> list[str]:
        """Return the lines that a replica printed, without the emulator's notice."""
        entries = self.entries(name, f'resource.labels.task_name="{task}"')
        return [entry["jsonPayload"]["message"] for entry in entries if entry["severity"] != "NOTICE"]

    def folder(self, name: str) -> Path:
        return self.data_dir / "jobs" / job_id(name)

    def settle(self, *names: str) -> None:
        """Wait until no background task has work, and each of these jobs was found to continue, or has ended.

        What was due, by the clock as it is now, has happened then.
        """
        self.daemon.scheduler.settle(seconds=TIMEOUT)
        for name in names:
            folder = JobFolder(self.folder(name))
            for _ in range(2):  # the first round may have begun before
                before = folder.lock.stat().st_mtime_ns

                def has_looked(folder: JobFolder = folder, before: int = before) -> bool:
                    folder.ring()
                    return folder.lock.stat().st_mtime_ns != before or not folder.is_held()

                eventually(has_looked)

    def supervisor(self, name: str) -> int:
        """Return the process id of the job's supervisor."""
        import json

        record = self.folder(name) / "supervisor.json"
        eventually(record.exists)
        return int(json.loads(record.read_text())["pid"])


@contextmanager
def running_jobs(
    data_dir: Path,
    *,
    sandbox: Sandbox,
    grace: float = 0.5,
    timeout_scale: float = TIMEOUT_SCALE,
    **options: Any,
) -> Iterator[JobEmulator]:
    """Run an emulator with the given sandbox and a short grace period."""
    daemon = Daemon(
        Settings(data_dir=data_dir, timeouts=DAEMON.at_least(timeout_scale)),
        open_jobs=partial(open_vertex, sandbox=sandbox, grace_seconds=grace, **options),
    )
    try:
        daemon.start()
        yield JobEmulator(daemon)
    finally:
        daemon.close()


def job_id(name: str) -> str:
    return name.rpartition("/")[2]


def processes_of(name: str) -> list[str]:
    """Return all processes of a job: its supervisor and shims, and those that its replicas started.

    The removal of what a replica had for itself alone goes on after the job, and is not among them.
    """
    wanted = os.fsencode(job_id(name))
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            mine = any(wanted in word for word in words)
            mine = mine or b"CLOUD_ML_JOB_ID=" + wanted in (folder / "environ").read_bytes().split(b"\0")
        except (ProcessLookupError, FileNotFoundError, PermissionError):
            continue
        if mine and words[:2] != [b"rm", b"-rf"]:
            found.append(f"{folder.name} {os.fsdecode(b' '.join(words))}")
    return found


def wait_until_gone(name: str) -> None:
    """Wait until no process of the job is left; a supervisor ends a moment after its last message."""
    deadline = time.monotonic() + TIMEOUT
    while left := processes_of(name):
        assert time.monotonic() < deadline, f"not within {TIMEOUT:g} s: {left}"
        for line in left:
            with suppress(ProcessLookupError):
                process = os.pidfd_open(int(line.split()[0]))
                select.select([process], [], [], max(0.0, deadline - time.monotonic()))
                os.close(process)


def wait_until_none_is_left(folder: str) -> None:
    """Wait until no process names the folder: those of a job end a moment after it."""

    def found() -> list[str]:
        lines = [" ".join(each.info["cmdline"] or []) for each in psutil.process_iter(["cmdline"])]
        return [line for line in lines if folder in line]

    eventually(lambda: not found(), what=found)


def messages(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    return [entry["jsonPayload"]["message"] for entry in entries]


class Token(AnonymousCredentials):  # type: ignore[misc]
    """A bearer token for Google's clients."""

    def __init__(self, token: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.token = token

    def before_request(self, request: Any, method: str, url: str, headers: dict[str, str]) -> None:
        headers["Authorization"] = f"Bearer {self.token}"
