"""Unpacks the layers of an image, each checked against its digests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vertex_emulator.replica_images.errors import ImageError
from vertex_emulator.replica_images.image import Layer
from vertex_emulator.replica_images.tar_stream import LayerReader, entries
from vertex_emulator.replica_images.tree import Limits, Tree, Unpacked


def unpack(
    layers: Sequence[Layer], root: Path, *, limits: Limits | None = None, ignores_case: bool | None = None
) -> Unpacked:
    """Unpack layers, the lowest first, into an empty folder. Raises `ImageError`, `OSError`.

    `ignores_case` is whether the folder's file system takes "a" and "A" for one name; None to try it.
    """
    tree = Tree(root, limits or Limits(), ignores_case=ignores_case)
    try:
        for layer in layers:
            what = f"the layer {layer.digest}"
            if not Path(layer.path).is_file():
                raise ImageError(f"{what} is not in the registry any more; push the image again")
            with Path(layer.path).open("rb") as blob:
                reader = LayerReader(blob, what, digest=layer.digest, diff_id=layer.diff_id)
                tree.begin(what)
                for entry, content in entries(reader, what):
                    tree.add(entry, content)
                reader.check(size=layer.size)
        return tree.done
    finally:
        tree.close()
