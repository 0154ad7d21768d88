"""The comparison of two sides, the report about it, and the recording."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.verify_google.comparison import MISSING, Allowed, compare
from scripts.verify_google.report import RecordingError, Report, record, recorded

KNOWN = Allowed(step="a*", path="error.details*", reason="known to differ")


def test_fields_and_steps_that_differ() -> None:
    google = {"a": {"x": [1, {"y": "z"}], "only": 1, "e": {}, "n": 1, "t": 1, "same": 0}, "b": 1}
    emulator = {"a": {"x": [1, {"y": "w"}, 2], "n": "1", "t": True, "same": 0}, "c": 1}
    assert compare(google, google) == ()
    assert [(one.step, one.path, one.google, one.emulator) for one in compare(google, emulator)] == [
        ("a", "x[1].y", "z", "w"),
        ("a", "only", 1, MISSING),
        ("a", "e", {}, MISSING),
        ("a", "n", 1, "1"),
        ("a", "t", 1, True),
        ("a", "x[2]", MISSING, 2),
        ("b", "", "(answered)", MISSING),
        ("c", "", MISSING, "(answered)"),
    ]


def report(google: object, emulator: object) -> Report:
    return Report(
        day="2026-01-01",
        location="us-central1",
        results={"infra": "deployed", "jobs": "train: no machines\nin us-central1"},
        differences=compare({"ab": google}, {"ab": emulator}, (KNOWN,)),
        counted=0.5,
        budget=1.0,
        notes=["a note"],
    )


def test_cells_keep_their_table() -> None:
    text = report({"a|b": "x|y\nz\t\\"}, {"a|b": "w" * 1000}).markdown()
    row = next(line for line in text.splitlines() if line.startswith("| ab |"))
    assert row == f"| ab | a\\|b | x\\|y<br>z \\\\ | {'w' * 300}... |  |"
    assert "Counted: $0.50 of $1.00." in text
    assert "* a note" in text
    assert "| jobs | train: no machines<br>in us-central1 |" in text


def test_known_differences_have_a_table_of_their_own() -> None:
    made = report({"error": {"details": [1], "message": "x"}}, {"error": {"message": "y"}})
    assert [each.path for each in made.unexplained] == ["error.message"]
    unknown, _, known = made.markdown().partition("## Known differences")
    assert "| ab | error.message | x | y |  |" in unknown
    assert "| ab | error.details[0] | 1 | (missing) | known to differ |" in known
    assert made.json()["differences"][0]["allowed"] == "known to differ"


@pytest.mark.parametrize("secret", ["me@example.com", "projects/my-project/x", "10.0.0.1", "ya29.abcdef"])
def test_a_recording_with_a_secret_is_not_written(tmp_path: Path, secret: str) -> None:
    path = tmp_path / "google" / "answers.json"
    with pytest.raises(RecordingError, match=r"answers\.a\.owner") as error:
        record(path, {"a": {"owner": secret}}, location="us-central1", day="2026-01-01")
    assert secret not in str(error.value)
    assert not path.exists()


def test_a_recording_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "google" / "answers.json"
    record(path, {"a": {"n": 1}}, location="us-central1", day="2026-01-01")
    assert recorded(path) == {"a": {"n": 1}}
    path.write_text(json.dumps({"format": 1}))
    with pytest.raises(RecordingError, match="no recorded answers"):
        recorded(path)
