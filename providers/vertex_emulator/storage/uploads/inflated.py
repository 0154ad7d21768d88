"""Request bodies that a client compressed for the way only ("gzip transport encoding")."""

from __future__ import annotations

import zlib

from vertex_emulator.http.messages import Body, ByteSource, Request
from vertex_emulator.storage.errors import invalid, unsupported

_BLOCK = 1 << 18


def body_of(request: Request) -> Body:
    """The request's body as it was before it was compressed. Raises `StorageError` 400, 501."""
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding in ("", "identity"):
        return request.body
    if coding not in ("gzip", "x-gzip"):
        raise unsupported(f"request bodies with Content-Encoding {coding}", "Send gzip, or nothing.")
    return Body(_Inflated(request.body))


class _Inflated:
    """Reads what gzip compressed, a bounded piece at a time, however much a piece becomes."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def read(self, n: int, /) -> bytes:
        while n > 0:
            pending = self._stream.unconsumed_tail or self._source.read(_BLOCK)
            if not pending and self._stream.eof:
                return b""
            if not pending:
                raise _broken("it ends early")
            if self._stream.eof:
                raise _broken("something follows its end")
            try:
                data = self._stream.decompress(pending, n)
            except zlib.error as error:
                raise _broken(str(error)) from error
            if data:
                return data
        return b""


def _broken(why: str) -> Exception:
    return invalid(f"The body says that it is compressed with gzip, and is not sound: {why}.")
