"""Unpack images, shared by all jobs with the same layers.

    python -m vertex_emulator.replica_images.unpacking REQUEST

A job's supervisor runs this as a process of its own, which can be killed at any moment. Where replicas can
have overlayfs, each layer is unpacked into a folder of its own, once for all images that have it; the folder
of the image then names those of its layers. Otherwise, the folder of the image has all its files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from vertex_emulator.job_folder import folder
from vertex_emulator.kernel.disk_space import is_out_of_space
from vertex_emulator.replica_images import folders
from vertex_emulator.replica_images.folders import KEPT_BYTES, Document, document_of, root_of
from vertex_emulator.replica_images.image import ImageError, Layer, key_of, key_of_layer
from vertex_emulator.replica_images.layer_tree import (
    Implied,
    LayerTree,
    NotSeparableError,
    make_folders,
    modes_of_implied,
)
from vertex_emulator.replica_images.stack import MAX_FOLDERS
from vertex_emulator.replica_images.tar_stream import LayerReader, entries
from vertex_emulator.replica_images.tree import Limits, Tree, Unpacked

_IMPLIED = "implied.json"


def unpack(
    layers: Sequence[Layer], root: Path, *, limits: Limits | None = None, ignores_case: bool | None = None
) -> Unpacked:
    """Unpack layers, the lowest first, into an empty folder. Raises `ImageError`, `OSError`.

    `ignores_case` tells whether the folder's file system ignores case in names; None to try it.
    """
    tree = Tree(root, limits or Limits(), ignores_case=ignores_case)
    try:
        for layer in layers:
            _add(tree, layer)
        return tree.done
    finally:
        tree.close()


def unpack_layer(
    layer: Layer, root: Path, *, limits: Limits | None = None, before: Unpacked | None = None
) -> tuple[Unpacked, Implied]:
    """Unpack one layer into an empty folder, without the layers below it.

    `before` is what other layers of the image have taken of the limits. Raises `NotSeparableError`,
    `ImageError`, `OSError`.
    """
    start = before or Unpacked()
    done = Unpacked(entries=start.entries, size=start.size)
    tree = LayerTree(root, limits or Limits(), done=done)
    try:
        _add(tree, layer)
        return Unpacked(
            entries=done.entries - start.entries, size=done.size - start.size, skipped=done.skipped
        ), tree.implied
    finally:
        tree.close()


def _add(tree: Tree, layer: Layer) -> None:
    what = f"the layer {layer.digest}"
    if not Path(layer.path).is_file():
        raise ImageError(f"{what} is no longer in the registry; push the image again")
    with Path(layer.path).open("rb") as blob:
        reader = LayerReader(blob, what, digest=layer.digest, diff_id=layer.diff_id)
        tree.begin(what)
        for entry, content in entries(reader, what):
            tree.add(entry, content)
        reader.check(size=layer.size)


def ensure(
    images: Path, layers: Sequence[Layer], *, separately: bool = False, keep_bytes: int = KEPT_BYTES
) -> Unpacked | None:
    """Unpack an image unless that has been done; then return None. Raises `ImageError`, `OSError`.

    The caller holds the folders of `keys_of`. `separately`: each layer into a folder of its own, if possible.
    """
    key = key_of(layers, separately=separately)
    if folders.shown_folders(images, key) is None:
        folders.clean(images, keep_bytes=keep_bytes)
    done = _ensure(images, key, layers, separately=separately and len(layers) < MAX_FOLDERS)
    if done is not None:
        folders.clean(images, keep_bytes=keep_bytes)
    return done


def _ensure(images: Path, key: str, layers: Sequence[Layer], *, separately: bool) -> Unpacked | None:
    known = document_of(images, key)
    if separately and (known is None or known["layers"]):
        try:
            return _ensure_layers(images, key, layers)
        except NotSeparableError:
            pass

    def fill(root: Path) -> Document:
        return _document(unpack(layers, root))

    document, new = folders.ensure(images, key, fill)
    return _unpacked(document) if new else None


def _ensure_layers(images: Path, key: str, layers: Sequence[Layer]) -> Unpacked | None:
    total, any_new = Unpacked(), False
    keys: list[str] = []
    for layer in layers:

        def fill_layer(root: Path, layer: Layer = layer) -> Document:
            done, without_entry = unpack_layer(layer, root, before=total)
            folder.write_json(root.parent / _IMPLIED, without_entry.to_json())
            return _document(done)

        keys.append(key_of_layer(layer))
        document, new = folders.ensure(images, keys[-1], fill_layer)
        total.entries += document["entries"]
        total.size += document["size"]
        total.skipped += document["passedOver"] if new else 0
        any_new = any_new or new
    highest_first = tuple(dict.fromkeys(reversed(keys)))

    def fill(root: Path) -> Document:
        modes = modes_of_implied(
            [root_of(images, each) for each in highest_first],
            [Implied.from_json(folder.read_json(images / each / _IMPLIED)) for each in highest_first],
        )
        made = make_folders(root, modes)
        return {**_document(Unpacked(entries=made)), "layers": highest_first}

    folders.ensure(images, key, fill)
    return total if any_new else None


def _document(done: Unpacked) -> dict[str, object]:
    return {"entries": done.entries, "size": done.size, "passedOver": done.skipped, "layers": ()}


def _unpacked(document: Document) -> Unpacked:
    return Unpacked(entries=document["entries"], size=document["size"], skipped=document["passedOver"])


def main(request_file: Path) -> None:
    """Unpack the image that the request names, and write the result next to it."""
    wanted = folder.read_json(request_file)
    problem = ""
    images = Path(wanted["images_dir"])
    try:
        found = ensure(images, [Layer(**each) for each in wanted["layers"]], separately=wanted["separately"])
        if found is not None and found.skipped:
            sys.stdout.write(
                f"Emulator: {found.skipped} devices and FIFOs of the image {wanted['name']} were not "
                "unpacked.\n"
            )
    except ImageError as error:
        problem = f"The image {wanted['name']} cannot be unpacked: {error}."
    except OSError as error:
        why = error.strerror or str(error)
        remedy = (
            "Free space on that disk" if is_out_of_space(error) else "Make the folder readable and writable"
        )
        problem = (
            f"The image {wanted['name']} could not be unpacked: {why} ({images}). {remedy}, and create the "
            "job again."
        )
    folder.write_json(request_file.with_suffix(".result.json"), {"problem": problem})


if __name__ == "__main__":
    os.umask(0o077)
    main(Path(sys.argv[1]))
