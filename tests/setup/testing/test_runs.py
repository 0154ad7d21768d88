"""Runs of a small suite in several processes: its results, failures, crashes and left processes."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts.layout import Layout
from scripts.report import Report
from scripts.testing import command, processes, summary
from scripts.testing.processes import Run
from scripts.testing.queue import DIVIDED, Entry, part_of
from scripts.testing.results import Results
from support.waiting import eventually

ROOT = Path(__file__).resolve().parents[3]

CONFTEST = """
from support.suite import worker
from support.suite.rows import pytest_generate_tests

def pytest_configure(config):
    config.addinivalue_line("markers", "slow: a slow test")
    worker.register(config)
"""


@pytest.fixture
def small(tmp_path: Path) -> Layout:
    """Return a clone with an empty suite, and this one's packages."""
    root = tmp_path / "clone"
    (root / "tests").mkdir(parents=True)
    (root / "tests" / "conftest.py").write_text(CONFTEST)
    (root / "pytest.ini").write_text(
        f"[pytest]\npythonpath = {ROOT / 'tests'} {ROOT}\naddopts = --import-mode=importlib\ntimeout = 60\n"
    )
    (root / ".venv").symlink_to(sys.prefix)
    return Layout(root=root, local=root / ".local", cache=tmp_path / "cache")


def run(layout: Layout, *, marks: str = "not slow", arguments: Sequence[str] = (), **files: str) -> Run:
    """Run a suite of these files, each with its program."""
    for name, program in files.items():
        (layout.root / "tests" / f"test_{name}.py").write_text(program)
    entries = [Entry(f"tests/test_{name}.py", marks) for name in files]
    return run_entries(layout, entries, arguments, count=min(len(files), 2))


def run_entries(
    layout: Layout,
    entries: Sequence[Entry],
    arguments: Sequence[str] = (),
    *,
    count: int = 2,
    memory: int | None = None,
) -> Run:
    return processes.run(
        layout,
        entries,
        env=os.environ,
        arguments=["--randomly-seed=17", *arguments],
        processes=count,
        on_look=lambda _results, _files: None,
        memory=memory,
    )


def outcomes(done: Run) -> dict[str, str]:
    return {test.name.removeprefix("tests/"): test.outcome for test in done.results.tests}


def test_every_test_runs_once(small: Layout) -> None:
    several = "import pytest\n@pytest.mark.parametrize('number', range(3))\ndef test_it(number): pass\n"
    done = run(small, **{f"file{number}": several for number in range(5)})
    assert sorted(outcomes(done)) == [
        f"test_file{file}.py::test_it[{row}]" for file in range(5) for row in range(3)
    ]
    assert done.results.counts() == {"passed": 15, "failed": 0}
    assert done.results.collection.tests == 15
    assert (done.crashed, done.left_files, done.interrupted) == ([], [], False)


@pytest.mark.parametrize(("memory", "processes"), [(1, 3), (1 << 40, 1)])
def test_a_process_that_has_grown_ends_after_its_file_and_another_takes_its_place(
    small: Layout, memory: int, processes: int
) -> None:
    for number in range(2):
        (small.root / "tests" / f"test_file{number}.py").write_text("def test_it(): pass\n")
    done = run_entries(
        small, [Entry(f"tests/test_file{number}.py", "") for number in range(2)], count=1, memory=memory
    )
    assert len(outcomes(done)) == 2 and (done.crashed, done.left_files) == ([], [])
    assert len(list((done.folder / "results").iterdir())) == processes
    assert len(done.results.grown) == (2 if processes > 1 else 0)


def test_the_mark_expression_of_an_entry_chooses_tests(small: Layout) -> None:
    program = "import pytest\n@pytest.mark.slow\ndef test_slow(): pass\ndef test_fast(): pass\n"
    assert outcomes(run(small, file=program)) == {"test_file.py::test_fast": "passed"}
    assert outcomes(run(small, file=program, marks="slow")) == {"test_file.py::test_slow": "passed"}
    assert len(outcomes(run(small, file=program, marks=""))) == 2


def test_one_process_runs_the_slow_tests_of_a_file_and_then_the_others(small: Layout) -> None:
    rows = "('fast', pytest.param('slow', marks=pytest.mark.slow))"
    program = "import pytest\n@pytest.mark.parametrize('row', {})\ndef test_it(row): pass\n"
    file = small.root / "tests" / "test_file.py"
    entries = [Entry("tests/test_file.py", marks) for marks in ("slow", "not slow")]
    file.write_text(program.format(rows))
    done = run_entries(small, entries, count=1)
    assert outcomes(done) == {f"test_file.py::test_it[{row}]": "passed" for row in ("slow", "fast")}
    file.write_text(program.format(f"iter({rows})"))
    for only in entries:
        done = run_entries(small, [only], count=1)
        assert "needs a tuple or a list" in done.results.broken["tests/test_file.py"]


def test_the_part_of_an_entry_chooses_tests(small: Layout) -> None:
    file, parts = next(iter(DIVIDED.items()))
    path = small.root / file
    path.parent.mkdir(parents=True)
    path.write_text(
        "import pytest\n@pytest.mark.parametrize('number', range(40))\ndef test_it(number): pass\n"
    )
    rows = [f"{file}::test_it[{number}]" for number in range(40)]
    for part in (0, parts - 1):
        done = run_entries(small, [Entry(file, "", part)], count=1)
        chosen = {row for row in rows if part_of(row, parts) == part}
        assert chosen and {test.name for test in done.results.tests} == chosen


def test_fixtures_of_a_module_end_before_the_next_file_and_those_of_the_session_after_all(
    small: Layout,
) -> None:
    (small.root / "tests" / "conftest.py").write_text(
        CONFTEST
        + """
import pathlib, pytest
LOG = pathlib.Path(__file__).parent / "log"

def note(line):
    with LOG.open("a") as log:
        log.write(line + "\\n")

@pytest.fixture(scope="session")
def of_session():
    note("session begins")
    yield
    note("session ends")

@pytest.fixture(scope="module")
def of_module(of_session, request):
    note("module begins")
    yield
    note("module ends")
"""
    )
    program = "def test_a(of_module): pass\ndef test_b(of_module): pass\n"
    processes_of_one = [
        "session begins",
        "module begins",
        "module ends",
        "module begins",
        "module ends",
        "session ends",
    ]
    for name in ("one", "two"):
        (small.root / "tests" / f"test_{name}.py").write_text(program)
    done = processes.run(
        small,
        [Entry("tests/test_one.py", ""), Entry("tests/test_two.py", "")],
        env=os.environ,
        arguments=[],
        processes=1,
        on_look=lambda _results, _files: None,
    )
    assert len(outcomes(done)) == 4
    assert (small.root / "tests" / "log").read_text().splitlines() == processes_of_one


def test_a_failure_is_printed_with_the_command_that_repeats_it(small: Layout) -> None:
    write = "(tmp_path / 'emulator.log').write_text('a reason')"
    program = f"def test_it(tmp_path):\n    {write}\n    assert 1 + 1 == 3\n"
    done = run(small, file=program, other="def test_other(): pass\n")
    lines = list(summary.lines(done, seed=17, arguments=["-k", "it"], load="2 cores"))
    assert "E       assert (1 + 1) == 3" in lines
    again = lines.index("  make test ARGS='tests/test_file.py::test_it --randomly-seed=17'")
    assert lines[again + 1] == "    assert (1 + 1) == 3"
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"
    assert lines[-2].endswith("the same order: make test ARGS='-k it --randomly-seed=17'")
    (kept,) = (done.folder / "failed").rglob("emulator.log")
    assert kept.read_text() == "a reason"
    assert f"logs: {done.folder / 'failed' / 'tests-test_file.py-test_it'}" in lines


def test_the_folder_of_a_test_that_passed_is_emptied_and_the_logs_of_a_failed_fixture_are_kept(
    small: Layout,
) -> None:
    passes = """
import pathlib

def test_it(tmp_path):
    (tmp_path / "file").touch()
    (pathlib.Path(__file__).parent / "folder").write_text(str(tmp_path))
"""
    then = """
import pathlib, pytest

@pytest.fixture
def broken(tmp_path):
    (tmp_path / "emulator.log").write_text("a reason")
    raise OSError

def test_it(broken): pass

def test_other():
    folder = pathlib.Path((pathlib.Path(__file__).parent / "folder").read_text())
    assert list(folder.iterdir()) == []
"""
    for name, program in (("passes", passes), ("then", then)):
        (small.root / "tests" / f"test_{name}.py").write_text(program)
    done = run_entries(small, [Entry("tests/test_passes.py", ""), Entry("tests/test_then.py", "")], count=1)
    assert outcomes(done) == {
        "test_passes.py::test_it": "passed",
        "test_then.py::test_it": "failed",
        "test_then.py::test_other": "passed",
    }
    (kept,) = (done.folder / "failed").rglob("emulator.log")
    assert kept.read_text() == "a reason"


def test_the_command_that_repeats_a_test_gives_it_the_same_seed(
    small: Layout, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    program = "def test_it(request): assert request.config.getoption('randomly_seed') == 17\n"
    (small.root / "tests" / "test_file.py").write_text(program)
    _, words = shlex.split(summary.repeat("tests/test_file.py::test_it", 17))[1:]
    arguments = shlex.split(words.removeprefix("ARGS="))
    assert command.run(small, report, env=os.environ, arguments=arguments) == 0
    assert command.run(small, report, env=os.environ, arguments=[arguments[0], "--randomly-seed=18"]) == 1


def test_an_error_of_a_fixture_fails_its_test(small: Layout) -> None:
    program = """
import pytest

@pytest.fixture
def broken():
    yield
    raise OSError("at the end")

def test_it(broken): pass
"""
    done = run(small, file=program)
    assert outcomes(done) == {"test_file.py::test_it": "failed"}
    assert "OSError: at the end" in done.results.failures()[0].text


def test_a_file_that_cannot_be_imported_fails_the_run(small: Layout) -> None:
    done = run(small, broken="import nothing_of_this_name\n", file="def test_it(): pass\n")
    assert outcomes(done) == {"test_file.py::test_it": "passed"}
    assert done.results.counts()["failed"] == 1
    assert "No module named 'nothing_of_this_name'" in done.results.broken["tests/test_broken.py"]


def test_a_process_that_dies_fails_the_run_and_the_others_go_on(small: Layout) -> None:
    done = run(small, dying="import os\ndef test_it(): os._exit(0)\n", file="def test_it(): pass\n")
    assert outcomes(done) == {"test_file.py::test_it": "passed"}
    (line,) = done.crashed
    assert re.fullmatch(
        r"test process \d ended with code 0 during tests/test_dying.py::test_it: see .*", line
    )
    assert list(summary.lines(done, seed=17, arguments=[], load=""))[-1] == "1 passed, 1 failed, 0 skipped"


def test_processes_that_a_test_leaves_are_named(small: Layout) -> None:
    program = """
import subprocess

def test_it():
    subprocess.Popen(["sleep", "600"], start_new_session=True)
"""
    done = run(small, file=program)
    if done.results.source != "control group":
        pytest.skip("no control group can be made here")
    (line,) = [line for line in done.left_processes if "sleep" in line]
    pid, command = line.split(maxsplit=1)
    os.kill(int(pid), signal.SIGKILL)
    assert command == "sleep 600"


def test_a_test_is_in_the_ring_of_what_it_and_its_fixtures_start(small: Layout) -> None:
    program = """
import socket, subprocess, sys, pytest

@pytest.fixture(scope="module")
def server():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield

def test_pure(): pass
def test_first(server): pass
def test_second(server): pass
def test_command(): subprocess.run([sys.executable, "-c", ""], check=True)
"""
    done = run(small, file=program)
    rings = {test.name.rpartition("::")[2]: test.ring for test in done.results.tests}
    assert rings == {
        "test_pure": "pure",
        "test_first": "server in the test's process",
        "test_second": "server in the test's process",
        "test_command": "command or another process",
    }
    assert (
        sum(cost.tests for name, cost in done.results.rings().items() if name != "imports and collection")
        == 4
    )


def test_ctrl_c_ends_all_processes_and_their_fixtures(small: Layout) -> None:
    program = """
import pathlib, time, pytest

@pytest.fixture
def server():
    (pathlib.Path(__file__).parent / "begun").touch()
    yield
    (pathlib.Path(__file__).parent / "ended").touch()

def test_it(server): time.sleep(600)
"""
    tests = small.root / "tests"

    def interrupt() -> None:
        eventually((tests / "begun").exists)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    done = run(small, file=program)
    thread.join()
    assert done.interrupted
    assert (tests / "ended").exists()


def test_the_tests_of_a_run_in_the_background_get_ctrl_c(small: Layout) -> None:
    """Pulumi ends its plugins by SIGINT, and waits five seconds for those that ignore it."""
    program = """
import signal

def test_it(): assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = run(small, file=program)
    finally:
        signal.signal(signal.SIGINT, before)
    assert outcomes(done) == {"test_file.py::test_it": "passed"}


def test_the_number_of_results_grows_during_a_run(small: Layout) -> None:
    seen: list[int] = []
    gate = small.root / "gate"
    wait = f"while not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.01)"
    gated = f"import pathlib, time\ndef test_it():\n    {wait}\n"
    (small.root / "tests" / "test_gated.py").write_text(gated)
    (small.root / "tests" / "test_file.py").write_text("def test_it(): pass\n")

    def look(results: Results, _files: int) -> None:
        seen.append(results.counts()["passed"])
        if seen[-1] == 1:
            gate.touch()

    processes.run(
        small,
        [Entry("tests/test_gated.py", ""), Entry("tests/test_file.py", "")],
        env=os.environ,
        arguments=[],
        processes=2,
        on_look=look,
    )
    assert seen[0] < 2 and 1 in seen and seen[-1] == 2


def test_pytest_alone_is_no_process_of_a_run(small: Layout) -> None:
    (small.root / "tests" / "test_file.py").write_text("def test_it(): pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], cwd=small.root, capture_output=True, text=True, check=False
    )
    assert "1 passed" in done.stdout
