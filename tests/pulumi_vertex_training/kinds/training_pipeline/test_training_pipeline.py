from __future__ import annotations

import json
from dataclasses import replace

import pytest
from google.cloud.aiplatform_v1 import Model, TrainingPipeline
from google.protobuf import json_format
from hypothesis import given, settings

from pulumi_vertex_training.kinds.model import spec as model
from pulumi_vertex_training.kinds.training_pipeline.kind import EFFECTS, KIND, read
from pulumi_vertex_training.kinds.training_pipeline.spec import (
    CUSTOM_TASK,
    TUNING_TASK,
    TrainingPipelineSpec,
    from_wire,
    normalise,
    to_wire,
    uploaded_model,
)
from support.client.specs import pipeline_specs as pipelines
from support.client.specs.pipeline_specs import PIPELINE
from support.properties import examples
from vertex_training.fields.decode import UNKNOWN
from vertex_training.job.difference import compare_specs
from vertex_training.job.input_data import FilterSplit, InputDataConfig

PROTO = TrainingPipeline.pb()
FULL = read(PIPELINE).spec


def one_target(spec: TrainingPipelineSpec) -> TrainingPipelineSpec:
    """Drop the parent model of a pipeline with a model id, since a rule forbids both."""
    return replace(spec, parent_model=None) if spec.model_id else spec


def one_split(spec: TrainingPipelineSpec) -> TrainingPipelineSpec:
    """Keep one split and one destination, since Google's message can hold no more."""
    data = spec.input_data_config
    if data is None:
        return spec
    only = InputDataConfig(
        dataset_id=data.dataset_id,
        stratified_split=data.stratified_split,
        filter_split=None
        if data.stratified_split
        else FilterSplit(training_filter="-", validation_filter="a", test_filter="b"),
        gcs_destination=data.gcs_destination,
        saved_query_id=data.saved_query_id,
    )
    return replace(spec, input_data_config=only)


valid = pipelines.whole_pipelines.map(one_target)
sendable = valid.map(one_split).map(normalise)


@given(pipelines.whole_pipelines)
@settings(max_examples=examples(30))
def test_the_normal_form_is_its_own_normal_form(spec):
    assert normalise(normalise(spec)) == normalise(spec)


@given(pipelines.whole_pipelines)
@settings(max_examples=examples(30))
def test_a_pipeline_does_not_differ_from_itself(spec):
    assert compare_specs(normalise(spec), normalise(spec), table=EFFECTS).paths == ()


@given(valid)
@settings(max_examples=examples(30))
def test_from_wire_is_the_inverse_of_to_wire(spec):
    assert KIND.drift(spec, json.loads(json.dumps(to_wire(spec)))) == ()


@given(spec=sendable)
@settings(max_examples=examples(30))
def test_google_s_own_messages_carry_a_pipeline_there_and_back(spec):
    echo = json_format.MessageToDict(json_format.ParseDict(to_wire(spec), PROTO()))
    assert KIND.drift(spec, echo) == ()


@given(pipelines.whole_models.map(model.normalise))
@settings(max_examples=examples(30))
def test_google_s_own_messages_carry_a_model_there_and_back(spec):
    message = json_format.ParseDict(model.to_wire(spec), Model.pb()())
    assert model.from_wire(json_format.MessageToDict(message)) == spec


@given(pipelines.whole_pipelines)
@settings(max_examples=examples(30))
def test_equal_hashes_of_equal_pipelines(spec):
    assert KIND.spec_hash(spec) == KIND.spec_hash(normalise(spec))


def test_a_whole_pipeline_on_the_wire():
    assert to_wire(FULL) == {
        "displayName": "digits",
        "trainingTaskDefinition": CUSTOM_TASK,
        "trainingTaskInputs": {
            "workerPoolSpecs": [
                {
                    "machineSpec": {"machineType": "n1-standard-4"},
                    "replicaCount": 1,
                    "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100},
                    "containerSpec": {"imageUri": "repo/trainer:1"},
                }
            ],
            "baseOutputDirectory": {"outputUriPrefix": "gs://staging/digits/"},
        },
        "inputDataConfig": {
            "datasetId": "123",
            "gcsDestination": {"outputUriPrefix": "gs://staging/digits/"},
        },
        "modelToUpload": {"displayName": "digits", "containerSpec": {"imageUri": pipelines.SERVING}},
    }


STUDY = {
    "metrics": [{"metric_id": "accuracy", "goal": "MAXIMIZE"}],
    "parameters": [
        {"parameter_id": "depth", "integer_value_spec": {"min_value": 1, "max_value": 2**40}},
        {"parameter_id": "rate", "double_value_spec": {"min_value": 0, "max_value": 1}},
    ],
}
TUNING = {
    "display_name": "digits",
    "tuning_task": {
        "study_spec": STUDY,
        "max_trial_count": 4,
        "parallel_trial_count": 2,
        "trial_job_spec": PIPELINE["custom_task"],
    },
}


def test_a_tuning_task_on_the_wire():
    sent = to_wire(read(TUNING).spec)
    assert sent["trainingTaskDefinition"] == TUNING_TASK
    assert sent["trainingTaskInputs"]["studySpec"]["parameters"][0] == {
        "parameterId": "depth",
        "integerValueSpec": {"minValue": 1, "maxValue": 2**40},
    }


def test_a_tuning_task_comes_back_from_doubles():
    spec = read(TUNING).spec
    echo = json_format.MessageToDict(json_format.ParseDict(to_wire(spec), PROTO()))
    assert normalise(from_wire(echo)) == spec


def test_where_a_tuning_task_writes():
    assert KIND.directory_of(to_wire(read(TUNING).spec)) == "gs://staging/digits/"


SDK_INPUTS = {
    "worker_pool_specs": [
        {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": 1.0,
            "disk_spec": {"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 100.0},
            "containerSpec": {"imageUri": "repo/trainer:1", "args": ["--epochs", 20.0, 0.5, True]},
        }
    ],
    "base_output_directory": {"output_uri_prefix": "gs://staging/digits"},
    "scheduling": {
        "timeout": "3600s",
        "strategy": 4.0,
        "restart_job_on_worker_restart": False,
        "disable_retries": False,
        "max_wait_duration": None,
    },
}
"""The task inputs that google-cloud-aiplatform 2.7 sends for a `CustomContainerTrainingJob`."""

SDK_PIPELINE = {"displayName": "digits", "trainingTaskInputs": SDK_INPUTS}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("worker_pool_specs[0].replica_count", 1, id="doubles are integers"),
        pytest.param(
            "worker_pool_specs[0].container_spec.args",
            ("--epochs", "20", "0.5", "true"),
            id="numbers of arguments are texts",
        ),
        pytest.param("base_output_directory", "gs://staging/digits/", id="directory"),
        pytest.param("scheduling.strategy", "SPOT", id="the number of a strategy"),
        pytest.param("scheduling.timeout", "3600s", id="timeout"),
    ],
)
def test_a_pipeline_of_the_sdk_is_read(path, value):
    found = normalise(from_wire(SDK_PIPELINE)).custom_task
    for name in path.replace("[0]", ".0").split("."):
        found = found[int(name)] if name.isdigit() else getattr(found, name)
    assert found == value


def test_the_api_s_form_is_read_as_a_declaration():
    assert read(SDK_PIPELINE).spec == normalise(from_wire(SDK_PIPELINE))


@pytest.mark.parametrize(
    "pipeline",
    [
        pytest.param({}, id="no task"),
        pytest.param(
            {
                "trainingTaskDefinition": "gs://x/automl_image_classification_1.0.0.yaml",
                "trainingTaskInputs": {"modelType": "CLOUD"},
            },
            id="AutoML",
        ),
    ],
)
def test_a_pipeline_of_another_task_is_refused(pipeline):
    with pytest.raises(ValueError, match="only custom and tuning tasks"):
        from_wire(pipeline)


def echo(**other):
    return {**to_wire(FULL), "name": "projects/1/locations/us-central1/trainingPipelines/2", **other}


def model_echo(**other):
    return echo(modelToUpload={**to_wire(FULL)["modelToUpload"], **other})


def data_echo(**other):
    return echo(inputDataConfig={"datasetId": "123", **other})


@pytest.mark.parametrize(
    "pipeline",
    [
        pytest.param(echo(), id="as it was sent"),
        pytest.param(echo(trainingTaskDefinition="https://elsewhere/custom_task.yaml"), id="definition"),
        pytest.param(echo(modelId="4711"), id="the id that the model got"),
        pytest.param(model_echo(predictSchemata={}), id="empty schemata"),
        pytest.param(model_echo(name="projects/1/locations/us-central1/models/7"), id="the model's name"),
        pytest.param(model_echo(artifactUri="gs://staging/digits/model/"), id="artifacts of the run"),
        pytest.param(model_echo(versionAliases=["default"]), id="aliases of the first version"),
        pytest.param(model_echo(labels={"vertex-training-run": "x"}), id="labels of ours"),
        pytest.param(
            data_echo(gcsDestination={"outputUriPrefix": "gs://staging/digits/"}), id="where the data went"
        ),
        pytest.param(data_echo(fractionSplit={}), id="an empty split"),
        pytest.param(echo(trainingTaskMetadata={"backingCustomJob": "x"}), id="metadata"),
    ],
)
def test_what_the_service_adds_is_no_difference(pipeline):
    assert KIND.drift(FULL, pipeline) == ()
    assert KIND.as_live(FULL, pipeline) is FULL


@pytest.mark.parametrize(
    ("pipeline", "path"),
    [
        pytest.param(echo(displayName="other"), "display_name", id="name"),
        pytest.param(model_echo(displayName="other"), "model_to_upload.display_name", id="model"),
        pytest.param(data_echo(savedQueryId="7"), "input_data_config.saved_query_id", id="data"),
        pytest.param(echo(parentModel="m"), "parent_model", id="parent"),
    ],
)
def test_what_somebody_else_made_is_a_difference(pipeline, path):
    assert [change.path for change in KIND.drift(FULL, pipeline)] == [path]


DATA_ON_THE_WIRE = [
    pytest.param({}, {"gcsDestination": {"outputUriPrefix": "gs://staging/digits/"}}, id="with the output"),
    pytest.param(
        {"gcs_destination": "gs://data/here"},
        {"gcsDestination": {"outputUriPrefix": "gs://data/here/"}},
        id="elsewhere",
    ),
    pytest.param(
        {"bigquery_destination": "bq://project"},
        {"bigqueryDestination": {"outputUri": "bq://project"}},
        id="BigQuery",
    ),
]


@pytest.mark.parametrize(("declared", "sent"), DATA_ON_THE_WIRE)
def test_where_the_data_go(declared, sent):
    spec = read({**PIPELINE, "input_data_config": {"dataset_id": "123", **declared}}).spec
    assert to_wire(spec)["inputDataConfig"] == {"datasetId": "123", **sent}


def test_the_directory_of_a_run_takes_job_and_data():
    bare = read({**PIPELINE, "custom_task": {"worker_pool_specs": [pipelines.POOL]}}, has_output=True).spec
    sent = to_wire(KIND.with_output_directory(bare, "gs://staging/runs/7/"))
    assert sent["trainingTaskInputs"]["baseOutputDirectory"]["outputUriPrefix"] == "gs://staging/runs/7/"
    assert sent["inputDataConfig"]["gcsDestination"]["outputUriPrefix"] == "gs://staging/runs/7/"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="as declared"),
        pytest.param({"custom_task": {"worker_pool_specs": [pipelines.POOL]}}, id="directory of the other"),
    ],
)
def test_a_pipeline_of_the_same_declaration_is_adopted(changes):
    declared = read({**PIPELINE, **changes}, has_output=True).spec
    assert KIND.difference_to_adopt(declared, echo()) == ()


def test_a_new_version_of_a_model_of_the_declared_id_is_no_difference():
    declared = replace(FULL, model_id="digits")
    live = {**to_wire(FULL), "parentModel": "projects/1/locations/us-central1/models/digits"}
    assert KIND.drift(declared, live) == ()


def test_the_output_directory_of_an_answer():
    assert KIND.directory_of(echo()) == "gs://staging/digits/"


@pytest.mark.parametrize(
    ("pipeline", "found"),
    [
        pytest.param(echo(), None, id="not uploaded"),
        pytest.param(
            model_echo(name="projects/1/locations/l/models/7", versionId="2"),
            ("projects/1/locations/l/models/7", "2"),
            id="version beside the name",
        ),
        pytest.param(
            model_echo(name="projects/1/locations/l/models/7@2"),
            ("projects/1/locations/l/models/7", "2"),
            id="version in the name",
        ),
        pytest.param(
            model_echo(name="projects/1/locations/l/models/7"),
            ("projects/1/locations/l/models/7", ""),
            id="version not said",
        ),
    ],
)
def test_the_model_that_was_uploaded(pipeline, found):
    assert uploaded_model(pipeline) == found


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({**PIPELINE, "input_data_config": {"dataset_id": UNKNOWN}}, id="dataset"),
        pytest.param({**PIPELINE, "custom_task": UNKNOWN}, id="task"),
        pytest.param({**PIPELINE, "model_to_upload": UNKNOWN, "model_id": "m"}, id="model"),
        pytest.param(
            {**PIPELINE, "model_to_upload": {**pipelines.MODEL, "metadata": {"a": [UNKNOWN]}}},
            id="within a free value",
        ),
        pytest.param(
            {
                **PIPELINE,
                "custom_task": {"worker_pool_specs": [pipelines.POOL], "base_output_directory": UNKNOWN},
            },
            id="directory",
        ),
    ],
)
def test_what_is_not_known_yet_is_no_fault(document):
    decoded = read(document)
    assert decoded.problems == ()
    assert decoded.unknown


def test_auto_reduction_servers_of_a_task_are_filled_in():
    gpus = {"machine_type": "n1-standard-8", "accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 1}
    chief = {**pipelines.POOL, "machine_spec": gpus}
    pools = [chief, {**chief, "replica_count": 4}, {"replica_count": "auto"}]
    spec = read({**PIPELINE, "custom_task": {**PIPELINE["custom_task"], "worker_pool_specs": pools}}).spec
    assert spec.custom_task.worker_pool_specs[2].replica_count > 0
