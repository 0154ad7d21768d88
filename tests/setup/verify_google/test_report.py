"""The comparison of two sides, and the report about it."""

from __future__ import annotations

from scripts.verify_google.comparison import MISSING, Allowed, compare
from scripts.verify_google.report import Report

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
        location="us-central1",
        results={"infra": "deployed", "jobs": "train: no machines\nin us-central1"},
        differences=compare({"ab": google}, {"ab": emulator}, (KNOWN,)),
        counted=0.5,
        is_clean=False,
    )


def test_cells_keep_their_table() -> None:
    text = report({"a|b": "x|y\nz\t\\"}, {"a|b": "w" * 1000}).markdown()
    row = next(line for line in text.splitlines() if line.startswith("| ab |"))
    assert row == f"| ab | a\\|b | x\\|y<br>z \\\\ | {'w' * 300}... |  |"
    assert "Counted: $0.50." in text
    assert "Not everything was deleted" in text
    assert "| jobs | train: no machines<br>in us-central1 |" in text


def test_known_differences_have_a_table_of_their_own() -> None:
    made = report({"error": {"details": [1], "message": "x"}}, {"error": {"message": "y"}})
    assert [each.path for each in made.unexplained] == ["error.message"]
    unknown, _, known = made.markdown().partition("## Known differences")
    assert "| ab | error.message | x | y |  |" in unknown
    assert "| ab | error.details[0] | 1 | (missing) | known to differ |" in known
