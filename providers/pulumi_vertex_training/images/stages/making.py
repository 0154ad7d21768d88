"""Makes what the instructions of a Dockerfile ask for: files of the context, of stages, images, archives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pulumi_vertex_training.images.dockerfile.lines import Instruction
from pulumi_vertex_training.images.dockerfile.parser import Stage
from pulumi_vertex_training.images.files.archives import ArchiveError, is_archive, unpacked
from pulumi_vertex_training.images.files.base_files import image_tree, taken_out
from pulumi_vertex_training.images.files.context import hashed
from pulumi_vertex_training.images.files.tree import Node, Tree, landing, owner, with_parents
from pulumi_vertex_training.images.parts import BaseImage
from pulumi_vertex_training.images.stages.build_contexts import NamedContext
from pulumi_vertex_training.images.stages.copy_requests import CopyRequest, NotBuiltHereError
from pulumi_vertex_training.images.stages.placement import Owner, file_nodes
from pulumi_vertex_training.images.stages.planning import Selections
from pulumi_vertex_training.images.stages.selection import Picked, pick
from pulumi_vertex_training.images.stages.stage_state import StageState


@dataclass(kw_only=True)
class Make:
    """The makers of a build. `folder` takes the files that come out of archives and layers."""

    selections: Selections
    bases: Mapping[str, BaseImage]
    folder: Path
    states: dict[int, StageState] = field(default_factory=dict)
    trees: dict[str, Tree] = field(default_factory=dict)

    def copied(
        self, stage: Stage, position: int, instruction: Instruction, request: CopyRequest, state: StageState
    ) -> tuple[Node, ...]:
        """The nodes of a COPY or ADD, at their paths in the image."""
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
        """User and group of `USER[:GROUP]`, by the image's own files where they are names."""
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
        """A single file that is an archive becomes what is in it."""
        node = picked.nodes[0]
        if picked.is_folder or not isinstance(node.content, Path) or not is_archive(node.content):
            return picked
        if hashed(node).sha256 != node.sha256:
            raise ArchiveError(f"{picked.name} changed while the image was being built. Run again.")
        try:
            tree = unpacked(node.content, self.folder)
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
                nodes = taken_out(base, each.nodes, self.folder) if base else each.nodes
                picked.append(replace(each, nodes=tuple(nodes)))
        return picked

    def _image_tree(self, base: BaseImage) -> Tree:
        if base.name not in self.trees:
            self.trees[base.name] = image_tree(base)
        return self.trees[base.name]

    def _stage_tree(self, state: StageState) -> Tree:
        """The files of a stage: those of its base, and its own over them."""
        nodes = dict(self._image_tree(state.base).nodes) if state.base else {}
        for own_path, node in state.own.items():
            path = landing(nodes, own_path)
            there = nodes.get(path)
            if there and there.kind == "folder" and node.kind != "folder":
                nodes = {each: nodes[each] for each in nodes if not each.startswith(f"{path}/")}
            nodes[path] = replace(node, path=path)
        return Tree(nodes=with_parents(nodes))

    def _text(self, path: str, state: StageState) -> str | None:
        """A small text file of the stage as it is now; links to it are followed."""
        tree = Tree(nodes=state.own)
        if path not in state.own and state.base:
            tree = self._stage_tree(state)
        node = tree.get(tree.resolve(path) or path)
        if node is None or node.kind != "file":
            return None
        if state.base:
            node = taken_out(state.base, (node,), self.folder)[0]
        content = node.content.read_bytes() if isinstance(node.content, Path) else node.content
        return content.decode("utf-8", "replace") if isinstance(content, bytes) else None
