"""Installation of wheels of Python files without pip, whose start takes most of the time of an edit.

The staged packages of a Pulumi program are such wheels. pip installs all others, and reports what is wrong
with one of these.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.replicas.preparation.interpreters import Interpreter, own
from vertex_emulator.replicas.preparation.packages.requirements import read_wheel


def install_plain(wheels: Sequence[Path], target: Path, interpreter: Interpreter) -> bool:
    """Install wheels into a new folder as `pip install --target` does, if that needs no pip.

    Return False, with no folder left, if one of them needs pip. Raises `OSError`.
    """
    if interpreter != own() or not all(_is_plain(wheel, interpreter) for wheel in wheels):
        return False
    try:
        from installer import install
        from installer.destinations import SchemeDictionaryDestination
        from installer.exceptions import InstallerError
        from installer.sources import WheelFile
    except ImportError:
        return False
    here = str(target)
    destination = SchemeDictionaryDestination(
        {"purelib": here, "platlib": here, "data": here, "headers": here, "scripts": str(target / "bin")},
        sys.executable,
        "posix",
        bytecode_optimization_levels=(0,),
    )
    try:
        for wheel in wheels:
            with WheelFile.open(wheel) as source:
                install(source, destination, additional_metadata={"INSTALLER": b"vertex-emulator\n"})
    except (InstallerError, FileExistsError, ValueError, KeyError, AssertionError, zipfile.BadZipFile):
        remove_tree(target)
        return False
    return True


def _is_plain(wheel: Path, interpreter: Interpreter) -> bool:
    """Return whether a wheel is for any machine and for this version of Python."""
    try:
        _, _, _, tags = parse_wheel_filename(wheel.name)
        versions = SpecifierSet(read_wheel(wheel).requires_python)
    except (InvalidWheelFilename, InvalidSpecifier, ValueError, zipfile.BadZipFile):
        return False
    fits = any((tag.interpreter, tag.abi, tag.platform) == ("py3", "none", "any") for tag in tags)
    return fits and versions.contains(interpreter.version, prereleases=True)
