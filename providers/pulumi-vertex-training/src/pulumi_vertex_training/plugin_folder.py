"""Where Pulumi keeps the plugin of the package. Imports nothing heavy: programs look there, too."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
from pathlib import Path

from pulumi_vertex_training.package.launcher import NAME, PROGRAM
from vertex_training import __version__

_HOME_VARIABLE = "PULUMI_HOME"
_FOLDER = f"resource-{NAME}-v"
_INSTALL = "Run `vertex-training plugin install`."


def homes(given: Path | None = None) -> list[Path]:
    """Return Pulumi's folder; two if the home folder is not certain.

    Some builds of the CLI take it from HOME, others from the system's list of users.
    """
    if found := given or os.environ.get(_HOME_VARIABLE):
        return [Path(found).expanduser().absolute()]
    found_homes = [Path.home()]
    with contextlib.suppress(KeyError):  # a user who is not on the list
        listed = Path(pwd.getpwuid(os.getuid()).pw_dir)
        found_homes += [listed] if listed != found_homes[0] and os.access(listed, os.W_OK) else []
    return [home / ".pulumi" for home in found_homes]


def program_of(home: Path, version: str = __version__) -> Path:
    """Return the path of the plugin of a version in Pulumi's folder."""
    return home / "plugins" / f"{_FOLDER}{version}" / PROGRAM


def missing() -> str:
    """Return why Pulumi finds no plugin of this version, with the remedy; "" if it does, or may elsewhere.

    A program on PATH is used in place of what is installed.
    """
    if shutil.which(PROGRAM) or any(program_of(home).is_file() for home in homes()):
        return ""
    found = sorted(
        file.parent.name.removeprefix(_FOLDER)
        for home in homes()
        for file in home.glob(f"plugins/{_FOLDER}*/{PROGRAM}")
    )
    if not found:
        return f"the plugin {NAME} is not installed. {_INSTALL}"
    return f"the plugin {NAME} has version {found[-1]}, this program has version {__version__}. {_INSTALL}"
