"""The plan of a Dockerfile: the stages that are built for a target, and what they take from the context."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pulumi_vertex_training.images.dockerfile.lines import Instruction
from pulumi_vertex_training.images.dockerfile.parser import Dockerfile, Stage
from pulumi_vertex_training.images.dockerfile.rules import COPY_SOURCE, DOCKERFILE_STAGE
from pulumi_vertex_training.images.files.context import Context, hashed
from pulumi_vertex_training.images.files.tree import Node
from pulumi_vertex_training.images.stages.build_contexts import (
    NamedContext,
    base_context,
    named_context,
    place_of,
    read_named_context,
)
from pulumi_vertex_training.images.stages.copy_requests import CopyRequest, StageError, origin_of
from pulumi_vertex_training.images.stages.placement import Owner
from pulumi_vertex_training.images.stages.selection import Picked, is_pattern, pick
from pulumi_vertex_training.images.stages.stage_state import StageState
from pulumi_vertex_training.packaging import rules
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


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What a COPY or ADD takes from the context: its sources as they were expanded, and what they name."""

    sources: tuple[str, ...]
    picked: tuple[Picked, ...]


Selections = Mapping[tuple[int, int], Selection]
"""By the index of the stage and the position of the instruction in it."""


@dataclass(kw_only=True)
class Look:
    """The makers of a plan: files are found and hashed, each once.

    `folders` are those of the named contexts, of which only those are read that are used; `before` are
    patterns of what is left out of them.
    """

    context: Context
    folders: Mapping[str, Path] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    contexts: dict[str, Context] = field(default_factory=dict)
    selections: dict[tuple[int, int], Selection] = field(default_factory=dict)
    known: dict[tuple[str | None, str], Node] = field(default_factory=dict)
    needs_layers: bool = False
    warnings: list[Problem] = field(default_factory=list)

    def copied(
        self, stage: Stage, position: int, instruction: Instruction, request: CopyRequest, state: StageState
    ) -> tuple[Node, ...]:
        """Selects the files; where they go depends on the base, so no node is made yet."""
        if request.chown and any(not part.isdecimal() for part in request.chown.split(":")):
            self.needs_layers = self.needs_layers or state.from_image
        name = request.origin.name if isinstance(request.origin, NamedContext) else None
        if request.origin is not None and name is None:
            self.needs_layers = True
            return ()
        context = self.context if name is None else self.named(name)
        picked: list[Picked] = []
        for source in request.sources:
            found = pick(
                context.tree,
                source,
                where="the build context" if name is None else f"the build context {name!r}",
                left_out=context.left_out,
                finish=partial(self._hashed, name),
            )
            if not found and is_pattern(source):
                message = f"{instruction.name} {source} fits no file. Correct the pattern, or remove it."
                self.warnings.append(COPY_SOURCE.broken(f"line {instruction.line}", message, level="warning"))
            picked += found
        self.selections[stage.index, position] = Selection(sources=request.sources, picked=tuple(picked))
        return ()

    def owner(self, text: str, state: StageState) -> Owner:
        """Not known before the base is there; that its layers are needed is."""
        if any(not part.isdecimal() for part in text.split(":")):
            self.needs_layers = self.needs_layers or state.from_image
        return 0, 0

    def named(self, name: str) -> Context:
        """The files of a named context."""
        if name not in self.contexts:
            self.contexts[name] = read_named_context(name, self.folders[name], before=self.before)
        return self.contexts[name]

    def whole(self, name: str | None) -> list[Node]:
        """All files of a context, None for the unnamed one, with their hashes, by path."""
        context = self.context if name is None else self.named(name)
        return [self._hashed(name, node) for _, node in sorted(context.tree.nodes.items())]

    def nodes(self) -> Iterator[Node]:
        """All that is selected, of each source."""
        for selection in self.selections.values():
            for picked in selection.picked:
                yield from picked.nodes

    def top_names(self) -> set[str]:
        """The names right below the folders that are copied, and of single files."""
        return {
            node.path.split("/")[0] or picked.name
            for selection in self.selections.values()
            for picked in selection.picked
            for node in picked.nodes
        }

    def collisions(self) -> Iterator[Problem]:
        """Names that one machine holds apart and another does not."""
        for selection in self.selections.values():
            for picked in selection.picked:
                yield from rules.collisions(node.path for node in picked.nodes if node.path)

    def _hashed(self, name: str | None, node: Node) -> Node:
        key = name, node.path
        if key not in self.known:
            self.known[key] = hashed(node, place="" if name is None else f"{place_of(name)}/")
        return self.known[key]
