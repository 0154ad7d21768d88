"""The command `ui`: what it prints, its mistakes, and its end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

from support.emulated import command
from support.emulated.ui.dashboard import start
from support.waiting import TIMEOUT
from vertex_emulator.client.launcher import Emulator


def test_it_prints_the_address_and_where_it_looks_and_ends_with_ctrl_c(
    tmp_path: Path, data_dir: Path, emulator: Emulator
) -> None:
    process, master = command.start_on_terminal(
        ["ui", "--data-dir", str(data_dir), "--location", "europe-west4"], env=command.environment(tmp_path)
    )
    shown = command.read_until(master, emulator.url, timeout=TIMEOUT)
    assert "http://127.0.0.1:" in shown and "?token=" in shown and "Ctrl-C" in shown
    assert "project local, europe-west4" in shown
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=TIMEOUT) == 130
    assert "Traceback" not in command.read_until_closed(master, timeout=TIMEOUT)


def test_ctrl_c_ends_it_from_its_first_line_on(tmp_path: Path) -> None:
    process, master = command.start_on_terminal(["ui"], env=command.environment(tmp_path))
    command.read_until(master, "The dashboard is at", timeout=TIMEOUT)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=TIMEOUT) == 130
    assert "Traceback" not in command.read_until_closed(master, timeout=TIMEOUT)


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = command.run("ui", "--port", str(port), env=command.environment(tmp_path))
    assert ended.code == 2
    assert f"Port {port} cannot be used" in ended.err and "--port" in ended.err


def test_a_mistyped_option_gets_a_suggestion(tmp_path: Path) -> None:
    ended = command.run("ui", "--prot", "1", env=command.environment(tmp_path))
    assert ended.code == 2
    assert "'--port'" in ended.err


def test_a_missing_extra_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    # A module that cannot be found stands for a package that is not installed.
    code = (
        "import importlib.util, sys\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'starlette' else found(name, *more)\n"
        "from pulumi_vertex_training.cli.main import main\n"
        "sys.exit(main(['ui', '--json']))\n"
    )
    env = command.environment(tmp_path)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    [error] = json.loads(done.stdout)["errors"]
    assert "starlette is not installed" in error["message"] and "[ui]" in error["message"]


def test_the_command_is_ended_by_sigterm(data_dir: Path) -> None:
    process = start(["--data-dir", str(data_dir)])
    assert process.stdout is not None
    assert "url" in json.loads(process.stdout.readline())
    process.terminate()
    process.communicate(timeout=TIMEOUT)
    assert process.returncode is not None
