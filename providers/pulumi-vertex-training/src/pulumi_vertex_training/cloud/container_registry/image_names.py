"""Names of container images: their parts, and the one spelling that each has on Google."""

from __future__ import annotations

import re
from dataclasses import dataclass

DOCKER_HUB = "docker.io"

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_NAME = re.compile(
    rf"(?P<path>(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?/)?{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_GOOGLE = re.compile(r"(?:[a-z0-9-]+\.)?gcr\.io|[a-z0-9-]+-docker\.pkg\.dev")


@dataclass(frozen=True, kw_only=True)
class ImageName:
    """An image by its registry's `host`, its `path` there, and a tag, a digest, both or neither."""

    host: str
    path: str
    tag: str | None = None
    digest: str | None = None

    @property
    def repository(self) -> str:
        """The name without tag and digest."""
        return f"{self.host}/{self.path}"

    @property
    def reference(self) -> str:
        """The reference in requests: the digest if there is one, else the tag, else `latest`."""
        return self.digest or self.tag or "latest"

    @property
    def is_google_host(self) -> bool:
        """True if the host is Artifact Registry or Container Registry."""
        return _GOOGLE.fullmatch(self.host) is not None

    def at(self, reference: str) -> ImageName:
        """Return the image of another tag or digest in the same repository."""
        if reference.startswith("sha256:"):
            return ImageName(host=self.host, path=self.path, digest=reference)
        return ImageName(host=self.host, path=self.path, tag=reference)

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}{f'@{self.digest}' if self.digest else ''}"


def parse(text: str) -> ImageName:
    """Parse a name; without a host it is Docker Hub's: `python:3` is docker.io/library/python:3.

    Raises ValueError if it is not an image name.
    """
    match = _NAME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an image name; write HOST/PATH:TAG or HOST/PATH@sha256:DIGEST")
    first, slash, rest = match["path"].partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        host, path = first, rest
    else:
        host, path = DOCKER_HUB, match["path"]
    if host in ("index.docker.io", "registry-1.docker.io"):
        host = DOCKER_HUB
    if host == DOCKER_HUB and "/" not in path:
        path = f"library/{path}"
    if path != path.lower():
        raise ValueError(f"{text!r} is not an image name; the path after the host must be in lower case")
    return ImageName(host=host, path=path, tag=match["tag"], digest=match["digest"])


def is_tag(text: str) -> bool:
    """Return whether a text is a valid tag."""
    return _TAG.fullmatch(text) is not None
