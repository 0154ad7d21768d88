"""Objects stored compressed, and sent decompressed to those who do not take them compressed.

"Transcoding of gzip-compressed files": an object with contentEncoding gzip and no `no-transform` in its
cacheControl is decompressed for a request without `Accept-Encoding: gzip`, which then gets the whole of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from vertex_emulator.storage.disk.records import StoredObject

_BLOCK = 1 << 18
_GZIP = 16 + zlib.MAX_WBITS


def is_wanted(stored: StoredObject, headers: Mapping[str, str]) -> bool:
    """Whether the content goes out decompressed."""
    settings = stored.settings
    return (
        settings.get("contentEncoding") == "gzip"
        and "no-transform" not in settings.get("cacheControl", "")
        and "gzip" not in headers.get("accept-encoding", "")
    )


def decompressed(file: BinaryIO) -> Iterator[bytes]:
    """The content of a gzip file, which is closed at the end, in blocks of bounded size.

    What is no gzip file comes as it is. One that ends early or is damaged ends the connection
    (`ConnectionError`), as nothing else can tell the client.
    """
    with file:
        data = file.read(_BLOCK)
        if not data.startswith(b"\x1f\x8b"):
            while data:
                yield data
                data = file.read(_BLOCK)
            return
        while data:
            member = zlib.decompressobj(_GZIP)
            while not member.eof:
                data = data or file.read(_BLOCK)
                if not data:
                    raise ConnectionAbortedError("the gzip content of the object ends early")
                try:
                    block = member.decompress(data, _BLOCK)
                except zlib.error as error:
                    raise ConnectionAbortedError("the gzip content of the object is damaged") from error
                data = member.unused_data if member.eof else member.unconsumed_tail
                if block:
                    yield block
            data = data or file.read(_BLOCK)
            if not data.startswith(b"\x1f"):
                return  # padding after the last member
