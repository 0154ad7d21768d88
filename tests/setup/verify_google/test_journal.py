"""The journal: on the disk before a command, readable after a kill at any byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.verify_google import journal
from scripts.verify_google.journal import JournalError, Record

RECORD = Record(run="vtv-0123456789", project="my-project", location="us-central1", counted=0.75)


def test_a_run_that_was_killed_is_unfinished(tmp_path: Path) -> None:
    journal.write(tmp_path, RECORD)
    (tmp_path / "vtv-other.new").write_text('{"run": "vtv-01')  # a kill has cut another one
    assert journal.unfinished(tmp_path) == [RECORD]
    journal.end(tmp_path, RECORD)
    assert journal.unfinished(tmp_path) == []


def test_each_run_has_an_id_of_its_own() -> None:
    runs = {journal.new_run() for _ in range(100)}
    assert len(runs) == 100
    assert all(run.startswith("vtv-") and len(run) == 14 for run in runs)


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"run": "", "project": "my-project", "location": "us-central1", "counted": 1}', "nonsense"],
)
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "vtv-a.json").write_text(text)
    with pytest.raises(JournalError, match="is not a journal"):
        journal.unfinished(tmp_path)
