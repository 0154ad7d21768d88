"""The emulator of the clone, in `.local/emulator`: stop it, and one that another environment has started."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from scripts import environment
from scripts.layout import Layout
from scripts.processes import run_openly, run_quietly
from scripts.report import Report
from scripts.setup import python_packages

_RECORD = "emulator.json"


def stop(layout: Layout, report: Report) -> int:
    """Stop the emulator of the clone, or that of the data folder which the user has chosen."""
    folder = Path(os.environ.get(environment.DATA_VARIABLE) or layout.emulator)
    if not (folder / _RECORD).exists():
        report.line("The emulator is not running.")
        return 0
    python_packages.ensure(layout, report, development=False)
    return run_openly(_stop(layout, folder), cwd=layout.project, env=os.environ)


def stop_foreign(layout: Layout, report: Report, *, environ: Mapping[str, str] = os.environ) -> None:
    """Stop an emulator that a project in another folder has started from an activated shell.

    Its jobs would import the packages of that project's environment, which may lack those of .venv. Live jobs
    keep running, and the deployment that follows starts the emulator again. A data folder or an interpreter
    that the user has chosen is left alone.
    """
    folder = layout.emulator
    chosen = environ.get(environment.DATA_VARIABLE) or str(folder)
    if chosen != str(folder) or environ.get("VERTEX_TRAINING_EMULATOR_PYTHON"):
        return
    try:
        code = json.loads((folder / _RECORD).read_text())["code"] or ""
    except (OSError, ValueError, KeyError, TypeError):
        return
    _, _, installation = code.partition(" ")
    if not installation or layout.root.resolve() in Path(installation).parents:
        return
    with report.step("Emulator") as step:
        step.progress("stopping the one of another environment")
        run_quietly(
            _stop(layout, folder),
            cwd=layout.root,
            env=environ,
            failure="The emulator of another environment cannot be stopped",
        )
        step.done(f"stopped the one that runs {installation}; the deployment starts it again")


def _stop(layout: Layout, folder: Path) -> list[str | Path]:
    return [layout.venv / "bin" / "vertex-training", "emulator", "stop", "--data-dir", folder]
