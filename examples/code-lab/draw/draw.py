"""Draw flowers of five kinds, as PNG files in a folder for each kind: python3 draw.py FOLDER [COUNT]."""

from __future__ import annotations

import math
import random
import struct
import sys
import zlib
from pathlib import Path

SIZE = 48
FLOWERS = {
    "daisy": (13, (245, 245, 245), (235, 190, 30)),
    "dandelion": (24, (250, 220, 40), (230, 180, 10)),
    "roses": (5, (200, 20, 50), (150, 10, 30)),
    "sunflowers": (18, (255, 170, 0), (90, 50, 10)),
    "tulips": (3, (180, 60, 200), (120, 30, 140)),
}
"""For each kind the number of petals, their colour and that of the centre."""


Colour = tuple[int, int, int]


def flower(petals: int, outside: Colour, centre: Colour, chance: random.Random) -> bytes:
    """Return the rows of a picture: red, green and blue of each pixel."""
    x, y = (SIZE * chance.uniform(0.4, 0.6) for _ in range(2))
    radius, turn = SIZE * chance.uniform(0.3, 0.45), chance.uniform(0, math.pi)
    meadow = (chance.randint(20, 90), chance.randint(90, 160), chance.randint(20, 80))
    rows = bytearray()
    for row in range(SIZE):
        for column in range(SIZE):
            distance = math.hypot(column - x, row - y) / radius
            edge = 0.75 + 0.25 * math.cos(petals * (math.atan2(row - y, column - x) + turn))
            colour = centre if distance < 0.3 else outside if distance < edge else meadow
            rows += bytes(max(0, min(255, value + chance.randint(-20, 20))) for value in colour)
    return bytes(rows)


def png(rows: bytes) -> bytes:
    """Return a PNG file."""
    lines = b"".join(b"\0" + rows[start : start + SIZE * 3] for start in range(0, len(rows), SIZE * 3))
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def main(folder: str, count: int = 40, seed: int = 123) -> None:
    chance = random.Random(seed)
    for kind, (petals, outside, centre) in FLOWERS.items():
        Path(folder, kind).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            Path(folder, kind, f"{number:03}.png").write_bytes(png(flower(petals, outside, centre, chance)))
    print(f"{count} pictures of each of {', '.join(FLOWERS)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *(int(each) for each in sys.argv[2:]))
