"""Request bodies that were sent with gzip, as Google's library for Java sends documents."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping

from vertex_emulator.http.messages import Body, ByteSource, HttpError

_BLOCK = 1 << 18


def invalid_body(message: str) -> HttpError:
    """Return the error of a service with Google's JSON error envelope."""
    return HttpError(400, "", message)


def unsupported_coding(coding: str) -> HttpError:
    """Return the error for a coding other than gzip."""
    return HttpError(
        415, "", f"The emulator does not support Content-Encoding {coding!r}. Send gzip, or plain JSON."
    )


def decompressed(
    source: ByteSource,
    headers: Mapping[str, str],
    *,
    invalid: Callable[[str], HttpError] = invalid_body,
    unsupported: Callable[[str], HttpError] = unsupported_coding,
) -> Body:
    """Return a body, decompressed if it was sent with gzip.

    `invalid` and `unsupported` make the errors for damaged content and for another coding.
    """
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding in ("", "identity"):
        return Body(source)
    if coding not in ("gzip", "x-gzip"):
        raise unsupported(coding)
    return Body(_Inflated(source, invalid))


class _Inflated:
    """A reader of gzip content, which decompresses blocks of limited size."""

    def __init__(self, source: ByteSource, invalid: Callable[[str], HttpError]) -> None:
        self._source = source
        self._invalid = invalid
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def read(self, n: int, /) -> bytes:
        while n > 0:
            pending = self._stream.unconsumed_tail or self._source.read(_BLOCK)
            if self._stream.eof:
                if pending or self._stream.unused_data:
                    raise self._broken("bytes follow its end")
                return b""
            if not pending:
                raise self._broken("it ends early")
            try:
                data = self._stream.decompress(pending, n)
            except zlib.error as error:
                raise self._broken(str(error)) from error
            if data:
                return data
        return b""

    def _broken(self, why: str) -> HttpError:
        return self._invalid(f"The body has Content-Encoding gzip, and it is damaged: {why}.")
