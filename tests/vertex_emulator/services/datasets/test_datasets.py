"""Datasets of the emulator over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.emulated.job_emulator import PARENT
from support.emulated.services.pipelines import METADATA, Pipelines

DATASETS = f"{PARENT}/datasets"
SCHEMA = "gs://google-cloud-aiplatform/schema/dataset/ioformat/text_classification_single_label_io_format_1.0.0.yaml"


def imported(
    data: Pipelines, dataset: str, content: str, *, name: str = "items.jsonl", **more: Any
) -> dict[str, Any]:
    config = {"gcsSource": {"uris": [data.put(name, content)]}, "importSchemaUri": SCHEMA, **more}
    return data.operation("POST", f"/v1/{dataset}:import", {"importConfigs": [config]})


def exported(data: Pipelines, dataset: str, **config: Any) -> dict[str, Any]:
    body = {"exportConfig": {"gcsDestination": {"outputUriPrefix": "gs://work/out"}, **config}}
    return data.operation("POST", f"/v1/{dataset}:export", body)


@pytest.mark.parametrize(
    ("sent", "shown"),
    [(["bq://p.d.t"], "bq://p.d.t"), ("bq://p.d.t", "bq://p.d.t"), (["bq://a", "bq://b"],) * 2],
)
def test_one_table_of_bigquery_is_shown_as_a_string(data: Pipelines, sent: Any, shown: Any) -> None:
    body = {
        "displayName": "rows",
        "metadataSchemaUri": f"{METADATA}tabular_1.0.0.yaml",
        "metadata": {"inputConfig": {"bigquerySource": {"uri": sent}}},
    }
    created = data.operation("POST", DATASETS, body)["response"]
    assert created["metadata"] == {"inputConfig": {"bigquerySource": {"uri": shown}}}


@pytest.mark.parity("Datasets: create, get, list, update, delete of datasets", same="every field is returned")
def test_a_dataset_is_returned_as_sent(data: Pipelines) -> None:
    name = data.dataset("gs://work/rows.csv", labels={"a": "b"}, description="rows")
    found = data.get(name)
    assert found.pop("createTime") == found.pop("updateTime")
    assert found == {
        "name": name,
        "displayName": "rows",
        "description": "rows",
        "metadataSchemaUri": f"{METADATA}tabular_1.0.0.yaml",
        "metadata": {"inputConfig": {"gcsSource": {"uri": ["gs://work/rows.csv"]}}},
        "labels": {"a": "b", "aiplatform.googleapis.com/dataset_metadata_schema": "TABULAR"},
    }


def test_the_operation_of_a_creation_is_below_the_dataset(data: Pipelines) -> None:
    body = {"displayName": "rows", "metadataSchemaUri": f"{METADATA}text_1.0.0.yaml"}
    operation = data.operation("POST", DATASETS, body)
    assert operation["name"].startswith(f"{operation['response']['name']}/operations/")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"displayName": ""}, "dataset.display_name", id="no-name"),
        pytest.param({"metadataSchemaUri": ""}, "dataset.metadata_schema_uri", id="no-schema"),
        pytest.param({"labels": {"A": "b"}}, "dataset.labels", id="labels"),
    ],
)
def test_invalid_datasets(data: Pipelines, fields: dict[str, Any], text: str) -> None:
    body = {"displayName": "rows", "metadataSchemaUri": f"{METADATA}text_1.0.0.yaml", **fields}
    assert text in data.refused("POST", DATASETS, body)["message"]


def test_a_table_outside_of_cloud_storage_is_rejected(data: Pipelines) -> None:
    body = {
        "displayName": "rows",
        "metadataSchemaUri": f"{METADATA}tabular_1.0.0.yaml",
        "metadata": {"inputConfig": {"gcsSource": {"uri": ["gs://work/rows.csv", "data/rows.csv"]}}},
    }
    assert "'data/rows.csv' is not an object in a bucket" in data.refused("POST", DATASETS, body)["message"]
    assert "gs://work" not in data.refused("POST", DATASETS, body)["message"]


@pytest.mark.parity("Datasets: create, get, list, update, delete of datasets")
def test_updating(data: Pipelines) -> None:
    name = data.dataset(labels={"a": "b"})
    body = {"displayName": "more", "labels": {"c": "d"}}
    answer = data.done("PATCH", f"/v1/{name}?updateMask=displayName,labels", body)
    assert answer["displayName"] == "more"
    assert answer["labels"] == {"c": "d", "aiplatform.googleapis.com/dataset_metadata_schema": "TABULAR"}


@pytest.mark.parity("Datasets: create, get, list, update, delete of datasets")
def test_listing(data: Pipelines) -> None:
    first, second = data.dataset(displayName="one"), data.dataset(displayName="two")
    assert [each["name"] for each in data.done("GET", DATASETS)["datasets"]] == [second, first]
    found = data.done("GET", f"{DATASETS}?filter=display_name%3Done")["datasets"]
    assert [each["name"] for each in found] == [first]


@pytest.mark.parity("Datasets: create, get, list, update, delete of datasets")
def test_deleting(data: Pipelines) -> None:
    name = data.dataset()
    assert data.operation("DELETE", f"/v1/{name}")["done"]
    error = data.refused("GET", f"/v1/{name}")
    assert (error["status"], "The Dataset does not exist" in error["message"]) == ("NOT_FOUND", True)


def test_importing_twice_adds_labels_and_no_items(data: Pipelines) -> None:
    name = data.dataset(kind="text")
    imported(data, name, '{"textContent": "hi"}\n{"textContent": "you"}', dataItemLabels={"from": "first"})
    imported(data, name, '{"textContent": "hi", "dataItemResourceLabels": {"to": "second"}}')
    assert data.get(name)["dataItemCount"] == "2"
    (uri,) = exported(data, name)["response"]["exportedFiles"][1:2]
    labels = {}
    for each in exported(data, name)["response"]["exportedFiles"]:
        for line in data.read(each).decode().splitlines():
            item = json.loads(line)
            labels[item["textContent"]] = item["dataItemResourceLabels"]
    assert uri.endswith("-of-00002.jsonl")
    assert labels["hi"].items() >= {"from": "first", "to": "second"}.items()
    assert "to" not in labels["you"]


@pytest.mark.parity("Datasets: items")
def test_an_import_is_all_or_nothing(data: Pipelines) -> None:
    name = data.dataset(kind="text")
    found = imported(data, name, '{"textContent": "hi"}\nnonsense')
    assert found["error"]["code"] == 3
    assert "gs://work/items.jsonl, line 2: it is not JSON" in found["error"]["message"]
    assert "dataItemCount" not in data.get(name)


def test_nothing_is_imported_into_a_table(data: Pipelines) -> None:
    body = {"importConfigs": [{"gcsSource": {"uris": ["gs://work/x"]}, "importSchemaUri": SCHEMA}]}
    error = data.refused("POST", f"/v1/{data.dataset()}:import", body)
    assert error["status"] == "FAILED_PRECONDITION"


@pytest.mark.parity("Datasets: export", same="as for a pipeline")
def test_exporting_for_training(data: Pipelines) -> None:
    name = data.dataset(data.put("rows.csv", "a\n" + "".join(f"{number}\n" for number in range(20))))
    found = exported(
        data,
        name,
        exportUse="CUSTOM_CODE_TRAINING",
        fractionSplit={"trainingFraction": 0.5, "validationFraction": 0.25, "testFraction": 0.25},
    )
    folder = found["metadata"]["gcsOutputDirectory"]
    assert folder.startswith("gs://work/out/export-data-rows-")
    assert found["response"]["exportedFiles"] == [
        f"{folder}{part}-*.csv" for part in ("training", "validation", "test")
    ]
    assert found["response"]["dataStats"] == {
        "trainingDataItemsCount": "10",
        "validationDataItemsCount": "5",
        "testDataItemsCount": "5",
    }


@pytest.mark.parity(
    "Datasets: data items, annotations, saved queries",
    not_done="such calls are refused with the method's name",
)
def test_the_error_names_an_unimplemented_method(data: Pipelines) -> None:
    error = data.refused("GET", f"/v1/{data.dataset()}/dataItems")
    assert (error["status"], "ListDataItems" in error["message"]) == ("UNIMPLEMENTED", True)


def test_a_name_that_no_object_can_have(data: Pipelines) -> None:
    """Check that an export fails if its folder, which has the dataset's name, is not a valid object name."""
    name = data.dataset(data.put("rows.csv", "a\n1\n"), displayName="of\ntwo lines")
    error = exported(data, name)["error"]
    assert error["code"] == 3
    assert "gs://work/out/export-data-of\\ntwo lines" in error["message"]
    assert data.names("out") == []
