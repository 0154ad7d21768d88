"""CPU and memory of replicas, of all their processes; and the reports of programs that are no trials."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from support.emulated.job_emulator import JobEmulator, pool, wait_for_flags
from support.waiting import eventually
from vertex_emulator.jobs.custom.usage import Process, Usage, processes, with_descendants

BUSY = """
import subprocess, sys, time
held = bytes(bytearray(b"x") * 60_000_000)
child = "import time; held = bytes(bytearray(b'x') * 60_000_000); sum(range(3_000_000)); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", child])
"""
REPORT = """
import json, os
os.makedirs("/tmp/hypertune", exist_ok=True)
with open("/tmp/hypertune/output.metrics", "w") as file:
    for step in (1, 2):
        line = {"timestamp": 1.0, "trial": "0", "global_step": str(step), "loss": 1 / step}
        print(json.dumps(line), file=file)
"""


def process(parent: int, seconds: float, size: int) -> Process:
    return Process(parent=parent, usage=Usage(cpu_seconds=seconds, memory_bytes=size))


def test_a_replica_has_what_all_below_it_use() -> None:
    known = {1: process(0, 1, 1), 2: process(1, 2, 10), 3: process(2, 4, 100), 9: process(1, 8, 1000)}
    assert with_descendants({"a": 2, "b": 9, "gone": 7}, known) == {
        "a": Usage(cpu_seconds=6, memory_bytes=110),
        "b": Usage(cpu_seconds=8, memory_bytes=1000),
    }


def test_the_kernel_reports_this_process_and_its_parent(tmp_path: Path) -> None:
    found = processes()[os.getpid()]
    assert found.parent == os.getppid()
    assert found.usage.memory_bytes > 10 * 2**20 and found.usage.cpu_seconds > 0
    odd = tmp_path / "7"
    odd.mkdir()
    odd.joinpath("stat").write_text("7 (a ) b) S 1")
    assert processes(tmp_path) == {}


def test_samples_have_each_running_replica_and_stay_after_its_end(emulator: JobEmulator) -> None:
    name = emulator.create(pool(BUSY + wait_for_flags("end")), pool(wait_for_flags("end")))
    path = f"/_local/jobs/{name.rpartition('/')[2]}/usage"
    last: list[Any] = []

    def sampled() -> bool:
        last[:] = emulator.call("GET", path).json()["samples"]
        newest = last[-1]["replicas"] if last else {}
        return (
            set(newest) == {"workerpool0-0", "workerpool1-0"}
            and newest["workerpool0-0"]["memoryBytes"] > 110_000_000
            and newest["workerpool0-0"]["cpuSeconds"] > 0
        )

    eventually(sampled, what=lambda: last)
    assert last[-1]["replicas"]["workerpool1-0"]["memoryBytes"] < 110_000_000
    emulator.flags.joinpath("end").touch()
    emulator.wait(name)
    assert emulator.call("GET", path).json()["samples"][: len(last)] == last
    assert emulator.call("GET", "/_local/jobs/1/usage").status == 404


def test_reports_of_a_job_that_is_no_trial_are_read(emulator: JobEmulator) -> None:
    name = emulator.create(pool(REPORT))
    emulator.wait(name)
    path = f"/_local/jobs/{name.rpartition('/')[2]}/metric-reports"
    assert emulator.call("GET", path).json()["reports"] == [
        {"replica": "workerpool0-0", "metric": "loss", "value": 1 / step, "step": step, "time": 1.0}
        for step in (1, 2)
    ]
    assert emulator.call("GET", "/_local/jobs/1/metric-reports").status == 404
