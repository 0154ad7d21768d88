"""Unpack images, shared by all jobs with the same layers; remove the oldest ones when they take too much.

    python -m vertex_emulator.replica_images.unpacking REQUEST

A job's supervisor runs this as a process of its own, which can be killed at any moment: an image is unpacked
into a new folder, which is then renamed in one step. Each user of an image holds a shared lock, which the
kernel releases however the holder ends; a locked image is not removed.

    images/KEY/root        the files
    images/KEY/image.json  their number and size; touched at each use
    images/KEY.lock        held while the image is unpacked or removed
    images/KEY.used        held, shared, by the image's users
    images/.new-*          unfinished, locked by the process that fills it
    images/.places.lock    held while such a folder is created or checked
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from vertex_emulator.job_folder import folder
from vertex_emulator.kernel.disk_space import is_out_of_space
from vertex_emulator.kernel.trees import remove_tree
from vertex_emulator.replica_images.image import ImageError, Layer, key_of, lock
from vertex_emulator.replica_images.tar_stream import LayerReader, entries
from vertex_emulator.replica_images.tree import Limits, Tree, Unpacked


def unpack(
    layers: Sequence[Layer], root: Path, *, limits: Limits | None = None, ignores_case: bool | None = None
) -> Unpacked:
    """Unpack layers, the lowest first, into an empty folder. Raises `ImageError`, `OSError`.

    `ignores_case` tells whether the folder's file system ignores case in names; None to try it.
    """
    tree = Tree(root, limits or Limits(), ignores_case=ignores_case)
    try:
        for layer in layers:
            what = f"the layer {layer.digest}"
            if not Path(layer.path).is_file():
                raise ImageError(f"{what} is no longer in the registry; push the image again")
            with Path(layer.path).open("rb") as blob:
                reader = LayerReader(blob, what, digest=layer.digest, diff_id=layer.diff_id)
                tree.begin(what)
                for entry, content in entries(reader, what):
                    tree.add(entry, content)
                reader.check(size=layer.size)
        return tree.done
    finally:
        tree.close()


KEPT_BYTES = 20 * (1 << 30)
"""Bytes that unpacked images may take together before the least recently used ones are removed."""

_NEW = ".new-"
_FOLDERS_LOCK = ".places.lock"
_MARKER = "image.json"


def ensure(images: Path, layers: Sequence[Layer], *, keep_bytes: int = KEPT_BYTES) -> Unpacked | None:
    """Unpack the layers unless they are unpacked already; then return None. Raises `ImageError`, `OSError`.

    The caller holds the image. Older images are removed beyond `keep_bytes`.
    """
    images.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = key_of(layers)
    with _locked(images / f"{key}.lock"):
        place = images / key
        if (place / _MARKER).is_file():
            os.utime(place / _MARKER)
            return None
        clean(images, keep_bytes=keep_bytes)
        new, filling = _new_folder(images)
        try:
            found = unpack(layers, new / "root")
            folder.write_json(
                new / _MARKER,
                {"entries": found.entries, "size": found.size, "passedOver": found.skipped},
            )
            remove_tree(place)
            new.rename(place)
        except BaseException:
            remove_tree(new)
            raise
        finally:
            os.close(filling)
    clean(images, keep_bytes=keep_bytes)
    return found


def clean(images: Path, *, keep_bytes: int = KEPT_BYTES) -> None:
    """Remove unfinished images, and the least recently used ones beyond `keep_bytes`."""
    found: list[tuple[float, int, str]] = []
    with _locked(images / _FOLDERS_LOCK):
        for place in images.glob(f"{_NEW}*"):
            if _is_abandoned(place):
                remove_tree(place)
    for place in images.iterdir():
        if place.name.startswith(_NEW):
            continue
        if (document := folder.read_json(place / _MARKER) if place.is_dir() else None) is not None:
            found.append(((place / _MARKER).stat().st_mtime, int(document["size"]), place.name))
    total = sum(size for _, size, _ in found)
    for _, size, key in sorted(found):
        if total <= keep_bytes:
            return
        if _remove(images, key):
            total -= size


def _new_folder(images: Path) -> tuple[Path, int]:
    """Create a folder to fill. Return it with the descriptor that locks it."""
    new = images / f"{_NEW}{secrets.token_hex(8)}"
    with _locked(images / _FOLDERS_LOCK):
        (new / "root").mkdir(parents=True)
        (new / "root").chmod(0o755)
        descriptor = os.open(new, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return new, descriptor


def _is_abandoned(new: Path) -> bool:
    """Return whether the folder was abandoned, that is, no process holds its lock."""
    with contextlib.suppress(OSError):
        descriptor = os.open(new, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)
        return True
    return False


def _remove(images: Path, key: str) -> bool:
    """Remove an image. Return False if it is in use."""
    ends: list[int] = []
    try:
        for suffix in ("lock", "used"):
            ends.append(lock(images / f"{key}.{suffix}", fcntl.LOCK_EX | fcntl.LOCK_NB))
        away = images / f"{_NEW}{secrets.token_hex(8)}"
        (images / key).rename(away)  # one step: a killed removal leaves no partial image
        remove_tree(away)
    except BlockingIOError:
        return False
    finally:
        for end in ends:
            os.close(end)
    return True


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = lock(path, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


def main(request_file: Path) -> None:
    """Unpack the image that the request names, and write the result next to it."""
    wanted = folder.read_json(request_file)
    problem = ""
    images = Path(wanted["images_dir"])
    try:
        found = ensure(images, [Layer(**each) for each in wanted["layers"]])
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
