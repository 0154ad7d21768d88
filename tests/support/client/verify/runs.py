"""Runs of the command between two emulators, with what they print and write."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.verify_google import journal
from support.client.verify.pair import Pair


@dataclass(frozen=True)
class Run:
    """The code, output and files of one run of the command, and what it left. `folder` has its report."""

    code: int
    printed: str
    folder: Path
    left: tuple[str, ...]
    submissions: int

    @property
    def report(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "report.json").read_text()))

    @property
    def markdown(self) -> str:
        return (self.folder / "report.md").read_text()

    def results(self) -> dict[str, str]:
        return {case["case"]: case["result"] for case in self.report["cases"]}

    def differences(self) -> list[tuple[str, str, str, Any, Any]]:
        """Return case, step, field and both values of the differences that are not known."""
        return [
            (case["case"], one["step"], one["field"], one["google"], one["emulator"])
            for case in self.report["cases"]
            for one in case["differences"]
            if one["allowed"] is None
        ]


def verified(pair: Pair, name: str, *arguments: str, own_emulator: bool = False) -> Run:
    """Run the command with a folder of its own, and return the run that it began."""
    folder = pair.folder / name
    before = set(journal.journals(folder))
    pair.front.asked.clear()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = pair.verify(*arguments, folder=folder, own_emulator=own_emulator)
    new = [path for path in journal.journals(folder) if path not in before]
    begun = folder / new[0].stem if new else folder
    return Run(code, printed.getvalue(), begun, tuple(pair.left()), pair.front.submissions())


def only(*names: str) -> list[str]:
    """Return the options that choose cases."""
    return [word for name in names for word in ("--only", name)]
