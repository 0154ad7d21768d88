"""The metadata of a wheel: METADATA, WHEEL and entry_points.txt, from what a project states."""

from __future__ import annotations

import configparser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from packaging.version import Version

from pulumi_vertex_training.packaging.archive import Entry, text_entry
from pulumi_vertex_training.packaging.project import Project, table
from pulumi_vertex_training.packaging.project_files.python_literals import texts
from pulumi_vertex_training.packaging.wheels.writer import TAG

Groups = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class Statements:
    """What the metadata says besides name and version. `extras` are by name, `entry_points` by group."""

    requirements: Sequence[str] = ()
    extras: Mapping[str, Sequence[str]] = field(default_factory=dict)
    requires_python: str | None = None
    summary: str | None = None
    entry_points: Groups = field(default_factory=dict)


def metadata_entries(folder: str, *, name: str, version: str, statements: Statements) -> list[Entry]:
    """The files of the dist-info folder but for RECORD."""
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {Version(version)}"]
    if statements.summary:
        lines.append(f"Summary: {' '.join(statements.summary.split())}")
    if statements.requires_python:
        lines.append(f"Requires-Python: {' '.join(statements.requires_python.split())}")
    lines += [f"Requires-Dist: {' '.join(one.split())}" for one in statements.requirements]
    for extra, requirements in sorted(statements.extras.items()):
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {_of_extra(one, extra)}" for one in requirements]
    about = f"Wheel-Version: 1.0\nGenerator: vertex-training\nRoot-Is-Purelib: true\nTag: {TAG}\n"
    entries = [
        text_entry(f"{folder}/METADATA", "\n".join(lines) + "\n"),
        text_entry(f"{folder}/WHEEL", about),
    ]
    if text := _entry_points_text(statements.entry_points):
        entries.append(text_entry(f"{folder}/entry_points.txt", text))
    return entries


def statements_of(project: Project) -> Statements:
    """What a project states. Raises ValueError for what only its build would tell, in words."""
    if metadata := project.metadata:
        requirements = project.requirements
        if requirements is None:
            raise ValueError("its dependencies are left to its build")
        scripts = {"console_scripts": metadata.get("scripts"), "gui_scripts": metadata.get("gui-scripts")}
        groups = {**table(metadata, "entry-points"), **{name: one for name, one in scripts.items() if one}}
        return Statements(
            requirements=requirements,
            extras={name: texts(one) for name, one in table(metadata, "optional-dependencies").items()},
            requires_python=metadata.get("requires-python"),
            summary=metadata.get("description"),
            entry_points={
                name: {key: str(item) for key, item in one.items()} for name, one in groups.items()
            },
        )
    return _from_setuptools(project)


def _from_setuptools(project: Project) -> Statements:
    """By setup.cfg, else by setup.py."""
    options = project.setup_cfg.get("options", {})
    given = project.setup_py.values if project.setup_py else {}
    extras = project.setup_cfg.get("options.extras_require", {})
    in_script = given.get("extras_require", {})
    if not isinstance(in_script, Mapping):
        raise ValueError("extras_require of its setup.py cannot be read")
    python = options.get("python_requires") or given.get("python_requires")
    return Statements(
        requirements=_lines(options.get("install_requires")) or _texts(given.get("install_requires", [])),
        extras={name: _lines(text) for name, text in extras.items()}
        or {str(name): _texts(one) for name, one in in_script.items()},
        requires_python=python if isinstance(python, str) else None,
        entry_points=_groups_of_cfg(project.setup_cfg.get("options.entry_points", {}))
        or _groups_of_script(given.get("entry_points", {})),
    )


def _of_extra(requirement: str, extra: str) -> str:
    """A requirement that counts for an extra alone."""
    what, _, marker = " ".join(requirement.split()).partition(";")
    condition = f'extra == "{extra}"'
    return f"{what.strip()} ; ({marker.strip()}) and {condition}" if marker else f"{what} ; {condition}"


def _entry_points_text(groups: Groups) -> str:
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in sorted(points.items()))
        for group, points in sorted(groups.items())
        if points
    )


def _groups_of_cfg(section: Mapping[str, str]) -> Groups:
    return {group: _points(_lines(text)) for group, text in section.items()}


def _groups_of_script(value: object) -> Groups:
    if isinstance(value, str):
        parser = configparser.RawConfigParser(delimiters=("=",))
        try:
            parser.read_string(value)
        except configparser.Error:
            raise ValueError("entry_points of its setup.py cannot be read") from None
        return {group: dict(parser[group]) for group in parser.sections()}
    if not isinstance(value, Mapping):
        raise ValueError("entry_points of its setup.py cannot be read")
    return {str(group): _points(_texts(points)) for group, points in value.items()}


def _points(lines: Sequence[str]) -> dict[str, str]:
    pairs = (line.partition("=") for line in lines)
    return {name.strip(): target.strip() for name, _, target in pairs}


def _texts(value: object) -> tuple[str, ...]:
    return _lines(value) if isinstance(value, str) else texts(value)


def _lines(text: str | None) -> tuple[str, ...]:
    return tuple(line.strip() for line in (text or "").splitlines() if line.strip())
