"""Rows, items and shards: parsing of files and export."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping

import pytest

from vertex_emulator.services.datasets import contents, exporting
from vertex_emulator.services.datasets.contents import DataError, Source

TEXT = "gs://google-cloud-aiplatform/schema/dataset/ioformat/text_classification_single_label_io_format_1.0.0.yaml"
MULTI = "gs://google-cloud-aiplatform/schema/dataset/ioformat/image_classification_multi_label_io_format_1.0.0.yaml"
BOXES = "gs://google-cloud-aiplatform/schema/dataset/ioformat/image_bounding_box_io_format_1.0.0.yaml"


def source(content: str | bytes, name: str = "gs://b/a.csv") -> Source:
    data = content.encode() if isinstance(content, str) else content
    return Source(name=name, open=lambda: io.BytesIO(data))


@pytest.mark.parity("Datasets: tables")
@pytest.mark.parametrize(
    ("content", "rows"),
    [
        pytest.param("a,b\n1,2\n3,4\n", [["1", "2"], ["3", "4"]], id="plain"),
        pytest.param("a,b\r\n1,2\r\n", [["1", "2"]], id="lines-of-windows"),
        pytest.param("a,b\n1,2", [["1", "2"]], id="no-newline-at-the-end"),
        pytest.param('a,b\n"x\ny",2\n', [["x\ny", "2"]], id="a-newline-in-quotes"),
        pytest.param('a,b\n"x,""y""",2\n', [['x,"y"', "2"]], id="a-comma-and-quotes-in-quotes"),
        pytest.param(b"\xef\xbb\xbfa,b\n1,2\n", [["1", "2"]], id="a-byte-order-mark"),
        pytest.param("a,b\n\n1,2\n\n", [["1", "2"]], id="empty-lines"),
        pytest.param("a,b\n", [], id="nothing-but-the-header"),
        pytest.param("a,b\n\u00e4,\u4e2d\n", [["\u00e4", "\u4e2d"]], id="other-alphabets"),
    ],
)
def test_rows(content: str | bytes, rows: list[list[str]]) -> None:
    table = contents.table([source(content)])
    assert table.header == ("a", "b")
    assert list(table.rows()) == rows


def test_files_are_sorted_by_name_and_have_one_header() -> None:
    table = contents.table(
        [source("3,4\n", "gs://b/3"), source("a,b\n1,2\n", "gs://b/1"), source("a,b\n9,9\n", "gs://b/2")]
    )
    assert list(table.rows()) == [["1", "2"], ["9", "9"], ["3", "4"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("a,b\n1,2\n3\n", "row 3: it has 1 values, and the header has 2", id="a-short-row"),
        pytest.param("a,a\n1,2\n", "Give every column its own name", id="a-column-twice"),
        pytest.param("a,\n1,2\n", "Give every column its own name", id="a-column-without-a-name"),
        pytest.param("", "is empty", id="empty"),
        pytest.param(b"a,b\n\xff,1\n", "cannot be read as CSV in UTF-8", id="not-utf-8"),
        pytest.param('a,b\n"x,1\n', "cannot be read as CSV", id="a-quote-that-is-not-closed"),
    ],
)
def test_invalid_tables(content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(contents.table([source(content)]).rows())


def test_a_missing_column() -> None:
    with pytest.raises(DataError, match=r"no column 'c'\. .* a, b"):
        contents.table([source("a,b\n")]).column("c")


@pytest.mark.parity(
    "Datasets: items", own_way="JSON Lines of every kind, CSV of classification; an import is all or nothing"
)
@pytest.mark.parametrize(
    ("name", "schema", "line", "content", "labels"),
    [
        pytest.param(
            "gs://b/a.jsonl",
            TEXT,
            '{"textContent": "hi", "dataItemResourceLabels": {"k": "v"}}',
            {"textContent": "hi"},
            {"k": "v"},
            id="json",
        ),
        pytest.param(
            "gs://b/a.csv",
            TEXT,
            '"hello, you",greeting',
            {"textContent": "hello, you", "classificationAnnotation": {"displayName": "greeting"}},
            {},
            id="csv-text",
        ),
        pytest.param(
            "gs://b/a.csv",
            TEXT,
            "gs://b/1.txt",
            {"textGcsUri": "gs://b/1.txt"},
            {},
            id="csv-address-without-a-label",
        ),
        pytest.param(
            "gs://b/a.csv",
            MULTI,
            "TEST,gs://b/1.png,cat,dog",
            {
                "imageGcsUri": "gs://b/1.png",
                "classificationAnnotations": [{"displayName": "cat"}, {"displayName": "dog"}],
            },
            {contents.ML_USE: "test"},
            id="csv-labels",
        ),
    ],
)
def test_items(
    name: str, schema: str, line: str, content: Mapping[str, object], labels: Mapping[str, str]
) -> None:
    (found,) = contents.read(source(f"{line}\n", name), schema_uri=schema, labels={})
    assert (found.content, found.labels) == (content, labels)


def test_a_label_of_the_line_overrides_one_of_the_import() -> None:
    line = '{"textContent": "hi", "dataItemResourceLabels": {"a": "line"}}'
    (found,) = contents.read(source(line, "gs://b/a.jsonl"), schema_uri=TEXT, labels={"a": "all", "b": "all"})
    assert found.labels == {"a": "line", "b": "all"}


@pytest.mark.parametrize(
    ("name", "schema", "line", "message"),
    [
        pytest.param("gs://b/a.jsonl", TEXT, "{", "line 1: it is not JSON", id="not-json"),
        pytest.param("gs://b/a.jsonl", TEXT, "[1]", "line 1: it is not an item", id="no-object"),
        pytest.param(
            "gs://b/a.jsonl",
            TEXT,
            '{"textContent": "hi", "dataItemResourceLabels": {"a": 1}}',
            "strings only in",
            id="a-label-that-is-no-text",
        ),
        pytest.param("gs://b/a.csv", TEXT, "x,1,2", "row 1: it is not an item", id="two-labels"),
        pytest.param("gs://b/a.csv", BOXES, "gs://b/1.png,a", "JSON Lines", id="csv-of-boxes"),
    ],
)
def test_invalid_items(name: str, schema: str, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(contents.read(source(line, name), schema_uri=schema, labels={}))


def test_an_item_is_exported_with_its_set() -> None:
    item = contents.Item(content={"textContent": "\u00e4"}, labels={"a": "b"})
    line = item.line("validation")
    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "textContent": "\u00e4",
        "dataItemResourceLabels": {"a": "b", contents.ML_USE: "validation"},
    }


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        pytest.param(
            "gs://x/annotation/image_classification_1.0.0.yaml", "image_classification", id="annotation"
        ),
        pytest.param("gs://x/metadata/tabular_1.0.0.yaml", "tabular", id="metadata"),
        pytest.param("", "", id="none"),
    ],
)
def test_titles_of_schemas(uri: str, expected: str) -> None:
    assert contents.schema_title(uri) == expected


def test_the_lines_of_a_set_are_assigned_to_its_files_in_turn() -> None:
    assignment: list[int | None] = [0, 0, 1, None, 0, 0, 0]
    dealt = [
        (shard.file_name("csv"), line)
        for shard, line in exporting.assigned_lines(assignment, [b"%d" % n for n in range(7)])
    ]
    assert dealt == [
        ("training-00000-of-00004.csv", b"0"),
        ("training-00001-of-00004.csv", b"1"),
        ("validation-00000-of-00001.csv", b"2"),
        ("training-00002-of-00004.csv", b"4"),
        ("training-00003-of-00004.csv", b"5"),
        ("training-00000-of-00004.csv", b"6"),
    ]


def test_an_empty_set_has_one_file() -> None:
    names = [shard.file_name("jsonl") for shard in exporting.shards([0, 0])]
    assert names == [
        "training-00000-of-00002.jsonl",
        "training-00001-of-00002.jsonl",
        "validation-00000-of-00001.jsonl",
        "test-00000-of-00001.jsonl",
    ]


def test_data_that_changed_during_the_export() -> None:
    with pytest.raises(ValueError, match="shorter"):
        list(exporting.assigned_lines([0, 0], [b"1"]))


def test_values_are_quoted_if_needed() -> None:
    assert list(exporting.csv_lines([["a,b", 'c"', "d\ne", "f"]])) == [b'"a,b","c""","d\ne",f\n']
