"""Printed commands, in the form that works in the user's shell.

Messages are written with plain `pulumi`, `vertex-training` and `vertex-emulator`. Where they leave the
process, `runnable` replaces these by what the shell can run: chores of a clone extend PATH for their own
processes only, and a stack that was named with `--stack` is not the selected one.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

COMMAND_VARIABLE = "VERTEX_TRAINING_COMMAND"
"""The command to print for `vertex-training`. Chores of a clone set it."""

PULUMI_VARIABLE = "VERTEX_TRAINING_PULUMI_COMMAND"
"""The command to print for `pulumi`. Chores of a clone set it."""

PROGRAM = "vertex-training"

PULUMI_VERBS = (
    "cancel",
    "config",
    "destroy",
    "import",
    "plugin",
    "preview",
    "refresh",
    "stack",
    "state",
    "up",
)
"""The verbs of `pulumi` about a stack, which messages print. `test_printed_remedies.py` runs each."""

_PULUMI = re.compile(rf"(?<![\w./-])pulumi (?=(?:{'|'.join(PULUMI_VERBS)})\b)")
_OWN = re.compile(rf"(?<![\w./'-]){PROGRAM} (?=[a-z])")
_EMULATOR = re.compile(r"(?<![\w./'-])vertex-emulator (?=[a-z])")
_NEXT = " && pulumi config "
_CONFIG = re.compile(r"`(pulumi config (?:set|rm) (?:(?!--stack)[^`])+)`")


def runnable(text: str, *, stack: str | None = None, own: str | None = None) -> str:
    """Return a message whose commands work in the user's shell.

    `stack` is the stack that commands of the configuration are about, None for the selected one. `own`
    replaces `vertex-training`; None for the command of the chores, if there is one.
    """
    text = for_stack(text, stack)
    if pulumi := os.environ.get(PULUMI_VARIABLE):
        text = _PULUMI.sub(lambda _: f"{pulumi} ", text)
    text = _EMULATOR.sub(f"{PROGRAM} emulator ", text)
    own = own or os.environ.get(COMMAND_VARIABLE)
    return _OWN.sub(lambda _: f"{own} ", text) if own and own != PROGRAM else text


def for_stack(text: str, stack: str | None) -> str:
    """Return a message whose commands of the configuration name the stack; unchanged for the selected one."""
    if not stack:
        return text
    option = f" --stack {shlex.quote(stack)}"
    return _CONFIG.sub(lambda found: f"`{found[1].replace(_NEXT, option + _NEXT)}{option}`", text)


def own_command(root: str | None) -> str:
    """Return the command to print for `vertex-training` by a program of the project in a folder."""
    chosen = os.environ.get(COMMAND_VARIABLE)
    return chosen or _found(sys.executable, os.environ.get("PATH", os.defpath), root)


@functools.lru_cache
def _found(python: str, path: str, root: str | None) -> str:
    """Return the name of the command if it is on the user's PATH, else its path beside the interpreter."""
    own = Path(python).parent
    folders = path.split(os.pathsep)
    # Pulumi puts the folder of the project's environment first. The shell that ran `pulumi` may not have it.
    if folders[0] == str(own) and _has_environment(root):
        del folders[0]
    if shutil.which(PROGRAM, path=os.pathsep.join(folders)):
        return PROGRAM
    program = own / PROGRAM
    return shlex.quote(str(program)) if os.access(program, os.X_OK) else PROGRAM


def _has_environment(root: str | None) -> bool:
    """Return whether the project's runtime has a virtual environment, or a tool that makes one."""
    try:
        text = Path(root or ".", "Pulumi.yaml").read_text(encoding="utf-8")
    except OSError:
        return False
    return bool(re.search(r"\b(virtualenv|toolchain)['\"]?\s*:", text))
