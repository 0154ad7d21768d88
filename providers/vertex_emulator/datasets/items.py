"""Items of datasets that are not tables, such as images and texts, from import files.

JSON Lines are kept as written. CSV is supported for classification and converted to the same form.

Sources: Vertex AI documentation, "Prepare image training data", "Prepare text training data".
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vertex_emulator.datasets.tables import DataError, Source
from vertex_emulator.http.messages import parse_json

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
