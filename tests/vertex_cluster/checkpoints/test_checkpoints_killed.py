"""A training that is killed at every operation on its files, and in the middle of a file, resumes whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vertex_cluster
from support.tables import not_empty
from vertex_cluster import checkpoints

TRAINING = """
import os, signal, sys
from pathlib import Path
from vertex_cluster.checkpoints import Checkpoints, CheckpointError

# The state after a step follows from the state before: a lost or repeated step shows.
STEPS = 6
def next_state(step, state):
    return (state * 31 + step) % 1_000_003

def train(folder, acknowledge):
    store = Checkpoints(folder, keep=2, environ={"CLOUD_ML_JOB_ID": "7"})
    held = [0]
    def load(at):
        held[0] = int((at / "part" / "state").read_text())
    def write(at):
        (at / "part").mkdir()
        (at / "part" / "state").write_text(str(held[0]))
        (at / "optimizer").write_text("x" * 100)
    step = store.resume(load)
    acknowledge(f"resumed {step}")
    for step in range(step + 1, STEPS + 1):
        held[0] = next_state(step, held[0])
        store.save(step, write)
        acknowledge(f"saved {step} {held[0]}")
"""

KILLED_AT_EVERY_OPERATION = (
    TRAINING
    + """
folder = Path(sys.argv[1])
CHANGES = {"open", "os.mkdir", "os.remove", "os.rmdir", "os.scandir"}

def killed_after(operations):
    left = [operations]
    def count(event, arguments):
        if event in CHANGES and str(folder) in os.fsdecode(arguments[0] if arguments[0] else b""):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)

operations = 0
while True:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        at = folder / str(operations)
        killed_after(operations)
        train(at, lambda line: os.write(write, f"{line}\\n".encode()))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as lines:
        said = lines.read().splitlines()
    ended = os.waitpid(child, 0)[1]
    train(folder / str(operations), said.append)  # the next start, to its end
    print(operations, os.waitstatus_to_exitcode(ended), said, sep="|")
    if ended == 0:
        break
    operations += 1
"""
)

KILLED_IN_A_FILE = (
    TRAINING
    + """
import resource
at, most = Path(sys.argv[1]), int(sys.argv[2])
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
train(at, lambda line: print(line, flush=True))
"""
)


def run(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        env={**os.environ, "PYTHONPATH": str(Path(vertex_cluster.__file__).parents[1])},
        capture_output=True,
        text=True,
    )


def states() -> list[int]:
    found = [0]
    for step in range(1, 7):
        found.append((found[-1] * 31 + step) % 1_000_003)
    return found


def check_end(folder: Path) -> None:
    """Check that the training ended with the state of an undisturbed one, and that nothing half is left."""
    assert checkpoints.newest(folder).step == 6  # type: ignore[union-attr]
    whole = not_empty(each for each in folder.iterdir() if each.name != "starts")
    assert sorted(int(each.name.split("-")[1]) for each in whole) == [5, 6]
    for each in whole:
        step = int(each.name.split("-")[1])
        assert (each / "part" / "state").read_text() == str(states()[step])
        assert json.loads((each / checkpoints.MARKER).read_text())["step"] == step


def test_a_kill_at_every_operation_loses_no_saved_step(tmp_path: Path) -> None:
    done = run(KILLED_AT_EVERY_OPERATION, str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines()]
    assert len(rows) > 60  # operations of one training
    assert [row[1] for row in rows] == ["-9"] * (len(rows) - 1) + ["0"]
    resumed_later = 0
    for operations, _, said in rows:
        lines = [line.split() for line in json.loads(said.replace("'", '"'))]
        check_end(tmp_path / operations)
        last = max((int(line[1]) for line in lines[: _next_start(lines)] if line[0] == "saved"), default=0)
        resumed = int(lines[_next_start(lines)][1])
        # A marker may be written when the kill comes before the step is acknowledged.
        assert resumed in (last, last + 1), (operations, said)
        resumed_later += resumed > 0
        assert all(int(line[2]) == states()[int(line[1])] for line in lines if line[0] == "saved")
    assert resumed_later > 40


def _next_start(lines: list[list[str]]) -> int:
    """Return the position of the line with which the second start begins."""
    return [number for number, line in enumerate(lines) if line[0] == "resumed"][-1]


@pytest.mark.parametrize("most", [0, 1, 50, 99, 101, 150])
def test_a_file_that_is_written_in_part_is_no_checkpoint(most: int, tmp_path: Path) -> None:
    """Let the kernel end the process at that size of a file: of a start, a state, a marker."""
    run(TRAINING + "STEPS = 2\ntrain(Path(sys.argv[1]), print)", str(tmp_path))
    before = checkpoints.newest(tmp_path)
    for _ in range(2):
        cut = run(KILLED_IN_A_FILE, str(tmp_path), str(most))
        assert cut.returncode == -25, cut.stderr  # SIGXFSZ
        assert checkpoints.newest(tmp_path) == before
    assert any(path.stat().st_size == most for path in tmp_path.rglob("*") if path.is_file())
    done = run(TRAINING + "train(Path(sys.argv[1]), print)", str(tmp_path))
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "resumed 2"), done.stderr
    check_end(tmp_path)
