"""The command `vertex-training` as it works in the shell that runs `pulumi`."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pulumi

COMMAND_VARIABLE = "VERTEX_TRAINING_COMMAND"
"""The command to print. The chores of a clone set it, because they extend PATH for `pulumi` only."""

_PROGRAM = "vertex-training"


def job_command(verb: str, job_id: str) -> str:
    """Return the command about a job that can be pasted, such as `vertex-training logs 7`."""
    return f"{_command()} {verb} {job_id}"


def _command() -> str:
    return os.environ.get(COMMAND_VARIABLE) or _found(sys.executable, os.environ.get("PATH", os.defpath))


@functools.lru_cache
def _found(python: str, path: str) -> str:
    """Return the name of the command if it is on the user's PATH, else its path beside the interpreter."""
    own = Path(python).parent
    folders = path.split(os.pathsep)
    # Pulumi puts the folder of the project's environment first. The shell that ran `pulumi` may not have it.
    if folders[0] == str(own) and _has_environment(pulumi.get_root_directory()):
        del folders[0]
    if shutil.which(_PROGRAM, path=os.pathsep.join(folders)):
        return _PROGRAM
    program = own / _PROGRAM
    return shlex.quote(str(program)) if os.access(program, os.X_OK) else _PROGRAM


def _has_environment(root: str | None) -> bool:
    """Return whether the project's runtime has a virtual environment, or a tool that makes one."""
    try:
        text = Path(root or ".", "Pulumi.yaml").read_text(encoding="utf-8")
    except OSError:
        return False
    return bool(re.search(r"\b(virtualenv|toolchain)['\"]?\s*:", text))
