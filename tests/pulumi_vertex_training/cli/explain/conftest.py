"""Fixtures of several test files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main
from support.specs.explained_kinds import Run


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `explain` or `diff` of documents, in this process: exit code, standard output and error."""

    def run(name: str, *given: Any) -> tuple[int, str, str]:
        words = [name]
        for number, each in enumerate(given):
            if isinstance(each, str):
                words.append(each)
                continue
            (tmp_path / f"{number}.json").write_text(json.dumps(each))
            words.append(str(tmp_path / f"{number}.json"))
        code = main(words)
        captured = capsys.readouterr()
        return code, captured.out.replace(f"{tmp_path}/", ""), captured.err.replace(f"{tmp_path}/", "")

    return run
