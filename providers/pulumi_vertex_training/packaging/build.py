"""Turns a script, a folder or a project into a package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from pulumi_vertex_training.packaging import naming, rules
from pulumi_vertex_training.packaging.archive import archive_size, unreadable
from pulumi_vertex_training.packaging.built import BuiltPackage, built_ending, look_into
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.naming import entry_module
from pulumi_vertex_training.packaging.package import Package, measure
from pulumi_vertex_training.packaging.plans import (
    Plan,
    Request,
    plan_folder,
    plan_project,
    plan_script,
    too_large,
)
from pulumi_vertex_training.packaging.project import MARKERS
from pulumi_vertex_training.packaging.wheels.plans import (
    wheel_plan_folder,
    wheel_plan_project,
    wheel_plan_script,
)
from pulumi_vertex_training.packaging.wheels.writer import TAG
from vertex_training.findings.problems import Problem, errors, warnings

Format = Literal["sdist", "wheel"]

_PLANNERS = {
    "sdist": {"script": plan_script, "folder": plan_folder, "project": plan_project},
    "wheel": {"script": wheel_plan_script, "folder": wheel_plan_folder, "project": wheel_plan_project},
}

DEFAULT_LIMIT: Final = 512 * 2**20
"""Bytes of a package, unless the caller says otherwise."""


def build_package(
    source: Path,
    *,
    name: str | None = None,
    version: str | None = None,
    requirements: Sequence[str] = (),
    extra_files: Mapping[str, Path] = MappingProxyType({}),
    exclude: Sequence[str] = (),
    limit: int = DEFAULT_LIMIT,
    check_sources: bool = True,
    format: Format = "sdist",  # noqa: A002  the name that it has in a program
) -> Package:
    """Packs a training program so that pip installs it, without running any of it.

    `source` is a script (`task.py` becomes the module `trainer.task`, or `<name>.task`), a folder of modules
    (it becomes the package of its own name), a project with a pyproject.toml or setup.py (packed as it is;
    its build backend runs on the replica), or a finished `.whl` or `.tar.gz`. `requirements` are for scripts
    and folders. `extra_files` maps paths, seen from the folder with the top-level packages, to files or
    folders that are installed along: `{"vertex_cluster": Path(...)}` becomes a package beside the others.
    `format` "wheel" makes a wheel of what would get installed: nothing is built on a replica, and a project
    whose build cannot be told from its files, or is not pure Python, is refused. A finished package has to be
    of the name and version that are given.
    `exclude` holds patterns as of `fnmatch` for what is left out besides the usual; `limit` is in bytes.
    `check_sources` looks for syntax errors and for imports that break once packaged; without it there is
    nothing but the hash, sooner.

    The same files and arguments give the same bytes everywhere. Raises PackagingError with every problem.
    """
    request = Request(
        source=source,
        name=name,
        version=version,
        requirements=requirements,
        extra_files=extra_files,
        exclude=exclude,
        limit=limit,
        check_sources=check_sources,
    )
    try:
        kind = _kind(source)
        if kind == "built":
            return _built(request)
        return _pack(kind, _PLANNERS[format][kind](request), request, format)
    except OSError as error:
        raise PackagingError([unreadable(str(error.filename or "source"), error)]) from error


def _kind(source: Path) -> Literal["script", "folder", "project", "built"]:
    if source.is_dir():
        is_project = (source / "pyproject.toml").exists() or (
            not (source / "__init__.py").exists() and any((source / marker).exists() for marker in MARKERS)
        )
        return "project" if is_project else "folder"
    if not source.exists():
        base = "" if source.is_absolute() else f" in {Path.cwd()}"
        raise PackagingError([_about_source(f"{source} does not exist{base}. Correct the path.")])
    if built_ending(source):
        return "built"
    if source.suffix == ".py":
        return "script"
    message = f"{source} is not a Python script, a folder, a .whl or a .tar.gz. Name one of these."
    raise PackagingError([_about_source(message)])


def _pack(
    kind: Literal["script", "folder", "project"], plan: Plan, request: Request, form: Format
) -> Package:
    problems = list(plan.problems)
    problems += rules.collisions(entry.path for entry in plan.entries)
    if archive_size(plan.entries) > request.limit:
        problems.append(too_large(plan.entries, request.limit))
    if errors(problems):
        raise PackagingError(problems)
    ending = ".tar.gz" if form == "sdist" else f"-{TAG}.whl"
    file_name = f"{naming.archive_stem(plan.name, plan.version)}{ending}"
    sha256, size = measure(plan.entries, file_name)
    return Package(
        kind=kind,
        file_name=file_name,
        sha256=sha256,
        size=size,
        python_module=plan.python_module,
        python_modules=plan.python_modules,
        requirements=plan.requirements,
        left_out=plan.left_out,
        problems=warnings(problems),
        content=plan.entries,
    )


def _built(request: Request) -> Package:
    source = request.source
    found, problems = look_into(source, built_ending(source) or "")
    if not errors(problems):
        problems += _other_than_asked(request, found)
    given = {
        "requirements": request.requirements,
        "extra_files": request.extra_files,
    }
    for argument, value in given.items():
        if value:
            message = f"cannot be applied to {source.name}, which is taken as it is. Leave it out."
            problems.append(Problem(path=argument, message=message))
    size = source.stat().st_size
    if size > request.limit:
        message = f"{source.name} has {size} bytes, more than the limit of {request.limit}. Raise the limit."
        problems.append(_about_source(message))
    if errors(problems):
        raise PackagingError(problems)
    sha256, size = measure(source, source.name)
    return Package(
        kind="built",
        file_name=source.name,
        sha256=sha256,
        size=size,
        python_module=entry_module(found.modules),
        python_modules=found.modules,
        requirements=found.requirements,
        problems=warnings(problems),
        content=source,
    )


def _other_than_asked(request: Request, found: BuiltPackage) -> list[Problem]:
    """A finished package of another name or version than the caller says."""
    problems = []
    if request.name and not naming.same_name(request.name, found.name):
        message = f"{request.name!r} is not what {request.source.name} holds, {found.name!r}. Leave name out."
        problems.append(Problem(path="name", message=message))
    if request.version:
        bad = naming.version_problems(request.version)
        if not bad and naming.archive_stem("x", request.version) != naming.archive_stem("x", found.version):
            message = (
                f"{request.version!r} is not what {request.source.name} holds, {found.version!r}. Leave "
                "version out."
            )
            bad = [Problem(path="version", message=message)]
        problems += bad
    return problems


def _about_source(message: str) -> Problem:
    return Problem(path="source", message=message)
