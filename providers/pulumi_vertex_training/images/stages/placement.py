"""Where in an image the files of a COPY or ADD go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from pulumi_vertex_training.images.files.tree import Node
from pulumi_vertex_training.images.stages.selection import Picked
from pulumi_vertex_training.images.stages.stage_state import StageState

Owner = tuple[int, int]


class PlacementError(ValueError):
    """A destination that does not take what is copied; the message says what to do."""


@dataclass(kw_only=True)
class _Placing:
    state: StageState
    owner: Owner | None
    mode: int | None
    nodes: dict[str, Node] = field(default_factory=dict)

    def is_folder(self, path: str) -> bool:
        node = self.nodes.get(path)
        return node.kind == "folder" if node else self.state.has_folder(path)

    def put(self, node: Node, *, own_mode: bool = False) -> None:
        """Takes in a node at its final path; a folder that is there already stays as it is."""
        there = self.nodes.get(node.path) or self.state.own.get(node.path)
        if node.kind == "folder" and self.is_folder(node.path):
            return
        if there and (there.kind == "folder") != (node.kind == "folder"):
            kinds = ("folder", "file") if there.kind == "folder" else ("file", "folder")
            message = f"/{node.path} is a {kinds[0]} already and would become a {kinds[1]}."
            raise PlacementError(f"{message} Choose another destination.")
        uid, gid = self.owner or (node.uid, node.gid)
        mode = node.mode if self.mode is None or node.kind == "link" or own_mode else self.mode
        self.nodes[node.path] = replace(node, uid=uid, gid=gid, mode=mode)

    def put_parents(self, path: str) -> None:
        """The folders above a path that are not there."""
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            self.put(Node(path="/".join(parts[:depth]), kind="folder", mode=0o755), own_mode=True)


def folder_nodes(state: StageState, path: str, owner: Owner) -> tuple[Node, ...]:
    """What WORKDIR makes: the folder and those above it, as far as they are not there."""
    placing = _Placing(state=state, owner=owner, mode=None)
    if path:
        placing.put_parents(path)
        placing.put(Node(path=path, kind="folder", mode=0o755))
    return tuple(placing.nodes.values())


def file_nodes(
    state: StageState,
    picked: Sequence[Picked],
    destination: str,
    *,
    owner: Owner | None,
    mode: int | None,
) -> tuple[Node, ...]:
    """The nodes of a COPY, at their paths in the image. Raises PlacementError.

    A destination with a slash at its end is a folder; without, it is one if a folder is there. As BuildKit,
    the content of folders is copied, and folders that are there keep owner and mode.
    """
    placing = _Placing(state=state, owner=owner, mode=mode)
    ends_as_folder = destination in ("", ".", "..") or destination.endswith(("/", "/.", "/.."))
    target = state.resolved(state.absolute(destination))
    if len(picked) > 1 and not (ends_as_folder or placing.is_folder(target)):
        names = ", ".join(each.name for each in picked[:3])
        message = f"{destination!r} takes {len(picked)} sources, {names}, and does not end with a slash."
        raise PlacementError(f"{message} Write {destination}/ for a folder.")
    into = ends_as_folder or placing.is_folder(target)
    for each in picked:
        if each.is_folder:
            _put_folder(placing, target, each.nodes)
        else:
            path = "/".join(part for part in (target, each.name) if part) if into else target
            _put_all(placing, path, each.nodes)
    return tuple(placing.nodes.values())


def _put_folder(placing: _Placing, target: str, nodes: Iterable[Node]) -> None:
    for node in nodes:
        path = "/".join(part for part in (target, node.path) if part)
        if path:
            placing.put_parents(path)
            placing.put(replace(node, path=path))


def _put_all(placing: _Placing, path: str, nodes: Iterable[Node]) -> None:
    if not path:
        raise PlacementError("a file cannot become the top folder. End the destination with a file's name.")
    placing.put_parents(path)
    for node in nodes:
        placing.put(replace(node, path=path))
