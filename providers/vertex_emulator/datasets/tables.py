"""Rows of CSV files in Cloud Storage, and the error for bad training data.

The first line of the first file (by name) is the header; other files have the same one or none ("Prepare
tabular training data").
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias


class DataError(Exception):
    """`code` is a canonical code by name; the message names the file or column and says what to do."""

    def __init__(self, message: str, *, code: str = "INVALID_ARGUMENT") -> None:
        super().__init__(message)
        self.code = code
        self.message = message


Open: TypeAlias = "Callable[[], BinaryIO]"


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file; `name` is its address."""

    name: str
    open: Open


@dataclass(frozen=True, kw_only=True)
class Table:
    """`sources` in their order; `header` is the first one's first line."""

    header: tuple[str, ...]
    sources: tuple[Source, ...]

    def column(self, name: str) -> int:
        """The index of a column. Raises `DataError`."""
        try:
            return self.header.index(name)
        except ValueError:
            raise DataError(
                f"The dataset has no column {name!r}; it has {', '.join(self.header)}. Name one of these as "
                "the key of the split.",
            ) from None

    def rows(self) -> Iterator[list[str]]:
        """All rows without the headers. Raises `DataError` for a row that does not fit the header."""
        header = list(self.header)
        for position, source in enumerate(self.sources):
            for line, row in _rows(source):
                if line == 1 and (position == 0 or row == header):
                    continue
                if len(row) != len(header):
                    raise DataError(
                        f"{source.name}, row {line}: {len(row)} values where the header has {len(header)} "
                        "columns. Correct the row, or quote values that contain commas.",
                    )
                yield row


def table(sources: Sequence[Source]) -> Table:
    """The table that the files make. Raises `DataError`."""
    ordered = tuple(sorted(sources, key=lambda each: each.name))
    if not ordered:
        raise DataError("The dataset has no files.", code="NOT_FOUND")
    header = next((row for _, row in _rows(ordered[0])), None)
    if header is None:
        raise DataError(f"{ordered[0].name} is empty. Its first line has to be the header.")
    if "" in header or len(set(header)) < len(header):
        raise DataError(
            f"{ordered[0].name}: the header is {', '.join(header)!r}. Every column needs a name of its own.",
        )
    return Table(header=tuple(header), sources=ordered)


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file with their numbers, from 1; empty lines count for nothing."""
    with source.open() as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        number = 0
        try:
            for row in csv.reader(text, strict=True):
                if row:
                    number += 1
                    yield number, row
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(
                f"{source.name}, after row {number}: it cannot be read as CSV in UTF-8: {error}.",
            ) from error
