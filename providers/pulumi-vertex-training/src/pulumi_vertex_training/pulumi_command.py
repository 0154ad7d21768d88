"""Run the Pulumi CLI in the folder of a program."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from vertex_training.command_line.errors import CommandError, InputError

_NO_CLI = (
    "`pulumi` is not on PATH. Install the Pulumi CLI, or in a clone of this project run `source ./activate`."
)
_PROJECT_FILES = ("Pulumi.yaml", "Pulumi.yml")

ENGINES_PACK = "PULUMI_OPTION_POLICY_PACK"
ENGINES_SETTINGS = "PULUMI_OPTION_POLICY_PACK_CONFIG"
NO_POLICIES: Mapping[str, str] = MappingProxyType({ENGINES_PACK: "", ENGINES_SETTINGS: ""})
"""Variables with which the engine applies only the policy packs in its arguments, to which it would add."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A command that ended: its exit code and both outputs."""

    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """The text that it printed about its failure, in one line; "" if it printed nothing."""
        return " ".join(self._text.split()).removeprefix("error: ")

    @property
    def last_line(self) -> str:
        """The last line of that text; its first ones may be warnings."""
        return self._text.rpartition("\n")[2].strip().removeprefix("error: ")

    @property
    def _text(self) -> str:
        return self.err.strip() or self.out.strip()


def run(
    arguments: Sequence[str],
    folder: Path,
    timeout: float,
    *,
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
    program: str = "pulumi",
) -> Ran:
    """Run `pulumi` and return its result. Raises CommandError without a CLI, or after the timeout.

    `stdin` is for what no list of processes may show. `program` is the CLI's file, by default that on PATH.
    """
    try:
        done = subprocess.run(  # noqa: S603
            [program, *arguments, "--non-interactive"],
            cwd=folder,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true", **(environment or {})},
            input="" if stdin is None else stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except FileNotFoundError:
        raise CommandError(_NO_CLI) from None
    except subprocess.TimeoutExpired:
        raise CommandError(f"`pulumi {arguments[0]}` did not end within {timeout:g} s.") from None
    return Ran(code=done.returncode, out=done.stdout, err=done.stderr)


def stream(
    arguments: Sequence[str],
    folder: Path,
    on_line: Callable[[str], None],
    *,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run `pulumi`, pass each line that it prints on at once, and return its exit code.

    There is no time limit: a deployment may wait for a job. A request to stop reaches `pulumi` as well, which
    then ends by itself. Raises CommandError without a CLI.
    """
    try:
        process = subprocess.Popen(  # noqa: S603
            ["pulumi", *arguments, "--non-interactive"],  # noqa: S607
            cwd=folder,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true", **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except FileNotFoundError:
        raise CommandError(_NO_CLI) from None
    before = signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))
    try:
        while not _pass_on(process, on_line):
            pass
    finally:
        signal.signal(signal.SIGTERM, before)
    return process.wait()


def _pass_on(process: subprocess.Popen[str], on_line: Callable[[str], None]) -> bool:
    """Pass lines on until the output ends. Return False after Ctrl-C, which `pulumi` has received, too."""
    try:
        for line in process.stdout or ():
            on_line(line.rstrip("\n"))
    except KeyboardInterrupt:
        return False
    return True


def folder_of(given: Path | None) -> Path:
    """Return the folder to run in. Raises InputError if no Pulumi program is there or above."""
    folder = (given or Path()).absolute()
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder.", path="--cwd")
    if project_file(folder) is None:
        raise InputError(
            f"No Pulumi.yaml is in {folder} or above. Run it in the folder of a Pulumi program, or name the "
            "folder with --cwd.",
            path="--cwd",
        )
    return folder


def stack_arguments(stack: str | None) -> list[str]:
    """Return the arguments that name the stack; none for the selected one."""
    return ["--stack", stack] if stack else []


def names_of(folder: Path, stack: str | None) -> tuple[str, str]:
    """Return the names of the project and the stack for a text about them, each "" if it is not known."""
    ran = None if stack else run(["stack", "--show-name"], folder, 60.0)
    selected = ran.out.strip() if ran is not None and ran.code == 0 else ""
    return _project(folder), (stack or selected).rpartition("/")[2]


def project_file(folder: Path) -> Path | None:
    """Return the file of the Pulumi program in or above a folder, or None."""
    candidates = (each / name for each in (folder, *folder.parents) for name in _PROJECT_FILES)
    return next((file for file in candidates if file.is_file()), None)


def project_here(folder: Path) -> str | None:
    """Return the project name in the nearest Pulumi.yaml at or above the folder, or None.

    Raises InputError if the file has no name that can be read.
    """
    import yaml

    file = project_file(folder)
    if file is None:
        return None
    try:
        value = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        value = None
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str):
        raise InputError(
            f"{file}: the project name cannot be read. Write `name: NAME` into the file, or name the project "
            "in the command: PROJECT/STACK/NAME for a job, --pulumi-project for `gc` and `runs`.",
            path="Pulumi.yaml",
        )
    return name


def _project(folder: Path) -> str:
    file = project_file(folder)
    if file is None:
        return ""
    named = re.search(
        r"^name:\s*['\"]?([\w.-]+)", file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE
    )
    return named[1] if named else ""
