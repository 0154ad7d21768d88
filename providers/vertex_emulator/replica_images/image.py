"""The image of a replica as the plan of a job has it, and the folder of its unpacked files."""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal


class ImageError(Exception):
    """An image cannot be run or unpacked; the message is for the user, without a full stop."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A blob in the registry. `diff_id` is the digest of its archive; `path` is its file."""

    digest: str
    diff_id: str
    size: int
    path: str


@dataclass(frozen=True, kw_only=True)
class ReplicaImage:
    """An image that a replica runs.

    `name`: canonical, with the digest. `root`: the host's with the layers shown in it, or the image's own.
    `stand_in`: the base image that has a stand-in, empty for an image with a root of its own. `layers` are
    those that have files, the lowest first. `environment`: NAME=VALUE. `architecture`: set if it is not this
    machine's.
    """

    name: str
    root: Literal["host", "own"]
    stand_in: str = ""
    layers: tuple[Layer, ...] = ()
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    working_dir: str = "/"
    user: str = ""
    architecture: str = ""

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> ReplicaImage:
        """Read the document that `dataclasses.asdict` returns."""
        values = dict(document)
        for name in ("entrypoint", "command", "environment"):
            values[name] = tuple(values[name])
        values["layers"] = tuple(Layer(**each) for each in values["layers"])
        return cls(**values)


def host_python() -> str:
    """Return the minor version of the Python that replicas run with, such as 3.11."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


_LAYOUT = 1


def key_of(layers: Sequence[Layer]) -> str:
    """Return the key that images with the same layers share, whatever their configuration."""
    names = " ".join(f"{layer.digest}={layer.diff_id}" for layer in layers)
    return hashlib.sha256(f"{_LAYOUT} {names}".encode()).hexdigest()[:32]


def root_of(images: Path, key: str) -> Path:
    """Return the folder of the files of an unpacked image."""
    return images / key / "root"


def hold(images: Path, key: str) -> int:
    """Keep an image from being removed as long as the returned descriptor is open. Raises `OSError`."""
    images.mkdir(mode=0o700, parents=True, exist_ok=True)
    return lock(images / f"{key}.used", fcntl.LOCK_SH)


def lock(path: Path, how: int) -> int:
    """Lock a file (flock), which is created. Return its descriptor. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
