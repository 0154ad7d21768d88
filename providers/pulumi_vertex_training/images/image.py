"""Images: names, what one is made from, base images, blobs, and what a build returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from vertex_training.findings.problems import Problem

PLATFORMS: Final = ("linux/amd64", "linux/arm64")
"""The platforms that images are built for."""


@dataclass(frozen=True, kw_only=True)
class ImageSource:
    """A folder and what is to become of it.

    With `dockerfile`, the name of a file in the folder, the folder is its build context, and the options
    below change what the file says: `env`, `labels`, `working_dir`, `user`, `entrypoint` and `command` are
    set after its last instruction. Without, the image is `base_image` with the folder's content in the
    working directory, which is then /usr/app unless stated.

    `requirements` is a lock file with a hash in every line; its wheels, for `python_version` ("3.11"), become
    a layer. `build_args` and `target` are those of `docker build`. `exclude` holds more patterns in the form
    of a .dockerignore file, for `source` alone.

    `build_contexts` are more folders, by name, each with its own .dockerignore: `COPY --from=NAME` takes
    files from them, as with `docker build --build-context NAME=PATH`. Without a Dockerfile the content of
    each goes to the folder NAME in the working directory.
    """

    source: Path
    dockerfile: str | None = None
    base_image: str | None = None
    requirements: Path | None = None
    entrypoint: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    working_dir: str | None = None
    user: str | None = None
    build_args: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    platform: str = "linux/amd64"
    python_version: str | None = None
    exclude: tuple[str, ...] = ()
    build_contexts: Mapping[str, Path] = field(default_factory=dict)


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


_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])"
_NAME = re.compile(
    rf"(?P<path>(?:{_HOST}(?::[0-9]+)?/)?{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


def canonical_name(text: str) -> str | None:
    """The full name of an image, with Docker Hub's host where none is stated; None when it is no name.

    A name without tag and digest stays so; it means the tag `latest`.
    """
    found = _NAME.fullmatch(text)
    if not found or len(text) > 512:
        return None
    first, slash, rest = found["path"].partition("/")
    if not slash or not (
        any(mark in first for mark in ".:") or first == "localhost" or first != first.lower()
    ):
        if first != first.lower():
            return None
        return "docker.io/" + text if slash else "docker.io/library/" + text
    return text if re.fullmatch(rf"{_PART}(?:/{_PART})*", rest) else None


def repository_of(name: str) -> str:
    """A name without tag and digest."""
    name = name.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return head + slash + last.partition(":")[0]
