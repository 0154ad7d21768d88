"""The CRC32C of two pieces of content put together, from those of the pieces, without reading either.

A CRC is linear: appending n zero bytes to what was read multiplies its register by a fixed 32 x 32 matrix
over the field of two elements; the matrices for powers of two are squares of each other (as in zlib's
crc32_combine).
"""

from __future__ import annotations

import base64
from functools import lru_cache

_POLYNOMIAL = 0x82F63B78
_BITS = 32
_MAX_POWER = 64

Matrix = tuple[int, ...]


def combined(first: str, second: str, second_size: int) -> str:
    """The checksum of the first piece followed by the second, all in the API's base64."""
    register = int.from_bytes(base64.b64decode(first), "big")
    power, size = 3, second_size  # 2^3 bits are a byte
    while size:
        if size & 1:
            register = _times(_zeros(power), register)
        size >>= 1
        power += 1
    whole = register ^ int.from_bytes(base64.b64decode(second), "big")
    return base64.b64encode(whole.to_bytes(4, "big")).decode("ascii")


@lru_cache(maxsize=_MAX_POWER + 4)
def _zeros(power: int) -> Matrix:
    """What 2^power zero bits do."""
    if power == 0:
        return (_POLYNOMIAL, *(1 << bit for bit in range(_BITS - 1)))
    half = _zeros(power - 1)
    return tuple(_times(half, column) for column in half)


def _times(matrix: Matrix, vector: int) -> int:
    result = 0
    for column in matrix:
        if vector & 1:
            result ^= column
        vector >>= 1
    return result
