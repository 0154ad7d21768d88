"""Where an unpacked image is, and how to keep it there (`roots` has the rest)."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from vertex_emulator.replica_images.image import Layer

_LAYOUT = 1


def key_of(layers: Sequence[Layer]) -> str:
    """What unpacked images are shared by: their layers, whatever else the images say."""
    names = " ".join(f"{layer.digest}={layer.diff_id}" for layer in layers)
    return hashlib.sha256(f"{_LAYOUT} {names}".encode()).hexdigest()[:32]


def root_of(images: Path, key: str) -> Path:
    """Where the files of an unpacked image are."""
    return images / key / "root"


def hold(images: Path, key: str) -> int:
    """Keep an image from being removed for as long as the descriptor is open. Raises `OSError`."""
    images.mkdir(mode=0o700, parents=True, exist_ok=True)
    return lock(images / f"{key}.used", fcntl.LOCK_SH)


def lock(path: Path, how: int) -> int:
    """A descriptor that holds a lock (flock) on a file, which is made. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
