"""Turns a script, a folder or a project into a package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from vertex_training.packaging import naming, rules
from vertex_training.packaging.archive import archive_size, unreadable
from vertex_training.packaging.built import built_ending, built_problems
from vertex_training.packaging.errors import PackagingError
from vertex_training.packaging.package import Package, measure
from vertex_training.packaging.plans import Plan, Request, plan_folder, plan_project, plan_script, too_large
from vertex_training.packaging.project import MARKERS
from vertex_training.topology.problems import Problem, errors, warnings

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
) -> Package:
    """Packs a training program so that pip installs it, without running any of it.

    `source` is a script (`task.py` becomes the module `trainer.task`, or `<name>.task`), a folder of modules
    (it becomes the package of its own name), a project with a pyproject.toml or setup.py (packed as it is;
    its build backend runs on the replica), or a finished `.whl` or `.tar.gz`. `requirements` are for scripts
    and folders. `extra_files` maps paths, seen from the folder with the top-level packages, to files or
    folders that are installed along: `{"vertex_cluster": Path(...)}` becomes a package beside the others.
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
        planner = {"script": plan_script, "folder": plan_folder, "project": plan_project}[kind]
        return _pack(kind, planner(request), request)
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


def _pack(kind: Literal["script", "folder", "project"], plan: Plan, request: Request) -> Package:
    problems = list(plan.problems)
    problems += rules.collisions(entry.path for entry in plan.entries)
    if archive_size(plan.entries) > request.limit:
        problems.append(too_large(plan.entries, request.limit))
    if errors(problems):
        raise PackagingError(problems)
    file_name = f"{naming.archive_stem(plan.name, plan.version)}.tar.gz"
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
    problems = built_problems(source, built_ending(source) or "")
    given = {
        "name": request.name,
        "version": request.version,
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
        problems=warnings(problems),
        content=source,
    )


def _about_source(message: str) -> Problem:
    return Problem(path="source", message=message)
