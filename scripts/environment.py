"""Environment of `pulumi` on this clone, for `make`, `source ./activate` and the tests.

The user's own Pulumi login, home folder and state are not touched: those of the clone are in .local. To keep
the state elsewhere, set VERTEX_TRAINING_BACKEND_URL (a bucket, Pulumi Cloud, another folder); login, home
folder and passphrase are then the user's own. PULUMI_BACKEND_URL is ignored: it usually belongs to another
project.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from scripts.layout import Layout
from scripts.pulumi_cli import backend_files
from scripts.pulumi_cli.installed import PulumiCli
from scripts.tools import policy_pack

LOCAL_STACK = "local"
PASSPHRASE = "local"  # noqa: S105 (the passphrase of a stack without secrets; public on purpose)
"""Encrypts secrets of the stack `local`. It is public, and its salt is in Pulumi.local.yaml."""

BACKEND_VARIABLE = "VERTEX_TRAINING_BACKEND_URL"
DATA_VARIABLE = "VERTEX_TRAINING_DATA_DIR"
COMMAND_VARIABLE = "VERTEX_TRAINING_COMMAND"
"""Command that the package prints instead of `vertex-training`."""
PULUMI_VARIABLE = "VERTEX_TRAINING_PULUMI_COMMAND"
"""Command that the package prints instead of `pulumi`."""
VALIDATION_VARIABLE = "PULUMI_OPTION_SKIP_CONFIG_VALIDATION"
"""Leaves the checks of the configuration to the programs, which name each wrong value and its remedy."""
BYTECODE_VARIABLE = "PYTHONDONTWRITEBYTECODE"
"""Set in many containers. Importing this package takes 1.2 s without bytecode, 0.3 s with it."""


def settings(
    layout: Layout, cli: PulumiCli, *, stack: str = LOCAL_STACK, environ: Mapping[str, str] = os.environ
) -> dict[str, str | None]:
    """Return the variables that differ from the user's. None means that a variable must not be set."""
    changed: dict[str, str | None] = {
        "PATH": _path(layout, cli, environ),
        "VIRTUAL_ENV": str(layout.venv),
        "PYTHONHOME": None,
        "PULUMI_PYTHON_CMD": None,
        BYTECODE_VARIABLE: None,
        "PULUMI_STACK": None if stack == LOCAL_STACK else stack,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        VALIDATION_VARIABLE: "true",
        DATA_VARIABLE: environ.get(DATA_VARIABLE) or str(layout.emulator),
    }
    elsewhere = environ.get(BACKEND_VARIABLE)
    if elsewhere:
        changed["PULUMI_BACKEND_URL"] = elsewhere
    else:
        changed["PULUMI_BACKEND_URL"] = backend_files.address(layout.state)
        changed["PULUMI_HOME"] = str(layout.pulumi_home)
    if stack == LOCAL_STACK:
        changed["PULUMI_CONFIG_PASSPHRASE"] = PASSPHRASE
        changed["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
    return changed


def pulumi_environment(
    layout: Layout, cli: PulumiCli, *, stack: str = LOCAL_STACK, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the whole environment of a `pulumi` process, and create the folders that it names."""
    result = dict(environ)
    for name, value in settings(layout, cli, stack=stack, environ=environ).items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    if not environ.get(BACKEND_VARIABLE):
        _make_state_folder(layout)
        layout.pulumi_home.mkdir(parents=True, exist_ok=True)
    return result


def _make_state_folder(layout: Layout) -> None:
    """Create the folder of Pulumi's state for its owner alone: it has the outputs of stacks."""
    layout.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not layout.state.is_symlink() and layout.state.stat().st_mode & 0o077:  # of an earlier version
        layout.state.chmod(0o700)


def has_own_backend(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the state is in the clone, where locks and stacks can be read without Pulumi."""
    return not environ.get(BACKEND_VARIABLE)


def shell_code(
    layout: Layout, cli: PulumiCli, *, stack: str = LOCAL_STACK, environ: Mapping[str, str] = os.environ
) -> str:
    """Return lines for bash and zsh that set the environment and define `deactivate`, which restores it."""
    changes = settings(layout, cli, stack=stack, environ=environ)
    restore = "; ".join(_assignment(name, environ.get(name)) for name in changes)
    return "\n".join(
        [
            *(_assignment(name, value) for name, value in changes.items()),
            f"_vertex_training_restore={shlex.quote(restore)}",
            'deactivate() { eval "$_vertex_training_restore"',
            "unset _vertex_training_restore; unset -f deactivate; hash -r; }",
            "hash -r",
        ]
    )


def _assignment(name: str, value: str | None) -> str:
    return f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"


def _path(layout: Layout, cli: PulumiCli, environ: Mapping[str, str]) -> str:
    """Put the programs of .venv first, then our CLI. The user's own CLI is already on PATH.

    Our CLI starts the policy pack by a script.
    """
    script = [str(policy_pack.scripts(layout))] if policy_pack.is_installed(layout) else []
    front = [str(layout.venv / "bin"), *([str(cli.folder), *script] if cli.ours else [])]
    rest = [part for part in environ.get("PATH", os.defpath).split(os.pathsep) if part not in front]
    return os.pathsep.join([*front, *rest])
