"""Time and processor minutes of `make test`, and of pytest's collection: `make bench ARGS="--only tests"`."""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from figure import Figure

ROOT = Path(__file__).resolve().parents[3]


def figures() -> Iterator[Figure]:
    """Run the suite once. Its processor time is that of the whole machine, which should be otherwise idle:
    emulators and supervisors are not children of the suite.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q"]
    collected = subprocess.run(collect, cwd=ROOT, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield Figure(
        name="tests: collection, processor time",
        value=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        unit="s",
        note=collected.stdout.splitlines()[-1],
    )
    began, busy = time.perf_counter(), _busy_seconds()
    ended = subprocess.run(["make", "test", "ARGS="], cwd=ROOT, stdout=sys.stderr)
    minutes = (_busy_seconds() - busy) / 60
    note = "" if ended.returncode == 0 else f"FAILED, exit code {ended.returncode}"
    seconds = time.perf_counter() - began if ended.returncode == 0 else math.inf
    yield Figure(name="tests: make test", value=seconds, unit="s", budget=600, note=note)
    yield Figure(name="tests: make test, processor time of the machine", value=minutes, unit="min")


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.system)
