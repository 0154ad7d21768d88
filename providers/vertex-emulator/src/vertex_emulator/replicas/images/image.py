"""The image of a replica as the plan of a job has it, and the folder of its unpacked files."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


_LAYOUT = 2


def key_of(layers: Sequence[Layer], *, separately: bool = False) -> str:
    """Return the key that images with the same layers share, whatever their configuration.

    `separately`: the layers are unpacked into a folder each, where that is possible.
    """
    names = " ".join(f"{layer.digest}={layer.diff_id}" for layer in layers)
    how = "separate" if separately else "merged"
    return hashlib.sha256(f"{_LAYOUT} {how} {names}".encode()).hexdigest()[:32]


def key_of_layer(layer: Layer) -> str:
    """Return the key that all images with a layer share for its folder."""
    return hashlib.sha256(f"{_LAYOUT} layer {layer.digest}={layer.diff_id}".encode()).hexdigest()[:32]


def keys_of(layers: Sequence[Layer], *, separately: bool) -> tuple[str, ...]:
    """Return the keys of all folders that an image may use: the image's own, then its layers'."""
    each = [key_of_layer(layer) for layer in layers] if separately else []
    return tuple(dict.fromkeys([key_of(layers, separately=separately), *each]))
