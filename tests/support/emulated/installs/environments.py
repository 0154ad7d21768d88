"""A Python environment that has only the base of the package: none of its extras."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from vertex_emulator.client.extras import DISTRIBUTION


def base_environment(folder: Path) -> Path:
    """Make an environment of links to the base's packages in this one. Return its Python."""
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    place = sysconfig.get_path("purelib", vars={"base": str(folder)})
    for name in {*closure(DISTRIBUTION), "pip"}:  # Pulumi asks pip for the list of packages
        distribution = metadata.distribution(name)
        for file in distribution.files or ():
            top = file.parts[0]
            link = Path(place, top)
            if top not in ("..", "__pycache__") and not link.exists():
                link.symlink_to(Path(str(distribution.locate_file(top))))
    return python


def closure(name: str) -> set[str]:
    """Return the distribution and all that it requires without any extra of its own."""
    found: set[tuple[str, str]] = set()
    waiting = [(canonicalize_name(name), "")]
    while waiting:
        entry = waiting.pop()
        if entry in found:
            continue
        found.add(entry)
        for text in metadata.requires(entry[0]) or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": entry[1]}):
                names = ("", *requirement.extras)
                waiting += [(canonicalize_name(requirement.name), each) for each in names]
    return {each for each, _ in found}
