"""The data of a pipeline in words: one fact a case."""

from __future__ import annotations

import pytest
from hypothesis import given

from pulumi_vertex_training.kinds.training_pipeline.view import destination_in_words, split_in_words, split_of
from support import properties  # noqa: F401
from support.client.specs.pipeline_specs import whole_data
from vertex_training.job.input_data import (
    FilterSplit,
    FractionSplit,
    InputDataConfig,
    PredefinedSplit,
    StratifiedSplit,
    TimestampSplit,
)

SHARES = {"training_fraction": 0.7, "validation_fraction": 0.2, "test_fraction": 0.1}


@pytest.mark.parametrize(
    ("split", "words"),
    [
        pytest.param(
            {}, "About 80 % training, 10 % validation and 10 % test, at random.", id="nothing given"
        ),
        pytest.param(
            {"fraction_split": FractionSplit(**SHARES)},
            "70 % training, 20 % validation and 10 % test, at random.",
            id="fractions",
        ),
        pytest.param(
            {"fraction_split": FractionSplit(training_fraction=0.75)},
            "75 % training, 0 % validation and 0 % test; the service assigns the other 25 %, at random.",
            id="a rest",
        ),
        pytest.param(
            {"predefined_split": PredefinedSplit(key="use")},
            "By the column use, which has the set of each row.",
            id="a column",
        ),
        pytest.param(
            {"timestamp_split": TimestampSplit(key="when", **SHARES)},
            "70 % training, 20 % validation and 10 % test, in the order of the times in the column when.",
            id="times",
        ),
        pytest.param(
            {"stratified_split": StratifiedSplit(key="label", **SHARES)},
            "70 % training, 20 % validation and 10 % test, each with the same shares of the values in the "
            "column label.",
            id="strata",
        ),
        pytest.param(
            {
                "filter_split": FilterSplit(
                    training_filter="labels.x=a", validation_filter="-", test_filter="-"
                )
            },
            "By the first filter that matches an item: training 'labels.x=a', validation '-' and test '-'.",
            id="filters",
        ),
    ],
)
def test_a_split(split, words):
    config = InputDataConfig(dataset_id="123", **split)
    assert split_in_words(config) == words
    assert split_of(config) == next(iter(split), "fraction_split")


@pytest.mark.parametrize(
    ("destination", "directory", "words"),
    [
        ({"gcs_destination": "gs://b/data/"}, "gs://b/out/", "To files in a new folder below gs://b/data/."),
        ({}, "gs://b/out/", "To files in a new folder below gs://b/out/, the output directory."),
        ({"bigquery_destination": "bq://p"}, None, "To tables in a new dataset of bq://p."),
        ({}, None, "Nowhere: there is no destination, and no output directory."),
    ],
    ids=["a bucket", "the output directory", "BigQuery", "nowhere"],
)
def test_a_destination(destination, directory, words):
    assert destination_in_words(InputDataConfig(dataset_id="123", **destination), directory) == words


@given(whole_data)
def test_every_configuration_has_words(config):
    assert split_in_words(config).endswith(".")
    assert destination_in_words(config, None).endswith(".")
