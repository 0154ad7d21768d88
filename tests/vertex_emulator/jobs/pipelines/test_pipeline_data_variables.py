"""The variables of a pipeline's dataset."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from vertex_emulator.jobs.pipelines import inputs, runner
from vertex_emulator.services.datasets.exporting import Exported
from vertex_training.job.input_data import FilterSplit, FractionSplit, InputDataConfig, PredefinedSplit
from vertex_training.replica_environment.pipeline_data import Export, data_variables, format_of

TABLE = Export(format="csv", content="tabular", time="2026-01-31T12:00:00.000Z")
FILTERS = FilterSplit(training_filter="-", validation_filter="-", test_filter="-")


def data(**fields) -> InputDataConfig:
    return InputDataConfig(dataset_id="123", **fields)


def test_files_are_below_the_destination():
    assert data_variables(data(gcs_destination="gs://b/data"), TABLE, output_directory="gs://b/out/") == {
        "AIP_DATA_FORMAT": "csv",
        **{
            f"AIP_{name.upper()}_DATA_URI": "gs://b/data/dataset-123-tabular-2026-01-31T12:00:00.000Z/"
            f"{name}-*.csv"
            for name in ("training", "validation", "test")
        },
    }


def test_without_a_destination_they_are_below_the_output_directory():
    found = data_variables(data(), TABLE, output_directory="gs://b/out/")
    assert found["AIP_TEST_DATA_URI"].startswith("gs://b/out/dataset-123-tabular-")


def test_without_either_there_are_none():
    assert data_variables(data(), TABLE) == {}


def test_tables_of_bigquery():
    export = Export(format="bigquery", content="tabular", time=TABLE.time)
    found = data_variables(data(bigquery_destination="bq://p"), export)
    table = "bq://p.dataset_123_tabular_2026_01_31T12_00_00_000Z"
    assert found["AIP_DATA_FORMAT"] == "bigquery"
    assert found["AIP_VALIDATION_DATA_URI"] == f"{table}.validation"


def test_the_emulator_tells_the_same():
    at = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
    folder = f"gs://b/data/{inputs.folder_name('123', annotation_type='tabular', at=at)}/"
    exported = Exported(folder=folder, extension="csv", sizes={})
    assert data_variables(data(gcs_destination="gs://b/data/"), TABLE) == runner.variables(exported)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"fraction_split": FractionSplit(training_fraction=0.5)}, None),
        ({"predefined_split": PredefinedSplit(key="use")}, "csv"),
        ({"filter_split": FILTERS}, "jsonl"),
        ({"annotation_schema_uri": "gs://x"}, "jsonl"),
        ({"persist_ml_use_assignment": True}, "jsonl"),
        ({"bigquery_destination": "bq://p"}, "bigquery"),
    ],
    ids=["nothing", "fractions", "a column", "filters", "annotations", "kept uses", "BigQuery"],
)
def test_the_format(fields, expected):
    assert format_of(data(**fields)) == expected
