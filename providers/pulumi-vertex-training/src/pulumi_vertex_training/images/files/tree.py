"""Trees of files, folders and links, with owners: of a build context, stage, base image or archive."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

Kind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, kw_only=True)
class Member:
    """A file in a layer of a base image; it is extracted only when its content is needed."""

    layer: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Node:
    """One entry of a tree. `path` has no outer slashes; "" is the top folder.

    `mode` has the permission bits, `size` is in bytes, `link` is the target of a link. `content` is the
    bytes, the file that holds them, or their place in a base image. `sha256` (hex) is checked when the
    content is read; None if the content cannot change. `what` describes an entry of kind "other", which no
    image can hold.
    """

    path: str
    kind: Kind
    mode: int = 0o755
    uid: int = 0
    gid: int = 0
    size: int = 0
    link: str = ""
    content: bytes | Path | Member = b""
    sha256: str | None = None
    what: str = ""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Nodes by path; the top folder may be absent."""

    nodes: Mapping[str, Node] = field(default_factory=dict)

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """The paths in each folder, sorted."""
        by_folder: dict[str, list[str]] = {"": []}
        for path in sorted(self.nodes, key=os.fsencode):
            if path:
                by_folder.setdefault(path.rpartition("/")[0], []).append(path)
        return {path: tuple(paths) for path, paths in by_folder.items()}

    def get(self, path: str) -> Node | None:
        """Return the node at a path, also for the top folder; links are not followed."""
        return self.nodes.get(path) or (Node(path="", kind="folder") if not path else None)

    def below(self, path: str) -> Iterator[Node]:
        """Yield everything in a folder, each folder before its content."""
        for child in self.children.get(path, ()):
            node = self.nodes[child]
            yield node
            if node.kind == "folder":
                yield from self.below(child)

    def resolve(self, path: str) -> str | None:
        """Return the path with all links followed, including the last part; None for a loop.

        A link never leads out of the tree: absolute links start at its top, and `..` ends there.
        """
        done: list[str] = []
        todo = [part for part in reversed(path.split("/")) if part]
        links = 0
        while todo:
            part = todo.pop()
            if part == "." or not part:
                continue
            if part == "..":
                done = done[:-1]
                continue
            node = self.nodes.get("/".join([*done, part]))
            if node is None or node.kind != "link":
                done.append(part)
                continue
            links += 1
            if links > 40:
                return None
            if node.link.startswith("/"):
                done = []
            todo += [each for each in reversed(node.link.split("/")) if each]
        return "/".join(done)


def landing_path(nodes: Mapping[str, Node], path: str) -> str:
    """Return where an unpacked entry ends up: links in the folders above it are followed."""
    folder, slash, name = path.rpartition("/")
    resolved = Tree(nodes=nodes).resolve(folder) if folder else folder
    return path if resolved is None else f"{resolved}/{name}".lstrip("/") if slash else name


def with_parents(nodes: Mapping[str, Node]) -> dict[str, Node]:
    """Return the nodes and their parent folders, which archives and layers may omit."""
    complete = dict(nodes)
    for path in nodes:
        folder = path.rpartition("/")[0]
        while folder and folder not in complete:
            complete[folder] = Node(path=folder, kind="folder")
            folder = folder.rpartition("/")[0]
    return complete


_LARGEST = 2**31 - 1
ReadText = Callable[[str], "str | None"]


def owner(text: str, read: ReadText) -> tuple[int, int]:
    """Return the user and group numbers of `USER[:GROUP]`.

    `read` returns the text of a file of the image, or None. As in Docker, a user without a group gets the
    group of the same number. Raises ValueError.
    """
    user, colon, group = text.partition(":")
    if not user or (colon and not group):
        raise ValueError(f"{text!r} is not an owner. Write USER or USER:GROUP.")
    uid = _number(user, "user", "etc/passwd", read)
    return uid, _number(group, "group", "etc/group", read) if colon else uid


def _number(name: str, what: str, file: str, read: ReadText) -> int:
    if name.isdecimal():
        if int(name) > _LARGEST:
            raise ValueError(f"{name} is too large for the number of a {what}. The largest is {_LARGEST}.")
        return int(name)
    for line in (read(file) or "").splitlines():
        fields = line.split(":")
        if len(fields) > 2 and fields[0] == name and fields[2].isdecimal():
            return int(fields[2])
    raise ValueError(f"the image has no {what} {name!r} in /{file}. Write a number, such as 1000.")
