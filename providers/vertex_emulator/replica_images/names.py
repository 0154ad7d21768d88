"""Names of images, in the one way of writing that everything in the emulator goes by.

Source: the distribution project's grammar of references, which Docker and the service follow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_HOST = re.compile(r"localhost(:\d{1,5})?|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:\d{1,5})?|[A-Za-z0-9-]+:\d{1,5}")
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_PATH = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_MAX_NAME = 255


@dataclass(frozen=True, kw_only=True)
class ImageName:
    """An image by host and path (`repository`), and by tag, digest or both; the other is empty."""

    repository: str
    tag: str
    digest: str

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}" + (f"@{self.digest}" if self.digest else "")


def parse(text: str) -> ImageName:
    """The canonical name: a name without a host is Docker Hub's, without tag and digest `latest` is meant.

    Raises `ValueError` for what is not the name of an image.
    """
    rest, at, digest = text.partition("@")
    head, _, last = rest.rpartition("/")
    last, colon, tag = last.partition(":")
    path = f"{head}/{last}" if head else last
    first, slash, below = path.partition("/")
    if slash and _HOST.fullmatch(first):
        host, path = first.lower(), below
    else:
        host = "docker.io"
        path = path if slash else f"library/{path}"
    if not _PATH.fullmatch(path) or len(host) + len(path) >= _MAX_NAME:
        raise ValueError(f"{text!r} is not the name of an image, such as HOST/PATH:TAG in small letters")
    if colon and not _TAG.fullmatch(tag):
        raise ValueError(f"{text!r} has the tag {tag!r}; a tag is letters, digits, '_', '.' and '-'")
    if at and not _DIGEST.fullmatch(digest):
        raise ValueError(f"{text!r} has the digest {digest!r}; one looks like sha256: and 64 hex digits")
    return ImageName(repository=f"{host}/{path}", tag=tag if colon else "" if at else "latest", digest=digest)
