"""The Pulumi CLI among the ancestors of a process, and the stack that its command names."""

from __future__ import annotations

import dataclasses
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from pulumi_vertex_training import engine_command
from pulumi_vertex_training.engine_command import EngineCommand, Process
from pulumi_vertex_training.timeouts import ORDINARY


@pytest.mark.parametrize(
    ("words", "reference"),
    [
        ("up --yes", None),
        ("up -s dev", "dev"),
        ("up -sacme/dev", "acme/dev"),
        ("--stack acme/digits/dev up", "acme/digits/dev"),
        ("up --stack=acme/dev --yes", "acme/dev"),
        ("up -s other --stack acme/dev", "acme/dev"),  # the CLI takes the last one, too
        ("up --message dev", None),
        ("up -s other", None),
        ("up --stack", None),
    ],
)
def test_a_command_names_the_stack_with_its_organization(words: str, reference: str | None) -> None:
    assert EngineCommand(program="pulumi", arguments=words.split()).stack_named("dev") == reference


@pytest.mark.parametrize(
    ("words", "deploys", "has_plan"),
    [
        ("up --yes", True, False),
        ("-C folder up --plan=plan.json", True, True),
        ("up --plan plan.json", True, True),
        ("preview --run-program", True, False),
        ("destroy --run-program --yes", False, False),
        ("--non-interactive down --run-program", False, False),
        ("refresh --run-program", False, False),
        ("up --refresh", True, False),
        ("up --message refresh", True, False),
        ("", True, False),
    ],
)
def test_a_command_deploys_or_not_and_may_follow_a_plan(words: str, deploys: bool, has_plan: bool) -> None:
    command = EngineCommand(program="pulumi", arguments=words.split())
    assert (command.deploys, command.has_plan) == (deploys, has_plan)


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("up --yes", None),
        ("up --plan", None),
        ("up --plan plan.json --yes", "/project/plan.json"),
        ("up --plan=/plans/one.json", "/plans/one.json"),
        ("up --strict", None),
    ],
)
def test_a_command_has_the_file_of_its_plan(words: str, file: str | None) -> None:
    command = EngineCommand(program="pulumi", arguments=words.split(), folder=Path("/project"))
    assert command.plan_file == (Path(file) if file else None)


@pytest.mark.parametrize(
    ("words", "variables", "draws"),
    [
        ("up", {}, True),
        ("up --non-interactive", {}, False),
        ("up --diff", {}, False),
        ("up", {"CI": "true"}, False),
        ("up", {"TERM": "dumb"}, False),
    ],
)
def test_a_table_is_drawn_on_a_terminal_unless_something_prevents_it(
    words: str, variables: dict[str, str], draws: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    for name, value in {"TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    command = EngineCommand(program="pulumi", arguments=words.split(), terminal=True)
    assert command.draws_table is draws
    assert not dataclasses.replace(command, terminal=False).draws_table


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_command_is_on_a_terminal_if_its_input_and_output_are() -> None:
    leader, follower = pty.openpty()
    outputs = {"both": follower, "one": subprocess.PIPE}
    shown = {}
    for name, output in outputs.items():
        with subprocess.Popen(["sleep", "60"], stdin=follower, stdout=output) as child:
            process = engine_command.from_proc(child.pid)
            child.kill()
        shown[name] = process is not None and process.terminal
    os.close(leader)
    os.close(follower)
    assert shown == {"both": True, "one": False}


@pytest.fixture
def cli(tmp_path: Path) -> Path:
    file = tmp_path / "bin" / "pulumi"
    file.parent.mkdir()
    file.touch(mode=0o755)
    return file


def find(*processes: Process) -> EngineCommand | None:
    """Find the command among the ancestors of this process, the nearest first."""
    ids = [os.getppid(), *range(10**9, 10**9 + len(processes))]
    known = dict(zip(ids, processes, strict=False))
    parents = {
        pid: dataclasses.replace(process, parent=after)
        for (pid, process), after in zip(known.items(), ids[1:], strict=False)
    }
    return engine_command.find(ORDINARY, parents.get)


def process(program: str, *arguments: str, folder: Path | None = None) -> Process:
    return Process(parent=0, program=program, arguments=(program, *arguments), folder=folder)


@pytest.mark.parametrize("name", ["pulumi", ".pulumi-wrapped", "pulumi-v3.259.0", "pulumi-3.259"])
def test_the_nearest_cli_is_the_one_that_deploys(cli: Path, name: str) -> None:
    program = cli.rename(cli.with_name(name))
    host = process("/opt/bin/pulumi-resource-pulumi-python", "127.0.0.1:1")
    outer = process("/opt/outer/pulumi", "up", "-s", "outer")
    unreadable = process("")
    found = find(host, unreadable, process(str(program), "up", "-s", "dev", folder=cli.parent), outer)
    expected = EngineCommand(program=str(program), arguments=("up", "-s", "dev"), folder=cli.parent)
    assert found == expected


def test_a_command_has_an_identity_by_its_process(cli: Path) -> None:
    def identity(started: str) -> str:
        found = find(dataclasses.replace(process(str(cli), "up"), started=started))
        return found.identity if found else "none"

    assert identity("17") == identity("17") != identity("18")
    assert identity("") == ""


def test_a_cli_that_was_replaced_meanwhile_is_the_one_on_path(
    cli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = process(f"{cli.parent.parent}/old/pulumi", "up")
    named = process("pulumi", "up")  # as `ps` shows a command that a shell found on PATH
    monkeypatch.setenv("PATH", str(cli.parent.parent))
    assert (find(replaced), find(named), find(process("/bin/sh")), find()) == (None, None, None, None)
    monkeypatch.setenv("PATH", str(cli.parent))
    expected = EngineCommand(program=str(cli), arguments=("up",))
    assert (find(replaced), find(named)) == (expected, expected)


def test_ps_and_proc_describe_a_process_alike() -> None:
    """macOS has only the former, which shows no working directory."""
    with subprocess.Popen([sys.executable, "-c", "input()", "-s", "dev"], stdin=subprocess.PIPE) as child:
        shown = engine_command.from_ps(child.pid, ORDINARY)
        assert shown is not None
        assert (shown.parent, shown.folder) == (os.getpid(), None)
        assert shown.started
        assert Path(shown.program).name.startswith("python")
        assert shown.arguments[-2:] == ["-s", "dev"]
        if Path("/proc/self/stat").exists():
            read = engine_command.from_proc(child.pid)
            assert read is not None
            assert (read.parent, list(read.arguments)) == (shown.parent, shown.arguments)
            assert read.started.isdigit()
            assert (read.program, read.folder) == (os.path.realpath(sys.executable), Path.cwd())
        child.communicate(b"\n")
    assert engine_command.from_ps(child.pid, ORDINARY) is None
