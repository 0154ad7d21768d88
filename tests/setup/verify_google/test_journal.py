"""The journal: on the disk before a request, readable after a kill at any byte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.verify_google import journal
from scripts.verify_google.journal import Journal, JournalError

RUN = "vtv-0123456789"


def begun(folder: Path) -> Journal:
    return Journal.begin(folder, run=RUN, project="my-project", location="us-central1", budget=1.0)


def test_creations_that_may_exist(tmp_path: Path) -> None:
    log = begun(tmp_path)
    unanswered = log.creating("customJobs", None)
    answered = log.creating("customJobs", None)
    log.created(answered, "projects/1/locations/l/customJobs/2")
    going_on = log.creating("models", None)
    log.created(going_on, None, operation="projects/1/locations/l/operations/3")
    bucket = log.creating("buckets", "b")
    log.gone(bucket)
    found = journal.read(log.path)
    assert [each.number for each in found.creations] == [unanswered, answered, going_on]
    assert [each.name for each in found.creations] == [None, "projects/1/locations/l/customJobs/2", None]
    assert [each.was_answered for each in found.creations] == [False, True, True]
    assert found.creations[2].operation == "projects/1/locations/l/operations/3"
    assert not found.ended


def test_a_line_that_a_kill_has_cut(tmp_path: Path) -> None:
    log = begun(tmp_path)
    log.creating("buckets", "a")
    whole = log.path.read_bytes()
    log.creating("buckets", "b")
    rest = log.path.read_bytes()[len(whole) :]
    for kept in range(len(rest)):
        log.path.write_bytes(whole + rest[:kept])
        expected = ["a", "b"] if kept == len(rest) - 1 else ["a"]
        assert [each.name for each in journal.read(log.path).creations] == expected
        later = Journal(log.path)
        later.creating("buckets", "c")
        assert [each.name for each in journal.read(log.path).creations] == [*expected, "c"]


def test_numbers_go_on_in_the_next_process(tmp_path: Path) -> None:
    assert begun(tmp_path).creating("buckets", "a") == 1
    again = Journal(tmp_path / f"{RUN}.jsonl")
    assert again.creating("buckets", "b") == 2


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
