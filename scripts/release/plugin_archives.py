"""The archives of the Pulumi plugin, which `pulumi plugin install resource NAME VERSION --file FILE` takes.

An archive has a launcher, which runs the installed Python package: it is the same for each system.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

from scripts.package_modules import loaded

_LAUNCHER = loaded("pulumi_vertex_training/package/launcher.py")
SYSTEMS = ("linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64")


def write(folder: Path, version: str) -> list[Path]:
    """Write the archives of a version, with the same bytes each time. Return their paths."""
    text = _LAUNCHER.of_any_python(version).encode()
    entry = tarfile.TarInfo(_LAUNCHER.PROGRAM)
    entry.size, entry.mode = len(text), 0o755
    archive = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=archive, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        tar.addfile(entry, io.BytesIO(text))
    files = [folder / f"{_LAUNCHER.PROGRAM}-v{version}-{system}.tar.gz" for system in SYSTEMS]
    for file in files:
        file.write_bytes(archive.getvalue())
    return files
