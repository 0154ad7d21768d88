"""Read tar archives safely: those that ADD unpacks, and the layers of base images."""

from __future__ import annotations

import gzip
import hashlib
import json
import stat
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from pulumi_vertex_training.images.files.tree import Member, Node, Tree, landing_path, with_parents
from pulumi_vertex_training.images.image import BaseImage

if TYPE_CHECKING:
    from typing_extensions import Self

_CHUNK = 1 << 20
_SIGNATURES: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")
_WHITEOUT: Final = ".wh."
_OPAQUE: Final = ".wh..wh..opq"
_LONG_HEADERS: Final = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)
_LARGEST_HEADER: Final = 1 << 20

MOST_ENTRIES: Final = 500_000
"""Limit of the entries of one archive. The largest images have some hundred thousand."""


class ArchiveError(ValueError):
    """A broken archive, or one with entries that no image may have; the message has the reason."""


class _Header(tarfile.TarInfo):
    """A header of an archive; one that continues elsewhere is read into memory, so its size is bounded."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        header = super().frombuf(buf, encoding, errors)
        if header.type in _LONG_HEADERS and header.size > _LARGEST_HEADER:
            raise ArchiveError(
                f"it has a header of {header.size} bytes; at most {_LARGEST_HEADER} are read. Repack it."
            )
        return header


def _members(archive: tarfile.TarFile, *, most: int = MOST_ENTRIES) -> Iterator[tarfile.TarInfo]:
    """Yield the entries of an archive. Raises ArchiveError if there are too many to keep in memory."""
    for number, member in enumerate(archive, start=1):
        if number > most:
            raise ArchiveError(f"it has more than {most:,} entries. Repack it.")
        yield member


def is_archive(path: Path) -> bool:
    """Return whether ADD unpacks a file: a tar archive, plain or compressed by gzip, bzip2 or xz.

    The content decides, not the name.
    """
    try:
        with path.open("rb") as file:
            start = file.read(263)
        if not start.startswith(_SIGNATURES) and start[257:262] != b"ustar":
            return False
        with tarfile.open(path, tarinfo=_Header) as archive:
            archive.next()
    except (OSError, EOFError, tarfile.TarError, ArchiveError):
        return False
    return True


def safe_path(name: str) -> str | None:
    """Return the path of an entry without outer slashes, or None if it leads out of the folder."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts)


def unpack_archive(archive: Path, folder: Path) -> Tree:
    """Return the entries of an archive, with their contents in new files in `folder`. Raises ArchiveError.

    As with `tar`, owners and all mode bits are kept. Times are dropped.
    """
    nodes: dict[str, Node] = {}
    try:
        with tarfile.open(archive, tarinfo=_Header) as reader:
            for member in _members(reader):
                path = safe_path(member.name)
                if path is None:
                    raise ArchiveError(f"its entry {member.name!r} leads out of the folder. Repack it.")
                node = _archive_node(reader, member, path, nodes, folder)
                if path:
                    nodes[path] = node
    except (OSError, EOFError, tarfile.TarError) as error:
        raise ArchiveError(f"it is broken: {error}. Repack it.") from error
    return Tree(nodes=with_parents(nodes))


def _archive_node(
    reader: tarfile.TarFile, member: tarfile.TarInfo, path: str, nodes: dict[str, Node], folder: Path
) -> Node:
    node = entry_node(member, path)
    if node.kind == "other":
        raise ArchiveError(f"its entry {member.name!r} is {node.what}. Repack it without that entry.")
    if member.islnk():
        target = nodes.get(safe_path(member.linkname) or "")
        if target is None:
            raise ArchiveError(f"its entry {member.name!r} links to no earlier entry. Repack it.")
        return replace(target, path=path)
    content = reader.extractfile(member) if node.kind == "file" else None
    return node if content is None else with_content(node, content, folder)


def with_content(node: Node, content: IO[bytes], folder: Path) -> Node:
    """Write the bytes of a stream to a file in `folder`; return the node with that content."""
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
    """Return the node of an entry, without its content; its kind is "other" for devices and pipes."""
    mode = stat.S_IMODE(member.mode)
    if member.isdir():
        return Node(path=path, kind="folder", mode=mode, uid=member.uid, gid=member.gid)
    if member.issym():
        return Node(path=path, kind="link", mode=0o777, uid=member.uid, gid=member.gid, link=member.linkname)
    if member.isreg() or member.islnk():
        return Node(path=path, kind="file", mode=mode, uid=member.uid, gid=member.gid, size=member.size)
    return Node(path=path, kind="other", what="a device or a pipe")


class LayersError(ValueError):
    """Layers that cannot be read; the message has the reason and the remedy."""


def image_tree(base: BaseImage) -> Tree:
    """Return all files of an image; their contents stay in the layers.

    Reads every layer, and applies the whiteouts in them. Raises LayersError.
    """
    nodes: dict[str, Node] = {}
    for layer in json.loads(base.manifest)["layers"]:
        tree: dict[str, Node] = {}
        with _opened_layer(base, layer) as archive:
            for member in _members(archive):
                path = safe_path(member.name)
                if not path:
                    continue
                folder, _, name = path.rpartition("/")
                if name == _OPAQUE:
                    _remove(nodes, folder, itself=False)
                elif name.startswith(_WHITEOUT):
                    _remove(nodes, f"{folder}/{name[len(_WHITEOUT) :]}".lstrip("/"), itself=True)
                else:
                    tree[path] = _layer_node(member, path, layer["digest"], nodes, tree)
        for made_path, node in tree.items():
            path = landing_path(nodes, made_path)
            there = nodes.get(path)
            if there and there.kind == "folder" and node.kind != "folder":
                _remove(nodes, path, itself=True)
            nodes[path] = replace(node, path=path)
    return Tree(nodes=with_parents(nodes))


def _layer_node(
    member: tarfile.TarInfo, path: str, digest: str, nodes: dict[str, Node], made: dict[str, Node]
) -> Node:
    if member.islnk():
        target = safe_path(member.linkname) or ""
        existing = made.get(target) or nodes.get(target)
        return (
            replace(existing, path=path) if existing else Node(path=path, kind="other", what="a broken link")
        )
    node = entry_node(member, path)
    return replace(node, content=Member(layer=digest, name=path)) if node.kind == "file" else node


def _remove(nodes: dict[str, Node], path: str, *, itself: bool) -> None:
    if itself:
        nodes.pop(path, None)
    prefix = f"{path}/" if path else ""
    for each in [each for each in nodes if each.startswith(prefix)]:
        del nodes[each]


def extract_contents(base: BaseImage, nodes: Sequence[Node], folder: Path) -> list[Node]:
    """Return the nodes with contents copied from the image's layers to files in `folder`."""
    wanted = {node.content for node in nodes if isinstance(node.content, Member)}
    contents: dict[Member, Node] = {}
    for layer in json.loads(base.manifest)["layers"]:
        digest = layer["digest"]
        if not any(member.layer == digest for member in wanted):
            continue
        with _opened_layer(base, layer) as archive:
            for entry in _members(archive):
                member = Member(layer=digest, name=safe_path(entry.name) or "")
                content = archive.extractfile(entry) if member in wanted and entry.isreg() else None
                if content is not None:
                    contents[member] = with_content(Node(path="", kind="file"), content, folder)
    return [_filled(node, contents) for node in nodes]


def _filled(node: Node, found: Mapping[Member, Node]) -> Node:
    if not isinstance(node.content, Member):
        return node
    there = found[node.content]
    return replace(node, content=there.content, size=there.size, sha256=there.sha256)


@contextmanager
def _opened_layer(base: BaseImage, layer: dict[str, str]) -> Iterator[tarfile.TarFile]:
    """Open the tar archive of a layer. Raises LayersError."""
    if base.open_layer is None:
        message = f"the layers of {base.name} cannot be read here."
        raise LayersError(f"{message} Use numeric owners, and copy files from the folder.")
    if layer["mediaType"].endswith("zstd"):
        message = f"a layer of {base.name} is compressed with zstd, which is not supported."
        raise LayersError(f"{message} Build it with docker, or use an image with gzip layers.")
    try:
        with base.open_layer(layer["digest"]) as raw:
            compressed = layer["mediaType"].endswith("gzip")
            stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if compressed else raw
            with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive:
                yield archive
    except ArchiveError as error:
        raise LayersError(f"a layer of {base.name} is rejected: {error}") from error
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise LayersError(f"a layer of {base.name} is broken: {error}. Push the image again.") from error
