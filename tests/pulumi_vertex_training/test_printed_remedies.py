"""Every command in a message exists as it is printed, and is printed as the user's shell can run it."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pulumi_vertex_training.cli import parser
from pulumi_vertex_training.printed_commands import PULUMI_VERBS, runnable
from scripts.checks.messages import messages
from scripts.layout import layout
from scripts.stack import printed_commands
from support.tables import every_row, not_empty
from vertex_emulator.command import main
from vertex_training.command_line.output import Output

ROOT = Path(__file__).parents[2]
FOLDERS = ("providers", "infra", "environment", "templates", "policies")
COMMAND = re.compile(
    r"`((?:pulumi|vertex-training|vertex-emulator|make) [^`]+)`"
    r"|\$\((vertex-(?:training|emulator) [^)]+)\)"
    r"|(?:run|with|again|it is|logs|first|messages): ((?:pulumi|vertex-training|vertex-emulator|make) [^`]+)$"
)
OPTIONS = re.compile(r"\{(?:option|of_data_dir\(.*?\)|_stack_option\(.*?\))\}")
VALUE = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")
PROSE = ("make them equal",)
NAMED_IN_PART = (
    "vertex-training apply",
    "vertex-training promote",
    "vertex-training import",
    "vertex-training emulator",
    "pulumi config set",
    "pulumi up --replace",
)
"""Commands that a sentence names as such, not as a line to run."""


def printed() -> dict[str, str]:
    """Return the commands of all messages, with a word for each value, and the place of each."""
    found: dict[str, str] = {}
    for message in messages([ROOT / folder for folder in FOLDERS]):
        for match in COMMAND.finditer(message.text):
            command = next(filter(None, match.groups()))
            if command.startswith(PROSE) or "{' '.join(" in command or "{arguments[0]}" in command:
                continue
            plain = VALUE.sub("value", OPTIONS.sub("", command)).rstrip(".")
            if plain not in NAMED_IN_PART:
                found.setdefault(plain, f"{message.path.relative_to(ROOT)}:{message.line}")
    return found


PRINTED = printed()


def of(program: str) -> list[str]:
    return not_empty([command for command in PRINTED if shlex.split(command)[0] == program])


@every_row("command", [*of("vertex-training"), *of("vertex-emulator")], ids=str)
def test_each_command_of_ours_is_accepted_by_its_parser(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *words = shlex.split(command)
    try:
        (parser.build() if program == "vertex-training" else main.build()).parsed(words)
    except SystemExit as error:
        assert error.code == 0, f"{PRINTED[command]}: {capsys.readouterr().err}"


@every_row("command", of("make"), ids=str)
def test_each_target_of_make_exists(command: str) -> None:
    (targets,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    words = [word for word in shlex.split(command)[1:] if "=" not in word]
    assert words, PRINTED[command]
    assert set(words) <= set(targets.split()), PRINTED[command]


@functools.cache
def flags() -> dict[str, dict[str, bool]]:
    """Return the options of each command of `pulumi`, and whether each takes a value.

    One call prints all of them, as the completion of a shell.
    """
    command = ["pulumi", "gen-completion", "bash"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found, aliases = {}, {}
    for verb, body in re.findall(
        r'^ +last_command="pulumi_([\w-]+)"$(.*?)^\}$', shown, re.MULTILINE | re.DOTALL
    ):
        values = set(re.findall(r'two_word_flags\+=\("(--[\w-]+)"\)', body))
        options = re.findall(r' flags\+=\("(--[\w-]+)=?"\)', body)
        found[verb] = {name: name in values for name in options}
        for alias, of_verb in re.findall(r'aliashash\["([\w-]+)"\]="([\w-]+)"', body):
            aliases[f"{verb}_{alias}"] = f"{verb}_{of_verb}"
    return found | {alias: found[verb] for alias, verb in aliases.items()}


@every_row("line", of("pulumi"), ids=str)
def test_each_option_of_pulumi_exists_and_has_its_value(line: str) -> None:
    if shutil.which("pulumi") is None:
        pytest.skip("there is no pulumi on PATH")
    for command in line.split(" && "):
        words = shlex.split(command)[1:]
        assert words[0] in (*PULUMI_VERBS, "install", "whoami"), PRINTED[line]
        known = flags()["_".join(words[:2] if words[0] in ("config", "stack") else words[:1])]
        for word, following in zip(words, [*words[1:], None], strict=True):
            if word.startswith("--"):
                assert word in known, PRINTED[line]
                assert following or not known[word], f"{PRINTED[line]}: {word} has no value"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Run `pulumi up` again.", "Run `STACK=dev /c/scripts/pulumi up` again."),
        ("Run it again: pulumi up", "Run it again: STACK=dev /c/scripts/pulumi up"),
        ("`pulumi config set a:b 3`.", "`STACK=dev /c/scripts/pulumi config set a:b 3 --stack dev`."),
        (
            "`pulumi config set a:b 3 && pulumi config rm a:c`",
            "`STACK=dev /c/scripts/pulumi config set a:b 3 --stack dev && "
            "STACK=dev /c/scripts/pulumi config rm a:c --stack dev`",
        ),
        ("`pulumi config rm a:b --stack x`", "`STACK=dev /c/scripts/pulumi config rm a:b --stack x`"),
        ('`eval "$(vertex-training emulator env)"`', '`eval "$(/c/scripts/vertex-training emulator env)"`'),
        ("/c/scripts/vertex-training logs 7", "/c/scripts/vertex-training logs 7"),
        ("/c/bin/vertex-emulator start", "/c/bin/vertex-emulator start"),
        ("a pulumi-vertex-training that is newer", "a pulumi-vertex-training that is newer"),
        ("`pulumi` is not on PATH", "`pulumi` is not on PATH"),
    ],
)
def test_commands_are_those_of_the_shell_that_ran_a_chore(
    monkeypatch: pytest.MonkeyPatch, message: str, expected: str
) -> None:
    assert "/c/" in message or runnable(message).replace(" --stack dev", "") == message
    monkeypatch.setenv("VERTEX_TRAINING_COMMAND", "/c/scripts/vertex-training")
    monkeypatch.setenv("VERTEX_TRAINING_PULUMI_COMMAND", "STACK=dev /c/scripts/pulumi")
    assert runnable(message, stack="dev") == expected


def test_commands_of_the_emulator_are_those_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    message = 'Run `vertex-emulator start`, or `eval "$(vertex-emulator env)"`.'
    monkeypatch.delenv("VERTEX_TRAINING_COMMAND", raising=False)
    own = 'Run `vertex-training emulator start`, or `eval "$(vertex-training emulator env)"`.'
    assert runnable(message) == own
    monkeypatch.setenv("VERTEX_TRAINING_COMMAND", "/c/scripts/vertex-training")
    assert runnable(message) == own.replace("vertex-training", "/c/scripts/vertex-training")


def test_a_terminal_breaks_no_line_inside_of_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    command = "`vertex-training promote --from dev --to prod --run train/3`"
    Output(as_json=False, terminal=True).paragraph(
        f"It is not the last run. Promote another: {command} does."
    )
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1
    assert any(command in line for line in lines)


@pytest.mark.parametrize(
    ("stack", "folder", "first"),
    [("local", "", ""), ("dev", "", "STACK=dev "), ("dev", "environment", "STACK=dev FOLDER=environment ")],
)
def test_chores_print_scripts_of_the_clone_unless_the_shell_is_activated(
    stack: str, folder: str, first: str
) -> None:
    here = dataclasses.replace(layout(), folder=folder)
    commands = printed_commands(here, stack=stack, environ={"PATH": "/usr/bin:/bin"})
    assert commands["VERTEX_TRAINING_PULUMI_COMMAND"].startswith(f"{first}{shlex.quote(str(ROOT))}/")
    for command in not_empty(list(commands.values())):
        assert os.access(shlex.split(command)[-1], os.X_OK)


def test_plain_pulumi_of_a_clone_runs_in_any_folder(tmp_path: Path) -> None:
    """Check that the script passes its words on unchanged, and STACK and FOLDER with them."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "pulumi", tmp_path / "scripts")
    chore = tmp_path / "scripts" / "chore"
    chore.write_text('#!/bin/sh\nfor word in "$@"; do echo "<$word>"; done\n')
    chore.chmod(0o755)
    words = [str(tmp_path / "scripts" / "pulumi"), "up", "--replace", "urn:a$b::c d"]
    shown = subprocess.run(
        words, cwd="/", env={**os.environ, "STACK": "dev"}, check=True, capture_output=True, text=True
    ).stdout
    assert shown.split("\n")[:-1] == [
        *("<pulumi>", "<--stack>", "<dev>", "<--folder>", "<>", "<-->"),
        *("<up>", "<--replace>", "<urn:a$b::c d>"),
    ]


@pytest.fixture
def copy_of_the_command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `scripts/vertex-training` with a chore that sets a variable, and a command that prints it."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "vertex-training", tmp_path / "scripts")
    command = tmp_path / ".venv" / "bin" / "vertex-training"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\necho "state=${STATE:-} words=$*"\n')
    chore = tmp_path / "scripts" / "chore"
    chore.write_text('#!/bin/sh\necho "Set-up: $*" >&2\n${FAILS:+exit 1}\necho "export STATE=of-$3"\n')
    for program in (command, chore):
        program.chmod(0o755)

    def run(**environ: str) -> subprocess.CompletedProcess[str]:
        words = [str(tmp_path / "scripts" / "vertex-training"), "plan", "a b"]
        given = {"PATH": os.environ["PATH"], **environ}
        return subprocess.run(words, cwd="/", env=given, capture_output=True, text=True)

    return run


def test_the_command_of_a_clone_has_the_state_of_its_stack_in_a_plain_shell(
    copy_of_the_command: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """Check that `plan` and others find the Pulumi CLI and the state, and print no steps of the set-up."""
    plain = copy_of_the_command(STACK="dev")
    assert (plain.stdout, plain.stderr) == ("state=of-dev words=plan a b\n", "")
    activated = copy_of_the_command(VIRTUAL_ENV=str(tmp_path / ".venv"))
    assert activated.stdout == "state= words=plan a b\n"


def test_the_command_of_a_clone_shows_why_its_set_up_failed(
    copy_of_the_command: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    failed = copy_of_the_command(FAILS="yes")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "Set-up: activate --stack local" in failed.stderr
