"""Wrong options and missing credentials: nothing is sent, and the next step is a command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.verify_google.command import main

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "Name the project that pays: make verify-google PROJECT=my-project BUDGET=3\n"),
        (["--project", "My_Project"], "PROJECT=My_Project is not the id of a project."),
        (["--project", "my-project", "--budget", "much"], "BUDGET=much is not a number of dollars"),
        (["--project", "my-project", "--budget", "-1"], "BUDGET=-1 is not a number of dollars"),
        (["--project", "my-project", "--budget", "nan"], "BUDGET=nan is not a number of dollars"),
        (["--project", "my-project", "--budget", "inf"], "BUDGET=inf is not a number of dollars"),
    ],
)
def test_wrong_options(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert text in capsys.readouterr().err


def test_without_credentials(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")}
    env = {**kept, "HOME": str(tmp_path), "NO_GCE_CHECK": "true"}
    command = [sys.executable, "-m", "scripts.verify_google", "--project", "my-project", "--budget", "1"]
    done = subprocess.run(
        [*command, "--folder", str(tmp_path / "runs")], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        "There are no credentials for Google Cloud. Log in, and try again:",
        "  gcloud auth application-default login",
    ]
    assert not (tmp_path / "runs").exists()


def test_with_variables_of_the_emulator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:1")
    monkeypatch.delenv("VERTEX_EMULATOR_HOST", raising=False)
    monkeypatch.delenv("GCE_METADATA_HOST", raising=False)
    assert main(["--project", "my-project", "--folder", str(tmp_path)]) == 1
    assert "Run `unset STORAGE_EMULATOR_HOST`" in capsys.readouterr().err
