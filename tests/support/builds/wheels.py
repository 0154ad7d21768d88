"""Small wheels that tests build."""

from __future__ import annotations

import hashlib
import importlib.metadata
import zipfile
from collections.abc import Mapping
from pathlib import Path


def make_wheel(
    folder: Path,
    name: str = "tiny",
    version: str = "1.0",
    *,
    tag: str = "py3-none-any",
    files: Mapping[str, str] | None = None,
    scripts: str = "",
) -> Path:
    """Write a wheel into the folder; `scripts` are lines of [console_scripts]."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    content = dict(files if files is not None else {f"{name}/__init__.py": f"NAME = {name!r}\n"})
    content[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    pure = str(tag.endswith("any")).lower()
    content[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"
    if scripts:
        content[f"{info}/entry_points.txt"] = f"[console_scripts]\n{scripts}\n"
    content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*content, f"{info}/RECORD"])
    path = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in content.items():
            archive.writestr(zipfile.ZipInfo(member, (2020, 1, 1, 0, 0, 0)), text)
    return path


def locked(*wheels: Path) -> str:
    """Return the lines of a lock file for wheels."""
    lines = []
    for wheel in wheels:
        name, version = wheel.name.split("-")[:2]
        lines.append(f"{name}=={version} \\\n    --hash=sha256:{sha256(wheel)}")
    return "\n".join(lines) + "\n"


def sha256(path: Path) -> str:
    """Return the SHA-256 hash of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def installed_wheel(folder: Path, name: str) -> Path:
    """Write the wheel of a distribution that this Python has, from its installed files: an offline index."""
    distribution = importlib.metadata.distribution(name)
    path = folder / f"{name}-{distribution.version}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for file in distribution.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                archive.write(str(file.locate()), str(file))
    return path
