"""Jobs and other things on an emulator for the dashboard, created over HTTP as any client does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from support.emulated.changes import until_true
from support.emulated.emulator import Answer, call
from support.emulated.job_emulator import DONE, PARENT, job
from vertex_emulator.client.launcher import Emulator

FLAG = "import os, time\nwhile not os.path.exists('/gcs/flags/{name}'): time.sleep(0.05)\n"
"""Code that waits until a flag is raised; see `Scene.raise_flag`."""


def owned(resource: str, *, stack: str = "dev", run: str = "feed-1", reason: str = "") -> dict[str, str]:
    """Return the labels of a job that a stack declares."""
    labels = {
        "pulumi-project": "train",
        "pulumi-stack": stack,
        "pulumi-resource": resource,
        "vertex-training-run": run,
        "vertex-training-declaration": run.rpartition("-")[0],
    }
    return {**labels, "vertex-training-reason": reason} if reason else labels


@dataclass(frozen=True)
class Scene:
    """An emulator to which a test adds things."""

    emulator: Emulator

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        return call(self.emulator.url, method, path, body=body, token=self.emulator.token)

    def post(self, path: str, body: Any) -> dict[str, Any]:
        return self.call("POST", path, body).ok().json()

    def create(self, *pools: Mapping[str, Any], name: str = "digits", **options: Any) -> str:
        """Create a job. Return its key, such as "customJobs/123"."""
        made = self.post(f"{PARENT}/customJobs", job(*pools, name=name, **options))
        return "/".join(made["name"].split("/")[-2:])

    def bucket(self, name: str, labels: Mapping[str, str] | None = None) -> None:
        self.post("/storage/v1/b?project=local", {"name": name, "labels": dict(labels or {})})

    def raise_flag(self, name: str) -> None:
        """Let the replicas continue that wait for a flag, whose bucket must exist."""
        path = f"/upload/storage/v1/b/flags/o?uploadType=media&name={name}"
        call(self.emulator.url, "POST", path, body=b"", token=self.emulator.token).ok()

    def get(self, key: str) -> dict[str, Any]:
        return self.call("GET", f"{PARENT}/{key}").ok().json()

    def wait(self, key: str, *states: str) -> dict[str, Any]:
        """Wait until a job is in one of the states (default: has ended). Return it."""
        last: list[Any] = []

        def found() -> dict[str, Any] | None:
            last[:] = [self.get(key)]
            return last[0] if last[0]["state"] in (states or DONE) else None

        return until_true(self.call, found, what=lambda: last) or {}

    def requests(self, *, after: int = 0) -> list[dict[str, Any]]:
        """Return the log of the emulator's requests after a number."""
        return self.call("GET", f"/_local/requests?after={after}").json()["requests"]
