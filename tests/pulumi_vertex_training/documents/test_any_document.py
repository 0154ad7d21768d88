"""Documents of any value whatever, parts that cannot be read, and the job in a document."""

from __future__ import annotations

import datetime
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cli.explain.documents import job_in, read_document
from support.ground.specs.written_documents import ANSWER, CONFIG, JOB, PIPELINE, POOL, WORKERS, paths
from support.tables import every_row
from vertex_training.fields.decode import UNKNOWN
from vertex_training.findings.problems import errors
from vertex_training.job.custom_job import to_wire

ROLE = {"replica_count": 1, "machine_type": "n1-standard-4"}


KEYS = st.sampled_from(
    [
        "workerPoolSpecs",
        "worker_pool_specs",
        "jobSpec",
        "displayName",
        "name",
        "chief",
        "workers",
        "server",
        "reduction_servers",
        "parameter_servers",
        "evaluator",
        "trainingInput",
        "gcloud",
        "jobId",
        "labels",
        "scaleTier",
        "masterType",
        "masterConfig",
        "workerCount",
        "workerType",
        "workerConfig",
        "imageUri",
        "acceleratorConfig",
        "type",
        "count",
        "args",
        "packageUris",
        "pythonModule",
        "runtimeVersion",
        "pythonVersion",
        "region",
        "jobDir",
        "scheduling",
        "maxRunningTime",
        "hyperparameters",
        "encryptionConfig",
        "kmsKeyName",
        "machineSpec",
        "machine_type",
        "replicaCount",
        "replica_count",
        "acceleratorType",
        "accelerator_count",
        "boot_disk_size_gb",
        "reservation_affinity_values",
        "containerSpec",
        "pythonPackageSpec",
        "executorImageUri",
        "machin_type",
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.dates(),
    st.just(UNKNOWN),
    st.sampled_from(
        [
            "auto",
            "CUSTOM",
            "STANDARD_1",
            "BASIC_TPU",
            "cloud_tpu",
            "standard_gpu",
            "n1-standard-4",
            "NVIDIA_TESLA_T4",
            "2.11",
            "gs://b/x",
            "projects/p/locations/us-central1/customJobs/1",
            "gcloud ai-platform jobs submit training j --worker-count 2",
            "--kms-key=k --packages a,gs://b/c -- 'x",
            1,
            0,
            -1,
        ]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.one_of(
        st.lists(below, max_size=5),
        st.dictionaries(KEYS, below, max_size=6),
        st.dictionaries(st.one_of(st.none(), st.integers(), st.text(max_size=3)), below, max_size=2),
    ),
    max_leaves=25,
)


# Any values whatever.


@given(VALUES)
def test_reading_never_raises(value):
    document = read_document(value)
    assert document.spec is not None or errors(document.problems)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_reading_a_mapping_never_raises(value):
    document = read_document(value)
    assert document.spec is not None or errors(document.problems)


@given(KEYS, st.dictionaries(KEYS, VALUES, max_size=8))
def test_reading_the_inside_of_a_form_never_raises(key, value):
    document = read_document({key: value})
    assert document.spec is not None or errors(document.problems)


def test_a_value_that_contains_itself_is_read():
    value = {}
    value["chief"] = value
    assert errors(read_document(value).problems)


def test_dates_of_yaml_are_no_texts():
    assert paths(read_document({**JOB, "displayName": datetime.date(2024, 1, 1)})) == ["display_name"]


def test_what_was_read_can_be_read_again():
    wire = to_wire(read_document(JOB).spec)
    assert read_document(json.loads(json.dumps(wire))).spec == read_document(JOB).spec


# What could not be read.


@every_row(
    ("value", "damaged"),
    [
        pytest.param(5, {""}, id="no mapping"),
        pytest.param({"a": 1}, {""}, id="no form"),
        pytest.param({"jobSpec": 5}, {""}, id="no job"),
        pytest.param(JOB, set(), id="nothing"),
        pytest.param(
            {"workerPoolSpecs": [{**POOL, "replicaCount": "x"}]},
            {"worker_pool_specs[0].replica_count"},
            id="a count of no number",
        ),
        pytest.param({"workerPoolSpecs": [POOL, 5]}, {"worker_pool_specs[1]"}, id="a pool that is a number"),
        pytest.param(
            {"workerPoolSpecs": [POOL, {**WORKERS, "replicaCount": "auto"}]},
            {"worker_pool_specs[1].replica_count"},
            id="a count that nobody knows",
        ),
        pytest.param({**JOB, "labels": {"A": "b"}}, set(), id="a label that is refused"),
        pytest.param(
            {**JOB, "workerPoolSpecs": [POOL], "jobSpec": {"workerPoolSpecs": [POOL, POOL]}},
            {""},
            id="pools in two places",
        ),
        pytest.param(
            {"displayName": "a", "network": "x", "jobSpec": {"workerPoolSpecs": [POOL], "network": "y"}},
            {"network"},
            id="a field in two places",
        ),
        pytest.param({"chief": ROLE, "worker": ROLE}, set(), id="roles"),
        pytest.param({"chief": ROLE, "wroker": ROLE}, {"worker_pool_specs[1]"}, id="a misspelt role"),
        pytest.param({"chief": ROLE, "gpus": ROLE}, {"worker_pool_specs"}, id="an unknown role"),
        pytest.param({"chief": ROLE, "lables": {}}, {"labels"}, id="a misspelt field next to roles"),
        pytest.param({"chief": ROLE, "x": 1}, set(), id="an unknown field next to roles"),
        pytest.param(
            {"chief": ROLE, "worker": ROLE, "workers": ROLE}, {"worker_pool_specs[1]"}, id="a role twice"
        ),
        pytest.param(
            {"chief": ROLE, "worker": {"replica_count": 1, "replicaCount": 2}},
            {"worker_pool_specs[1].replica_count"},
            id="a count twice",
        ),
        pytest.param(
            {"chief": ROLE, "worker": {"replica_cuont": 2}},
            {"worker_pool_specs[1].replica_count"},
            id="a misspelt count in a role",
        ),
    ],
)
def test_what_could_not_be_read_is_said_by_path(value, damaged):
    assert read_document(value).damaged == damaged


@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda x: st.lists(x, max_size=3)))
def test_without_a_spec_all_is_damaged(item):
    document = read_document({"trainingInput": item})
    assert document.spec is not None or document.damaged == {""}


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        pytest.param({"workerPoolSpecs": None}, "write the list of worker pools", id="null"),
        pytest.param({"scaleTier": "BASIC"}, "put it under trainingInput:", id="a bare training input"),
        pytest.param({"master_type": "standard"}, "put it under trainingInput:", id="in snake case"),
        pytest.param({"maxTrialCount": 2}, "it needs studySpec and trialJobSpec", id="trials alone"),
        pytest.param({"artifactUri": "gs://b/m"}, "this may be a Model", id="a model"),
        pytest.param(
            {"hyperparameterTuningJob": {}},
            "pass the value of hyperparameterTuningJob",
            id="a request for a tuning job",
        ),
        pytest.param({"customJob": {}}, "pass the value of customJob", id="a request"),
        pytest.param([{"replicaCount": 1}], "put a list of worker pools under workerPoolSpecs:", id="a list"),
        pytest.param("gcloud ai-platform jobs", "write gcloud ai-platform jobs submit", id="a command"),
        pytest.param({"master": {}}, "did you mean chief?", id="master alone"),
    ],
)
def test_known_documents_get_a_hint(value, remedy):
    (problem,) = read_document(value).problems
    assert remedy in problem.message


@pytest.mark.parametrize("extra", [{"x-task": {"a": 1}}, {"etag": "abc"}], ids=["x-", "etag"])
@pytest.mark.parametrize(
    "value",
    [{"workerPoolSpecs": [POOL]}, {"chief": {}, "worker": 0, "evaluator": None}],
    ids=["pools", "roles"],
)
def test_what_is_passed_over(value, extra):
    assert read_document({**value, **extra}) == read_document(value)


@pytest.mark.parametrize("key", ["region", "location"])
@pytest.mark.parametrize("value", [{"workerPoolSpecs": [POOL]}, {"chief": 1}], ids=["pools", "roles"])
def test_a_region_is_no_field_of_a_job(value, key):
    (problem,) = read_document({**value, key: "us-central1"}).problems
    assert (problem.path, "use --location" in problem.message) == (key, True)


@pytest.mark.parametrize("job", [None, {"labels": {"a": "b"}, "jobSpec": {"workerPoolSpecs": [POOL]}}])
def test_the_json_of_explain_is_read_as_its_job(job):
    printed = {"form": "pools", "workerPoolSpecs": [POOL], "customJob": job, "replicas": []}
    document = read_document({**printed, "reductionServers": None})
    assert document.problems == ()
    assert document.spec is not None
    assert (
        document.spec.worker_pool_specs == read_document({"workerPoolSpecs": [POOL]}).spec.worker_pool_specs
    )
    assert document.spec.labels == ({"a": "b"} if job else {})


# The job in a document.


@pytest.mark.parametrize(
    ("value", "path", "pools"),
    [
        pytest.param(JOB, "", 2, id="a job is itself"),
        pytest.param(CONFIG, "trial_job_spec", 2, id="a trial"),
        pytest.param(PIPELINE, "custom_task", 1, id="a task"),
        pytest.param(
            {**PIPELINE, "trainingTaskInputs": CONFIG},
            "tuning_task.trial_job_spec",
            2,
            id="a trial of a task",
        ),
    ],
)
def test_what_runs_in_a_document(value, path, pools):
    where, job = job_in(read_document(value))
    assert (where, len(job.spec.worker_pool_specs)) == (path, pools)


@pytest.mark.parametrize(
    ("trial", "damaged"),
    [
        pytest.param({"workerPoolSpecs": [{**POOL, "replicaCount": "x"}]}, ["replica_count"], id="a count"),
        pytest.param([], [""], id="the whole job"),
        pytest.param({"workerPoolSpecs": [POOL]}, [], id="nothing"),
    ],
)
def test_what_could_not_be_read_of_a_trial(trial, damaged):
    _, job = job_in(read_document({**CONFIG, "trialJobSpec": trial}))
    assert [gap.rpartition(".")[2] for gap in job.damaged] == damaged


def test_what_a_configuration_leaves_out_is_no_gap():
    document = read_document(CONFIG)
    assert document.unsaid == {"display_name", "max_trial_count", "parallel_trial_count"}
    assert (document.damaged, document.problems) == (frozenset(), ())


@pytest.mark.parametrize(
    ("value", "answered"),
    [
        pytest.param(PIPELINE, False, id="a declaration"),
        pytest.param({**PIPELINE, "state": "PIPELINE_STATE_RUNNING"}, True, id="with a state"),
        pytest.param(ANSWER, True, id="a job"),
    ],
)
def test_whether_the_service_has_written_it(value, answered):
    assert read_document(value).answered is answered
