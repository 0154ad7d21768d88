"""Local archives that ADD unpacks, and files that are taken out of an archive safely."""

from __future__ import annotations

import hashlib
import stat
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

from pulumi_vertex_training.images.files.tree import Node, Tree, with_parents

_CHUNK = 1 << 20
_SIGNATURES: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")


class ArchiveError(ValueError):
    """An archive that is broken or holds what no image may; the message says what."""


def is_archive(path: Path) -> bool:
    """Whether ADD unpacks a file: a tar archive, plain or in gzip, bzip2 or xz. Its name does not count."""
    try:
        with path.open("rb") as file:
            start = file.read(263)
        if not start.startswith(_SIGNATURES) and start[257:262] != b"ustar":
            return False
        with tarfile.open(path) as archive:
            archive.next()
    except (OSError, EOFError, tarfile.TarError):
        return False
    return True


def safe_path(name: str) -> str | None:
    """The path of an entry without slashes at its ends, or None when it leads out of where it is unpacked."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts)


def unpacked(archive: Path, folder: Path) -> Tree:
    """The entries of an archive, their contents in new files in `folder`. Raises ArchiveError.

    Owners are those of the archive, as with `tar`; times are dropped; of the modes, all bits stay.
    """
    nodes: dict[str, Node] = {}
    try:
        with tarfile.open(archive) as reader:
            for member in reader:
                path = safe_path(member.name)
                if path is None:
                    raise ArchiveError(f"its entry {member.name!r} leads out of the folder. Pack it anew.")
                node = _node(reader, member, path, nodes, folder)
                if path:
                    nodes[path] = node
    except (OSError, EOFError, tarfile.TarError) as error:
        raise ArchiveError(f"it is broken: {error}. Pack it anew.") from error
    return Tree(nodes=with_parents(nodes))


def _node(
    reader: tarfile.TarFile, member: tarfile.TarInfo, path: str, nodes: dict[str, Node], folder: Path
) -> Node:
    node = entry_node(member, path)
    if node.kind == "other":
        raise ArchiveError(f"its entry {member.name!r} is {node.what}. Pack it without.")
    if member.islnk():
        target = nodes.get(safe_path(member.linkname) or "")
        if target is None:
            raise ArchiveError(f"its entry {member.name!r} links to nothing before it. Pack it anew.")
        return replace(target, path=path)
    content = reader.extractfile(member) if node.kind == "file" else None
    return node if content is None else with_content(node, content, folder)


def with_content(node: Node, content: IO[bytes], folder: Path) -> Node:
    """The node with the bytes of a stream, which are written into a file of `folder`."""
    sha256, size = hashlib.sha256(), 0
    temporary = folder / "content.part"
    with temporary.open("wb") as file:
        while chunk := content.read(_CHUNK):
            sha256.update(chunk)
            size += file.write(chunk)
    path = folder / sha256.hexdigest()
    temporary.replace(path)
    return replace(node, content=path, size=size, sha256=sha256.hexdigest())


def entry_node(member: tarfile.TarInfo, path: str) -> Node:
    """A node for an entry, without its content; kind "other" for devices and pipes."""
    mode = stat.S_IMODE(member.mode)
    if member.isdir():
        return Node(path=path, kind="folder", mode=mode, uid=member.uid, gid=member.gid)
    if member.issym():
        return Node(path=path, kind="link", mode=0o777, uid=member.uid, gid=member.gid, link=member.linkname)
    if member.isreg() or member.islnk():
        return Node(path=path, kind="file", mode=mode, uid=member.uid, gid=member.gid, size=member.size)
    return Node(path=path, kind="other", what="a device or a pipe")
