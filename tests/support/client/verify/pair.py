"""Two emulators, one of them in the place of Google Cloud, and the command between them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from scripts.verify_google.command import Services, main
from scripts.verify_google.journal import LABEL
from scripts.verify_google.recorder import ENDED, Pace
from support.client.verify import driver
from support.client.verify.front import Front, before
from support.emulated.emulator import call, running
from vertex_emulator.daemon import Daemon

PROJECT = "my-project"
PARENT = f"/v1/projects/{PROJECT}/locations/us-central1"
KINDS = ("customJobs", "hyperparameterTuningJobs", "trainingPipelines", "models", "datasets", "repositories")


@dataclass(frozen=True)
class Pair:
    """`google` is the emulator in the place of Google Cloud, behind `front`."""

    google: Daemon
    emulator: Daemon
    front: Front
    folder: Path

    def verify(self, *arguments: str, folder: Path | None = None, own_emulator: bool = False) -> int:
        """Run the command in this process. Return its exit code. It may start an emulator of its own."""
        services = self._services()
        if own_emulator:
            services = replace(services, emulator=None)
        return main(self._arguments(arguments, folder), services=services)

    def start(
        self, *arguments: str, folder: Path | None = None, stdin: int | None = None
    ) -> subprocess.Popen[str]:
        """Start the command as a process."""
        given = {
            "google_url": self.front.url,
            "google_token": self.google.token,
            "emulator_url": self.emulator.url,
            "emulator_token": self.emulator.token,
            "arguments": self._arguments(arguments, folder),
        }
        return subprocess.Popen(
            [sys.executable, driver.__file__, json.dumps(given)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def left(self) -> list[str]:
        """Return what exists in the place of Google Cloud."""
        found = []
        for kind in KINDS:
            for each in self._get(f"{PARENT}/{kind}").get(kind, []):
                found.append(f"{each['name']} {each.get('state', '')}".strip())
        buckets = self._get(f"/storage/v1/b?project={PROJECT}").get("items", [])
        return found + [f"gs://{each['name']}" for each in buckets]

    def labelled(self, kind: str) -> list[dict[str, Any]]:
        """Return the resources of a kind that have the label of a run."""
        return [each for each in self._get(f"{PARENT}/{kind}").get(kind, []) if LABEL in each["labels"]]

    def live_jobs(self) -> list[str]:
        return [
            each["name"]
            for each in self._get(f"{PARENT}/customJobs").get("customJobs", [])
            if each["state"] not in ENDED
        ]

    def _services(self) -> Services:
        emulator = Endpoint(
            kind="emulator",
            project=PROJECT,
            location="us-central1",
            url=self.emulator.url,
            token=self.emulator.token,
        )
        pace = Pace(poll_seconds=0.1, limit_seconds=300.0)
        return Services(google=self.front.endpoint(PROJECT), google_pace=pace, emulator=emulator)

    def _arguments(self, arguments: Sequence[str], folder: Path | None) -> list[str]:
        return ["--project", PROJECT, "--folder", str(folder or self.folder), *arguments]

    def _get(self, path: str) -> dict[str, Any]:
        answer = call(self.google.url, "GET", path, token=self.google.token)
        assert answer.status == 200, answer.body
        return dict(answer.json())


@contextmanager
def paired(folder: Path) -> Iterator[Pair]:
    """Run two emulators and the proxy before the first."""
    with (
        running(folder / "google") as google,
        running(folder / "emulator") as emulator,
        before(google.url, google.token) as front,
    ):
        yield Pair(google, emulator, front, folder / "runs")
