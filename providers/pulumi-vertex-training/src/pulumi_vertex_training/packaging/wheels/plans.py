"""Plan a wheel: the files of a script, a folder or a project of pure Python, and its metadata."""

from __future__ import annotations

import configparser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from packaging.version import Version

from pulumi_vertex_training.packaging import naming
from pulumi_vertex_training.packaging.archive import Entry, text_entry
from pulumi_vertex_training.packaging.extras import (
    contents,
    extra_file_conflicts,
    read_extras,
    stray_problems,
)
from pulumi_vertex_training.packaging.naming import entry_module, runnable
from pulumi_vertex_training.packaging.plans import Plan, Request, open_project, plan_folder, plan_script
from pulumi_vertex_training.packaging.project import Project
from pulumi_vertex_training.packaging.project_files import texts
from pulumi_vertex_training.packaging.wheels.contents import installed_files
from pulumi_vertex_training.packaging.wheels.writer import LARGEST, MOST_FILES, TAG
from vertex_training.fields.document import nested
from vertex_training.findings.problems import Problem, errors

Groups = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class WheelMetadata:
    """The metadata besides name and version. `extras` are by name, `entry_points` by group."""

    requirements: Sequence[str] = ()
    extras: Mapping[str, Sequence[str]] = field(default_factory=dict)
    requires_python: str | None = None
    summary: str | None = None
    entry_points: Groups = field(default_factory=dict)


def metadata_entries(folder: str, *, name: str, version: str, statements: WheelMetadata) -> list[Entry]:
    """Return the files of the dist-info folder except RECORD."""
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


def project_metadata(project: Project) -> WheelMetadata:
    """Return the metadata of a project. Raises ValueError if only its build determines them."""
    if metadata := project.metadata:
        requirements = project.requirements
        if requirements is None:
            raise ValueError("its build decides its dependencies")
        scripts = {"console_scripts": metadata.get("scripts"), "gui_scripts": metadata.get("gui-scripts")}
        groups = {**nested(metadata, "entry-points"), **{name: one for name, one in scripts.items() if one}}
        return WheelMetadata(
            requirements=requirements,
            extras={name: texts(one) for name, one in nested(metadata, "optional-dependencies").items()},
            requires_python=metadata.get("requires-python"),
            summary=metadata.get("description"),
            entry_points={
                name: {key: str(item) for key, item in one.items()} for name, one in groups.items()
            },
        )
    return _from_setuptools(project)


def _from_setuptools(project: Project) -> WheelMetadata:
    """Read the metadata from setup.cfg, else from setup.py."""
    options = project.setup_cfg.get("options", {})
    given = project.setup_py.values if project.setup_py else {}
    extras = project.setup_cfg.get("options.extras_require", {})
    in_script = given.get("extras_require", {})
    if not isinstance(in_script, Mapping):
        raise ValueError("extras_require of its setup.py cannot be read")
    python = options.get("python_requires") or given.get("python_requires")
    return WheelMetadata(
        requirements=_lines(options.get("install_requires")) or _texts(given.get("install_requires", [])),
        extras={name: _lines(text) for name, text in extras.items()}
        or {str(name): _texts(one) for name, one in in_script.items()},
        requires_python=python if isinstance(python, str) else None,
        entry_points={
            group: _points(_lines(text))
            for group, text in project.setup_cfg.get("options.entry_points", {}).items()
        }
        or _groups_of_script(given.get("entry_points", {})),
    )


def _of_extra(requirement: str, extra: str) -> str:
    """Return a requirement that applies only to an extra."""
    what, _, marker = " ".join(requirement.split()).partition(";")
    condition = f'extra == "{extra}"'
    return f"{what.strip()} ; ({marker.strip()}) and {condition}" if marker else f"{what} ; {condition}"


def _entry_points_text(groups: Groups) -> str:
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in sorted(points.items()))
        for group, points in sorted(groups.items())
        if points
    )


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


_OF_AN_SDIST = ("setup.py", "PKG-INFO")
_BUILD_DECIDES = frozenset(
    {"dependencies", "optional-dependencies", "scripts", "gui-scripts", "entry-points", "requires-python"}
)
_REMEDY = (
    "Set format to sdist, which each replica builds. Or build the wheel (`python -m build --wheel`) and give "
    "the file as source."
)


class NeedsBuildError(Exception):
    """A project whose wheel only its build backend can make; `reason` tells why, `problems` are warnings."""

    def __init__(self, reason: str, project: Project, problems: Sequence[Problem]) -> None:
        self.reason = reason
        self.project = project
        self.problems = tuple(problems)
        super().__init__(reason)

    def refusal(self) -> Problem:
        """Return the problem of a package whose format has to be a wheel."""
        message = f"cannot become a wheel without a build: {self.reason}. {_REMEDY}"
        return Problem(path="format", message=message)

    def notice(self) -> Problem:
        """Return the warning that each replica has to build the package."""
        backend = self.project.backend.partition(":")[0].partition(".")[0]
        wanted = " and ".join(self.project.build_requires)
        fetched = f", and pip gets {wanted} from the package index" if wanted else ""
        message = (
            f"the package becomes an sdist, because its wheel needs a build: {self.reason}. Each replica "
            f"builds it with {backend}{fetched}. Set format to sdist to confirm this, or build the wheel "
            "(`python -m build --wheel`) and give the file as source."
        )
        return Problem(path="format", message=message, level="warning")


def wheel_plan_script(request: Request) -> Plan:
    """Plan the wheel of a script."""
    return _without_setup(plan_script(request))


def wheel_plan_folder(request: Request) -> Plan:
    """Plan the wheel of a folder of modules."""
    return _without_setup(plan_folder(request))


def wheel_plan_project(request: Request) -> Plan:
    """Plan the wheel of a project: the files that its build backend would install, and its metadata.

    Raises NeedsBuildError if the project does not state them, and has no other fault.
    """
    opened = open_project(request)
    project, problems = opened.project, list(opened.problems)
    extras = read_extras(request.extra_files, exclude=request.exclude, limit=request.limit)
    problems += extras.problems
    installed: dict[str, Entry] = {}
    statements = WheelMetadata()
    if not errors(problems):
        try:
            decided = _BUILD_DECIDES.intersection(project.metadata.get("dynamic", ()))
            stated = {"dependencies"} if project.requirements is not None else set()
            if left := sorted(decided - stated):
                raise ValueError(f"its build decides its {left[0]}")
            installed, statements = installed_files(project, opened.layout), project_metadata(project)
            if not any(path.endswith(".py") for path in installed):
                raise ValueError("it installs no Python files")
        except ValueError as error:
            raise NeedsBuildError(str(error), project, problems) from None
    problems += extra_file_conflicts(extras, installed)
    known = contents(list(installed)).packages
    stray = contents([file.path for file in extras.files], known=known).stray
    problems += stray_problems(stray, min((name.partition(".")[0] for name in known), default="package"))
    entries = [replace(entry, path=path) for path, entry in installed.items()] + [*extras.files]
    return _with_metadata(
        Plan(
            name=opened.name,
            version=opened.version,
            entries=tuple(entries),
            python_module=entry_module(runnable(installed)),
            python_modules=runnable(entry.path for entry in entries),
            requirements=tuple(statements.requirements),
            left_out=opened.listing.left_out + extras.left_out,
            problems=tuple(problems),
        ),
        statements,
    )


def _without_setup(plan: Plan) -> Plan:
    """Turn the plan of an sdist into the plan of a wheel: its setup.py would install all other files."""
    entries = tuple(entry for entry in plan.entries if entry.path not in _OF_AN_SDIST)
    return _with_metadata(replace(plan, entries=entries), WheelMetadata(requirements=plan.requirements))


def _with_metadata(plan: Plan, statements: WheelMetadata) -> Plan:
    if errors(plan.problems):
        return plan
    folder = f"{naming.archive_stem(plan.name, plan.version)}.dist-info"
    entries = (
        *plan.entries,
        *metadata_entries(folder, name=plan.name, version=plan.version, statements=statements),
    )
    problems = list(plan.problems)
    if len(entries) > MOST_FILES or sum(entry.size for entry in entries) > LARGEST:
        message = f"a wheel holds at most {MOST_FILES} files and {LARGEST} bytes. {_REMEDY}"
        problems.append(Problem(path="format", message=message))
    return replace(plan, entries=entries, problems=tuple(problems))
