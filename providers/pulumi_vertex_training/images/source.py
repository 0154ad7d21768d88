"""What an image is to be made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

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
