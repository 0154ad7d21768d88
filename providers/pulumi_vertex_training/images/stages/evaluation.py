"""Run the instructions of a stage, one after the other."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pulumi_vertex_training.images.dockerfile.expansion import Lookup, UnsetError, expand
from pulumi_vertex_training.images.dockerfile.lines import Instruction
from pulumi_vertex_training.images.dockerfile.parser import FLAGS, Dockerfile, Stage
from pulumi_vertex_training.images.dockerfile.rules import (
    COPY_DESTINATION,
    COPY_SOURCE,
    DOCKERFILE_STAGE,
    DOCKERFILE_VALUE,
    NOT_BUILT_HERE,
)
from pulumi_vertex_training.images.files.archives import ArchiveError, LayersError
from pulumi_vertex_training.images.files.tree import Node
from pulumi_vertex_training.images.image import BaseImage
from pulumi_vertex_training.images.stages.copiers import Copier
from pulumi_vertex_training.images.stages.copy_instructions import (
    NotBuiltHereError,
    PlacementError,
    SelectionError,
    copy_request,
    folder_nodes,
)
from pulumi_vertex_training.images.stages.origins import StageError, origin_of
from pulumi_vertex_training.images.stages.settings_instructions import EFFECTS, declare_arguments
from pulumi_vertex_training.images.stages.stage_state import DEFAULT_PATH, StageState, presumed_folders
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule

_SETTINGS: Final = frozenset(
    {
        "Cmd",
        "Entrypoint",
        "ExposedPorts",
        "Healthcheck",
        "Labels",
        "Shell",
        "StopSignal",
        "User",
        "Volumes",
        "WorkingDir",
    }
)
"""The settings that an image passes on to the images built from it."""

_RULES: Final[tuple[tuple[type[ValueError], Rule], ...]] = (
    (NotBuiltHereError, NOT_BUILT_HERE),
    (LayersError, NOT_BUILT_HERE),
    (StageError, DOCKERFILE_STAGE),
    (SelectionError, COPY_SOURCE),
    (ArchiveError, COPY_SOURCE),
    (PlacementError, COPY_DESTINATION),
    (ValueError, DOCKERFILE_VALUE),
)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A Dockerfile with the arguments of its build; `problems` collects the findings."""

    dockerfile: Dockerfile
    build_args: Mapping[str, str]
    predefined: Mapping[str, str]
    copier: Copier
    problems: list[Problem] = field(default_factory=list)


def scratch_state() -> StageState:
    """Return the initial state of a stage FROM scratch."""
    return StageState(from_image=False, config={"WorkingDir": "/"}, env={"PATH": DEFAULT_PATH})


def image_state(base: BaseImage | None) -> StageState:
    """Return the initial state of a stage that is built from an image; None for one that is not known yet."""
    if base is None:
        return StageState(from_image=True)
    document: Mapping[str, Any] = json.loads(base.config)
    settings = document.get("config") or {}
    env = dict(variable.partition("=")[::2] for variable in settings.get("Env") or ())
    return StageState(
        from_image=True,
        base=base,
        config={key: copy.deepcopy(value) for key, value in settings.items() if key in _SETTINGS and value},
        env=env,
        author=document.get("author"),
        presumed=presumed_folders(document, document.get("history") or []),
    )


def run_stage(evaluation: Evaluation, stage: Stage, state: StageState) -> None:
    """Apply the instructions of a stage; add its problems to the evaluation."""
    for position, instruction in enumerate(stage.instructions):
        state.missed = False
        try:
            _apply(evaluation, stage, position, instruction, state)
        except PackagingError as error:
            evaluation.problems.extend(error.problems)
        except ValueError as error:
            if not (state.missed and type(error) in (ValueError, UnsetError)):
                rule = next(rule for kind, rule in _RULES if isinstance(error, kind))
                place = f"{evaluation.dockerfile.file}:{instruction.line}"
                evaluation.problems.append(rule.broken(place, str(error)))


def _apply(
    evaluation: Evaluation, stage: Stage, position: int, instruction: Instruction, state: StageState
) -> None:
    name, escape = instruction.name, evaluation.dockerfile.escape
    if name not in FLAGS or name == "RUN":
        return
    if not instruction.arguments and name not in ("CMD", "ENTRYPOINT"):
        return
    nodes: tuple[Node, ...] = ()
    if name == "ARG":
        declare_arguments(
            instruction,
            state,
            escape,
            build_args=evaluation.build_args,
            global_arguments=evaluation.dockerfile.global_arguments,
            predefined=evaluation.predefined,
        )
    elif name in ("ADD", "COPY"):
        origin = origin_of(instruction, evaluation.dockerfile, stage)
        request = copy_request(instruction, origin, state.lookup, _known(state), escape)
        nodes = evaluation.copier.copy(stage, position, instruction, request, state)
    elif name == "WORKDIR":
        nodes = change_folder(evaluation, state, expand(instruction.arguments, state.lookup, escape=escape))
    else:
        EFFECTS[name](instruction, state, escape)
    state.record(instruction.text, nodes)


def change_folder(evaluation: Evaluation, state: StageState, path: str) -> tuple[Node, ...]:
    """Set the working directory; return the nodes of folders that this creates.

    New folders belong to the current USER.
    """
    if not path:
        raise ValueError("WORKDIR is empty. Name a folder.")
    absolute = state.absolute(path)
    state.config["WorkingDir"] = "/" + absolute
    target = state.resolved(absolute)
    if state.has_folder(target):
        return ()
    user = str(state.config.get("User") or "")
    owner = evaluation.copier.owner(user, state) if user else (0, 0)
    return folder_nodes(state, target, owner)


def _known(state: StageState) -> Lookup:
    """Return a lookup for sources, which raises for variables that only the base image may set.

    The files of an image must be known before its base image is read.
    """

    def lookup(name: str) -> str | None:
        value = state.lookup(name)
        if value is None and state.missed and name not in state.arguments:
            message = f"${name} is not set here, and a source cannot use a variable of the base image."
            raise NotBuiltHereError(f"{message} Declare it before this line, for example ARG {name}=value.")
        return value

    return lookup
