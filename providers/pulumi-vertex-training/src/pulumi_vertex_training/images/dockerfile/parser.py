"""Parse a Dockerfile into stages and report what is malformed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pulumi_vertex_training.images.dockerfile.expansion import (
    ExpansionError,
    WordsError,
    expand,
    quoted_words,
)
from pulumi_vertex_training.images.dockerfile.lines import Instruction, read_lines
from pulumi_vertex_training.images.dockerfile.rules import (
    DOCKERFILE_STAGE,
    DOCKERFILE_SYNTAX,
    DOCKERFILE_VALUE,
    NOT_BUILT_HERE,
)
from pulumi_vertex_training.images.image import canonical_name
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import did_you_mean

FLAGS: Final[Mapping[str, frozenset[str]]] = {
    "ADD": frozenset({"chown", "chmod", "link", "checksum", "keep-git-dir", "unpack", "exclude"}),
    "COPY": frozenset({"from", "chown", "chmod", "link", "parents", "exclude"}),
    "FROM": frozenset({"platform"}),
    "HEALTHCHECK": frozenset({"interval", "timeout", "start-period", "start-interval", "retries"}),
    "RUN": frozenset({"mount", "network", "security", "device"}),
    **dict.fromkeys(("ARG", "CMD", "ENTRYPOINT", "ENV", "EXPOSE", "LABEL", "MAINTAINER"), frozenset()),
    **dict.fromkeys(("ONBUILD", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"), frozenset()),
}
"""The known instructions, each with its flags."""

PROXIES: Final = tuple(
    spelling
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY")
    for spelling in (name, name.lower())
)
"""Build arguments that need no ARG. They apply only to RUN and never become part of an image."""

_STAGE_NAME = re.compile(r"[a-z][a-z0-9-_.]*")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One FROM and the instructions after it.

    `base` is the canonical name of an image, the index of a stage, or None for `scratch`.
    """

    index: int
    line: int
    name: str | None
    base: str | int | None
    text: str
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, kw_only=True)
class Dockerfile:
    """A parsed Dockerfile; `global_arguments` are those before the first FROM, with their values.

    `contexts` are the names of the build contexts that are passed along with it.
    """

    file: str
    escape: str
    global_arguments: Mapping[str, str | None]
    stages: tuple[Stage, ...]
    contexts: tuple[str, ...] = ()

    def stage(self, name: str) -> Stage | None:
        """Return the stage of this name or number, or None."""
        lowered = name.lower()
        named = next((stage for stage in self.stages if stage.name == lowered), None)
        if named is None and lowered.isdecimal() and int(lowered) < len(self.stages):
            return self.stages[int(lowered)]
        return named


@dataclass(kw_only=True)
class _Reading:
    file: str
    escape: str
    build_args: Mapping[str, str]
    platform_args: Mapping[str, str]
    platform: str
    arguments: dict[str, str | None] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def at(self, line: int) -> str:
        return f"{self.file}:{line}"

    def lookup(self, name: str) -> str | None:
        value = self.arguments.get(name)
        return self.platform_args.get(name) if value is None else value


def platform_arguments(platform: str, target: str | None) -> dict[str, str]:
    """Return the arguments that BuildKit predefines.

    The build platform is set to the target platform, so that the building machine leaves no trace.
    """
    system, _, architecture = platform.partition("/")
    values: dict[str, str] = {}
    for prefix in ("TARGET", "BUILD"):
        values |= {
            f"{prefix}PLATFORM": platform,
            f"{prefix}OS": system,
            f"{prefix}ARCH": architecture,
            f"{prefix}VARIANT": "",
        }
    return values | {"TARGETSTAGE": target or "default"}


def read_dockerfile(
    text: str, file: str, *, build_args: Mapping[str, str], platform: str, target: str | None
) -> tuple[Dockerfile, list[Problem]]:
    """Return the stages of a Dockerfile and its problems; `file` is its name in messages."""
    lines = read_lines(text, file)
    reading = _Reading(
        file=file,
        escape=lines.escape,
        build_args=build_args,
        platform_args=platform_arguments(platform, target),
        platform=platform,
        problems=list(lines.problems),
    )
    head, groups = _grouped(lines.instructions)
    for instruction in lines.instructions:
        reading.problems += _form_problems(reading, instruction)
    for instruction in head:
        _read_global(reading, instruction)
    if not groups:
        message = "has no FROM. Begin with FROM and the name of a base image, or FROM scratch."
        reading.problems.append(DOCKERFILE_SYNTAX.broken(file, message))
    for group in groups:
        _read_stage(reading, group)
    dockerfile = Dockerfile(
        file=file, escape=lines.escape, global_arguments=reading.arguments, stages=tuple(reading.stages)
    )
    return dockerfile, reading.problems


def _grouped(instructions: tuple[Instruction, ...]) -> tuple[list[Instruction], list[list[Instruction]]]:
    """Return the instructions before the first FROM, and one group for each FROM."""
    head: list[Instruction] = []
    groups: list[list[Instruction]] = []
    for instruction in instructions:
        if instruction.name == "FROM":
            groups.append([instruction])
        elif groups:
            groups[-1].append(instruction)
        else:
            head.append(instruction)
    return head, groups


def _form_problems(reading: _Reading, instruction: Instruction) -> Iterator[Problem]:
    """Report unknown instructions and flags, and instructions without arguments."""
    place, name = reading.at(instruction.line), instruction.name
    if name not in FLAGS:
        hint = did_you_mean(name, FLAGS) or " If a line continues on the next one, end it with a backslash."
        yield DOCKERFILE_SYNTAX.broken(place, f"{name!r} is not an instruction.{hint}")
        return
    for flag, _ in instruction.flags:
        if flag not in FLAGS[name]:
            hint = did_you_mean(f"--{flag}", [f"--{known}" for known in FLAGS[name]]) or " Remove it."
            yield DOCKERFILE_SYNTAX.broken(place, f"{name} has no flag --{flag}.{hint}")
    if not instruction.arguments and name not in ("CMD", "ENTRYPOINT", "RUN"):
        yield DOCKERFILE_SYNTAX.broken(place, f"{name} has no arguments. Add them, or remove it.")
    if name == "ONBUILD":
        trigger = instruction.arguments.split(maxsplit=1)[0].upper() if instruction.arguments else ""
        if trigger in ("ONBUILD", "FROM", "MAINTAINER"):
            yield DOCKERFILE_SYNTAX.broken(place, f"ONBUILD {trigger} is not allowed. Remove it.")
        elif trigger and trigger not in FLAGS:
            yield DOCKERFILE_SYNTAX.broken(place, f"{trigger!r} after ONBUILD is not an instruction.")


def _read_global(reading: _Reading, instruction: Instruction) -> None:
    if instruction.name != "ARG":
        if instruction.name in FLAGS:
            message = f"{instruction.name} is not allowed before the first FROM, only ARG is. Move it down."
            reading.problems.append(DOCKERFILE_SYNTAX.broken(reading.at(instruction.line), message))
        return
    for name, default in argument_pairs(instruction, reading.escape):
        try:
            value = None if default is None else expand(default, reading.lookup, escape=reading.escape)
        except ExpansionError as error:
            reading.problems.append(DOCKERFILE_VALUE.broken(reading.at(instruction.line), str(error)))
            value = None
        reading.arguments[name] = reading.build_args.get(name, value)


def argument_pairs(instruction: Instruction, escape: str) -> Iterator[tuple[str, str | None]]:
    """Yield the names of an ARG with their defaults, which are not expanded."""
    for word in quoted_words(instruction.arguments, escape):
        name, equals, default = word.partition("=")
        yield name, default if equals else None


def _read_stage(reading: _Reading, group: list[Instruction]) -> None:
    start = group[0]
    index, place = len(reading.stages), reading.at(start.line)
    base: str | int | None = None
    name: str | None = None
    try:
        words = quoted_words(start.arguments, reading.escape)
        if len(words) not in (1, 3) or (len(words) == 3 and words[1].lower() != "as"):
            raise WordsError(f"{start.arguments!r} is malformed. Write FROM IMAGE or FROM IMAGE AS NAME.")
        if len(words) == 3:
            name = _stage_name(reading, words[2], place)
        base = _base(reading, words[0], place)
        _check_platform(reading, start, place)
    except (WordsError, ExpansionError) as error:
        if start.arguments:
            reading.problems.append(DOCKERFILE_VALUE.broken(place, str(error)))
    reading.stages.append(
        Stage(
            index=index, line=start.line, name=name, base=base, text=start.text, instructions=tuple(group[1:])
        )
    )


def _stage_name(reading: _Reading, text: str, place: str) -> str:
    name = text.lower()
    if not _STAGE_NAME.fullmatch(name):
        message = (
            f"{text!r} is not a stage name: a letter, then letters, digits, '-', '_' and '.'. Rename it."
        )
        reading.problems.append(DOCKERFILE_STAGE.broken(place, message))
    elif any(stage.name == name for stage in reading.stages):
        message = f"an earlier stage is called {text!r}, too. Rename one of the two."
        reading.problems.append(DOCKERFILE_STAGE.broken(place, message))
    return name


def _base(reading: _Reading, word: str, place: str) -> str | int | None:
    expanded = expand(word, reading.lookup, escape=reading.escape)
    if not expanded:
        message = f"{word!r} is empty: no ARG before the first FROM sets it. Set it there."
        reading.problems.append(DOCKERFILE_VALUE.broken(place, message))
        return None
    if expanded == "scratch":
        return None
    for stage in reading.stages:
        if stage.name == expanded.lower():
            return stage.index
    name = canonical_name(expanded)
    if name is None:
        message = f"{expanded!r} is not the name of an image, HOST/PATH:TAG in lower case. Correct it."
        reading.problems.append(DOCKERFILE_VALUE.broken(place, message))
    return name


def _check_platform(reading: _Reading, start: Instruction, place: str) -> None:
    stated = start.flag("platform")
    if stated is None:
        return
    platform = expand(stated, reading.lookup, escape=reading.escape)
    if platform != reading.platform:
        message = (
            f"--platform={platform} differs from the image's platform, {reading.platform}. All stages are "
            "built for that. Remove the flag, or set the image's platform."
        )
        reading.problems.append(NOT_BUILT_HERE.broken(place, message))
