"""`make up` stops an emulator of another environment in the clone's data folder, and no other one."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from scripts import local_emulator
from scripts.layout import Layout
from scripts.report import ChoreError, Report

FOREIGN = "/elsewhere/venv/lib/python3.11/site-packages/vertex_emulator"


@pytest.fixture
def command(layout: Layout) -> Path:
    """Return the command of .venv. It notes its arguments, and fails if a file says so."""
    program = layout.venv / "bin" / "vertex-training"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho "$@" >>"{program}.called"\n[ ! -e "{program}.fails" ]\n')
    program.chmod(0o755)
    return program


def record(layout: Layout, text: str) -> None:
    layout.emulator.mkdir(parents=True, exist_ok=True)
    (layout.emulator / "emulator.json").write_text(text)


def called(command: Path) -> list[str]:
    file = Path(f"{command}.called")
    return file.read_text().splitlines() if file.exists() else []


def test_an_emulator_of_another_environment_is_stopped(
    layout: Layout, report: Report, printed: io.StringIO, command: Path
) -> None:
    record(layout, json.dumps({"code": f"0123 {FOREIGN}"}))
    local_emulator.stop_foreign(layout, report, environ={})
    assert called(command) == [f"emulator stop --data-dir {layout.emulator}"]
    assert f"stopped the one that runs {FOREIGN}; the deployment starts it again" in printed.getvalue()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"code": null}', '{"code": ""}', "own", "none"])
def test_any_other_emulator_is_left_alone(
    layout: Layout, report: Report, printed: io.StringIO, command: Path, text: str
) -> None:
    own = layout.root.resolve() / "providers" / "vertex-emulator" / "src" / "vertex_emulator"
    if text != "none":
        record(layout, json.dumps({"code": f"0123 {own}"}) if text == "own" else text)
    local_emulator.stop_foreign(layout, report, environ={})
    assert (called(command), printed.getvalue()) == ([], "")


@pytest.mark.parametrize("variable", ["VERTEX_TRAINING_DATA_DIR", "VERTEX_TRAINING_EMULATOR_PYTHON"])
def test_what_the_user_has_chosen_is_left_alone(
    layout: Layout, report: Report, command: Path, variable: str
) -> None:
    record(layout, json.dumps({"code": f"0123 {FOREIGN}"}))
    local_emulator.stop_foreign(layout, report, environ={variable: "/chosen"})
    assert called(command) == []
    local_emulator.stop_foreign(layout, report, environ={"VERTEX_TRAINING_DATA_DIR": str(layout.emulator)})
    assert len(called(command)) == 1  # as in a shell of `source ./activate`


def test_an_emulator_that_cannot_be_stopped_is_an_error(
    layout: Layout, report: Report, command: Path
) -> None:
    record(layout, json.dumps({"code": f"0123 {FOREIGN}"}))
    Path(f"{command}.fails").touch()
    with pytest.raises(ChoreError, match="The emulator of another environment cannot be stopped"):
        local_emulator.stop_foreign(layout, report, environ={})
