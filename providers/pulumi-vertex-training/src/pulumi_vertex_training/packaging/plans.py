"""Plan the archive of a script, a folder of modules, or a project, with the generated files."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pulumi_vertex_training.packaging import naming
from pulumi_vertex_training.packaging import source_check as check
from pulumi_vertex_training.packaging.archive import Entry, archive_size, text_entry
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.extras import (
    add_to_project,
    contents,
    extra_file_conflicts,
    read_extras,
    stray_problems,
)
from pulumi_vertex_training.packaging.files import Listing, file_entry, list_files, printable
from pulumi_vertex_training.packaging.layout import Layout, find_layout
from pulumi_vertex_training.packaging.naming import entry_module, runnable
from pulumi_vertex_training.packaging.project import Project, identity, read_project, statement_problems
from vertex_training.findings.problems import Problem, errors

SCRIPT_PACKAGE = "trainer"
"""The package of a single script, as in the Vertex AI documentation: `trainer.task`."""

DEFAULT_VERSION = "0.1.0"
"""The version of a script or a folder. It hardly matters, since the object's name has the content's hash."""

_GENERATED = frozenset({"setup.py", "setup.cfg", "pyproject.toml", "PKG-INFO", "MANIFEST.in"})


@dataclass(frozen=True, kw_only=True)
class Request:
    """The arguments of `build_package`."""

    source: Path
    name: str | None
    version: str | None
    requirements: Sequence[str]
    extra_files: Mapping[str, Path]
    exclude: Sequence[str]
    limit: int
    check_sources: bool


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The content of an archive: `name` and `version` as declared, and everything that `Package` reports."""

    name: str
    version: str
    entries: tuple[Entry, ...]
    python_module: str | None
    python_modules: tuple[str, ...]
    requirements: tuple[str, ...]
    left_out: int
    problems: tuple[Problem, ...]


def plan_script(request: Request) -> Plan:
    """Plan a single script: `trainer/<script>.py`, or in a package of the given name."""
    package = naming.module_name(request.name or SCRIPT_PACKAGE)
    module = naming.module_name(request.source.name.removesuffix(".py"))
    problems = naming.module_problems(
        package, path="name", remedy="Give another name.", top_level=True
    ) + naming.module_problems(module, path="source", remedy="Rename the script.", top_level=False)
    entry = file_entry(request.source, f"{package}/{module}.py")
    if isinstance(entry, Problem):
        return _generated(request, package, (), entry=None, problems=[*problems, entry])
    if entry.size == 0:
        problems.append(
            Problem(path="source", message=f"{request.source} is empty. Write a program into it.")
        )
    elif request.check_sources:
        shown = [replace(entry, path=request.source.name)]
        problems += check.syntax_problems(shown)
        problems += check.import_problems(
            shown,
            siblings=_neighbours(request.source) - _extra_names(request),
            advice=lambda name: (
                "which is next to the script but not packed with it. Set source to the folder, or add "
                f"{name!r} to extra_files."
            ),
        )
    init = Entry(path=f"{package}/__init__.py", content=b"", size=0)
    main = f"{package}.{module}" if module != "__main__" else package
    return _generated(request, package, (init, entry), entry=main, problems=problems)


def plan_folder(request: Request) -> Plan:
    """Plan a folder of modules: the package has the folder's name; `name` only renames the distribution."""
    package = naming.module_name(request.source.resolve().name)
    problems = naming.module_problems(package, path="source", remedy="Rename the folder.", top_level=True)
    listing = list_files(request.source, exclude=request.exclude, limit=request.limit)
    problems += listing.problems
    own = {file.path for file in listing.files}
    if not any(path.endswith(".py") for path in own):
        if not problems:
            problems.append(_no_modules(request.source))
    elif not any(path.endswith(".py") and "/" not in path for path in own):
        inner = min(path.partition("/")[0] for path in own if path.endswith(".py"))
        message = (
            f"{request.source} has no modules, only folders with modules (such as {inner}). Set source to "
            "that folder, or add a pyproject.toml to make the whole a project."
        )
        problems.append(Problem(path="source", message=message))
    elif _checks(request, listing.files):
        problems += check.syntax_problems(listing.files)
        problems += check.import_problems(
            listing.files,
            siblings={path.partition("/")[0].removesuffix(".py") for path in own if path.endswith(".py")}
            - {package, "__init__", "__main__", *_extra_names(request)},
            advice=lambda name: (
                f"but in the package it is '{package}.{name}'. Write `from {package} import {name}`, "
                "or add a pyproject.toml with another layout."
            ),
        )
    files = [replace(file, path=f"{package}/{file.path}") for file in listing.files]
    if "__init__.py" not in own:
        files.append(Entry(path=f"{package}/__init__.py", content=b"", size=0))
    modules = runnable(file.path for file in files)
    return _generated(
        request, package, files, entry=entry_module(modules), problems=problems, left_out=listing.left_out
    )


@dataclass(frozen=True, kw_only=True)
class OpenedProject:
    """A project's files, metadata, layout and problems."""

    listing: Listing
    project: Project
    layout: Layout
    name: str
    version: str
    problems: tuple[Problem, ...]


def open_project(request: Request) -> OpenedProject:
    """Read the project of a request. Raises PackagingError if it is too large to be read."""
    listing = list_files(request.source, exclude=request.exclude, limit=request.limit)
    problems = list(listing.problems)
    files = {file.path: file for file in listing.files}
    if archive_size(files.values()) > request.limit:
        raise PackagingError([*problems, too_large(files.values(), request.limit)])
    project, illegible = read_project(files)
    name, version, disputed = identity(project, name=request.name, version=request.version)
    layout, unbuildable = find_layout(project)
    problems += illegible or [*statement_problems(project), *disputed, *unbuildable]
    if request.check_sources:
        problems += check.syntax_problems(listing.files)
    if request.requirements:
        message = "is for scripts and folders. For a project, set `dependencies` in pyproject.toml."
        problems.append(Problem(path="requirements", message=message))
    return OpenedProject(
        listing=listing, project=project, layout=layout, name=name, version=version, problems=tuple(problems)
    )


def plan_project(request: Request) -> Plan:
    """Plan a project: its files unchanged, PKG-INFO, and the extra files next to its packages."""
    opened = open_project(request)
    project, layout, problems = opened.project, opened.layout, list(opened.problems)
    files = {file.path: file for file in opened.listing.files}
    if not any(path.endswith(".py") for path in files):
        problems.append(_no_modules(request.source))
    extras = read_extras(request.extra_files, exclude=request.exclude, limit=request.limit)
    conflicts = extra_file_conflicts(extras, files, root=layout.root)
    problems += [*extras.problems, *conflicts]
    if extras.files and not errors(problems):
        added, refused = add_to_project(project, layout, extras)
        problems += refused
        files |= {entry.path: entry for entry in added}
    requirements = project.requirements
    info = package_info(name=opened.name, version=opened.version, requirements=requirements, complete=False)
    files[info.path] = info
    prefix = f"{layout.root}/" if layout.root else ""
    importable = [path.removeprefix(prefix) for path in files if path.startswith(prefix)]
    return Plan(
        name=opened.name,
        version=opened.version,
        entries=tuple(files.values()),
        python_module=entry_module(runnable(importable, top_level=layout.top_level)),
        python_modules=runnable(importable, top_level=layout.top_level | _extra_names(request)),
        requirements=requirements or (),
        left_out=opened.listing.left_out + extras.left_out,
        problems=tuple(problems),
    )


def too_large(entries: Iterable[Entry], limit: int) -> Problem:
    """Return the finding that an archive exceeds the limit, with its largest files."""
    files = [entry for entry in entries if isinstance(entry.content, Path)]
    largest = sorted(files, key=lambda entry: (-entry.size, entry.path))[:3]
    names = ", ".join(f"{printable(entry.path)} ({_bytes(entry.size)})" for entry in largest)
    message = (
        f"is larger than the limit of {_bytes(limit)}; the largest files are {names}. Leave data out with "
        "exclude and upload it to the bucket, or raise the limit."
    )
    return Problem(path="source", message=message)


def _generated(
    request: Request,
    package: str,
    files: Sequence[Entry],
    *,
    entry: str | None,
    problems: Sequence[Problem],
    left_out: int = 0,
) -> Plan:
    """Plan a distribution without a project: its files, a setup.py and PKG-INFO."""
    name = request.name or package.strip("_")
    version = request.version or DEFAULT_VERSION
    requirements, wrong = naming.clean_requirements(request.requirements)
    found = [*problems, *naming.distribution_problems(name), *naming.version_problems(version), *wrong]
    extras = read_extras(request.extra_files, exclude=request.exclude, limit=request.limit)
    found += [*extras.problems, *extra_file_conflicts(extras, {file.path for file in files} | _GENERATED)]
    everything = (*files, *extras.files)
    parts = contents([file.path for file in everything])
    brought = {file.path for file in extras.files}
    found += stray_problems([path for path in parts.stray if path in brought], package)
    script = setup_script(
        name=name,
        version=version,
        packages=parts.packages,
        modules=parts.modules,
        data=parts.data,
        requirements=requirements,
    )
    info = package_info(name=name, version=version, requirements=requirements, complete=True)
    return Plan(
        name=name,
        version=version,
        entries=(*everything, script, info),
        python_module=entry,
        python_modules=runnable(file.path for file in everything),
        requirements=requirements,
        left_out=left_out + extras.left_out,
        problems=tuple(found),
    )


def _neighbours(script: Path) -> set[str]:
    """Return the names of the modules and packages in the script's folder."""
    try:
        with os.scandir(script.parent) as entries:
            return {
                entry.name.removesuffix(".py")
                for entry in entries
                if entry.name != script.name
                and (entry.name.endswith(".py") or (Path(entry.path) / "__init__.py").exists())
            }
    except OSError:
        return set()


def _extra_names(request: Request) -> set[str]:
    """Return the top-level names of the extra files."""
    return {path.partition("/")[0].removesuffix(".py") for path in request.extra_files}


def _checks(request: Request, files: Sequence[Entry]) -> bool:
    """Return whether to check the sources, which is skipped if they are too large to be packed."""
    return request.check_sources and archive_size(files) <= request.limit


def _no_modules(source: Path) -> Problem:
    return Problem(path="source", message=f"{source} has no Python file. Use the folder with the program.")


def _bytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size} bytes"


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
    """Return a setup.py that lists everything it installs; `data` maps files to the packages that have them.

    There is no pyproject.toml: with one, every pip builds in isolation and first downloads setuptools. That
    fails on replicas without internet access (a service perimeter), and a [project] table needs setuptools
    61. With setup.py alone, the pip of older training images uses the image's own setuptools, of any version,
    and newer pips build it by PEP 517 as well. The Vertex AI SDK packs scripts the same way.
    """
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
    # !a escapes all but ASCII: Python versions differ in what they consider printable
    lines = "".join(f"    {key}={value!a},\n" for key, value in arguments.items())
    return text_entry("setup.py", f"from setuptools import setup\n\nsetup(\n{lines})\n")


def package_info(*, name: str, version: str, requirements: Sequence[str] | None, complete: bool) -> Entry:
    """Return PKG-INFO, with metadata 2.2 (PEP 643).

    If `complete`, a build adds no metadata. If `requirements` is None, only a build determines them.
    """
    lines = ["Metadata-Version: 2.2", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {' '.join(requirement.split())}" for requirement in requirements or ()]
    dynamic = [] if complete else [*_UNSTATED]
    if requirements is None:
        dynamic.append("Requires-Dist")
    lines += [f"Dynamic: {field}" for field in dynamic]
    return text_entry("PKG-INFO", "\n".join(lines) + "\n")
