"""Read the bodies of answers that anybody may send, block by block, and stop at a bound.

The name of an image names its registry, so its answers are not trusted: no body is read without a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from requests import Response

LARGEST_MANIFEST = 8 << 20
"""Limit of a manifest or index in bytes; registries accept 4 MiB ("Pushing Manifests")."""

LARGEST_CONFIG = 8 << 20
"""Limit of an image's configuration in bytes."""

LARGEST_DOCUMENT = 1 << 20
"""Limit of any other document in bytes, such as a token or an error."""

_BLOCK = 1 << 16


class TooLargeError(Exception):
    """A body has more bytes than its bound, or is compressed, so that its size cannot be known."""


def blocks(response: Response, *, most: int, size: int = _BLOCK) -> Iterator[bytes]:
    """Yield the body of a streamed answer. Raises `TooLargeError` before more than `most` bytes are yielded.

    A compressed body is rejected: requests ask for none, and a small one can expand to any size.
    """
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        response.close()
        raise TooLargeError(f"the answer has the Content-Encoding {encoding[:40]!r}, which was not asked for")
    left = most
    for block in response.iter_content(size):
        left -= len(block)
        if left < 0:
            response.close()
            raise TooLargeError(f"the answer has more than {most} bytes")
        yield block


def load(response: Response, *, most: int) -> None:
    """Read the whole body of a streamed answer, which then has it as its `content`. Raises `TooLargeError`.

    An answer that is no success keeps its status, and loses a body that is too large.
    """
    if isinstance(response._content, bytes):
        return
    try:
        content = b"".join(blocks(response, most=most))
    except TooLargeError:
        if response.status_code < 300:
            raise
        content = b""
    response._content = content
