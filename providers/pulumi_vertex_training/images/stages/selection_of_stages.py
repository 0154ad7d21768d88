"""Which stages of a Dockerfile are built for a target, and which images they need."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from pulumi_vertex_training.images.dockerfile.parser import Dockerfile, Stage
from pulumi_vertex_training.images.dockerfile.rules import DOCKERFILE_STAGE
from pulumi_vertex_training.images.stages.build_contexts import NamedContext, base_context, named_context
from pulumi_vertex_training.images.stages.copy_requests import StageError, origin_of
from vertex_training.findings.problems import Problem


def target_stage(dockerfile: Dockerfile, target: str | None) -> tuple[Stage | None, list[Problem]]:
    """The stage that becomes the image: the named one, or the last."""
    if target is None or not dockerfile.stages:
        return (dockerfile.stages[-1] if dockerfile.stages else None), []
    stage = dockerfile.stage(target)
    if stage:
        return stage, []
    names = [stage.name for stage in dockerfile.stages if stage.name]
    near = difflib.get_close_matches(target.lower(), names, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(names) or 'none with a name'}."
    message = f"{target!r} is no stage of {dockerfile.file}. {hint}"
    return None, [DOCKERFILE_STAGE.broken("target", message)]


def needed_stages(dockerfile: Dockerfile, target: Stage) -> tuple[Stage, ...]:
    """The target and what it is built from or copies from, in the order of the file."""
    found: set[int] = set()
    todo = [target.index]
    while todo:
        index = todo.pop()
        if index not in found:
            found.add(index)
            todo += [each for each in origins(dockerfile, dockerfile.stages[index]) if isinstance(each, int)]
    return tuple(dockerfile.stages[index] for index in sorted(found))


def origins(dockerfile: Dockerfile, stage: Stage) -> Iterator[int | str | NamedContext]:
    """The stages, by index, images, by name, and contexts that a stage takes files from, its base first."""
    base = base_context(dockerfile, stage) or stage.base
    if base is not None:
        yield base
    for instruction in stage.instructions:
        if instruction.name == "COPY":
            try:
                origin = origin_of(instruction, dockerfile, stage)
            except StageError:
                continue
            if origin is not None:
                yield origin


def used_contexts(dockerfile: Dockerfile, stages: tuple[Stage, ...]) -> list[str]:
    """The names of the contexts that the stages take files from, those of `RUN --mount` included, sorted."""
    found = {
        each.name
        for stage in stages
        for each in (*origins(dockerfile, stage), *_mounted(dockerfile, stage))
        if isinstance(each, NamedContext)
    }
    return sorted(found)


def _mounted(dockerfile: Dockerfile, stage: Stage) -> Iterator[NamedContext | None]:
    for instruction in stage.instructions:
        for flag, value in instruction.flags if instruction.name == "RUN" else ():
            for option in value.split(",") if flag == "mount" else ():
                key, _, name = option.strip('"').partition("=")
                if key == "from":
                    yield named_context(dockerfile.contexts, name)
