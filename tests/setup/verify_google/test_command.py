"""The first look, wrong options, missing credentials: nothing is sent, and the next step is a command."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.verify_google.cases import CASES
from scripts.verify_google.command import main
from support.client.verify.pair import Pair
from support.client.verify.runs import only, verified

ROOT = Path(__file__).resolve().parents[3]


def test_without_a_project_the_cases_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    printed = capsys.readouterr()
    for case in CASES:
        assert f"\n{case.name} " in printed.out
    assert "together" in printed.out
    assert printed.err == (
        "PROJECT is missing. Name the project that pays: make verify-google PROJECT=my-project BUDGET=1\n"
    )


@pytest.mark.parametrize("columns", [80, 100])
def test_the_table_fits_the_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    main([])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--project", "My_Project"], "PROJECT=My_Project is not the id of a project."),
        (["--project", "my-project", "--budget", "much"], "BUDGET=much is not a number of dollars"),
        (["--project", "my-project", "--budget", "-1"], "BUDGET=-1 is not a number of dollars"),
        (["--project", "my-project", "--budget", "nan"], "BUDGET=nan is not a number of dollars"),
        (["--project", "my-project", "--budget", "inf"], "BUDGET=inf is not a number of dollars"),
    ],
)
def test_wrong_options(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
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


def test_another_region_has_no_prices(pair: Pair) -> None:
    run = verified(pair, "region", "--budget", "1", "--location", "europe-west4")
    assert run.code == 1
    assert "No price is known for n1-standard-4 in europe-west4" in run.printed
    assert pair.front.asked == []


def test_without_a_budget_and_a_terminal_nothing_is_sent(pair: Pair) -> None:
    run = verified(pair, "look", *only("missing", "cancelled"))
    assert run.code == 0
    assert (
        "Nothing was sent. To run the cases: make verify-google PROJECT=my-project BUDGET=0.07" in run.printed
    )
    assert pair.front.asked == []
    assert run.folder.name == "look"


def test_with_yes_the_budget_is_what_the_table_shows(pair: Pair) -> None:
    run = verified(pair, "yes", "--yes", *only("missing", "buckets"))
    assert run.code == 0
    assert run.report["budget"] == pytest.approx(0.01)


@pytest.mark.parametrize(("answer", "is_sent"), [("y\n", True), ("\n", False), ("no\n", False)])
def test_on_a_terminal_it_asks(pair: Pair, answer: str, is_sent: bool) -> None:
    pair.front.asked.clear()
    folder = pair.folder / f"asked-{answer.strip()}"
    controller, terminal = pty.openpty()
    process = pair.start(*only("missing"), folder=folder, stdin=terminal)
    os.write(controller, answer.encode())
    assert process.stdout is not None
    printed = process.stdout.read()
    process.wait()
    process.stdout.close()
    os.close(controller)
    os.close(terminal)
    assert "Spend at most $0.00 in project my-project? [y/N]" in printed
    assert bool(pair.front.asked) is is_sent
    assert ("Nothing was sent." in printed) is not is_sent


@pytest.mark.parametrize(
    ("status", "error", "advice"),
    [
        (401, {"message": "no"}, "gcloud auth application-default login"),
        (
            403,
            {"message": "Vertex AI API has not been used in project 1 before or it is disabled."},
            "gcloud services enable aiplatform.googleapis.com",
        ),
        (403, {"message": "The API requires a quota project"}, "set-quota-project my-project"),
        (403, {"message": "Permission denied"}, "gcloud projects get-iam-policy my-project"),
        (501, {"message": "later"}, "Try again later."),
    ],
)
def test_an_account_that_may_not(pair: Pair, status: int, error: dict[str, str], advice: str) -> None:
    with pair.front.refusing(status, error):
        run = verified(pair, f"refused-{advice[:4]}-{status}", "--budget", "1", *only("missing"))
    assert run.code == 1
    assert f"Vertex AI answered {status}: {error['message']}" in run.printed
    assert advice in run.printed
    assert not list(run.folder.glob("*.jsonl"))
