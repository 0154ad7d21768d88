"""The dashboard of an emulator with 1,000 jobs: its first view, a change until it is on the page, memory."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from figure import Figure, median_seconds

from support.emulated.emulator import call
from support.emulated.job_emulator import PARENT, job, pool
from support.emulated.ui.dashboard import Dashboard, running
from support.emulated.ui.scene import Scene, owned
from vertex_emulator.client import launcher

JOBS = 1000
_CHANGES = 5
_MIB = 2**20


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder)
        scene = Scene(launcher.ensure(data_dir))
        try:
            _fill(scene)
            with running("--data-dir", folder) as dashboard:
                yield from _measured(dashboard, scene)
        finally:
            launcher.stop(data_dir)


def _fill(scene: Scene) -> None:
    """Create jobs that wait for their start, so that none has a process."""
    call(
        scene.emulator.url, "PUT", "/_local/start-delay", body={"seconds": 86400}, token=scene.emulator.token
    )
    for number in range(JOBS):
        body = job(
            pool("", env=[]), pool("", replicas=4), name=f"job-{number}", labels=owned(f"job-{number}")
        )
        scene.post(f"{PARENT}/customJobs", body)


def _measured(dashboard: Dashboard, scene: Scene) -> Iterator[Figure]:
    cookie = dashboard.cookie
    began = time.perf_counter()
    answer = dashboard.ask("/", cookie=cookie)
    first = time.perf_counter() - began
    assert answer.status == 200 and f'data-all="{JOBS}"'.encode() in answer.body
    name = f"dashboard of {JOBS:,} jobs:"
    yield Figure(name=f"{name} the very first view", value=first, unit="s", budget=0.5)

    def view() -> None:
        time.sleep(0.2)  # so that the view is not shared with the one before
        dashboard.ask("/", cookie=cookie)

    yield Figure(name=f"{name} a further view", value=median_seconds(view) - 0.2, unit="s", budget=0.5)
    with dashboard.events("/live/") as events:
        next(event for event in events if event.name == "parts")
        times = []
        for number in range(_CHANGES):
            time.sleep(2)
            began = time.perf_counter()
            scene.bucket(f"change-{number}")
            next(event for event in events if f"change-{number}" in str(event.data))
            times.append(time.perf_counter() - began)
    yield Figure(
        name=f"{name} from a change to the page", value=sorted(times)[_CHANGES // 2], unit="s", budget=0.3
    )
    memory = psutil.Process(dashboard.process.pid).memory_full_info().uss / _MIB
    yield Figure(name=f"{name} memory", value=memory, unit="MiB", budget=150.0)
