"""The files that make a script or a folder of modules a source distribution.

A setup.py and no pyproject.toml: with one, every pip builds in isolation and first downloads setuptools,
which fails on replicas without internet access (a service perimeter) and, for a [project] table, needs
setuptools 61. With setup.py alone the pip of the older training images uses the image's own setuptools,
whatever its version, and newer pips build it by PEP 517 all the same. The Vertex AI SDK packs scripts this
way too.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence

from pulumi_vertex_training.packaging.archive import Entry, text_entry

_UNSTATED = [
    "Platform",
    "Supported-Platform",
    "Summary",
    "Description",
    "Description-Content-Type",
    "Keywords",
    "Home-page",
    "Download-URL",
    "Author",
    "Author-email",
    "Maintainer",
    "Maintainer-email",
    "License",
    "License-Expression",
    "License-File",
    "Classifier",
    "Requires-Python",
    "Requires-External",
    "Project-URL",
    "Provides-Extra",
    "Provides-Dist",
    "Obsoletes-Dist",
]


def setup_script(
    *,
    name: str,
    version: str,
    packages: Sequence[str],
    modules: Sequence[str],
    data: Mapping[str, str],
    requirements: Sequence[str],
) -> Entry:
    """setup.py that lists all it installs; `data` maps files to the package that each is installed with."""
    package_data: dict[str, list[str]] = {}
    for path, package in sorted(data.items()):
        inside = path[len(package) + 1 :]
        package_data.setdefault(package, []).append(glob.escape(inside))
    arguments = {
        "name": name,
        "version": version,
        "packages": list(packages),
        "py_modules": list(modules),
        "package_data": package_data,
        "install_requires": list(requirements),
        "zip_safe": False,
    }
    # !a escapes all but ASCII, so that no Python's idea of what is printable shows
    lines = "".join(f"    {key}={value!a},\n" for key, value in arguments.items())
    return text_entry("setup.py", f"from setuptools import setup\n\nsetup(\n{lines})\n")


def package_info(*, name: str, version: str, requirements: Sequence[str] | None, complete: bool) -> Entry:
    """PKG-INFO, metadata 2.2 (PEP 643).

    `complete`: nothing else will come out of a build. `requirements` None: only a build will tell them.
    """
    lines = ["Metadata-Version: 2.2", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {' '.join(requirement.split())}" for requirement in requirements or ()]
    dynamic = [] if complete else [*_UNSTATED]
    if requirements is None:
        dynamic.append("Requires-Dist")
    lines += [f"Dynamic: {field}" for field in dynamic]
    return text_entry("PKG-INFO", "\n".join(lines) + "\n")
