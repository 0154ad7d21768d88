"""Install wheels into a separate folder of an image, with the same result on every machine.

The folder, /opt/vertex-training/site-packages, is put on PYTHONPATH. So the wheels are found whatever layout
the base's Python has, and come before its own packages. The base's site-packages cannot be located without
reading its layers.
"""

from __future__ import annotations

import io
import os
import posixpath
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
from pulumi_vertex_training.images.files.tree import Node, with_parents
from pulumi_vertex_training.images.wheels.fetching import Wheel, WheelFolder
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.findings.problems import Problem

HOME: Final = "opt/vertex-training"
SITE: Final = f"{HOME}/site-packages"
SCRIPTS: Final = f"{HOME}/bin"

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


def add_to_paths(env: dict[str, str]) -> None:
    """Put the wheels first on PYTHONPATH, and their scripts first on PATH."""
    for name, folder in (("PYTHONPATH", f"/{SITE}"), ("PATH", f"/{SCRIPTS}")):
        parts = [part for part in env.get(name, "").split(":") if part and part != folder]
        env[name] = ":".join([folder, *parts])


def wheel_nodes(wheels: WheelFolder, folder: Path) -> tuple[tuple[Node, ...], list[Problem]]:
    """Return the files of all wheels, and warnings; write contents to `folder`. Raises PackagingError.

    If two wheels have the same file, the one with the later file name wins.
    """
    nodes: dict[str, Node] = {}
    problems: list[Problem] = []
    root = folder / "wheels"
    for wheel in sorted(wheels.wheels, key=lambda wheel: wheel.path.name):
        destination = _Image(root)
        try:
            if hashed(Node(path=wheel.path.name, kind="file", content=wheel.path)).sha256 != wheel.sha256:
                raise ValueError("its bytes have changed since the download")
            with WheelFile.open(wheel.path) as source:
                install(source, destination, additional_metadata={"INSTALLER": b"pulumi-vertex-training\n"})
        except (InstallerError, OSError, ValueError, KeyError) as error:
            raise PackagingError([_broken(wheel, error)]) from error
        nodes.update(destination.nodes())
        problems += _start_up_files(wheel, destination.written)
    return tuple(with_parents(nodes).values()), problems


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

    def nodes(self) -> dict[str, Node]:
        """Return the files with their hashes."""
        return {
            path: hashed(
                Node(path=path, kind="file", mode=0o755 if executable else 0o644, content=self.root / path)
            )
            for path, executable in self.written.items()
        }

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
