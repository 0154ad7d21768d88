"""Install wheels into a separate folder of an image, with compiled modules and the same bytes every time.

Python modules get bytecode, if this machine has the image's version of Python.
"""

from __future__ import annotations

import io
import os
import posixpath
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from installer import install
from installer.destinations import SchemeDictionaryDestination
from installer.exceptions import InstallerError
from installer.records import RecordEntry
from installer.sources import WheelFile
from installer.utils import Scheme

from pulumi_vertex_training.images.dockerfile.rules import HASHED_LOCK, IMAGE_HABIT
from pulumi_vertex_training.images.files.context import hashed
from pulumi_vertex_training.images.files.layer import write_layer
from pulumi_vertex_training.images.files.tree import Node, with_parents
from pulumi_vertex_training.images.wheels.bytecode import compile_modules, find_compiler
from pulumi_vertex_training.images.wheels.fetching import Wheel, WheelFolder
from pulumi_vertex_training.images.wheels.layout import HOME, SCRIPTS, SITE, WheelLayer
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.timeouts import ORDINARY, Timeouts
from vertex_training.findings.problems import Problem

_STANDARD: Final = "opt"
"""The folder that every base has; an entry would replace a link or change its mode."""

_INTERPRETER: Final = "/usr/bin/env python3"
"""The interpreter of scripts: the Python on the image's PATH, which the entrypoint uses as well."""

_FOLDERS: Final = {
    "purelib": f"/{SITE}",
    "platlib": f"/{SITE}",
    "scripts": f"/{SCRIPTS}",
    "data": f"/{HOME}",
    "headers": f"/{HOME}/include",
}
_SCRIPT: Final = """\
#!{interpreter}
import sys
from {module} import {first}
if __name__ == "__main__":
    sys.argv[0] = sys.argv[0].removesuffix(".exe")
    sys.exit({attribute}())
"""


def write_wheel_layer(wheels: WheelFolder, folder: Path, timeouts: Timeouts = ORDINARY) -> WheelLayer:
    """Write the layer of all wheels, with bytecode, to `folder`. Raises PackagingError.

    It does not depend on the base, so that all images with the same requirements share it. If two wheels have
    the same file, the one with the later file name wins.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix="wheels-") as spool:
        nodes, problems = _installed(wheels, Path(spool), timeouts)
        layer = write_layer(nodes, folder)
    return WheelLayer(
        digest=layer.digest,
        diff_id=layer.diff_id,
        size=layer.size,
        path=layer.path,
        created_by=f"requirements: {len(wheels.wheels)} wheels for Python {wheels.python_version}",
        problems=tuple(problems),
    )


def _installed(wheels: WheelFolder, root: Path, timeouts: Timeouts) -> tuple[list[Node], list[Problem]]:
    problems: list[Problem] = []
    written: dict[str, bool] = {}
    for wheel in sorted(wheels.wheels, key=lambda wheel: wheel.path.name):
        destination = _Image(root)
        try:
            if hashed(Node(path=wheel.path.name, kind="file", content=wheel.path)).sha256 != wheel.sha256:
                raise ValueError("its bytes have changed since the download")
            with WheelFile.open(wheel.path) as source:
                install(source, destination, additional_metadata={"INSTALLER": b"pulumi-vertex-training\n"})
        except (InstallerError, OSError, ValueError, KeyError) as error:
            raise PackagingError([_broken(wheel, error)]) from error
        written |= destination.written
        problems += _start_up_files(wheel, destination.written)
    compiler = find_compiler(wheels.python_version, timeouts)
    if compiler is not None:
        modules = [path for path in written if path.startswith(f"{SITE}/") and path.endswith(".py")]
        written |= dict.fromkeys(compile_modules(compiler, root, modules), False)
    nodes = {
        path: hashed(Node(path=path, kind="file", mode=0o755 if executable else 0o644, content=root / path))
        for path, executable in written.items()
    }
    return [node for node in with_parents(nodes).values() if node.path != _STANDARD], problems


def _broken(wheel: Wheel, error: Exception) -> Problem:
    reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
    message = f"cannot be installed: {reason}. Choose another version of it."
    return HASHED_LOCK.broken(wheel.path.name, message)


def _start_up_files(wheel: Wheel, paths: Iterable[str]) -> Iterator[Problem]:
    """Warn about `.pth` files, which have an effect only in Python's own site-packages."""
    for path in paths:
        if path.startswith(f"{SITE}/") and path.endswith(".pth") and path.count("/") == SITE.count("/") + 1:
            message = (
                f"has {posixpath.basename(path)}, which has no effect on PYTHONPATH. Install it in the base"
            )
            yield IMAGE_HABIT.broken(wheel.path.name, f"{message} if you need its effect.")


class _Image(SchemeDictionaryDestination):
    """Installs below a folder as if it were the top of the image; `written` has paths and execute bits."""

    def __init__(self, root: Path) -> None:
        super().__init__(_FOLDERS, _INTERPRETER, "posix", destdir=str(root), overwrite_existing=True)
        self.root = root
        self.written: dict[str, bool] = {}

    def write_to_fs(self, scheme: Scheme, path: str, stream: BinaryIO, is_executable: bool) -> RecordEntry:
        """Write a file; if another wheel has the same one, replace it by a new file."""
        target = os.path.normpath(f"{_FOLDERS[scheme]}/{path}").lstrip("/")
        (self.root / target).unlink(missing_ok=True)
        entry = super().write_to_fs(scheme, path, stream, is_executable)
        self.written[target] = is_executable or scheme == "scripts"
        return entry

    def write_script(self, name: str, module: str, attr: str, section: str) -> RecordEntry:  # noqa: ARG002
        """Write the script of an entry point. `installer`'s own cannot find its Python by PATH."""
        text = _SCRIPT.format(
            interpreter=_INTERPRETER, module=module, first=attr.partition(".")[0], attribute=attr
        )
        return self.write_to_fs(Scheme("scripts"), name, io.BytesIO(text.encode()), is_executable=True)

    def finalize_installation(
        self, scheme: Scheme, record_file_path: str, records: Iterable[tuple[Scheme, RecordEntry]]
    ) -> None:
        """Write RECORD, sorted."""
        by_place = sorted(records, key=lambda record: (record[0], record[1].path))
        super().finalize_installation(scheme, record_file_path, by_place)
