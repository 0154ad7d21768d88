"""The journal: on the disk before a command, readable after a kill at any byte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.verify_google import journal
from scripts.verify_google.journal import Journal, JournalError

RUN = "vtv-0123456789"


def begun(folder: Path) -> Journal:
    return Journal.begin(folder, run=RUN, project="my-project", location="us-central1")


def test_a_run_that_was_killed_is_unfinished(tmp_path: Path) -> None:
    log = begun(tmp_path)
    log.write("reserved", usd=0.5, reason="infra")
    log.write("reserved", usd=0.25, reason="jobs")
    log.write("command", process=4711)
    (left,) = journal.unfinished(tmp_path)
    assert (left.run, left.spent, left.process) == (RUN, 0.75, 4711)
    log.write("ended")
    assert journal.unfinished(tmp_path) == []


def test_a_line_that_a_kill_has_cut(tmp_path: Path) -> None:
    log = begun(tmp_path)
    log.write("command", process=1)
    whole = log.path.read_bytes()
    log.write("command", process=2)
    cut = log.path.read_bytes()[len(whole) :]
    for kept in range(len(cut)):
        log.path.write_bytes(whole + cut[:kept])
        assert journal.read(log.path).process == (2 if kept == len(cut) - 1 else 1)
        log.write("command", process=3)
        assert journal.read(log.path).process == 3


def test_each_run_has_an_id_of_its_own() -> None:
    runs = {journal.new_run() for _ in range(100)}
    assert len(runs) == 100
    assert all(run.startswith("vtv-") and len(run) == 14 for run in runs)


@pytest.mark.parametrize("text", ["", "{}\n", '{"event": "run", "run": "x"}\n', "nonsense"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "vtv-a.jsonl"
    path.write_text(text)
    with pytest.raises(JournalError, match="is not a journal"):
        journal.read(path)


def test_one_run_at_a_time(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from scripts.verify_google.journal import exclusive\n"
        f"with exclusive(Path({str(tmp_path)!r})): print('held', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(JournalError, match="Another `make verify-google`"), journal.exclusive(tmp_path):
            pass
        other.kill()  # the lock ends with its process
    with journal.exclusive(tmp_path):
        pass
