"""The files of an export: each set in a few of them, in turn."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vertex_emulator.datasets.splitting import Assignment
from vertex_training.environment.pipeline_data import SETS

MOST = 4
"""Files of each set; seen in exports of the service."""


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One file of a set: `of` files, this one's `index`."""

    set: int
    index: int
    of: int

    def file_name(self, extension: str) -> str:
        """As the service names it."""
        return f"{SETS[self.set]}-{self.index:05}-of-{self.of:05}.{extension}"


def sizes(assignment: Assignment) -> Mapping[str, int]:
    """How many rows are in each set."""
    found = [0] * len(SETS)
    for chosen in assignment:
        if chosen is not None:
            found[chosen] += 1
    return dict(zip(SETS, found, strict=True))


def shards(assignment: Assignment) -> list[Shard]:
    """The files to write: no more than a set has rows, and one for an empty set."""
    return [
        Shard(set=index, index=number, of=files)
        for index, size in enumerate(sizes(assignment).values())
        for files in [min(MOST, max(size, 1))]
        for number in range(files)
    ]


def dealt(assignment: Assignment, lines: Iterable[bytes]) -> Iterator[tuple[Shard, bytes]]:
    """Each line that is in a set, with its file. Raises ValueError when there are more or fewer lines."""
    files: dict[int, list[Shard]] = {}
    for shard in shards(assignment):
        files.setdefault(shard.set, []).append(shard)
    dealt_to = [0] * len(SETS)
    for chosen, line in zip(assignment, lines, strict=True):
        if chosen is not None:
            of_set = files[chosen]
            yield of_set[dealt_to[chosen] % len(of_set)], line
            dealt_to[chosen] += 1


def csv_lines(rows: Iterable[Sequence[str]]) -> Iterator[bytes]:
    """Rows as they are written; values that need it are quoted."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in rows:
        writer.writerow(row)
        yield buffer.getvalue().encode("utf-8")
        buffer.seek(0)
        buffer.truncate()
