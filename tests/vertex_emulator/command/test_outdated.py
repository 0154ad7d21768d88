"""The status of an emulator that runs older code than the command."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from support.emulated.emulator import running
from vertex_emulator.client.lookup import FOLDER, code_of_this_process
from vertex_emulator.command import commands
from vertex_emulator.kernel.timeouts import CLIENT
from vertex_training.command_line.answer import render
from vertex_training.command_line.output import Output

OLD = f"0123456789abcdef {FOLDER}"


def status(data_dir: Path, *, as_json: bool = False) -> None:
    output = Output(as_json=as_json, terminal=False)
    options = argparse.Namespace(data_dir=data_dir, timeouts=CLIENT)
    render(commands.status(options, output), output)


@pytest.mark.parametrize(
    ("code", "lines"), [(OLD, 4), (code_of_this_process(), 3)], ids=["older", "this code"]
)
def test_the_status_of_older_code_has_one_line_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, lines: int
) -> None:
    with running(tmp_path, code=code):
        status(tmp_path)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == lines
    assert ("To replace it, run `vertex-emulator start`" in said[-1]) == (lines == 4)


def test_the_status_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(tmp_path, code=OLD):
        status(tmp_path, as_json=True)
    assert json.loads(capsys.readouterr().out)["outdated"] is True
