"""Run the entries of a queue in several pytest processes, and follow their results."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from scripts.layout import Layout
from scripts.testing import processor_time
from scripts.testing.queue import Entry
from scripts.testing.results import Reader, Results

RUN = "VERTEX_TESTS_RUN"
"""The environment variable that names the folder of a run. Unset outside of `make test`."""

SHARED = "VERTEX_TESTS_SHARED"
"""A folder that all processes of a run share, for what is made once."""

MEMORY = "VERTEX_TESTS_MEMORY"
"""The bytes above which a test process takes no further file: a new one takes its place."""

_LOOK_SECONDS = 0.3

_END_SECONDS = 60.0
"""How long processes may take to end their fixtures after Ctrl-C."""


def group_of(pid: int) -> str:
    """Return the name of the control group and of the results of a test process."""
    return f"vertex-tests-{pid}"


@dataclass
class Run:
    """A run that has ended. `crashed` has a line for each process that ended early."""

    folder: Path
    results: Results = field(default_factory=Results)
    crashed: list[str] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0
    left_files: list[str] = field(default_factory=list)
    left_processes: list[str] = field(default_factory=list)


def run(
    layout: Layout,
    queue: Sequence[Entry],
    *,
    env: Mapping[str, str],
    arguments: Sequence[str],
    processes: int,
    on_look: Callable[[Results, int], None],
    stop_at_first: bool = False,
    memory: int | None = None,
) -> Run:
    """Run all entries. `on_look` gets the results so far and the number of files that have begun.

    A process that has grown above `memory` bytes ends after its file, and a new one takes its place.
    """
    folder = _folder(layout)
    done = Run(folder)
    (folder / "queue").write_text("".join(f"{entry}\n" for entry in queue))
    began = time.monotonic()
    with ExitStack() as ending:
        temporary = Path(
            ending.enter_context(tempfile.TemporaryDirectory(prefix="tests-", ignore_cleanup_errors=True))
        )
        # First: a shell starts commands in the background with Ctrl-C ignored, and processes inherit that.
        interrupts = ending.enter_context(_interrupts())
        environment = {**env, RUN: str(folder), SHARED: str(temporary), MEMORY: str(memory or "")}
        started: list[subprocess.Popen[bytes]] = []
        at_once = min(processes, len(queue))
        ending.callback(_end, started)
        reader = Reader(folder / "results")
        while True:
            while len(started) < at_once + len(done.results.grown):
                started.append(_start(layout, folder, temporary, len(started), environment, arguments))
            alive = [process for process in started if process.poll() is None]
            for name, row in reader.rows():
                done.results.take(name, row)
            on_look(done.results, len(list((folder / "claims").iterdir())))
            if interrupts or (stop_at_first and done.results.counts()["failed"]):
                done.interrupted = bool(interrupts)
                break
            if not alive and len(started) == at_once + len(done.results.grown):
                break
            time.sleep(_LOOK_SECONDS)
        done.crashed = [] if done.interrupted else _crashes(folder, started, done.results)
    done.seconds = time.monotonic() - began
    done.left_processes = [
        line for process in started for line in processor_time.remove(group_of(process.pid))
    ]
    claimed = {int(claim.name) for claim in (folder / "claims").iterdir()}
    done.left_files = [entry.file for number, entry in enumerate(queue) if number not in claimed]
    return done


def _folder(layout: Layout) -> Path:
    """Return the empty folder of this run."""
    folder = layout.local / "tests"
    shutil.rmtree(folder, ignore_errors=True)
    for each in ("results", "claims", "failed"):
        (folder / each).mkdir(parents=True)
    return folder


def _start(
    layout: Layout,
    folder: Path,
    temporary: Path,
    number: int,
    env: Mapping[str, str],
    arguments: Sequence[str],
) -> subprocess.Popen[bytes]:
    command = [layout.python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [f"--basetemp={temporary / str(number)}", *arguments]
    with (folder / f"process-{number}.log").open("wb") as log:
        return subprocess.Popen(  # noqa: S603  our own interpreter
            [str(word) for word in command],
            cwd=layout.root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _end(started: Sequence[subprocess.Popen[bytes]]) -> None:
    """End processes that still run: their fixtures end what they started."""
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + _END_SECONDS
    for process in started:
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Collect Ctrl-C and SIGTERM in a list."""
    got: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        got.append(number)

    previous = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield got
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _crashes(folder: Path, started: Sequence[subprocess.Popen[bytes]], results: Results) -> list[str]:
    """Return a line for each process that ended otherwise than pytest does after its last test."""
    crashes = []
    for number, process in enumerate(started):
        if process.returncode in (0, 1, 5) and group_of(process.pid) in results.ended:
            continue
        last = results.running.get(group_of(process.pid), "no test")
        log = folder / f"process-{number}.log"
        crashes.append(f"test process {number} ended with code {process.returncode} during {last}: see {log}")
    return crashes
