"""Resolve where stages take files from: other stages, images and named build contexts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pulumi_vertex_training.images.dockerfile.lines import Instruction
from pulumi_vertex_training.images.dockerfile.parser import Dockerfile, Stage
from pulumi_vertex_training.images.dockerfile.rules import BUILD_CONTEXT, DOCKERFILE_STAGE
from pulumi_vertex_training.images.files.context import Context, ignore_rules, read_context
from pulumi_vertex_training.images.image import ImageSource, canonical_name
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import did_you_mean

_RESERVED: Final = ("context", "scratch")
"""Names that BuildKit never replaces."""


_FOLDER_NAME = re.compile(r"[a-z0-9._-]+")


@dataclass(frozen=True, kw_only=True)
class NamedContext:
    """A named build context that a COPY takes files from; `name` is its key in `build_contexts`."""

    name: str


def context_path(name: str) -> str:
    """Return the path of a named context in findings."""
    return f"build_contexts[{name!r}]"


def named_context(names: Iterable[str], word: str) -> NamedContext | None:
    """Return the context that a name refers to, or None.

    Names are compared as image names: `lib` equals `lib:latest` and `docker.io/library/lib`.
    """
    key = _key(word)
    if key is None:
        return None
    return next((NamedContext(name=name) for name in names if _key(name) == key), None)


def _key(name: str) -> str | None:
    canonical = None if name.lower() in _RESERVED else canonical_name(name)
    return canonical and canonical.removesuffix(":latest")


def stage_context(dockerfile: Dockerfile, stage: Stage) -> NamedContext | None:
    """Return the context that replaces a stage, or None. A replaced stage is not built."""
    return named_context(dockerfile.contexts, stage.name) if stage.name else None


def base_context(dockerfile: Dockerfile, stage: Stage) -> NamedContext | None:
    """Return the context that a stage is built from, or None.

    A FROM refers to a stage first, then to a context, then to an image.
    """
    if isinstance(stage.base, int):
        return stage_context(dockerfile, dockerfile.stages[stage.base])
    return named_context(dockerfile.contexts, stage.base) if stage.base else None


def build_context_problems(source: ImageSource) -> Iterator[Problem]:
    """Report invalid names of contexts, and paths that are not folders."""
    seen: dict[str, str] = {}
    for name, folder in sorted(source.build_contexts.items()):
        place = context_path(name)
        key = _key(name)
        if name.lower() in _RESERVED:
            message = "is a reserved name in Dockerfiles, so a folder cannot have it. Choose another name."
            yield BUILD_CONTEXT.broken(place, message)
        elif key is None:
            message = (
                "is not a valid name, as images have: letters in lower case, digits, and '.', '_', '-' or '/'"
            )
            yield BUILD_CONTEXT.broken(place, f"{message} between them. Rename it.")
        elif key in seen:
            message = f"means the same as {seen[key]!r}. Remove one of the two."
            yield BUILD_CONTEXT.broken(place, message)
        else:
            seen[key] = name
            if source.dockerfile is None:
                yield from _as_folder(source, name, key)
        if not folder.is_dir():
            what = "is a file, not a folder" if folder.exists() else "does not exist"
            yield BUILD_CONTEXT.broken(place, f"{folder} {what}. Set it to the folder with the files.")


def _as_folder(source: ImageSource, name: str, key: str) -> Iterator[Problem]:
    """Check a name that becomes a folder of the image, because there is no Dockerfile."""
    if not _FOLDER_NAME.fullmatch(name):
        message = (
            "becomes a folder of the image, as there is no Dockerfile, so '/', ':' and '@' are not allowed."
        )
        yield BUILD_CONTEXT.broken(context_path(name), f"{message} Rename it.")
    elif source.base_image is not None and _key(source.base_image) == key:
        message = "is also the name of the base image. Rename it."
        yield BUILD_CONTEXT.broken(context_path(name), message)


def context_name_conflicts(source: ImageSource, context: Context) -> Iterator[Problem]:
    """Report contexts whose folder the source already has, for a source without a Dockerfile."""
    for name in sorted(source.build_contexts) if source.dockerfile is None else ():
        if context.tree.nodes.get(name):
            message = f"would overwrite {name!r} of the source. Rename one of the two."
            yield BUILD_CONTEXT.broken(context_path(name), message)


def unused_contexts(source: ImageSource, used: Iterable[str]) -> Iterator[Problem]:
    """Warn about contexts that no stage takes files from."""
    for name in sorted(set(source.build_contexts) - set(used)):
        message = f"no stage of {source.dockerfile} that is built takes files from it. Name it in a COPY"
        yield BUILD_CONTEXT.broken(
            context_path(name), f"{message} --from={name}, or remove it.", level="warning"
        )


def read_named_context(name: str, folder: Path, *, defaults: Iterable[str] = ()) -> Context:
    """Return the files of a named context, without those that `defaults` or its own .dockerignore exclude.

    As in BuildKit, neither the Dockerfile's ignore file nor the source's applies.
    """
    place = context_path(name)
    ignore, problems = ignore_rules(folder, None, (), defaults=defaults, place=f"{place}/")
    context = read_context(folder, ignore, place=place)
    inside = [
        each if each.path == place else replace(each, path=f"{place}/{each.path}")
        for each in context.problems
    ]
    return replace(context, problems=(*problems, *inside))


class StageError(ValueError):
    """A stage that does not exist, or comes later."""


def origin_of(
    instruction: Instruction, dockerfile: Dockerfile, stage: Stage
) -> int | str | NamedContext | None:
    """Return what --from refers to: the index of an earlier stage, a named context, or an image name.

    None without the flag. As in BuildKit, a context replaces a stage of the same name, and comes before an
    image. Raises StageError.
    """
    name = instruction.flag("from")
    if name is None:
        return None
    if "$" in name:
        message = f"--from={name} has a variable, which --from does not expand."
        raise StageError(f"{message} Name the image in a FROM with AS, which expands it.")
    named = dockerfile.stage(name)
    context = None if name.isdecimal() else named_context(dockerfile.contexts, name)
    if context is None and named is not None and named.index < stage.index:
        context = stage_context(dockerfile, named)
    if context is not None:
        return context
    if named is not None:
        if named.index >= stage.index:
            order = "is this stage" if named.index == stage.index else "comes later"
            raise StageError(f"--from={name} {order}. Copy from a stage before this one.")
        return named.index
    image = None if name.isdecimal() or name == "scratch" else canonical_name(name)
    if image is None:
        raise StageError(f"--from={name} is neither a stage nor the name of an image. Correct it.")
    return image


def target_stage(dockerfile: Dockerfile, target: str | None) -> tuple[Stage | None, list[Problem]]:
    """Return the stage that becomes the image, by default the last, and the problems."""
    if target is None or not dockerfile.stages:
        return (dockerfile.stages[-1] if dockerfile.stages else None), []
    stage = dockerfile.stage(target)
    if stage:
        return stage, []
    names = [stage.name for stage in dockerfile.stages if stage.name]
    stages = f" Its stages: {', '.join(names) or 'none has a name'}."
    hint = did_you_mean(target.lower(), names) or stages
    message = f"{target!r} is not a stage of {dockerfile.file}.{hint}"
    return None, [DOCKERFILE_STAGE.broken("target", message)]


def needed_stages(dockerfile: Dockerfile, target: Stage) -> tuple[Stage, ...]:
    """Return the target and all stages that it needs, in the order of the file."""
    needed: set[int] = set()
    todo = [target.index]
    while todo:
        index = todo.pop()
        if index not in needed:
            needed.add(index)
            todo += [each for each in origins(dockerfile, dockerfile.stages[index]) if isinstance(each, int)]
    return tuple(dockerfile.stages[index] for index in sorted(needed))


def origins(dockerfile: Dockerfile, stage: Stage) -> Iterator[int | str | NamedContext]:
    """Yield the stages (by index), images (by name) and contexts that a stage uses, its base first."""
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
    """Return the sorted names of the contexts that the stages use, also in `RUN --mount`."""
    names = {
        each.name
        for stage in stages
        for each in (*origins(dockerfile, stage), *_mounted(dockerfile, stage))
        if isinstance(each, NamedContext)
    }
    return sorted(names)


def _mounted(dockerfile: Dockerfile, stage: Stage) -> Iterator[NamedContext | None]:
    for instruction in stage.instructions:
        for flag, value in instruction.flags if instruction.name == "RUN" else ():
            for option in value.split(",") if flag == "mount" else ():
                key, _, name = option.strip('"').partition("=")
                if key == "from":
                    yield named_context(dockerfile.contexts, name)
