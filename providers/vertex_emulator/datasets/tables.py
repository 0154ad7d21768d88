"""Rows of CSV files in Cloud Storage, and the error for bad training data.

The first line of the first file by name is the header. Other files have the same header or none ("Prepare
tabular training data").
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias


class DataError(Exception):
    """An error in training data, with the name of a canonical code.

    The message names the file or column and the remedy.
    """

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
    """A table in several files; `header` is the first line of the first source."""

    header: tuple[str, ...]
    sources: tuple[Source, ...]

    def column(self, name: str) -> int:
        """Return the index of a column. Raises `DataError`."""
        try:
            return self.header.index(name)
        except ValueError:
            raise DataError(
                f"The dataset has no column {name!r}. Set the key of the split to one of "
                f"{', '.join(self.header)}.",
            ) from None

    def rows(self) -> Iterator[list[str]]:
        """Yield all rows without the headers. Raises `DataError` for a row that does not match the header."""
        header = list(self.header)
        for position, source in enumerate(self.sources):
            for line, row in _rows(source):
                if line == 1 and (position == 0 or row == header):
                    continue
                if len(row) != len(header):
                    raise DataError(
                        f"{source.name}, row {line}: it has {len(row)} values, and the header has "
                        f"{len(header)} columns. Correct the row, or quote values that contain commas.",
                    )
                yield row


def table(sources: Sequence[Source]) -> Table:
    """Return the table in the files. Raises `DataError`."""
    ordered = tuple(sorted(sources, key=lambda each: each.name))
    if not ordered:
        raise DataError("The dataset has no files.", code="NOT_FOUND")
    header = next((row for _, row in _rows(ordered[0])), None)
    if header is None:
        raise DataError(f"{ordered[0].name} is empty. Write the header into its first line.")
    if "" in header or len(set(header)) < len(header):
        raise DataError(
            f"{ordered[0].name}: the header is {', '.join(header)!r}. Give every column its own name.",
        )
    return Table(header=tuple(header), sources=ordered)


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a file with their numbers from 1; empty lines are not counted."""
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
