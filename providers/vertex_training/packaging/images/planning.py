"""Looks at what the instructions of a Dockerfile take from the build context, without making anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from vertex_training.packaging import rules
from vertex_training.packaging.images.context import Context, hashed
from vertex_training.packaging.images.copy_requests import CopyRequest
from vertex_training.packaging.images.dockerfile import Stage
from vertex_training.packaging.images.dockerfile_lines import Instruction
from vertex_training.packaging.images.dockerfile_rules import COPY_SOURCE
from vertex_training.packaging.images.placement import Owner
from vertex_training.packaging.images.selection import Picked, is_pattern, pick
from vertex_training.packaging.images.stage_state import StageState
from vertex_training.packaging.images.tree import Node
from vertex_training.topology.problems import Problem


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What a COPY or ADD takes from the context: its sources as they were expanded, and what they name."""

    sources: tuple[str, ...]
    picked: tuple[Picked, ...]


Selections = Mapping[tuple[int, int], Selection]
"""By the index of the stage and the position of the instruction in it."""


@dataclass(kw_only=True)
class Look:
    """The makers of a plan: files are found and hashed, each once."""

    context: Context
    selections: dict[tuple[int, int], Selection] = field(default_factory=dict)
    known: dict[str, Node] = field(default_factory=dict)
    needs_layers: bool = False
    warnings: list[Problem] = field(default_factory=list)

    def copied(
        self, stage: Stage, position: int, instruction: Instruction, request: CopyRequest, state: StageState
    ) -> tuple[Node, ...]:
        """Selects the files; where they go depends on the base, so no node is made yet."""
        if request.chown and any(not part.isdecimal() for part in request.chown.split(":")):
            self.needs_layers = self.needs_layers or state.from_image
        if request.origin is not None:
            self.needs_layers = True
            return ()
        picked: list[Picked] = []
        for source in request.sources:
            found = pick(
                self.context.tree,
                source,
                where="the build context",
                left_out=self.context.left_out,
                finish=self._hashed,
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

    def _hashed(self, node: Node) -> Node:
        if node.path not in self.known:
            self.known[node.path] = hashed(node)
        return self.known[node.path]
