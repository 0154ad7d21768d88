"""Run the Pulumi CLI in the folder of a program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pulumi_vertex_training.views.failure import CommandError, InputError


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A command that ended: its exit code and both outputs."""

    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """The text that it printed about its failure, in one line; "" if it printed nothing."""
        return " ".join((self.err.strip() or self.out.strip()).split()).removeprefix("error: ")


def run(
    arguments: Sequence[str],
    folder: Path,
    timeout: float,
    *,
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
) -> Ran:
    """Run `pulumi` and return its result. Raises CommandError without a CLI, or after the timeout.

    `stdin` is for what no list of processes may show.
    """
    try:
        done = subprocess.run(  # noqa: S603
            ["pulumi", *arguments, "--non-interactive"],  # noqa: S607
            cwd=folder,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true", **(environment or {})},
            input="" if stdin is None else stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except FileNotFoundError:
        raise CommandError(
            "`pulumi` is not on PATH. Install the Pulumi CLI, or in a clone of this project run "
            "`source ./activate`."
        ) from None
    except subprocess.TimeoutExpired:
        raise CommandError(f"`pulumi {arguments[0]}` did not end within {timeout:g} s.") from None
    return Ran(code=done.returncode, out=done.stdout, err=done.stderr)


def folder_of(given: Path | None) -> Path:
    """Return the folder to run in. Raises InputError if no Pulumi program is there or above."""
    folder = (given or Path()).absolute()
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder.", path="--cwd")
    names = ("Pulumi.yaml", "Pulumi.yml")
    if not any((each / name).is_file() for each in (folder, *folder.parents) for name in names):
        raise InputError(
            f"No Pulumi.yaml is in {folder} or above. Run it in the folder of a Pulumi program, or name the "
            "folder with --cwd.",
            path="--cwd",
        )
    return folder


def stack_arguments(stack: str | None) -> list[str]:
    """Return the arguments that name the stack; none for the selected one."""
    return ["--stack", stack] if stack else []
