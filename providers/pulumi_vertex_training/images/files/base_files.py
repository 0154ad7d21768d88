"""The files of an image, as its layers make them one over the other."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Final, cast

from pulumi_vertex_training.images.files.archives import entry_node, safe_path, with_content
from pulumi_vertex_training.images.files.tree import Member, Node, Tree, landing, with_parents
from pulumi_vertex_training.images.parts import BaseImage

_WHITEOUT: Final = ".wh."
_OPAQUE: Final = ".wh..wh..opq"


class LayersError(ValueError):
    """Layers that cannot be read; the message says why and what to do."""


def image_tree(base: BaseImage) -> Tree:
    """Everything in an image; the content of its files stays in the layers.

    Reads all layers. Raises LayersError.
    """
    nodes: dict[str, Node] = {}
    for layer in json.loads(base.manifest)["layers"]:
        made: dict[str, Node] = {}
        with _opened(base, layer) as archive:
            for member in archive:
                path = safe_path(member.name)
                if not path:
                    continue
                folder, _, name = path.rpartition("/")
                if name == _OPAQUE:
                    _remove(nodes, folder, itself=False)
                elif name.startswith(_WHITEOUT):
                    _remove(nodes, f"{folder}/{name[len(_WHITEOUT) :]}".lstrip("/"), itself=True)
                else:
                    made[path] = _node(member, path, layer["digest"], nodes, made)
        for made_path, node in made.items():
            path = landing(nodes, made_path)
            there = nodes.get(path)
            if there and there.kind == "folder" and node.kind != "folder":
                _remove(nodes, path, itself=True)
            nodes[path] = replace(node, path=path)
    return Tree(nodes=with_parents(nodes))


def _node(
    member: tarfile.TarInfo, path: str, digest: str, nodes: dict[str, Node], made: dict[str, Node]
) -> Node:
    if member.islnk():
        target = safe_path(member.linkname) or ""
        found = made.get(target) or nodes.get(target)
        return replace(found, path=path) if found else Node(path=path, kind="other", what="a broken link")
    node = entry_node(member, path)
    return replace(node, content=Member(layer=digest, name=path)) if node.kind == "file" else node


def _remove(nodes: dict[str, Node], path: str, *, itself: bool) -> None:
    if itself:
        nodes.pop(path, None)
    prefix = f"{path}/" if path else ""
    for each in [each for each in nodes if each.startswith(prefix)]:
        del nodes[each]


def taken_out(base: BaseImage, nodes: Sequence[Node], folder: Path) -> list[Node]:
    """The nodes with the contents that were still in layers of this image as files in `folder`."""
    wanted = {node.content for node in nodes if isinstance(node.content, Member)}
    found: dict[Member, Node] = {}
    for layer in json.loads(base.manifest)["layers"]:
        digest = layer["digest"]
        if not any(member.layer == digest for member in wanted):
            continue
        with _opened(base, layer) as archive:
            for entry in archive:
                member = Member(layer=digest, name=safe_path(entry.name) or "")
                content = archive.extractfile(entry) if member in wanted and entry.isreg() else None
                if content is not None:
                    found[member] = with_content(Node(path="", kind="file"), content, folder)
    return [_filled(node, found) for node in nodes]


def _filled(node: Node, found: Mapping[Member, Node]) -> Node:
    if not isinstance(node.content, Member):
        return node
    there = found[node.content]
    return replace(node, content=there.content, size=there.size, sha256=there.sha256)


@contextmanager
def _opened(base: BaseImage, layer: dict[str, str]) -> Iterator[tarfile.TarFile]:
    if base.open_layer is None:
        message = f"the layers of {base.name} cannot be read here."
        raise LayersError(f"{message} Write numbers for owners, and copy files from the folder.")
    if layer["mediaType"].endswith("zstd"):
        message = f"a layer of {base.name} is in zstd, which is not read here."
        raise LayersError(f"{message} Build it with docker, or use an image with gzip layers.")
    try:
        with base.open_layer(layer["digest"]) as raw:
            compressed = layer["mediaType"].endswith("gzip")
            stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if compressed else raw
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                yield archive
    except (tarfile.TarError, EOFError, gzip.BadGzipFile) as error:
        raise LayersError(f"a layer of {base.name} is broken: {error}. Push the image again.") from error
