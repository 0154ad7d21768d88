"""Extra files from elsewhere that are installed together with a package."""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pulumi_vertex_training.packaging.archive import Entry, read, text_entry, unreadable
from pulumi_vertex_training.packaging.files import file_entry, list_files, name_fault, printable
from pulumi_vertex_training.packaging.layout import Layout, excludes, includes, setuptools_table
from pulumi_vertex_training.packaging.project import Project
from pulumi_vertex_training.packaging.project_files import read_toml, toml_text
from vertex_training.findings.problems import Problem

_STAGE_SEPARATELY = "Stage it as a separate package instead, and name both in package_uris."


@dataclass(frozen=True, kw_only=True)
class Extras:
    """The extra files; their paths are relative to the folder with the top-level packages."""

    files: tuple[Entry, ...]
    left_out: int
    problems: tuple[Problem, ...]


def read_extras(extra_files: Mapping[str, Path], *, exclude: Sequence[str], limit: int) -> Extras:
    """List the extra files; folders are read by the same rules as a source."""
    files: list[Entry] = []
    problems: list[Problem] = []
    left_out = 0
    for inside, outside in extra_files.items():
        where = f"extra_files[{inside!r}]"
        if fault := _path_fault(inside):
            problems.append(
                Problem(path=where, message=f"is rejected: {fault}. Write it like 'helpers/io.py'.")
            )
        elif outside.is_dir():
            listing = list_files(outside, exclude=exclude, limit=limit)
            entries = [replace(file, path=f"{inside}/{file.path}") for file in listing.files]
            files += entries
            left_out += listing.left_out
            problems += (
                Problem(path=f"{where}: {problem.path}", message=problem.message)
                for problem in listing.problems
            )
            if not entries and not listing.problems:
                problems.append(Problem(path=where, message=f"the folder {outside} has no file to pack."))
        elif not outside.exists():
            problems.append(Problem(path=where, message=f"{outside} does not exist. Correct the path."))
        else:
            try:
                entry = file_entry(outside, inside)
            except OSError as error:
                entry = unreadable(where, error)
            if isinstance(entry, Problem):
                problems.append(Problem(path=where, message=f"{outside} {entry.message}"))
            else:
                files.append(entry)
    return Extras(files=tuple(files), left_out=left_out, problems=tuple(problems))


def extra_file_conflicts(extras: Extras, taken: Collection[str], *, root: str = "") -> list[Problem]:
    """Report extra files that would overwrite one of the source's, or one another."""
    seen = set(taken)
    problems = []
    for file in extras.files:
        path = f"{root}/{file.path}" if root else file.path
        if path in seen:
            message = "already exists. Choose another path for the extra file."
            problems.append(Problem(path=f"extra_files: {path}", message=message))
        seen.add(path)
    return problems


@dataclass(frozen=True, kw_only=True)
class Contents:
    """Files as they are once installed: dotted packages, top-level modules, and other files.

    `data` maps the path of a file to the package that it is installed with. `stray` are files outside any
    package, which no installer would install.
    """

    packages: tuple[str, ...]
    modules: tuple[str, ...]
    data: Mapping[str, str]
    stray: tuple[str, ...]


def contents(paths: Collection[str], *, known: Collection[str] = ()) -> Contents:
    """Classify files by their paths, which are relative to the folder with the top-level packages.

    A package is a folder with Python files at any depth, if every name can be imported. `known` are packages
    that exist in addition.
    """
    packages = set(known)
    modules = set()
    others = []
    for path in paths:
        *folders, file = path.split("/")
        is_module = file.endswith(".py") and all(part.isidentifier() for part in (*folders, file[:-3]))
        if not is_module:
            others.append(path)
        elif folders:
            packages |= {".".join(folders[:depth]) for depth in range(1, len(folders) + 1)}
        else:
            modules.add(file[:-3])
    data = {}
    stray = []
    for path in others:
        folders = path.split("/")[:-1]
        owners = (".".join(folders[:depth]) for depth in range(len(folders), 0, -1))
        owner = next((name for name in owners if name in packages), None)
        if owner is None:
            stray.append(path)
        else:
            data[path] = owner
    return Contents(
        packages=tuple(sorted(packages - set(known))),
        modules=tuple(sorted(modules)),
        data=dict(sorted(data.items())),
        stray=tuple(sorted(stray)),
    )


def stray_problems(stray: Sequence[str], package: str) -> list[Problem]:
    """Report extra files outside any package."""
    return [
        Problem(
            path=f"extra_files: {printable(path)}",
            message=f"is outside any package, so nothing installs it. Use for example '{package}/{path}'.",
        )
        for path in stray
    ]


def add_to_project(project: Project, layout: Layout, extras: Extras) -> tuple[list[Entry], list[Problem]]:
    """Return the entries that add the extra files to a project so that its build installs them.

    If the project's own settings would omit a new package, the archive's copy of pyproject.toml is extended.
    If they cannot be extended, that is a problem.
    """
    prefix = f"{layout.root}/" if layout.root else ""
    own = [path.removeprefix(prefix) for path in project.files if path.startswith(prefix)]
    existing = contents(own).packages
    new = contents([file.path for file in extras.files], known=existing)
    placed = [
        Entry(path=prefix + file.path, content=file.content, size=file.size, executable=file.executable)
        for file in extras.files
    ]
    problems = stray_problems(new.stray, min(layout.top_level, default="package"))
    if not project.uses_setuptools:
        return placed, problems + _foreign_problems(project, layout, new)
    changed, new_problems = _extended(project, layout, new, set(own) | {file.path for file in extras.files})
    problems += new_problems
    if changed is not None and not problems:
        text = toml_text(changed)
        if read_toml(text) != changed:
            problems.append(_refused("pyproject.toml cannot be extended", "pyproject.toml", new.packages))
        placed.append(text_entry("pyproject.toml", text))
    if new.data:
        if _takes_package_data(project):
            placed.append(_manifest(project, [prefix + path for path in new.data]))
        else:
            message = (
                f"{', '.join(new.data)} would be packed but not installed: the project does not include "
                "package data. Set include-package-data = true in [tool.setuptools] of pyproject.toml."
            )
            problems.append(Problem(path="extra_files", message=message, level="warning"))
    return placed, problems


def _foreign_problems(project: Project, layout: Layout, new: Contents) -> list[Problem]:
    fresh = [name for name in (*new.packages, *new.modules) if name.partition(".")[0] not in layout.top_level]
    if not fresh:
        return []
    backend = project.backend.partition(":")[0]
    return [_refused(f"adding a top-level package is not supported for {backend}", "", fresh)]


def _extended(
    project: Project, layout: Layout, new: Contents, paths: Collection[str]
) -> tuple[dict[str, Any] | None, list[Problem]]:
    """Return pyproject.toml with the new packages, or None if no change is needed, and the problems."""
    packages = [name for name in new.packages if not _is_found(layout, name)]
    modules = [name for name in new.modules if layout.discovery != "all"]
    if layout.find is not None and not layout.find.namespaces:
        bare = [name for name in new.packages if f"{name.replace('.', '/')}/__init__.py" not in paths]
        if bare:
            return None, [
                _refused("the project finds only packages with __init__.py", layout.stated_in, bare)
            ]
    if not packages and not modules:
        return None, []
    if layout.discovery == "unknown":
        return None, [
            _refused(
                "the project declares its packages in a way that is not supported",
                layout.stated_in,
                [*packages, *modules],
            )
        ]
    in_toml = layout.stated_in == "pyproject.toml" or (layout.discovery == "single" and project.metadata)
    if not in_toml:
        where = layout.stated_in or "no [project] table"
        return None, [_refused("only pyproject.toml can be extended", where, [*packages, *modules])]
    changed: dict[str, Any] = copy.deepcopy(dict(project.pyproject))
    options = changed.setdefault("tool", {}).setdefault("setuptools", {})
    if layout.discovery == "listed":
        options["packages"] = [*options.get("packages", []), *packages]
    elif layout.discovery == "single":
        (single,) = layout.top_level
        is_package = f"{single}.py" not in project.files
        include = _patterns([single] if is_package else []) + _patterns(packages)
        options["packages"] = {"find": {"where": ["."], "include": include}} if include else []
        modules = modules if is_package else [single, *modules]
    elif packages and layout.find is not None:
        if barred := [name for name in packages if excludes(layout.find, name)]:
            return None, [_refused("[tool.setuptools.packages.find] excludes it", "pyproject.toml", barred)]
        find = options["packages"]["find"]
        find["include"] = [*find["include"], *_patterns(packages)]
    if modules:
        options["py-modules"] = [*options.get("py-modules", []), *modules]
    return changed, []


def _is_found(layout: Layout, package: str) -> bool:
    if layout.discovery == "find" and layout.find is not None:
        return includes(layout.find, package)
    if layout.discovery == "single":
        return package.partition(".")[0] in layout.top_level
    return layout.discovery == "all"


def _patterns(packages: Collection[str]) -> list[str]:
    """Return `find` patterns that include exactly these packages and those below them."""
    tops = sorted({name.partition(".")[0] for name in packages})
    return [pattern for name in tops for pattern in (name, f"{name}.*")]


def _refused(reason: str, where: str, names: Sequence[str]) -> Problem:
    place = f" ({where})" if where else ""
    outermost = [name for name in names if name.rpartition(".")[0] not in names]
    message = (
        f"{', '.join(outermost)} would be packed but not installed: {reason}{place}. {_STAGE_SEPARATELY}"
    )
    return Problem(path="extra_files", message=message)


def _takes_package_data(project: Project) -> bool:
    if project.metadata or setuptools_table(project):
        return setuptools_table(project).get("include-package-data", True) is not False
    stated = project.setup_cfg.get("options", {}).get("include_package_data", "").strip().lower()
    in_script = project.setup_py.values.get("include_package_data") if project.setup_py else None
    return stated in ("1", "true", "yes", "on") or in_script is True


def _manifest(project: Project, paths: Sequence[str]) -> Entry:
    """Return MANIFEST.in with these files added; setuptools reads package data from it."""
    entry = project.files.get("MANIFEST.in")
    before = read(entry).decode("utf-8", "replace").rstrip("\n") + "\n" if entry else ""
    lines = (f"include {re.sub(r'[^A-Za-z0-9_./-]', '?', path)}\n" for path in sorted(paths))
    return text_entry("MANIFEST.in", before + "".join(lines))


def _path_fault(path: str) -> str | None:
    parts = path.split("/")
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        return "an absolute path"
    if any(part in ("", ".", "..") for part in parts):
        return "a path with empty, '.' or '..' parts"
    return next(filter(None, map(name_fault, parts)), None)
