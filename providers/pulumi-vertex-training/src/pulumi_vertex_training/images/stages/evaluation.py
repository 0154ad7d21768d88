"""Run the instructions of a stage, one after the other; those that change settings create no files."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pulumi_vertex_training.images.dockerfile.expansion import (
    Lookup,
    UnsetError,
    expand,
    json_array,
    names_and_values,
    split_words,
)
from pulumi_vertex_training.images.dockerfile.lines import Instruction
from pulumi_vertex_training.images.dockerfile.parser import FLAGS, Dockerfile, Stage, argument_pairs
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
from pulumi_vertex_training.images.stages.stage_state import DEFAULT_PATH, StageState, presumed_folders
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule

_PORT = re.compile(r"(\d+)(?:-(\d+))?(?:/(tcp|udp|sctp))?", re.IGNORECASE)
_SIGNAL = re.compile(r"(?:SIG)?(?:[A-Z]+[A-Z0-9]*(?:[+-]\d+)?)|[1-9]|[1-5][0-9]|6[0-4]", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}

Effect = Callable[[Instruction, StageState, str], None]


def _words(instruction: Instruction, state: StageState, escape: str) -> list[str]:
    words = [expand(word, state.lookup, escape=escape) for word in split_words(instruction.arguments)]
    return [word for word in words if word]


def _pairs(instruction: Instruction, state: StageState, escape: str) -> list[tuple[str, str]]:
    """Return names and values, expanded with the variables as they were before the instruction."""
    pairs = names_and_values(instruction.arguments, escape, what=instruction.name)
    return [
        (expand(name, state.lookup, escape=escape), expand(value, state.lookup, escape=escape))
        for name, value in pairs
    ]


def _env(instruction: Instruction, state: StageState, escape: str) -> None:
    for name, value in _pairs(instruction, state, escape):
        if not name:
            raise ValueError(f"ENV {instruction.arguments} has an empty name. Give the variable a name.")
        state.env[name] = value


def _label(instruction: Instruction, state: StageState, escape: str) -> None:
    labels = state.config.setdefault("Labels", {})
    for name, value in _pairs(instruction, state, escape):
        if not name:
            raise ValueError(f"LABEL {instruction.arguments} has an empty name. Give the label a name.")
        labels[name] = value


def _user(instruction: Instruction, state: StageState, escape: str) -> None:
    user = expand(instruction.arguments, state.lookup, escape=escape)
    if not user:
        raise ValueError(f"USER {instruction.arguments} is empty. Name a user or a number.")
    state.config["User"] = user


def _expose(instruction: Instruction, state: StageState, escape: str) -> None:
    ports = state.config.setdefault("ExposedPorts", {})
    for word in _words(instruction, state, escape):
        match = _PORT.fullmatch(word)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not match or not 1 <= first <= last <= 65_535:
            raise ValueError(
                f"{word!r} is not a port. Write a number from 1 to 65535, such as 8080 or 8080/udp."
            )
        protocol = (match[3] or "tcp").lower()
        ports.update({f"{port}/{protocol}": {} for port in range(first, last + 1)})


def _volume(instruction: Instruction, state: StageState, escape: str) -> None:
    words = _words(instruction, state, escape)
    if not words:
        raise ValueError(f"VOLUME {instruction.arguments} names no folder. Name one.")
    state.config.setdefault("Volumes", {}).update({word: {} for word in words})


def _stop_signal(instruction: Instruction, state: StageState, escape: str) -> None:
    signal = expand(instruction.arguments, state.lookup, escape=escape)
    if not _SIGNAL.fullmatch(signal):
        raise ValueError(f"{signal!r} is not a signal. Write SIGTERM, or a number from 1 to 64.")
    state.config["StopSignal"] = signal


def _shell(instruction: Instruction, state: StageState, _escape: str) -> None:
    listed = json_array(instruction.arguments)
    if not listed:
        raise ValueError('SHELL takes a JSON array of strings. Write it like SHELL ["/bin/bash", "-c"].')
    state.config["Shell"] = list(listed)


def _run_by_shell(instruction: Instruction, state: StageState) -> list[str]:
    """Return the words of CMD or ENTRYPOINT: the JSON array, or the shell followed by the text."""
    listed = json_array(instruction.arguments)
    if listed is not None:
        return list(listed)
    if not instruction.arguments:
        return []
    return [*state.config.get("Shell", ("/bin/sh", "-c")), instruction.arguments]


def _command(instruction: Instruction, state: StageState, _escape: str) -> None:
    state.config["Cmd"] = _run_by_shell(instruction, state)
    state.command_is_own = True


def _entrypoint(instruction: Instruction, state: StageState, _escape: str) -> None:
    set_entrypoint(state, _run_by_shell(instruction, state))


def set_entrypoint(state: StageState, words: list[str]) -> None:
    """Set the entrypoint, and drop the CMD of the base image, which was meant for its own entrypoint."""
    state.config["Entrypoint"] = words
    if not state.command_is_own:
        state.config.pop("Cmd", None)


def declare_arguments(
    instruction: Instruction,
    state: StageState,
    escape: str,
    *,
    build_args: Mapping[str, str],
    global_arguments: Mapping[str, str | None],
    predefined: Mapping[str, str],
) -> None:
    """Declare the arguments of an ARG.

    The value is the build argument, else the default, else the value from before the first FROM, else the
    predefined one. As with ENV, defaults are expanded with the variables as they were before the instruction.
    """
    declared: dict[str, str | None] = {}
    for name, default in argument_pairs(instruction, escape):
        value = build_args.get(name)
        if value is None and default is not None:
            value = expand(default, state.lookup, escape=escape)
        if value is None:
            value = global_arguments.get(name)
        if value is None:
            value = predefined.get(name)
        if value is not None or name not in state.arguments:
            declared[name] = value
    state.arguments.update(declared)


def _maintainer(instruction: Instruction, state: StageState, _escape: str) -> None:
    state.author = instruction.arguments


def _on_build(instruction: Instruction, state: StageState, _escape: str) -> None:
    state.config.setdefault("OnBuild", []).append(instruction.arguments)


def _health_check(instruction: Instruction, state: StageState, escape: str) -> None:
    kind, _, rest = instruction.arguments.partition(" ")
    if kind.upper() == "NONE" and not rest:
        state.config["Healthcheck"] = {"Test": ["NONE"]}
        return
    if kind.upper() != "CMD" or not rest.strip():
        raise ValueError(f"HEALTHCHECK {kind} is neither CMD with a command nor NONE. Correct it.")
    listed = json_array(rest.strip())
    check: dict[str, Any] = {"Test": ["CMD-SHELL", rest.strip()] if listed is None else ["CMD", *listed]}
    for flag, key in (
        ("interval", "Interval"),
        ("timeout", "Timeout"),
        ("start-period", "StartPeriod"),
        ("start-interval", "StartInterval"),
    ):
        value = instruction.flag(flag)
        if value is not None:
            check[key] = _nanoseconds(flag, expand(value, state.lookup, escape=escape))
    retries = instruction.flag("retries")
    if retries is not None:
        if not retries.isdecimal():
            raise ValueError(f"--retries={retries} is not a number. Write a number, such as 3.")
        check["Retries"] = int(retries)
    state.config["Healthcheck"] = check


def _nanoseconds(flag: str, text: str) -> int:
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"--{flag}={text} is not a duration. Write it like 30s or 1m30s.")
    return sum(int(float(number) * _NANOSECONDS[unit]) for number, unit in parts)


EFFECTS: Final[Mapping[str, Effect]] = {
    "CMD": _command,
    "ENTRYPOINT": _entrypoint,
    "ENV": _env,
    "EXPOSE": _expose,
    "HEALTHCHECK": _health_check,
    "LABEL": _label,
    "MAINTAINER": _maintainer,
    "ONBUILD": _on_build,
    "SHELL": _shell,
    "STOPSIGNAL": _stop_signal,
    "USER": _user,
    "VOLUME": _volume,
}
"""The effect of each instruction. They raise ValueError with the problem and the remedy."""


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
