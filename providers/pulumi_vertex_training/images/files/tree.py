"""Files, folders, links and their owners, from a build context, a stage, a base image or an archive."""

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
    """A file within a layer of a base image, which is taken out when it is wanted."""

    layer: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Node:
    """One entry of a tree. `path` has no slash at its ends; "" is the top folder.

    `mode` holds the permission bits, `size` is in bytes, `link` is where a link points to. `content` is the
    bytes, the file that holds them, or where in a base image they are. `sha256` (hex) is what the content is
    held to when it is read, None where it cannot change. `what` names an entry that no image can hold.
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
    """Nodes by path. The top folder need not be among them."""

    nodes: Mapping[str, Node] = field(default_factory=dict)

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """The paths in each folder, sorted."""
        found: dict[str, list[str]] = {"": []}
        for path in sorted(self.nodes, key=os.fsencode):
            if path:
                found.setdefault(path.rpartition("/")[0], []).append(path)
        return {path: tuple(paths) for path, paths in found.items()}

    def get(self, path: str) -> Node | None:
        """The node at a path, the top folder included; links are not followed."""
        return self.nodes.get(path) or (Node(path="", kind="folder") if not path else None)

    def below(self, path: str) -> Iterator[Node]:
        """Everything in a folder, folders before what is in them."""
        for child in self.children.get(path, ()):
            node = self.nodes[child]
            yield node
            if node.kind == "folder":
                yield from self.below(child)

    def resolve(self, path: str) -> str | None:
        """The path with all links followed, the last one too; None for a loop.

        A link never leads out: an absolute one starts at the top of the tree, and `..` ends there.
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
    """The nodes and the folders above them, which archives and layers may leave to be understood."""
    found = dict(nodes)
    for path in nodes:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found[folder] = Node(path=folder, kind="folder")
            folder = folder.rpartition("/")[0]
    return found


_LARGEST = 2**31 - 1
ReadText = Callable[[str], "str | None"]


def owner(text: str, read: ReadText) -> tuple[int, int]:
    """User and group of `USER[:GROUP]`; `read` gives the text of a file of the image, or None.

    A user without a group has a group of its own number with --chown, as in Docker. Raises ValueError.
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
    raise ValueError(f"the image has no {what} {name!r} in /{file}. Write a number, as 1000.")
