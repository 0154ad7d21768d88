"""Tables on terminals that are too narrow for them."""

from __future__ import annotations

from collections import Counter

import pytest

from vertex_training.command_line.output import Output

HEADINGS = ("ID", "NAME", "DETAILS")
ROW = ("1285030446583197285", "study-trial-1", "the Python module hypertune is missing")


def shown(columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    Output(as_json=False, terminal=True).table(HEADINGS, [ROW])
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [120, 60, 40])
def test_what_a_row_is_called_can_be_copied(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ROW[0] in shown(columns, monkeypatch, capsys)


def test_nothing_is_cut_off_where_there_is_no_room_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = shown(20, monkeypatch, capsys)
    assert max(map(len, found.splitlines())) <= 20
    assert Counter("".join(found.split())) == Counter("".join("".join((*HEADINGS, *ROW)).split()))


@pytest.mark.parametrize("columns", [120, 60, 45])
def test_rows_of_one_line_are_cut_and_the_first_column_is_whole(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    Output(as_json=False, terminal=True).table(HEADINGS, [ROW, ROW], one_line=("NAME", "DETAILS"))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and max(map(len, lines)) <= columns
    assert all(ROW[0] in line for line in lines[1:])
    assert ("…" in lines[1]) == (columns < 80)


@pytest.mark.parametrize("columns", [120, 60])
def test_a_narrow_terminal_has_no_spared_column(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ids = [("1", "SUCCEEDED", "0.0111371", "a long name of a category", "7092632641367219362")] * 2
    headings = ("TRIAL", "STATE", "rate", "category", "JOB")
    Output(as_json=False, terminal=True).table(headings, ids, spared=("JOB",))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3, "no cell is broken"
    assert ("7092632641367219362" in lines[1]) == ("JOB" in lines[0]) == (columns == 120)


def test_a_fact_continues_below_its_text_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for terminal in (True, False):
        output = Output(as_json=False, terminal=terminal)
        output.fact("Error:    ", "a sentence of more than thirty letters\n  File", wraps=True)
        output.fact("Command:  ", "vertex-training logs 1234567890123456789", wraps=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["Error:    a sentence of more than thirty", "          letters", "            File"]
    assert lines[4:6] == ["Error:    a sentence of more than thirty letters", "            File"]
    assert lines[3] == lines[6] == "Command:  vertex-training logs 1234567890123456789"
