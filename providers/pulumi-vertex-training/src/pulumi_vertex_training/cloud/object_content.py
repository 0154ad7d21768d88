"""The content of an object in parts: its beginning, or all of it in blocks. The stored bytes are not decoded.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

from pulumi_vertex_training.cloud import clients, rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated

if TYPE_CHECKING:
    from requests import Response

_BLOCK = 1 << 18
_NOTHING_THERE = 416
"""The status for a range of an empty object."""


def beginning(endpoint: Endpoint, bucket: str, name: str, *, count: int) -> bytes:
    """Return the first `count` bytes of an object, or all if it has fewer. Raises NotFound."""
    found = bytearray()
    with _opened(endpoint, bucket, name, {"Range": f"bytes=0-{count - 1}"}) as response:
        if response.status_code == _NOTHING_THERE:
            return b""
        for block in response.raw.stream(_BLOCK, decode_content=False):
            found += block
            if len(found) >= count:
                break
    return bytes(found[:count])


def blocks(endpoint: Endpoint, bucket: str, name: str) -> Iterator[bytes]:
    """Yield the content of an object. Raises NotFound, and Unavailable if the connection breaks."""
    with _opened(endpoint, bucket, name, {}) as response:
        yield from response.raw.stream(_BLOCK, decode_content=False)


@contextmanager
def _opened(endpoint: Endpoint, bucket: str, name: str, headers: dict[str, str]) -> Iterator[Response]:
    url = f"{clients.storage_url(endpoint)}/storage/v1/b/{quote(bucket, safe='')}/o/{quote(name, safe='')}"
    with translated(endpoint, f"read gs://{bucket}/{name}"):
        response = clients.session(endpoint).get(
            url,
            params={"alt": "media"},
            headers={"Accept-Encoding": "gzip", **headers},  # without it, the service decodes what is stored
            timeout=endpoint.timeouts.content,
            stream=True,
        )
        with response:
            if response.status_code >= 300 and response.status_code != _NOTHING_THERE:
                raise rest.refusal(response)
            yield response
