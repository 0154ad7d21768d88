"""`trainingTaskInputs` as clients send them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from vertex_emulator.jobs.pipelines import inputs
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.datasets import splitting

CAPTURED = (
    "Unable to parse `training_pipeline.training_task_inputs` into custom task `inputs` defined in the file: "
    "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"
)


def value(document: object) -> Any:
    message = descriptors.message("google.protobuf.Value")
    return json_format.ParseDict(document, message)  # type: ignore[arg-type]


def custom(pool: dict[str, Any], **fields: Any) -> Any:
    return inputs.read(inputs.CUSTOM, value({"worker_pool_specs": [pool], **fields}))


@pytest.mark.parity(
    "Training pipelines: task inputs", same="the same sentence; the error's details have each fault"
)
def test_the_form_of_the_sdk() -> None:
    spec = custom(
        {
            "machine_spec": {
                "machine_type": "n1-standard-4",
                "accelerator_type": 3.0,
                "accelerator_count": 1.0,
            },
            "replica_count": 1.0,
            "disk_spec": {"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 100.0},
            "containerSpec": {
                "imageUri": "gcr.io/p/i",
                "args": [1, 2.5, "x"],
                "env": [{"name": "A", "value": 3}],
            },
        },
        baseOutputDirectory={"output_uri_prefix": "gs://b/out"},
        scheduling={"timeout": "3600s"},
    )
    pool = spec.worker_pool_specs[0]
    assert pool.machine_spec.accelerator_type == 3
    assert pool.replica_count == 1
    assert pool.disk_spec.boot_disk_size_gb == 100
    assert list(pool.container_spec.args) == ["1", "2.5", "x"]
    assert pool.container_spec.env[0].value == "3"
    assert spec.base_output_directory.output_uri_prefix == "gs://b/out"
    assert spec.scheduling.timeout.seconds == 3600


@pytest.mark.parity("Training pipelines: task inputs")
@pytest.mark.parametrize(
    ("pool", "field"),
    [
        pytest.param({"container_spec": {"command": "python3"}}, "command", id="a-text-instead-of-a-list"),
        pytest.param({"nonsense": 1}, "worker_pool_specs[0]", id="an-unknown-field"),
        pytest.param({"replica_count": 1.5}, "replica_count", id="half-a-replica"),
        pytest.param({"machine_spec": {"accelerator_type": "X"}}, "accelerator_type", id="an-unknown-enum"),
        pytest.param(
            {"container_spec": {}, "python_package_spec": {}}, "worker_pool_specs[0]", id="two-tasks"
        ),
    ],
)
def test_invalid_inputs(pool: dict[str, Any], field: str) -> None:
    with pytest.raises(RpcError) as refused:
        custom(pool)
    assert refused.value.message == CAPTURED
    assert field in refused.value.violations[0].field


FIELDS = (
    "workerPoolSpecs",
    "machine_spec",
    "acceleratorType",
    "replica_count",
    "containerSpec",
    "args",
    "env",
    "scheduling",
    "timeout",
    "strategy",
    "studySpec",
    "trial_job_spec",
)
LEAVES = st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)


@pytest.mark.parity("Training pipelines: task inputs")
@pytest.mark.parametrize("task", [inputs.CUSTOM, inputs.TUNING], ids=["custom", "tuning"])
@given(
    document=st.recursive(
        LEAVES,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_any_inputs_are_parsed_or_rejected(task: inputs.Task, document: object) -> None:
    try:
        message = inputs.read(task, value(document))
    except RpcError as refused:
        assert refused.code == "INVALID_ARGUMENT"
        assert refused.violations
    else:
        assert message.DESCRIPTOR.full_name == task.message


def test_inputs_that_are_not_an_object() -> None:
    with pytest.raises(RpcError, match="Unable to parse"):
        inputs.read(inputs.CUSTOM, value("text"))


def test_a_tuning_task() -> None:
    job = inputs.read(
        inputs.TUNING,
        value(
            {
                "studySpec": {"metrics": [{"metricId": "loss", "goal": 2}]},
                "trialJobSpec": {"workerPoolSpecs": [{"replicaCount": 1}]},
                "maxTrialCount": 4,
                "parallelTrialCount": 2.0,
            }
        ),
    )
    assert (job.max_trial_count, job.parallel_trial_count) == (4, 2)
    assert job.study_spec.metrics[0].goal == 2


def test_a_tuning_task_has_no_name_of_its_own() -> None:
    with pytest.raises(RpcError, match="into hyperparameter tuning task `inputs`"):
        inputs.read(inputs.TUNING, value({"displayName": "x"}))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        pytest.param(1.0, "1", id="whole"),
        pytest.param(0.001, "0.001", id="fraction"),
        pytest.param(-3, "-3", id="negative"),
        pytest.param(1e300, str(int(1e300)), id="large"),
    ],
)
def test_numbers_as_arguments(number: float, text: str) -> None:
    assert inputs.as_text(number) == text


@pytest.mark.parity(
    "Training pipelines: other tasks", not_done="a pipeline with another task is refused by name"
)
def test_an_unknown_task() -> None:
    with pytest.raises(RpcError, match="automl_tables") as refused:
        inputs.task_of("gs://google-cloud-aiplatform/schema/trainingjob/definition/automl_tables_1.0.0.yaml")
    assert refused.value.code == "UNIMPLEMENTED"


def config(**fields: Any) -> Any:
    message = descriptors.message("google.cloud.aiplatform.v1.InputDataConfig")
    document = {"datasetId": "7", "gcsDestination": {"outputUriPrefix": "gs://b/data"}, **fields}
    return json_format.ParseDict(document, message, descriptor_pool=descriptors.pool())


@pytest.mark.parametrize(
    ("fields", "is_tabular", "split"),
    [
        pytest.param({}, True, splitting.ByFraction(shares=splitting.DEFAULT), id="nothing"),
        pytest.param(
            {"fractionSplit": {"trainingFraction": 1}},
            False,
            splitting.ByFraction(shares=splitting.shares(1, 0, 0)),
            id="fractions",
        ),
        pytest.param({"predefinedSplit": {"key": "k"}}, True, splitting.ByColumn(key="k"), id="predefined"),
        pytest.param(
            {"timestampSplit": {"key": "k"}},
            True,
            splitting.ByTime(key="k", shares=splitting.DEFAULT),
            id="timestamp",
        ),
        pytest.param(
            {"stratifiedSplit": {"key": "k"}},
            True,
            splitting.ByCategory(key="k", shares=splitting.DEFAULT),
            id="stratified",
        ),
        pytest.param(
            {"filterSplit": {"trainingFilter": "labels.a:*", "validationFilter": "-", "testFilter": "-"}},
            False,
            splitting.ByFilter(training="labels.a:*", validation="-", test="-"),
            id="filters",
        ),
    ],
)
def test_splits(fields: dict[str, Any], is_tabular: bool, split: splitting.Split) -> None:
    wanted = inputs.read_data_config(config(**fields), is_tabular=is_tabular)
    assert (wanted.dataset, wanted.split, wanted.prefix) == ("7", split, "gs://b/data/")


@pytest.mark.parity("Training pipelines: BigQuery as source or destination")
@pytest.mark.parametrize(
    ("fields", "is_tabular", "message"),
    [
        pytest.param({"predefinedSplit": {"key": "k"}}, False, "Supported only for tabular", id="predefined"),
        pytest.param({"timestampSplit": {}}, True, "timestamp_split.key; Message: Required", id="no-key"),
        pytest.param({"filterSplit": {}}, False, "Invalid filter: it is empty", id="filters-not-all"),
        pytest.param(
            {"filterSplit": {"trainingFilter": "-", "validationFilter": "-", "testFilter": "-"}},
            True,
            "Supported only for unstructured",
            id="filters-of-a-table",
        ),
        pytest.param({"fractionSplit": {"trainingFraction": 2}}, True, "between 0 and 1", id="fractions"),
        pytest.param({"gcsDestination": {}}, True, "not a folder in Cloud Storage", id="no-destination"),
        pytest.param(
            {"gcsDestination": None, "bigqueryDestination": {"outputUri": "bq://p"}},
            True,
            "emulator has no BigQuery",
            id="bigquery",
        ),
        pytest.param({"savedQueryId": "1"}, False, "saved_query_id", id="saved-query"),
        pytest.param({"annotationSchemaUri": "gs://a"}, True, "Applicable only", id="annotations-of-a-table"),
    ],
)
def test_invalid_configurations(fields: dict[str, Any], is_tabular: bool, message: str) -> None:
    with pytest.raises(RpcError, match=message):
        inputs.read_data_config(config(**fields), is_tabular=is_tabular)


def test_the_folder_of_an_export() -> None:
    at = datetime(2024, 5, 6, 7, 8, 9, 123456)
    name = inputs.folder_name("7", annotation_type="tabular", at=at)
    assert name == "dataset-7-tabular-2024-05-06T07:08:09.123Z"
