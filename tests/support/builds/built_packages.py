"""Small finished packages, as a build backend writes them."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path


def metadata(name: str, version: str, *lines: str) -> str:
    return "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines]) + "\n"


def wheel(
    folder: Path,
    file_name: str = "net-1.0-py3-none-any.whl",
    *,
    text: str | None = None,
    files: Mapping[str, str] | None = None,
) -> Path:
    """Write a wheel with the module `net`. `text` replaces the METADATA derived from the file name."""
    name, version, *_ = file_name.split("-")
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / file_name, "w") as file:
        for path, content in (files or {"net.py": ""}).items():
            file.writestr(path, content)
        file.writestr(f"{info}/METADATA", metadata(name, version) if text is None else text)
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return folder / file_name


def sdist(folder: Path, file_name: str = "net-1.0.tar.gz", *, text: str | None = None) -> Path:
    """Write a source distribution of a `setup.py` and a PKG-INFO; with `text` "" it has no PKG-INFO."""
    stem = file_name.removesuffix(".tar.gz")
    name, _, version = stem.rpartition("-")
    content = (metadata(name, version) if text is None else text).encode()
    with tarfile.open(folder / file_name, "w:gz") as tar:
        for path, data in ((f"{stem}/setup.py", b""), (f"{stem}/PKG-INFO", content)):
            if data or path.endswith("setup.py"):
                member = tarfile.TarInfo(path)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return folder / file_name
