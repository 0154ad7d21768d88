"""`vertex-emulator` from a start to a stop, and without Pulumi and the client."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.emulated.command import EMULATOR, environment, run_emulator
from support.emulated.job_emulator import SLEEP, job, job_id, pool
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control
from vertex_emulator.command import main
from vertex_training import __version__
from vertex_training.command_line.run import command_of
from vertex_training.timeouts import VARIABLE

JOBS = "/v1/projects/local/locations/us-central1/customJobs"
ABSENT = ("pulumi", "pulumi_vertex_training", "google.auth", "google.cloud", "requests", "argcomplete")
"""Packages that `pip install vertex-emulator` does not bring."""
ALONE = f"""
import sys
sys.modules.update(dict.fromkeys({ABSENT!r}))
from vertex_emulator.command.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    found = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(tmp_path / "data of mine"))
    yield found
    run_emulator("stop", env=found)


def alone(*words: str, env: dict[str, str], stdin: str = "") -> str:
    """Return the output of a command in a process that can import neither Pulumi nor the client."""
    command = [sys.executable, "-c", ALONE, *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, input=stdin, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_from_a_start_to_a_stop(env: dict[str, str], tmp_path: Path) -> None:
    assert f"data in {tmp_path / 'data of mine'})." in run_emulator("start", env=env).out
    status = run_emulator("status", env=env)
    variables = run_emulator("env", env=env)
    shown = subprocess.run(
        ["sh", "-c", f'{variables.out}\necho "$VERTEX_EMULATOR_HOST"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.strip() in status.out
    assert run_emulator("stop", env=env).out == "The emulator is stopped.\n"
    folder = f"--data-dir={tmp_path / 'data of mine'}"
    option = f"--data-dir '{tmp_path / 'data of mine'}'"
    for name in ("status", "env"):
        missing = run_emulator(name, folder, env=environment(tmp_path))
        assert missing.code == 1
        assert f"Start it with `vertex-emulator start {option}`." in missing.out + missing.err


def test_each_command_works_without_pulumi_and_the_client(env: dict[str, str], tmp_path: Path) -> None:
    assert json.loads(alone("start", "--json", env=env))["started"] is True
    emulator = launcher.find(tmp_path / "data of mine")
    assert emulator is not None
    control = Control(url=emulator.url, token=emulator.token)
    alone("start-delay", "3600", env=env)
    made = job_id(str(control.call("POST", JOBS, job(pool(SLEEP), name="digits"))["name"]))
    said = alone("quota", "set", "NVIDIA_L4", "4", env=env)
    assert said.startswith("Quota of nvidia_l4_gpus in each region: 4.")
    assert json.loads(alone("quota", "list", "--json", env=env))["quotas"][0]["limit"] == 4
    assert json.loads(alone("fault", "add", "*", "--delay", "0.1", "--json", env=env))["delay"] == 0.1
    assert "(frozen)" in alone("clock", "freeze", env=env)
    assert alone("deny", "storage.objects.get", env=env) == "Denied: storage.objects.get.\n"
    assert json.loads(alone("replica", "kill", "digits", "workerpool0-0", "--json", env=env))["job"] == made
    assert alone("secret", "set", "wandb", env=env, stdin="x").endswith("secrets/wandb.\n")
    assert "export HTTPS_PROXY=" in alone("env", "--proxy", env=env)
    shown = alone("status", env=env)
    assert "1 live job" in shown
    assert "Quotas: nvidia_l4_gpus 4 in each region" in shown
    assert "start the emulator again: run `vertex-emulator start`.\n" in alone("stop", env=env)
    assert "There is nothing to delete" in alone("prune", env=env)
    assert json.loads(alone("reset", "--yes", "--json", env=env))["deleted"] is True


def test_the_function_of_each_command_exists() -> None:
    commands = [each for each in main.build().each() if each.get_default("handler")]
    assert len(commands) > 40
    for each in commands:
        assert callable(command_of(argparse.Namespace(handler=each.get_default("handler")))), each.prog


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    heavy = ("rich", "grpc", "google.protobuf", "sqlite3", "http.client", "psutil", "vertex_emulator.client")
    code = ALONE.replace("sys.exit(main(sys.argv[1:]))", "")
    code += f"try: main(['--help'])\nexcept SystemExit: print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: vertex-emulator ")
    assert done.stdout.splitlines()[-1] == "[]"


def test_in_the_foreground_until_it_is_interrupted(env: dict[str, str]) -> None:
    command = [sys.executable, "-m", EMULATOR, "run"]
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    with process, process.stderr:
        assert "vertex-emulator env --data-dir" in process.stderr.readline()
        while "Ready" not in (line := process.stderr.readline()) and "http://" not in line:
            assert line, "it ended"
        assert run_emulator("status", env=env).code == 0
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 0


def test_a_mistake_is_named(env: dict[str, str], tmp_path: Path) -> None:
    wrong = run_emulator("statr", env=env)
    assert (wrong.code, wrong.out) == (2, "")
    assert "vertex-emulator has no command 'statr'. Did you mean 'start'?" in wrong.err
    assert "See `vertex-emulator start --help`." in run_emulator("start", "--prt", "1", env=env).err
    scaled = run_emulator("status", "--json", env={**env, VARIABLE: "x"})
    assert (scaled.code, scaled.json["errors"][0]["path"]) == (2, VARIABLE)
    file = tmp_path / "file"
    file.touch()
    refused = run_emulator("start", "--data-dir", str(file), env=env)
    assert (refused.code, refused.out) == (1, "")
    assert str(file) in refused.err
    assert "Traceback" not in refused.err
    assert run_emulator("--version", env=env).out == f"vertex-emulator {__version__}\n"


def test_help_lists_each_command_once() -> None:
    parser = main.build()
    listed = sorted(name for names in parser.sections.values() for name in names)
    assert listed == sorted(parser._commands)
