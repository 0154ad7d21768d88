"""Finds what COPY and ADD name in a tree: paths, patterns, links to follow."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Final

from pulumi_vertex_training.images.files import go_path
from pulumi_vertex_training.images.files.tree import Node, Tree
from pulumi_vertex_training.packaging import rules

_WHITEOUT: Final = ".wh."


class SelectionError(ValueError):
    """Nothing is to be found under a name, or what cannot be copied; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Picked:
    """One source: a file that is called `name`, or what is in a folder.

    The paths of `nodes` are relative to the folder, which is itself the first of them with the path "".
    """

    name: str
    is_folder: bool
    nodes: tuple[Node, ...]


def is_pattern(source: str) -> bool:
    """Whether a source has wildcards."""
    return any(mark in source.replace("\\\\", "").replace("\\*", "").replace("\\?", "") for mark in "*?[")


def pick(
    tree: Tree, source: str, *, where: str, left_out: Collection[str], finish: Callable[[Node], Node]
) -> list[Picked]:
    """What a source names, in the order of the names; a pattern may fit nothing.

    `where` names the tree in messages, `left_out` has the paths that .dockerignore hides, and `finish` is
    called for every file that is taken. Raises SelectionError.
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
    found = [""]
    for part in pattern.split("/"):
        found = [
            child
            for folder in found
            for child in tree.children.get(folder, ())
            if go_path.match(part, child.rpartition("/")[2])
        ]
    return found


def _picked(
    tree: Tree,
    path: str,
    source: str,
    where: str,
    left_out: Collection[str],
    finish: Callable[[Node], Node],
) -> Picked:
    resolved = tree.resolve(path)
    node = None if resolved is None else tree.get(resolved)
    if resolved is None or node is None:
        raise SelectionError(_missing(tree, path, resolved, source, where, left_out))
    name = path.rpartition("/")[2]
    if node.kind != "folder":
        return Picked(name=name, is_folder=False, nodes=(_taken(node, name, source, finish),))
    nodes = [replace(node, path="")]
    start = len(resolved) + 1 if resolved else 0
    nodes += [_taken(each, each.path[start:], each.path, finish) for each in tree.below(resolved)]
    return Picked(name=name, is_folder=True, nodes=tuple(nodes))


def _taken(node: Node, path: str, shown: str, finish: Callable[[Node], Node]) -> Node:
    name = path.rpartition("/")[2]
    shown = rules.printable(shown)
    if node.kind == "other":
        message = f"{shown} is {node.what}, which no image can hold. Remove it, or name it in .dockerignore."
        raise SelectionError(message)
    fault = rules.name_fault(name) or (
        rules.name_fault(node.link) and "it is a link to a name that is not text"
    )
    if fault:
        raise SelectionError(f"{shown} is refused: {fault}. Rename it, or name it in .dockerignore.")
    if name.startswith(_WHITEOUT):
        message = f"{shown} begins with {_WHITEOUT!r}, which in an image means that a file is deleted."
        raise SelectionError(f"{message} Rename it, or name it in .dockerignore.")
    return replace(finish(node), path=path)


def _missing(
    tree: Tree, path: str, resolved: str | None, source: str, where: str, left_out: Collection[str]
) -> str:
    shown = rules.printable(source)
    if resolved is None:
        return f"{shown!r} is a link that leads back to itself. Remove it."
    for each in _upwards(resolved):
        if each in left_out:
            reason = "is bytecode, which is never copied" if "__pycache__" in each else "is left out"
            hint = (
                "" if "__pycache__" in each else f" by a pattern of .dockerignore. Add a line '!{each}' to it"
            )
            return f"{shown!r} {reason}{hint}."
    if resolved != path:
        return (
            f"{shown!r} is a link to {rules.printable(resolved)!r}, which is not in {where}. Copy that there."
        )
    folder, _, name = path.rpartition("/")
    names = [each.rpartition("/")[2] for each in tree.children.get(folder, ())]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean {rules.printable(near[0])!r}?" if near else "Correct the path."
    return f"{shown!r} is not in {where}. {hint}"


def _upwards(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]
