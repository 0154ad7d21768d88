"""The light examples: their first deployment, that of an edit, and the memory of a replica.

A deployment lasts until the job has ended. Shared memory counts in equal parts for its processes (PSS).
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
from figure import Figure

from support.client.examples import example as deployed
from support.client.examples.example import Example
from vertex_emulator.client import launcher

NAMES = ("jax", "boosting", "mxnet", "tuning", "reduction-servers")
_SUPERVISOR = "vertex_emulator.replicas.supervisor.supervisor"
_PAUSE = 0.2


def figures() -> Iterator[Figure]:
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            emulator = Path(folder) / "emulator"
            made = deployed.copy(
                name, Path(folder) / "project", emulator=emulator, python=Path(sys.executable)
            )
            try:
                yield from _example(name, made)
            finally:
                launcher.stop(emulator)


def _example(name: str, made: Example) -> Iterator[Figure]:
    first = _seconds(made)
    yield Figure(name=f"example {name}: the first deployment", value=first, unit="s", note="fetches packages")
    trainer = made.folder / "trainer" / "task.py"
    if not trainer.exists():  # it has that of another example
        trainer = made.folder.parent / "jax" / "trainer" / "task.py"
    trainer.write_text(trainer.read_text() + "# edited\n")
    with _Memory(made.data_dir) as memory:
        edit = _seconds(made)
    yield Figure(name=f"example {name}: an edit of the program", value=edit, unit="s")
    yield Figure(
        name=f"example {name}: memory of the largest replica",
        value=max(memory.replicas.values()) / 2**20,
        unit="MiB",
        note=f"{len(memory.replicas)} replicas, together {sum(memory.replicas.values()) / 2**20:.0f} MiB",
    )


def _seconds(made: Example) -> float:
    began = time.perf_counter()
    made.up().ok()
    return time.perf_counter() - began


class _Memory:
    """Samples the replicas of an emulator until the end of the block, and keeps the largest value of each."""

    def __init__(self, data_dir: Path) -> None:
        self.replicas: Counter[tuple[str, str]] = Counter()
        self._folder = str(data_dir)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> _Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_PAUSE):
            self.replicas |= self._now()

    def _now(self) -> Counter[tuple[str, str]]:
        found: Counter[tuple[str, str]] = Counter()
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = process.cmdline()
                if _SUPERVISOR in words and words[-1].startswith(self._folder):
                    for each in process.children(recursive=True):
                        _add(found, each)
        return found


def _add(found: Counter[tuple[str, str]], process: psutil.Process) -> None:
    with contextlib.suppress(psutil.Error):
        values = process.environ()
        if "CLOUD_ML_JOB_ID" in values:
            found[values["CLOUD_ML_JOB_ID"], values["HOSTNAME"]] += process.memory_full_info().pss
