"""Read a build context: the files of a folder, except those that .dockerignore excludes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from pulumi_vertex_training.images.files.ignore import IgnoreRules, read_ignore_file, read_patterns
from pulumi_vertex_training.images.files.tree import Node, Tree
from pulumi_vertex_training.packaging.archive import unreadable
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.files import printable
from vertex_training.findings.problems import Problem

_CHUNK = 1 << 20
_BYTECODE = "__pycache__"


@dataclass(frozen=True, kw_only=True)
class Context:
    """The files of a build context, and the existing paths that are excluded: whole folders, and files."""

    tree: Tree
    left_out: frozenset[str]
    problems: tuple[Problem, ...]


@dataclass(kw_only=True)
class _Walk:
    ignore: IgnoreRules
    place: str
    nodes: dict[str, Node] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)


def ignore_rules(
    folder: Path,
    dockerfile: str | None,
    extra: Iterable[str],
    *,
    defaults: Iterable[str] = (),
    place: str = "",
) -> tuple[IgnoreRules, list[Problem]]:
    """Return the patterns of `defaults`, the ignore file, and `extra`, in this order, and their problems.

    The ignore file is DOCKERFILE.dockerignore if it exists, else .dockerignore; as in BuildKit, the two are
    not merged. `place` is put before the file's name in messages.
    """
    names = [*([f"{dockerfile}.dockerignore"] if dockerfile else []), ".dockerignore"]
    rules, problems = IgnoreRules(), []
    for name in names:
        try:
            text = (folder / name).read_text(encoding="utf-8", errors="surrogateescape")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            continue
        except OSError as error:
            problems.append(unreadable(place + name, error))
            continue
        rules, problems = read_ignore_file(text, place + name)
        break
    added, extra_problems = read_patterns(extra, "exclude")
    first, _ = read_patterns(defaults, "")
    patterns = first.patterns + rules.patterns + added.patterns
    return IgnoreRules(patterns=patterns), [*problems, *extra_problems]


def read_context(folder: Path, ignore: IgnoreRules, *, place: str = "source") -> Context:
    """Return the files of a folder; modes become 755 or 644 by the owner's execute bit.

    Owner and times are ignored. Links are kept as links and never followed. Bytecode folders (`__pycache__`)
    are always excluded, because they differ after every run. `place` is the name of the folder in messages.
    """
    walk = _Walk(ignore=ignore, place=place)
    _enter(walk, str(folder), "", None)
    return Context(
        tree=Tree(nodes=walk.nodes), left_out=frozenset(walk.left_out), problems=tuple(walk.problems)
    )


def _enter(walk: _Walk, folder: str, prefix: str, above: tuple[bool, ...] | None) -> None:
    try:
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: os.fsencode(entry.name))
    except OSError as error:
        walk.problems.append(unreadable(printable(prefix.rstrip("/") or walk.place), error))
        return
    for entry in ordered:
        path = prefix + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        left_out, fitted = walk.ignore.step(path, above)
        if is_folder and entry.name == _BYTECODE:
            walk.left_out.add(path)
        elif is_folder:
            _take_folder(walk, entry, path, fitted, left_out=left_out)
        elif left_out:
            walk.left_out.add(path)
        else:
            walk.nodes[path] = _node(entry, path)


def _take_folder(
    walk: _Walk, entry: os.DirEntry[str], path: str, fitted: tuple[bool, ...], *, left_out: bool
) -> None:
    if left_out and not walk.ignore.has_exceptions:
        walk.left_out.add(path)
        return
    before = len(walk.nodes)
    walk.nodes[path] = Node(path=path, kind="folder", mode=0o755)
    _enter(walk, entry.path, path + "/", fitted)
    if left_out and len(walk.nodes) == before + 1:
        del walk.nodes[path]
        walk.left_out.add(path)


def _node(entry: os.DirEntry[str], path: str) -> Node:
    if entry.is_symlink():
        return Node(path=path, kind="link", mode=0o777, link=str(Path(entry.path).readlink()))
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        kinds = {stat.S_IFSOCK: "a socket", stat.S_IFIFO: "a named pipe"}
        return Node(path=path, kind="other", what=kinds.get(stat.S_IFMT(status.st_mode), "a device"))
    return Node(
        path=path,
        kind="file",
        mode=0o755 if status.st_mode & stat.S_IXUSR else 0o644,
        size=status.st_size,
        content=Path(entry.path),
    )


def hashed(node: Node, *, place: str = "") -> Node:
    """Return a file with the hash of its content and the size that was read. Raises PackagingError.

    `place` is put before the path in messages. Other kinds of nodes are returned unchanged.
    """
    if node.kind != "file" or not isinstance(node.content, Path):
        return node
    sha256 = hashlib.sha256()
    size = 0
    try:
        with node.content.open("rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                sha256.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise PackagingError([unreadable(place + printable(node.path), error)]) from error
    return replace(node, size=size, sha256=sha256.hexdigest())
