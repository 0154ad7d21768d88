"""What goes into a build and what comes out of it: base images, blobs, the image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from vertex_training.findings.problems import Problem


@dataclass(frozen=True, kw_only=True)
class BaseImage:
    """An image that a build starts from or copies from.

    `name` is as in `ImagePlan.base_images`; `digest` is that of `manifest`, which is a manifest, not an index
    (see `select_platform`). `open_layer` opens the compressed bytes of the layer of a digest; it is called
    only for COPY --from and for names of users, and may be None, in which case those are refused.
    """

    name: str
    digest: str
    manifest: bytes
    config: bytes
    media_type: str
    open_layer: Callable[[str], BinaryIO] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Blob:
    """A layer: `digest` as `sha256:...`, `size` in bytes.

    `path` is its file where it was made here; otherwise it is a layer of a base image and `mounted_from` is
    the name of the repository that has it, without tag and digest. `urls` are of layers that no registry
    holds.
    """

    digest: str
    size: int
    media_type: str
    path: Path | None = None
    mounted_from: str | None = None
    urls: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BuiltImage:
    """An image that is ready to be sent: `blobs` (layers) first, then `config`, then `manifest`.

    A digest may occur once only in `blobs`. `problems` are warnings of the build.
    """

    manifest: bytes
    media_type: str
    digest: str
    config: bytes
    config_digest: str
    blobs: tuple[Blob, ...]
    problems: tuple[Problem, ...] = ()
