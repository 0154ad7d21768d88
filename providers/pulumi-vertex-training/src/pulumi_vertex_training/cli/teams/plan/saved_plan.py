"""A saved plan: the engine's own plan, with what is needed to see later whether it still applies.

The file is the one that `pulumi preview --save-plan` writes, with one more key, `vertexTraining`. All of it
is compared with a new preview before a deployment: no words and no date, which nothing could check. It has
the inputs of all resources: secrets in it are encrypted as in the state, everything else is plain text.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.cli.teams.plan.plan import STRONGEST_FIRST, Effect, Plan, effect_of, is_hidden
from pulumi_vertex_training.cli.teams.plan.preview import Preview
from pulumi_vertex_training.cli.teams.plan.view import words_of
from vertex_training.command_line.errors import CommandError, InputError

_KEY = "vertexTraining"
_VERSION = 2
_LARGEST = 256 * 1024 * 1024
_NOT_PROGRAM = ("site-packages", "node_modules", "__pycache__")
_SOURCES = (".py", ".ts", ".js", ".mjs", ".go", ".cs", ".java", "Main.yaml")
"""Ends of the files of programs, in any language."""


@dataclass(frozen=True, kw_only=True)
class PlannedChange:
    """The effect on one resource, with the words of the plan about it."""

    effect: Effect
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.effect == "none":
            return "no change"
        return f"{self.effect} ({'; '.join(self.words)})" if self.words else self.effect


@dataclass(frozen=True, kw_only=True)
class SavedPlan:
    """A plan as a file has it.

    `changes` are by URN; only a new preview's have words. `recorded` has a hash of each resource in
    the state, by URN, `program` one of each file of the program, by its path. `resources` and `configuration`
    are the engine's: the goal and the steps of each resource, and the stack's configuration, in which secrets
    are encrypted.
    """

    project: str
    stack: str
    refresh: bool = False
    changes: Mapping[str, PlannedChange] = field(default_factory=dict)
    recorded: Mapping[str, str] = field(default_factory=dict)
    program: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict, repr=False)
    configuration: Mapping[str, Any] = field(default_factory=dict, repr=False)


def of_preview(previewed: Preview, folder: Path, *, refresh: bool) -> SavedPlan:
    """Return the plan of a preview in the folder of its program."""
    return SavedPlan(
        project=previewed.plan.project,
        stack=previewed.plan.stack,
        refresh=refresh,
        changes=_changes(previewed.plan),
        recorded=dict(_recorded(previewed.steps)),
        program=dict(_program(folder)),
        resources=previewed.engine_plan.get("resourcePlans") or {},
        configuration=previewed.engine_plan.get("config") or {},
    )


def discard(file: Path) -> None:
    """Delete a saved plan, if there is one. Raises CommandError, also if its folder does not exist."""
    if not file.absolute().parent.is_dir():
        raise InputError(f"{file.parent} is not a folder.", path="--save-plan")
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise CommandError(f"Could not replace {file}: {error.strerror}.", path="--save-plan") from error


def save(previewed: Preview, file: Path, folder: Path, *, refresh: bool) -> None:
    """Write the plan of a preview into a file that only its owner may read. Raises CommandError."""
    plan = of_preview(previewed, folder, refresh=refresh)
    own = {
        "version": _VERSION,
        "project": plan.project,
        "stack": plan.stack,
        "refresh": plan.refresh,
        "recorded": plan.recorded,
        "program": plan.program,
    }
    text = json.dumps({_KEY: own, **previewed.engine_plan}, indent=1, ensure_ascii=False)
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        partial.touch(mode=0o600, exist_ok=False)
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise CommandError(f"Could not write {file}: {error.strerror}.", path="--save-plan") from error


def load(file: Path) -> SavedPlan:
    """Read a saved plan. Raises InputError if the file is not one."""
    try:
        if file.stat().st_size > _LARGEST:
            raise InputError(f"{file} is too large for a plan.", path="--plan")
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"Could not read {file}: {error.strerror}. To write a plan, run "
            "`vertex-training plan --save-plan FILE`.",
            path="--plan",
        ) from error
    except (ValueError, RecursionError):
        document = None
    own = document.get(_KEY) if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or not isinstance(own, Mapping):
        raise InputError(
            f"{file} is not a plan that `vertex-training plan --save-plan FILE` wrote.",
            path="--plan",
        )
    if own.get("version") != _VERSION:
        raise InputError(
            f"{file} was written by another version of vertex-training. Save the plan again.", path="--plan"
        )
    try:
        return SavedPlan(
            project=str(own["project"]),
            stack=str(own["stack"]),
            refresh=bool(own["refresh"]),
            changes={
                str(urn): PlannedChange(effect=_effect(one)) for urn, one in document["resourcePlans"].items()
            },
            recorded={str(urn): str(one) for urn, one in own["recorded"].items()},
            program={str(path): str(one) for path, one in own["program"].items()},
            resources=dict(document["resourcePlans"]),
            configuration=dict(document.get("config") or {}),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file} is damaged. Save the plan again.", path="--plan") from error


def _changes(plan: Plan) -> dict[str, PlannedChange]:
    return {
        change.urn: PlannedChange(effect=change.effect, words=tuple(words_of(change)))
        for change in plan.changes
    }


def _effect(resource_plan: Mapping[str, Any]) -> Effect:
    """Return the effect of the engine's steps on one resource."""
    effects = [effect_of({"op": step}) for step in resource_plan["steps"]]
    return min(effects, key=STRONGEST_FIRST.index) if effects else "none"


def _recorded(steps: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the URN of each recorded resource, and a hash of its id and its inputs, without secrets."""
    for step in steps:
        state = step.get("oldState")
        if not state or is_hidden(step):
            continue
        inputs = {name: value for name, value in (state.get("inputs") or {}).items() if name != "__provider"}
        text = json.dumps([state.get("id"), inputs], sort_keys=True)
        yield str(step["urn"]), hashlib.sha256(text.encode()).hexdigest()[:32]


def _program(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the path of each source file of the program, below the folder of Pulumi.yaml, and its hash."""
    project = pulumi_command.project_file(folder)
    if project is None:
        return
    text = project.read_text(encoding="utf-8", errors="replace")
    named = re.search(r"^main:\s*['\"]?([^'\"#\n]+)", text, re.MULTILINE)
    main = project.parent / named[1].strip() if named else project.parent
    start = main if main.is_dir() else main.parent
    for file in (project, *sorted(_sources(start))):
        content = file.read_bytes()
        yield os.path.relpath(file, project.parent), hashlib.sha256(content).hexdigest()[:32]


def _sources(start: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(start):
        here = Path(folder)
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".")
            and name not in _NOT_PROGRAM
            and not (here / name / "pyvenv.cfg").exists()
        ]
        yield from (here / name for name in files if name.endswith(_SOURCES))
