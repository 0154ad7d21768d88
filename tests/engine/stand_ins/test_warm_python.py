"""A command line that the warm interpreter runs does what it does in a Python of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from support.client.engine import Engine, read_output_until
from support.emulated.emulator import is_alive
from support.waiting import eventually
from support.warm import warm_python

PROGRAM = """
import atexit, os, sys, threading

atexit.register(lambda: print("at exit"))
threading.Thread(target=lambda: (threading.main_thread().join(), print("a thread's end"))).start()
print(__name__, __file__, sys.argv, sys.orig_argv[1:], sys.path[0], os.getcwd(), os.environ["GIVEN"])
print(sys.stdin.read(), file=sys.stderr)
{end}
"""


@pytest.fixture(scope="module")
def warm() -> Path:
    with warm_python.running() as command:
        yield command


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return tmp_path / "program" / "pulumi-language-python-exec"


def run(python: Path, folder: Path, *arguments: str) -> tuple[int, str, str]:
    environment = {**os.environ, "GIVEN": "of the caller", "PYTHONUNBUFFERED": "1"}
    ended = subprocess.run(
        [python, *arguments], cwd=folder, env=environment, input="input", capture_output=True, text=True
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize(
    "end", ["", "sys.exit(32)", "sys.exit('a message')", "os._exit(5)", "os.kill(os.getpid(), 9)"]
)
def test_a_program_finds_and_says_the_same(warm: Path, program: Path, tmp_path: Path, end: str) -> None:
    program.parent.mkdir()
    program.write_text(PROGRAM.format(end=end))
    expected = run(Path(sys.executable), tmp_path, "-u", str(program), "--monitor", "x", ".")
    assert "__main__" in expected[1]
    found = run(warm, tmp_path, "-u", str(program), "--monitor", "x", ".")
    if expected[0] < 0:
        expected = (128 - expected[0], *expected[1:])  # the client ends as a shell does
    assert found == expected


def test_an_error_ends_a_program_with_its_traceback(warm: Path, program: Path, tmp_path: Path) -> None:
    program.parent.mkdir()
    program.write_text("raise KeyError('roses')")
    code, _, errors = run(warm, tmp_path, str(program))
    assert code == 1
    assert errors.endswith("KeyError: 'roses'\n")


def test_version_and_packages_are_the_same_each_time(warm: Path, tmp_path: Path) -> None:
    for arguments, word in (
        (("--version",), "Python 3"),
        (("-m", "pip", "list", "-v", "--format", "json"), '"pulumi"'),
    ):
        expected = run(Path(sys.executable), tmp_path, *arguments)
        assert word in expected[1]
        assert [run(warm, tmp_path, *arguments) for _ in range(2)] == [expected] * 2


def test_other_paths_have_their_own_packages(
    warm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own-1.0.dist-info").mkdir()
    (tmp_path / "own-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: own\nVersion: 1.0\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    _, output, _ = run(warm, tmp_path / "..", "-m", "pip", "list", "-v", "--format", "json")
    assert '"own"' in output


def test_other_command_lines_get_a_python_of_their_own(warm: Path, tmp_path: Path) -> None:
    code, output, _ = run(warm, tmp_path, "-c", "import sys; print('pulumi' in sys.modules)")
    assert (code, output) == (0, "False\n")


def start(python: Path, program: Path, text: str) -> tuple[subprocess.Popen[str], psutil.Process]:
    """Start the command, and return it with the process that runs the program."""
    program.parent.mkdir()
    program.write_text(f"import os\nprint('pid', os.getpid(), flush=True)\n{text}")
    process = subprocess.Popen([python, program], stdout=subprocess.PIPE, text=True)
    return process, psutil.Process(int(read_output_until(process, "pid").split()[1]))


def test_a_program_whose_command_is_killed_ends(warm: Path, program: Path) -> None:
    process, fork = start(warm, program, "import time; time.sleep(300)")
    assert is_alive(fork)
    process.kill()
    process.communicate()
    eventually(lambda: not is_alive(fork))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_program(warm: Path, program: Path, number: signal.Signals) -> None:
    text = f"""
import signal, sys, time
signal.signal({int(number)}, lambda *_: sys.exit(7))
print("ready", flush=True)
time.sleep(300)
"""
    process, fork = start(warm, program, text)
    read_output_until(process, "ready")
    process.send_signal(number)
    process.communicate()
    assert process.returncode == 7
    assert not is_alive(fork)


@pytest.mark.slow
def test_a_deployment_says_the_same(engine: Engine, warm: Path) -> None:
    """Texts of the program, the provider and the engine, for a deployment that fails in the end.

    Standard error and log messages reach the engine on two ways, so their order may differ, and with it the
    text on the stack's row while the program runs. The diagnostics have all texts.
    """
    engine.write(
        """
        import sys
        print("of the program", file=sys.stderr)
        bucket = vt.StagingBucket("staging", name="warm-or-cold")
        pulumi.export("name", bucket.name)
        pulumi.export("main", sys.modules["__main__"].__file__)
        bucket.id.apply(lambda _: {}["roses"])
        """
    )
    outputs = []
    for python in (None, warm):
        engine.environment.pop("PULUMI_PYTHON_CMD", None)
        if python is not None:
            engine.environment["PULUMI_PYTHON_CMD"] = str(python)
        said = engine.preview("--diff").ok().output
        failed = engine.up()
        assert failed.code != 0
        assert "KeyError: 'roses'" in failed.output
        shown = re.sub(r"\([\d.]+s\)", "", said + failed.output).splitlines()
        passing = ("Duration", "@", " +  pulumi:pulumi:Stack engine-test-test creating")
        outputs.append([line for line in shown if not line.startswith(passing)])
        engine.destroy().ok()
    assert sorted(outputs[0]) == sorted(outputs[1])
