"""The data of a pipeline: export, split, and use by the training program."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from support.emulated.job_emulator import PARENT
from support.emulated.services.pipelines import SAVE, Pipelines, pipeline, serving

IOFORMAT = "gs://google-cloud-aiplatform/schema/dataset/ioformat/"
ANNOTATION = "gs://google-cloud-aiplatform/schema/dataset/annotation/text_classification_1.0.0.yaml"
ML_USE = "aiplatform.googleapis.com/ml_use"
READ = """
import csv, glob, json, os
print(json.dumps({name: os.environ[name] for name in sorted(os.environ) if name.endswith("_DATA_URI")}))
print(os.environ["AIP_DATA_FORMAT"])
for part in ("TRAINING", "VALIDATION", "TEST"):
    rows = []
    for path in sorted(glob.glob(os.environ[f"AIP_{part}_DATA_URI"].replace("gs://", "/gcs/", 1))):
        with open(path, newline="", encoding="utf-8") as file:
            rows += csv.DictReader(file) if path.endswith(".csv") else map(json.loads, file)
    print(part, len(rows))
"""


def config(dataset: str, **fields: Any) -> dict[str, Any]:
    return {
        "datasetId": dataset.rpartition("/")[2],
        "gcsDestination": {"outputUriPrefix": "gs://work/data"},
        **fields,
    }


def run(pipelines: Pipelines, dataset: str, **fields: Any) -> dict[str, Any]:
    return pipelines.wait(pipelines.create(pipeline(READ, inputDataConfig=config(dataset, **fields))))


def rows(pipelines: Pipelines, part: str) -> list[dict[str, str]]:
    """Return the rows of a set in all exports."""
    found: list[dict[str, str]] = []
    for name in pipelines.names("data/"):
        if f"/{part}-" in name:
            text = pipelines.read(f"gs://work/{name}").decode()
            if name.endswith(".csv"):
                found += list(csv.DictReader(io.StringIO(text, newline="")))
            else:
                found += [json.loads(line) for line in text.splitlines()]
    return found


def sizes(pipelines: Pipelines) -> tuple[int, ...]:
    return tuple(len(rows(pipelines, part)) for part in ("training", "validation", "test"))


def table(count: int) -> str:
    """Return a table with a number, a descending time, a category, and a set for each row."""
    lines = ["number,when,kind,use"]
    for number in range(count):
        use = ("training", "training", "validation", "test", "none")[number % 5]
        lines.append(
            f"{number},2024-01-01T{23 - number // 60:02}:{59 - number % 60:02}:00Z,{'AAB'[number % 3]},{use}"
        )
    return "\n".join(lines) + "\n"


@pytest.mark.parity(
    "Training pipelines: data for training", same="up to four files for each set, readable by gs:// and /gcs"
)
def test_the_program_finds_its_data(pipelines: Pipelines) -> None:
    dataset = pipelines.dataset(pipelines.put("in/rows.csv", table(50)))
    over = run(pipelines, dataset)
    assert over["state"] == "PIPELINE_STATE_SUCCEEDED", over
    places, form, *counts = pipelines.printed(over)
    assert form == "csv"
    assert counts == ["TRAINING 40", "VALIDATION 5", "TEST 5"]
    uris: Mapping[str, str] = json.loads(places)
    folder = re.fullmatch(
        r"(gs://work/data/dataset-\d{19}-tabular-[-0-9T:.]{23}Z/)test-\*\.csv", uris["AIP_TEST_DATA_URI"]
    )
    assert folder is not None
    assert folder[1].partition("dataset-")[2].startswith(dataset.rpartition("/")[2])
    assert uris["AIP_TRAINING_DATA_URI"] == f"{folder[1]}training-*.csv"
    assert uris["AIP_VALIDATION_DATA_URI"] == f"{folder[1]}validation-*.csv"


def test_every_row_is_in_one_set(pipelines: Pipelines) -> None:
    run(pipelines, pipelines.dataset(pipelines.put("in/rows.csv", table(53))))
    assert sizes(pipelines) == (43, 5, 5)
    numbers = [
        int(row["number"]) for part in ("training", "validation", "test") for row in rows(pipelines, part)
    ]
    assert sorted(numbers) == list(range(53))


@pytest.mark.parity(
    "Training pipelines: splits", own_way="all five, with exact counts; random splits are always the same"
)
@pytest.mark.parametrize(
    ("split", "expected"),
    [
        pytest.param(
            {"fractionSplit": {"trainingFraction": 0.5, "validationFraction": 0.3, "testFraction": 0.2}},
            (30, 18, 12),
            id="fractions",
        ),
        pytest.param({"predefinedSplit": {"key": "use"}}, (24, 12, 12), id="predefined"),
        pytest.param(
            {
                "timestampSplit": {
                    "key": "when",
                    "trainingFraction": 0.8,
                    "validationFraction": 0.1,
                    "testFraction": 0.1,
                }
            },
            (48, 6, 6),
            id="timestamp",
        ),
        pytest.param(
            {
                "stratifiedSplit": {
                    "key": "kind",
                    "trainingFraction": 0.5,
                    "validationFraction": 0.25,
                    "testFraction": 0.25,
                }
            },
            (30, 15, 15),
            id="stratified",
        ),
    ],
)
def test_splits_of_tables(pipelines: Pipelines, split: dict[str, Any], expected: tuple[int, ...]) -> None:
    over = run(pipelines, pipelines.dataset(pipelines.put("in/rows.csv", table(60))), **split)
    assert over["state"] == "PIPELINE_STATE_SUCCEEDED", over
    assert sizes(pipelines) == expected


def test_the_latest_rows_test(pipelines: Pipelines) -> None:
    run(pipelines, pipelines.dataset(pipelines.put("in/rows.csv", table(20))), timestampSplit={"key": "when"})
    assert {row["number"] for row in rows(pipelines, "test")} == {"0", "1"}


@pytest.mark.parity("Datasets: tables", same="also wildcards, quoted line breaks and byte order marks")
def test_several_files_with_wildcards(pipelines: Pipelines) -> None:
    header, *lines = table(30).splitlines(keepends=True)
    pipelines.put("in/part-1.csv", header + "".join(lines[:10]))
    pipelines.put("in/part-2.csv", b"\xef\xbb\xbf" + (header + "".join(lines[10:20])).encode())
    last = pipelines.put("other/last.csv", "".join(lines[20:]))
    over = run(pipelines, pipelines.dataset("gs://work/in/part-*.csv", "gs://work/in/part-1.csv", last))
    assert over["state"] == "PIPELINE_STATE_SUCCEEDED", over
    assert sizes(pipelines) == (24, 3, 3)


def test_values_survive_as_they_are(pipelines: Pipelines) -> None:
    content = 'text,number\n"a ""b""\nc, d",1\n\u00e4\u4e2d,2\n'
    run(
        pipelines,
        pipelines.dataset(pipelines.put("in/rows.csv", content)),
        fractionSplit={"trainingFraction": 1},
    )
    assert rows(pipelines, "training") == [
        {"text": 'a "b"\nc, d', "number": "1"},
        {"text": "\u00e4\u4e2d", "number": "2"},
    ]


@pytest.mark.parametrize(
    ("content", "split", "text"),
    [
        pytest.param("a,b\n1,2\n", {"predefinedSplit": {"key": "use"}}, "no column 'use'", id="no-column"),
        pytest.param(
            "a,b\n1,2\n",
            {"predefinedSplit": {"key": "a"}},
            "The training set is empty",
            id="nothing-to-train",
        ),
        pytest.param("a,b\n", {}, "The training set is empty", id="no-rows"),
        pytest.param("a,b\n1\n", {}, "row 2: it has 1 values, and the header has 2", id="a-short-row"),
    ],
)
def test_invalid_data_fail_the_pipeline(
    pipelines: Pipelines, content: str, split: dict[str, Any], text: str
) -> None:
    over = run(pipelines, pipelines.dataset(pipelines.put("in/rows.csv", content)), **split)
    assert over["state"] == "PIPELINE_STATE_FAILED"
    assert over["error"]["code"] == 3
    assert text in over["error"]["message"]
    assert pipelines.done("GET", "/_local/jobs") == {"jobs": []}


def test_a_missing_file_fails_the_pipeline(pipelines: Pipelines) -> None:
    over = run(pipelines, pipelines.dataset("gs://work/in/nothing-*.csv"))
    assert over["state"] == "PIPELINE_STATE_FAILED"
    assert over["error"]["message"].startswith("There is no object gs://work/in/nothing-*.csv.")


@pytest.mark.parity(
    "Training pipelines: BigQuery as source or destination",
    not_done="refused with the remedy when data are needed",
)
def test_bigquery_is_rejected(pipelines: Pipelines) -> None:
    dataset = pipelines.dataset(metadata={"inputConfig": {"bigquerySource": {"uri": "bq://p.d.t"}}})
    over = run(pipelines, dataset)
    assert over["state"] == "PIPELINE_STATE_FAILED"
    assert "the emulator has no BigQuery" in over["error"]["message"]


def texts(pipelines: Pipelines) -> str:
    """Create a dataset of 20 texts. Every fourth is labelled for the test set."""
    dataset = pipelines.dataset(kind="text")
    lines = []
    for number in range(20):
        labels = {ML_USE: "test"} if number % 4 == 3 else {"size": "small"}
        document = {
            "textContent": f"text {number}",
            "classificationAnnotation": {"displayName": "ab"[number % 2]},
            "dataItemResourceLabels": labels,
        }
        lines.append(json.dumps(document))
    source = pipelines.put("in/items.jsonl", "\n".join(lines))
    body = {
        "importConfigs": [
            {
                "gcsSource": {"uris": [source]},
                "importSchemaUri": f"{IOFORMAT}text_classification_single_label_io_format_1.0.0.yaml",
            }
        ]
    }
    assert "error" not in pipelines.operation("POST", f"/v1/{dataset}:import", body)
    return dataset


@pytest.mark.parity("Training pipelines: data for training")
def test_items_are_exported_as_json_lines(pipelines: Pipelines) -> None:
    dataset = texts(pipelines)
    assert pipelines.get(dataset)["dataItemCount"] == "20"
    over = run(pipelines, dataset, annotationSchemaUri=ANNOTATION)
    assert over["state"] == "PIPELINE_STATE_SUCCEEDED", over
    places, form, *counts = pipelines.printed(over)
    assert (form, counts) == ("jsonl", ["TRAINING 16", "VALIDATION 2", "TEST 2"])
    assert "-text_classification-" in places
    for item in rows(pipelines, "validation"):
        assert item["textContent"].startswith("text ")  # type: ignore[index]
        assert item["dataItemResourceLabels"][ML_USE] == "validation"  # type: ignore[index]


@pytest.mark.parity("Training pipelines: splits")
def test_items_are_split_by_filters(pipelines: Pipelines) -> None:
    split = {
        "trainingFilter": f"NOT labels.{ML_USE}=test",
        "validationFilter": "-",
        "testFilter": f"labels.{ML_USE}:*",
    }
    run(pipelines, texts(pipelines), filterSplit=split)
    assert sizes(pipelines) == (15, 0, 5)


def test_an_assignment_can_be_stored(pipelines: Pipelines) -> None:
    dataset = texts(pipelines)
    run(pipelines, dataset, persistMlUseAssignment=True)
    before = rows(pipelines, "test")
    split = {
        "trainingFilter": f"labels.{ML_USE}=training",
        "validationFilter": f"labels.{ML_USE}=validation",
        "testFilter": f"labels.{ML_USE}=test",
    }
    run(pipelines, dataset, filterSplit=split)
    assert rows(pipelines, "test") == [*before, *before]


def test_a_model_has_the_sizes_of_its_data(pipelines: Pipelines) -> None:
    dataset = pipelines.dataset(pipelines.put("in/rows.csv", table(50)))
    body = pipeline(SAVE, inputDataConfig=config(dataset), modelToUpload=serving())
    over = pipelines.wait(pipelines.create(body))
    assert pipelines.get(over["modelToUpload"]["name"])["dataStats"] == {
        "trainingDataItemsCount": "40",
        "validationDataItemsCount": "5",
        "testDataItemsCount": "5",
    }
    assert pipelines.done("GET", f"{PARENT}/datasets")["datasets"][0]["name"] == dataset
