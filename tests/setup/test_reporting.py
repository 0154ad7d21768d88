"""The output of chores, on a terminal and elsewhere, and how they run programs."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scripts.processes import alone, run_openly, run_quietly
from scripts.report import ChoreError, Report, Step
from support.waiting import eventually


def plain(printed: io.StringIO) -> str:
    return re.sub(r"\d+(\.\d+)? s", "N s", printed.getvalue())


def test_a_step_prints_its_action_and_duration(report: Report, printed: io.StringIO) -> None:
    with report.step("Pulumi CLI") as step:
        step.progress("building")
        step.progress("building more")
        step.note("a line that stays")
        step.done("3.259.0")
    assert plain(printed).splitlines() == [
        "Pulumi CLI        building ...",
        "Pulumi CLI        a line that stays",
        "Pulumi CLI        3.259.0  N s",
    ]


def test_a_step_with_nothing_to_do_prints_one_line(report: Report, printed: io.StringIO) -> None:
    with report.step("Pulumi CLI") as step:
        step.done("up to date", idle=True)
    assert printed.getvalue() == "Pulumi CLI        up to date\n"


def test_a_long_step_shows_progress(printed: io.StringIO) -> None:
    with Report(printed, heartbeat=0.02).step("Pulumi CLI") as step:
        step.progress("building")
        eventually(lambda: "so far" in printed.getvalue())
    assert "Pulumi CLI        building (N s so far)\n" in plain(printed)


def test_a_terminal_gets_one_line_rewritten_in_place(printed: io.StringIO) -> None:
    with Report(printed, live=True, colour=True).step("Pulumi CLI") as step:
        step.progress("building")
        step.done("3.259.0")
    *rewritten, last = plain(printed).split("\r\x1b[K")
    assert rewritten == ["", "Pulumi CLI        building  N s"]
    assert last == "Pulumi CLI        \x1b[32m3.259.0\x1b[0m  N s\n"


def test_a_command_that_prints_gets_lines_of_its_own(printed: io.StringIO) -> None:
    with Report(printed, live=True).step("Stack prod") as step:
        step.progress("creating it")
        step.release_terminal()
        before = len(printed.getvalue())
        step.show_live()
        assert printed.getvalue()[before:] == ""
        step.done("ready")
    assert "\r\x1b[KStack prod        creating it ...\n" in plain(printed)


def test_a_failed_step_is_reported(report: Report, printed: io.StringIO) -> None:
    with pytest.raises(ChoreError), report.step("Pulumi CLI"):
        raise ChoreError("no")
    assert "Pulumi CLI        failed" in printed.getvalue()


def program(code: str) -> list[str | Path]:
    return [sys.executable, "-c", code]


def test_the_output_of_a_quiet_program_is_shown_when_it_fails(tmp_path: Path) -> None:
    lines: list[str] = []
    run = {"cwd": tmp_path, "env": os.environ, "on_line": lines.append, "failure": "It broke"}
    assert run_quietly(program("print('one'); print('two')"), **run) == "one\ntwo"  # type: ignore[arg-type]
    assert lines == ["one", "two"]
    with pytest.raises(ChoreError) as caught:
        run_quietly(
            program("import sys; print('one'); print('two', file=sys.stderr, flush=True); sys.exit(3)"),
            cwd=tmp_path,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            on_line=lines.append,
            failure="It broke",
            remedy="Fix it.",
            tail=1,
        )
    assert str(caught.value).splitlines() == [
        f"It broke ({Path(sys.executable).name} ended with code 3).",
        "  | two",
        "Fix it.",
    ]


def test_a_missing_program_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ChoreError, match="It broke: /nowhere/go cannot be started: No such file"):
        run_quietly(["/nowhere/go"], cwd=tmp_path, env={}, on_line=print, failure="It broke")


@pytest.mark.parametrize(
    ("code", "expected"), [("import sys; sys.exit(3)", 3), ("import os; os.kill(os.getpid(), 15)", 143)]
)
def test_the_exit_code_of_an_open_program_is_passed_on(tmp_path: Path, code: str, expected: int) -> None:
    assert run_openly(program(code), cwd=tmp_path, env=os.environ) == expected


def test_chores_run_one_at_a_time(tmp_path: Path, report: Report, printed: io.StringIO) -> None:
    holder = (
        "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX);"
        "print('held', flush=True); sys.stdin.read()"
    )
    command = [*program(holder), tmp_path / "lock"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()

        def end_once_it_waits() -> None:
            try:
                eventually(lambda: "waiting for another setup to finish" in printed.getvalue())
            finally:
                process.stdin.close()

        with ThreadPoolExecutor(max_workers=1) as pool:
            waits = pool.submit(end_once_it_waits)
            with alone(tmp_path / "lock", Step(report, "Pulumi CLI")):
                assert process.wait() == 0
            waits.result()
