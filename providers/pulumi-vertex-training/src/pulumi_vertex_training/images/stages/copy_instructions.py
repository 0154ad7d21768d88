"""Evaluate COPY and ADD: parse the instruction, select its sources, and place the files in the image."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pulumi_vertex_training.images.dockerfile.expansion import Lookup, expand, split_words
from pulumi_vertex_training.images.dockerfile.lines import Instruction
from pulumi_vertex_training.images.files import go_path
from pulumi_vertex_training.images.files.tree import Node, Tree
from pulumi_vertex_training.images.stages.origins import NamedContext
from pulumi_vertex_training.images.stages.stage_state import StageState
from pulumi_vertex_training.packaging.files import name_fault, printable

_REMOTE = re.compile(r"(https?|ftp|git|ssh)://|git@[^/]+:")


_HEREDOC = re.compile(r"\d*<<-?(['\"]?)([^<'\"]+)\1")


_REFUSED = {
    "parents": "Name each folder in a COPY of its own",
    "exclude": "Exclude files in .dockerignore",
    "checksum": "It is for downloads: download the file into the folder and COPY it",
    "keep-git-dir": "It is for repositories: clone it into the folder and COPY it",
    "unpack": "ADD always unpacks archives of the folder, COPY never does: use one of them",
}


class NotBuiltHereError(ValueError):
    """Something that only a container tool can do; the message has the reason and the remedy."""


@dataclass(frozen=True, kw_only=True)
class CopyRequest:
    """The sources, destination and flags of a COPY or ADD.

    `sources` are paths; `texts` are pairs of a file name and the content of a heredoc. `origin` is the index
    of a stage, the canonical name of an image, a named context, or None for the build context. `chown` is
    expanded but not yet resolved to numbers; `chmod` has the permission bits.
    """

    sources: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    destination: str
    origin: int | str | NamedContext | None = None
    chown: str | None = None
    chmod: int | None = None
    unpacks: bool = False


def copy_request(
    instruction: Instruction,
    origin: int | str | NamedContext | None,
    lookup: Lookup,
    source_lookup: Lookup,
    escape: str,
) -> CopyRequest:
    """Parse a COPY or ADD; `source_lookup` returns the variables in its sources.

    Raises NotBuiltHereError, and ValueError for any other problem.
    """
    name = instruction.name
    for flag, remedy in _REFUSED.items():
        if instruction.flag(flag) is not None:
            raise NotBuiltHereError(
                f"{name} --{flag} is not supported here. {remedy}, or build it with docker."
            )
    words = split_words(instruction.arguments)
    if len(words) < 2:
        raise ValueError(f"{name} {instruction.arguments} has only one path. Add the destination.")
    heredocs = {each.name: each for each in instruction.heredocs}
    sources: list[str] = []
    texts: list[tuple[str, str]] = []
    for word in words[:-1]:
        match = _HEREDOC.fullmatch(word) if heredocs else None
        if match and match[2] in heredocs:
            text = heredocs[match[2]]
            content = text.content
            if text.expands:
                content = expand(content, lookup, escape=escape, quotes=False)
            texts.append((text.name, content))
            continue
        source = expand(word, source_lookup, escape=escape)
        if name == "ADD" and _REMOTE.match(source):
            message = f"ADD {source} is a download, which is not supported because it may change at any time."
            raise NotBuiltHereError(f"{message} Download it into the folder and COPY it.")
        sources.append(source)
    destination = expand(words[-1], lookup, escape=escape)
    return CopyRequest(
        sources=tuple(sources),
        texts=tuple(texts),
        destination=destination,
        origin=origin,
        chown=_expanded(instruction, "chown", lookup, escape),
        chmod=_mode(_expanded(instruction, "chmod", lookup, escape)),
        unpacks=name == "ADD",
    )


def _expanded(instruction: Instruction, flag: str, lookup: Lookup, escape: str) -> str | None:
    value = instruction.flag(flag)
    return None if value is None else expand(value, lookup, escape=escape)


def _mode(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-7]{3,4}", text):
        raise ValueError(f"--chmod={text} is not a mode in octal digits. Write it like 755.")
    return int(text, 8)


_WHITEOUT: Final = ".wh."


class SelectionError(ValueError):
    """A source that does not exist or cannot be copied; the message has the remedy."""


@dataclass(frozen=True, kw_only=True)
class Picked:
    """One selected source: a file called `name`, or the content of a folder.

    The paths of `nodes` are relative to the folder, which is the first node itself, with the path "".
    """

    name: str
    is_folder: bool
    nodes: tuple[Node, ...]


def is_pattern(source: str) -> bool:
    """Return whether a source has wildcards."""
    return any(mark in source.replace("\\\\", "").replace("\\*", "").replace("\\?", "") for mark in "*?[")


def pick(
    tree: Tree, source: str, *, where: str, left_out: Collection[str], finish: Callable[[Node], Node]
) -> list[Picked]:
    """Return the files and folders that a source selects, sorted by name; a pattern may select nothing.

    `where` is the name of the tree in messages, `left_out` has the paths that .dockerignore excludes, and
    `finish` is called for every selected file. Raises SelectionError.
    """
    path = go_path.clean(source).lstrip("/")
    if path == ".." or path.startswith("../"):
        message = f"{source!r} leads out of {where}."
        raise SelectionError(f"{message} Copy the file into the folder, or build from a folder above it.")
    path = "" if path == "." else path
    if not is_pattern(path):
        return [_picked(tree, path, source, where, left_out, finish)]
    try:
        fitting = _fitting(tree, path)
    except go_path.BadPatternError as error:
        message = f"{source!r} is not a pattern: a bracket is not closed. Close it, or escape it."
        raise SelectionError(message) from error
    return [_picked(tree, each, each, where, left_out, finish) for each in fitting]


def _fitting(tree: Tree, pattern: str) -> list[str]:
    prefixes = [""]
    for part in pattern.split("/"):
        prefixes = [
            child
            for folder in prefixes
            for child in tree.children.get(folder, ())
            if go_path.match(part, posixpath.basename(child))
        ]
    return prefixes


def _picked(
    tree: Tree, path: str, source: str, where: str, left_out: Collection[str], finish: Callable[[Node], Node]
) -> Picked:
    resolved = tree.resolve(path)
    node = None if resolved is None else tree.get(resolved)
    if resolved is None or node is None:
        raise SelectionError(_missing(tree, path, resolved, source, where, left_out))
    name = posixpath.basename(path)
    if node.kind != "folder":
        return Picked(name=name, is_folder=False, nodes=(_taken(node, name, source, finish),))
    nodes = [replace(node, path="")]
    start = len(resolved) + 1 if resolved else 0
    nodes += [_taken(each, each.path[start:], each.path, finish) for each in tree.below(resolved)]
    return Picked(name=name, is_folder=True, nodes=tuple(nodes))


def _taken(node: Node, path: str, shown: str, finish: Callable[[Node], Node]) -> Node:
    name = posixpath.basename(path)
    shown = printable(shown)
    if node.kind == "other":
        message = f"{shown} is {node.what}, which no image can hold. Remove it, or add it to .dockerignore."
        raise SelectionError(message)
    fault = name_fault(name) or (name_fault(node.link) and "it is a link to a name that is not text")
    if fault:
        raise SelectionError(f"{shown} is rejected: {fault}. Rename it, or add it to .dockerignore.")
    if name.startswith(_WHITEOUT):
        message = f"{shown} begins with {_WHITEOUT!r}, which in an image means that a file is deleted."
        raise SelectionError(f"{message} Rename it, or add it to .dockerignore.")
    return replace(finish(node), path=path)


def _missing(
    tree: Tree, path: str, resolved: str | None, source: str, where: str, left_out: Collection[str]
) -> str:
    shown = printable(source)
    if resolved is None:
        return f"{shown!r} is a link that leads back to itself. Remove it."
    for each in _upwards(resolved):
        if each in left_out:
            reason = "is bytecode, which is never copied" if "__pycache__" in each else "is excluded"
            hint = (
                "" if "__pycache__" in each else f" by a pattern of .dockerignore. Add a line '!{each}' to it"
            )
            return f"{shown!r} {reason}{hint}."
    if resolved != path:
        return f"{shown!r} is a link to {printable(resolved)!r}, which is not in {where}. Copy it there."
    folder, name = posixpath.split(path)
    names = [posixpath.basename(each) for each in tree.children.get(folder, ())]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean {printable(near[0])!r}?" if near else "Correct the path."
    return f"{shown!r} is not in {where}. {hint}"


def _upwards(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


Owner = tuple[int, int]


class PlacementError(ValueError):
    """A destination that cannot hold the sources; the message has the remedy."""


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
        """Add a node at its final path; an existing folder stays as it is."""
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
        """Add the missing parent folders of a path."""
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            self.put(Node(path="/".join(parts[:depth]), kind="folder", mode=0o755), own_mode=True)


def folder_nodes(state: StageState, path: str, owner: Owner) -> tuple[Node, ...]:
    """Return the nodes that WORKDIR creates: the folder and its missing parents."""
    placing = _Placing(state=state, owner=owner, mode=None)
    if path:
        placing.put_parents(path)
        placing.put(Node(path=path, kind="folder", mode=0o755))
    return tuple(placing.nodes.values())


def file_nodes(
    state: StageState, picked: Sequence[Picked], destination: str, *, owner: Owner | None, mode: int | None
) -> tuple[Node, ...]:
    """Return the nodes of a COPY, at their paths in the image. Raises PlacementError.

    A destination is a folder if it ends with a slash or if a folder exists there. As in BuildKit, the content
    of a source folder is copied, and existing folders keep owner and mode.
    """
    placing = _Placing(state=state, owner=owner, mode=mode)
    ends_as_folder = destination in ("", ".", "..") or destination.endswith(("/", "/.", "/.."))
    target = state.resolved(state.absolute(destination))
    if len(picked) > 1 and not (ends_as_folder or placing.is_folder(target)):
        names = ", ".join(each.name for each in picked[:3])
        message = f"{destination!r} is the destination of {len(picked)} sources ({names}) but not a folder."
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
        raise PlacementError("a file cannot replace the top folder. End the destination with a file name.")
    placing.put_parents(path)
    for node in nodes:
        placing.put(replace(node, path=path))
