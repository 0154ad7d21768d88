"""The content of datasets: rows of CSV files, and items such as images and texts.

The first line of the first file by name is the header. Other files have the same header or none ("Prepare
tabular training data").

JSON Lines are kept as written. CSV is supported for classification and converted to the same form.

Sources: Vertex AI documentation, "Prepare image training data", "Prepare text training data".
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

from vertex_emulator.server.http.messages import parse_json


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


ML_USE = "aiplatform.googleapis.com/ml_use"
LABELS = "dataItemResourceLabels"
_ML_USES = {
    "training": "training",
    "train": "training",
    "validation": "validation",
    "validate": "validation",
    "test": "test",
    "unassigned": "",
    "": "",
}
_CLASSIFICATION = ("image_classification", "text_classification", "video_classification")


@dataclass(frozen=True, kw_only=True)
class Item:
    """An item of a dataset. `content` is a line of an import file without the item's labels."""

    content: Mapping[str, Any]
    labels: Mapping[str, str]

    def line(self, ml_use: str) -> bytes:
        """Return the item as a line of an export, with `ml_use` as its set."""
        document = {**self.content, LABELS: {**self.labels, ML_USE: ml_use}}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"


def schema_title(schema_uri: str) -> str:
    """Return the name of a schema: `image_classification` for `image_classification_1.0.0.yaml`."""
    return schema_uri.rpartition("/")[2].partition(".yaml")[0].rpartition("_")[0]


def read(source: Source, *, schema_uri: str, labels: Mapping[str, str]) -> Iterator[Item]:
    """Yield the items of an import file. `labels` apply to all items, unless a line has another value.

    Raises `DataError`.
    """
    if source.name.endswith(".csv"):
        found = _csv_items(source, schema_title(schema_uri).removesuffix("_io_format"))
    else:
        found = _json_items(source)
    for item in found:
        yield Item(content=item.content, labels={**labels, **item.labels})


def _json_items(source: Source) -> Iterator[Item]:
    for number, line in _lines(source):
        try:
            document = parse_json(line.encode())
        except ValueError as error:
            raise DataError(f"{source.name}, line {number}: it is not JSON: {error}.") from error
        labels = document.pop(LABELS, {}) if isinstance(document, dict) else None
        if not document or not isinstance(labels, dict) or not all(map(_is_text, labels.values())):
            raise DataError(
                f"{source.name}, line {number}: it is not an item. Write a JSON object such as "
                '{"imageGcsUri": "gs://BUCKET/NAME"}, with strings only in ' + LABELS + ".",
            )
        yield Item(content=document, labels=labels)


def _csv_items(source: Source, schema: str) -> Iterator[Item]:
    kind = next((each for each in _CLASSIFICATION if schema.startswith(each)), None)
    if kind is None:
        raise DataError(
            f"{source.name}: the emulator supports CSV for classification only, and the import schema is "
            f"{schema or 'not named'}. Write the items as JSON Lines.",
            code="UNIMPLEMENTED",
        )
    text = io.StringIO("".join(line for _, line in _lines(source)), newline="")
    try:
        for number, row in enumerate(csv.reader(text, strict=True), start=1):
            if row:
                yield _classified(source, number, row, kind, multi="multi_label" in schema)
    except csv.Error as error:
        raise DataError(f"{source.name}: it cannot be read as CSV: {error}.") from error


def _classified(source: Source, number: int, row: Sequence[str], kind: str, *, multi: bool) -> Item:
    use = _ML_USES.get(row[0].strip().lower())
    values = [each.strip() for each in (row if use is None else row[1:])]
    labels = [each for each in values[1:] if each]
    if not values or not values[0] or (len(labels) > 1 and not multi):
        raise DataError(
            f"{source.name}, row {number}: it is not an item. Write ML_USE,CONTENT,LABEL or CONTENT,LABEL.",
        )
    subject = kind.partition("_")[0]
    is_address = values[0].startswith("gs://") or subject != "text"
    content: dict[str, Any] = {f"{subject}GcsUri" if is_address else "textContent": values[0]}
    annotations = [{"displayName": each} for each in labels]
    if multi:
        content["classificationAnnotations"] = annotations
    elif annotations:
        content["classificationAnnotation"] = annotations[0]
    return Item(content=content, labels={ML_USE: use} if use else {})


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    with source.open() as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        try:
            for number, line in enumerate(text, start=1):
                if line.strip():
                    yield number, line
        except UnicodeDecodeError as error:
            raise DataError(f"{source.name}: it is not UTF-8: {error}.") from error


def _is_text(value: object) -> bool:
    return isinstance(value, str)
