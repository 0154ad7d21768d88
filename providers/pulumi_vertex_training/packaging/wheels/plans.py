"""What goes into the wheel of a script, a folder of modules, or a project of pure Python."""

from __future__ import annotations

from dataclasses import replace

from pulumi_vertex_training.packaging import naming
from pulumi_vertex_training.packaging.archive import Entry
from pulumi_vertex_training.packaging.extras import clashes, contents, read_extras, stray_problems
from pulumi_vertex_training.packaging.naming import entry_module, runnable
from pulumi_vertex_training.packaging.plans import Plan, Request, open_project, plan_folder, plan_script
from pulumi_vertex_training.packaging.wheels.contents import installed_files
from pulumi_vertex_training.packaging.wheels.metadata import Statements, metadata_entries, statements_of
from pulumi_vertex_training.packaging.wheels.writer import LARGEST, MOST_FILES
from vertex_training.findings.problems import Problem, errors

_OF_AN_SDIST = ("setup.py", "PKG-INFO")
_BUILD_DECIDES = frozenset(
    {"dependencies", "optional-dependencies", "scripts", "gui-scripts", "entry-points", "requires-python"}
)
_REMEDY = (
    "Leave format out: an sdist is built on the replica. Or build the wheel (`python -m build --wheel`) and "
    "give the file as source."
)


def wheel_plan_script(request: Request) -> Plan:
    return _without_setup(plan_script(request))


def wheel_plan_folder(request: Request) -> Plan:
    return _without_setup(plan_folder(request))


def wheel_plan_project(request: Request) -> Plan:
    """A project: the files that its build backend would install, and its metadata; nothing of it is run."""
    opened = open_project(request)
    project, problems = opened.project, list(opened.problems)
    extras = read_extras(request.extra_files, exclude=request.exclude, limit=request.limit)
    problems += extras.problems
    installed: dict[str, Entry] = {}
    statements = Statements()
    if not errors(problems):
        try:
            if left := sorted(_BUILD_DECIDES.intersection(project.metadata.get("dynamic", ()))):
                raise ValueError(f"it leaves {left[0]} to its build")
            installed, statements = installed_files(project, opened.layout), statements_of(project)
            if not any(path.endswith(".py") for path in installed):
                raise ValueError("nothing that it installs is Python")
        except ValueError as error:
            message = f"cannot become a wheel without a build: {error}. {_REMEDY}"
            problems.append(Problem(path="format", message=message))
    problems += clashes(extras, installed)
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
    """The files that its setup.py would install are all the others."""
    entries = tuple(entry for entry in plan.entries if entry.path not in _OF_AN_SDIST)
    return _with_metadata(replace(plan, entries=entries), Statements(requirements=plan.requirements))


def _with_metadata(plan: Plan, statements: Statements) -> Plan:
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
