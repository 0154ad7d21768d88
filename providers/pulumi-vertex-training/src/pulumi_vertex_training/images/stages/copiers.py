"""Carry out COPY and ADD: find and hash the files for a plan, or create them for a build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from pulumi_vertex_training.images.dockerfile.lines import Instruction
from pulumi_vertex_training.images.dockerfile.parser import Stage
from pulumi_vertex_training.images.dockerfile.rules import COPY_SOURCE
from pulumi_vertex_training.images.files.archives import (
    ArchiveError,
    extract_contents,
    image_tree,
    is_archive,
    unpack_archive,
)
from pulumi_vertex_training.images.files.context import Context, hashed
from pulumi_vertex_training.images.files.tree import Node, Tree, landing_path, owner, with_parents
from pulumi_vertex_training.images.image import BaseImage
from pulumi_vertex_training.images.stages.copy_instructions import (
    CopyRequest,
    NotBuiltHereError,
    Owner,
    Picked,
    file_nodes,
    is_pattern,
    pick,
)
from pulumi_vertex_training.images.stages.origins import NamedContext, context_path, read_named_context
from pulumi_vertex_training.images.stages.stage_state import StageState
from pulumi_vertex_training.packaging.files import collisions
from vertex_training.findings.problems import Problem


class Copier(Protocol):
    """Carries out COPY and ADD, and resolves users; there is one for plans and one for builds."""

    def copy(
        self, stage: Stage, position: int, instruction: Instruction, request: CopyRequest, state: StageState
    ) -> tuple[Node, ...]:
        """Return the nodes of a COPY or ADD, at their paths in the image."""

    def owner(self, text: str, state: StageState) -> Owner:
        """Return user and group numbers of `USER[:GROUP]`."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The files of the context that a COPY or ADD takes: its expanded sources, and what they select."""

    sources: tuple[str, ...]
    picked: tuple[Picked, ...]


Selections = Mapping[tuple[int, int], Selection]
"""Selections by the index of the stage and the position of the instruction in it."""


@dataclass(kw_only=True)
class PlanCopier:
    """The copier of a plan: it finds and hashes files, each once.

    `folders` are the named contexts; only used ones are read. `defaults` are patterns of files to
    exclude from them, `excludes` those for one context, by its name.
    """

    context: Context
    folders: Mapping[str, Path] = field(default_factory=dict)
    defaults: tuple[str, ...] = ()
    excludes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    contexts: dict[str, Context] = field(default_factory=dict)
    selections: dict[tuple[int, int], Selection] = field(default_factory=dict)
    known: dict[tuple[str | None, str], Node] = field(default_factory=dict)
    needs_layers: bool = False
    warnings: list[Problem] = field(default_factory=list)

    def copy(
        self, stage: Stage, position: int, instruction: Instruction, request: CopyRequest, state: StageState
    ) -> tuple[Node, ...]:
        """Select the files. Returns no nodes: their paths depend on the base image."""
        if request.chown and any(not part.isdecimal() for part in request.chown.split(":")):
            self.needs_layers = self.needs_layers or state.from_image
        name = request.origin.name if isinstance(request.origin, NamedContext) else None
        if request.origin is not None and name is None:
            self.needs_layers = True
            return ()
        context = self.context if name is None else self.named(name)
        picked: list[Picked] = []
        for source in request.sources:
            selection = pick(
                context.tree,
                source,
                where="the build context" if name is None else f"the build context {name!r}",
                left_out=context.left_out,
                finish=partial(self._hashed, name),
            )
            if not selection and is_pattern(source):
                message = f"{instruction.name} {source} matches no file. Correct the pattern, or remove it."
                self.warnings.append(COPY_SOURCE.broken(f"line {instruction.line}", message, level="warning"))
            picked += selection
        self.selections[stage.index, position] = Selection(sources=request.sources, picked=tuple(picked))
        return ()

    def owner(self, text: str, state: StageState) -> Owner:
        """Return zeros: names are resolved by the base image. Notes that its layers are needed for that."""
        if any(not part.isdecimal() for part in text.split(":")):
            self.needs_layers = self.needs_layers or state.from_image
        return 0, 0

    def named(self, name: str) -> Context:
        """Return the files of a named context."""
        if name not in self.contexts:
            defaults = (*self.excludes.get(name, ()), *self.defaults)
            self.contexts[name] = read_named_context(name, self.folders[name], defaults=defaults)
        return self.contexts[name]

    def whole(self, name: str | None) -> list[Node]:
        """Return all files of a context with their hashes, by path; None is the unnamed context."""
        context = self.context if name is None else self.named(name)
        return [self._hashed(name, node) for _, node in sorted(context.tree.nodes.items())]

    def nodes(self) -> Iterator[Node]:
        """Yield all selected nodes."""
        for selection in self.selections.values():
            for picked in selection.picked:
                yield from picked.nodes

    def top_names(self) -> set[str]:
        """Return the names directly below the copied folders, and of single files."""
        return {
            node.path.split("/")[0] or picked.name
            for selection in self.selections.values()
            for picked in selection.picked
            for node in picked.nodes
        }

    def collisions(self) -> Iterator[Problem]:
        """Report names that are equal on some machines but not on others."""
        for selection in self.selections.values():
            for picked in selection.picked:
                yield from collisions(node.path for node in picked.nodes if node.path)

    def _hashed(self, name: str | None, node: Node) -> Node:
        key = name, node.path
        if key not in self.known:
            self.known[key] = hashed(node, place="" if name is None else f"{context_path(name)}/")
        return self.known[key]


@dataclass(kw_only=True)
class BuildCopier:
    """The copier of a build; `folder` takes the files extracted from archives and layers."""

    selections: Selections
    bases: Mapping[str, BaseImage]
    folder: Path
    states: dict[int, StageState] = field(default_factory=dict)
    trees: dict[str, Tree] = field(default_factory=dict)

    def copy(
        self, stage: Stage, position: int, instruction: Instruction, request: CopyRequest, state: StageState
    ) -> tuple[Node, ...]:
        """Return the nodes of a COPY or ADD, at their paths in the image."""
        if request.origin is None or isinstance(request.origin, NamedContext):
            picked = self._from_context(stage, position, instruction, request)
        else:
            picked = self._from_image(request, request.origin)
        for name, text in request.texts:
            content = text.encode()
            node = Node(path=name, kind="file", mode=0o644, size=len(content), content=content)
            picked.append(Picked(name=name, is_folder=False, nodes=(node,)))
        return file_nodes(
            state,
            picked,
            request.destination,
            owner=None if request.chown is None else self.owner(request.chown, state),
            mode=request.chmod,
        )

    def owner(self, text: str, state: StageState) -> Owner:
        """Return user and group numbers of `USER[:GROUP]`; names are looked up in the image's own files."""
        return owner(text, lambda path: self._text(path, state))

    def _from_context(
        self, stage: Stage, position: int, instruction: Instruction, request: CopyRequest
    ) -> list[Picked]:
        selection = self.selections[stage.index, position]
        if selection.sources != request.sources:
            message = f"the base image sets a variable in {instruction.name} {' '.join(selection.sources)}"
            raise NotBuiltHereError(f"{message}, to {' '.join(request.sources)}. Use another name for it.")
        picked = list(selection.picked)
        return [self._unpacked(each) for each in picked] if request.unpacks else picked

    def _unpacked(self, picked: Picked) -> Picked:
        """Replace a single file that is an archive by its content."""
        node = picked.nodes[0]
        if picked.is_folder or not isinstance(node.content, Path) or not is_archive(node.content):
            return picked
        if hashed(node).sha256 != node.sha256:
            raise ArchiveError(f"{picked.name} changed while the image was being built. Run again.")
        try:
            tree = unpack_archive(node.content, self.folder)
        except ArchiveError as error:
            raise ArchiveError(f"{picked.name} cannot be unpacked: {error}") from error
        return Picked(name="", is_folder=True, nodes=(Node(path="", kind="folder"), *tree.below("")))

    def _from_image(self, request: CopyRequest, origin: int | str) -> list[Picked]:
        if isinstance(origin, int):
            state = self.states[origin]
            base, tree = state.base, self._stage_tree(state)
            where = f"stage {origin}"
        else:
            base, where = self.bases[origin], origin
            tree = self._image_tree(base)
        picked: list[Picked] = []
        for source in request.sources:
            for each in pick(tree, source, where=where, left_out=(), finish=lambda node: node):
                nodes = extract_contents(base, each.nodes, self.folder) if base else each.nodes
                picked.append(replace(each, nodes=tuple(nodes)))
        return picked

    def _image_tree(self, base: BaseImage) -> Tree:
        if base.name not in self.trees:
            self.trees[base.name] = image_tree(base)
        return self.trees[base.name]

    def _stage_tree(self, state: StageState) -> Tree:
        """Return the files of a stage: its base's, overlaid with its own."""
        nodes = dict(self._image_tree(state.base).nodes) if state.base else {}
        for own_path, node in state.own.items():
            path = landing_path(nodes, own_path)
            there = nodes.get(path)
            if there and there.kind == "folder" and node.kind != "folder":
                nodes = {each: nodes[each] for each in nodes if not each.startswith(f"{path}/")}
            nodes[path] = replace(node, path=path)
        return Tree(nodes=with_parents(nodes))

    def _text(self, path: str, state: StageState) -> str | None:
        """Return the content of a text file of the stage as it is now, or None; links are followed."""
        tree = Tree(nodes=state.own)
        if path not in state.own and state.base:
            tree = self._stage_tree(state)
        node = tree.get(tree.resolve(path) or path)
        if node is None or node.kind != "file":
            return None
        if state.base:
            node = extract_contents(state.base, (node,), self.folder)[0]
        content = node.content.read_bytes() if isinstance(node.content, Path) else node.content
        return content.decode("utf-8", "replace") if isinstance(content, bytes) else None
