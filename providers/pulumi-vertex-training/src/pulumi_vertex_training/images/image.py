"""Types of the build: the source, base images, blobs and the built image; and the grammar of image names."""

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
    """The folder that an image is built from, and the options of the build.

    With `dockerfile`, the name of a file in the folder, the folder is its build context. The options `env`,
    `labels`, `working_dir`, `user`, `entrypoint` and `command` are then applied after the last instruction.
    Without `dockerfile`, the image is `base_image` plus the folder's content in the working directory, by
    default /usr/app.

    `requirements` is a lock file with a hash in every line; its wheels for `python_version` ("3.11") become a
    layer. `build_args` and `target` are as in `docker build`. `exclude` has further patterns in the format
    of .dockerignore; they apply only to `source`.

    `build_contexts` are further folders by name, each with its own .dockerignore. `COPY --from=NAME` copies
    from them, as with `docker build --build-context NAME=PATH`. Without a Dockerfile, the content of each
    goes to the folder NAME in the working directory. `context_excludes` has patterns of files to leave out of
    a named context, in the format of .dockerignore.
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
    context_excludes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BaseImage:
    """An image that a build starts from or copies from.

    `name` is as in `ImagePlan.base_images`. `digest` is `manifest`'s, which is never an index (see
    `select_platform`). `open_layer` opens the compressed bytes of a layer, given its digest. It is called
    only for COPY --from and for user names; if it is None, those are rejected.
    """

    name: str
    digest: str
    manifest: bytes
    config: bytes
    media_type: str
    open_layer: Callable[[str], BinaryIO] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Blob:
    """A layer: its `digest` ("sha256:..."), its `size` in bytes, and where its bytes come from.

    `path` is the file of a layer built here. A layer of a base image, and one of requirements that was built
    before, has `mounted_from` instead: the repository that holds it, without tag and digest. `urls` is set
    for layers that no registry holds.
    """

    digest: str
    size: int
    media_type: str
    path: Path | None = None
    mounted_from: str | None = None
    urls: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BuiltImage:
    """An image that is ready to be pushed: first `blobs` (layers), then `config`, then `manifest`.

    Each digest occurs at most once in `blobs`. `problems` are warnings of the build.
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
    """Return the full name of an image, with Docker Hub's host if none is given; None if it is not a name.

    A name without tag and digest stays without; it means the tag `latest`. The grammar of names,
    `HOST/PATH[:TAG][@DIGEST]`, is as in github.com/distribution/reference.
    """
    match = _NAME.fullmatch(text)
    if not match or len(text) > 512:
        return None
    first, slash, rest = match["path"].partition("/")
    if not slash or not (
        any(mark in first for mark in ".:") or first == "localhost" or first != first.lower()
    ):
        if first != first.lower():
            return None
        return "docker.io/" + text if slash else "docker.io/library/" + text
    return text if re.fullmatch(rf"{_PART}(?:/{_PART})*", rest) else None


def repository_of(name: str) -> str:
    """Return an image name without its tag and digest."""
    name = name.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return head + slash + last.partition(":")[0]
