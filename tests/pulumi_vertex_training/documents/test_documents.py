from __future__ import annotations

import datetime
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cli.explain.documents import job_in, read_document
from support.jobs import REDUCTION_SERVER
from support.tables import every_row
from vertex_training.fields.decode import UNKNOWN
from vertex_training.fields.schema import as_written, written_path
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem, errors
from vertex_training.job.custom_job import to_wire

CONTAINER = {"imageUri": "repo/trainer:1"}
POOL = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 1, "containerSpec": CONTAINER}
WORKERS = {**POOL, "replicaCount": "2"}
JOB = {"displayName": "digits", "jobSpec": {"workerPoolSpecs": [POOL, WORKERS]}}
ANSWER = {
    **JOB,
    "name": "projects/116273516712/locations/europe-west4/customJobs/2970106362064797696",
    "state": "JOB_STATE_PENDING",
    "createTime": "2021-02-27T17:31:04.494716Z",
    "updateTime": "2021-02-27T17:31:04.494716Z",
    "startTime": None,
    "error": {"code": 1},
    "webAccessUris": {"workerpool0-0": "https://x"},
    "satisfiesPzs": False,
    "satisfiesPzi": False,
}
ROLE = {"replica_count": 1, "machine_type": "n1-standard-4"}
CONFIG = {
    "studySpec": {
        "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
        "parameters": [{"parameterId": "rate", "doubleValueSpec": {"minValue": 0.1, "maxValue": 1}}],
    },
    "trialJobSpec": {
        "workerPoolSpecs": [POOL, WORKERS],
        "baseOutputDirectory": {"outputUriPrefix": "gs://staging/search"},
    },
}
TRIALS = {"displayName": "search", "maxTrialCount": 4, "parallelTrialCount": "2"}
PIPELINE = {
    "displayName": "digits",
    "trainingTaskDefinition": (
        "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"
    ),
    "trainingTaskInputs": {"workerPoolSpecs": [POOL]},
}
GPU_POOL = {
    "machineSpec": {
        "machineType": "n1-highmem-96",
        "acceleratorType": "NVIDIA_TESLA_V100",
        "acceleratorCount": 8,
    },
    "containerSpec": CONTAINER,
}


def counts(document):
    return [pool.replica_count for pool in document.spec.worker_pool_specs]


def words(document):
    return [str(problem) for problem in document.problems]


def paths(document):
    return [problem.path for problem in errors(document.problems)]


# The forms.


@pytest.mark.parametrize(
    ("value", "form"),
    [
        pytest.param({"workerPoolSpecs": [POOL]}, "pools", id="pools"),
        pytest.param({"worker_pool_specs": [POOL]}, "pools", id="pools in snake case"),
        pytest.param(
            {"workerPoolSpecs": [POOL], "network": "projects/1/global/networks/n"},
            "pools",
            id="pools with other fields, as gcloud's --config has them",
        ),
        pytest.param(JOB, "job", id="a whole job"),
        pytest.param(
            {"display_name": "digits", "job_spec": {"worker_pool_specs": [POOL]}}, "job", id="snake case"
        ),
        pytest.param({"display_name": "digits", "worker_pool_specs": [POOL]}, "job", id="a flat job"),
        pytest.param(ANSWER, "job", id="the service's answer"),
        pytest.param({"chief": {"machine_type": "n1-standard-4"}}, "roles", id="roles"),
        pytest.param({"trainingInput": {"scaleTier": "BASIC"}}, "training_input", id="training input"),
        pytest.param(
            {"training_input": {"scale_tier": "BASIC"}}, "training_input", id="training input in snake case"
        ),
        pytest.param(
            {"gcloud": "gcloud ai-platform jobs submit training j --scale-tier basic"},
            "training_input",
            id="a command",
        ),
        pytest.param(CONFIG, "tuning_job", id="a configuration of a tuning job"),
        pytest.param({**CONFIG, **TRIALS}, "tuning_job", id="a tuning job"),
        pytest.param(PIPELINE, "training_pipeline", id="a training pipeline"),
        pytest.param(
            {"display_name": "digits", "custom_task": {"worker_pool_specs": [POOL]}},
            "training_pipeline",
            id="a training pipeline with a program's names",
        ),
    ],
)
def test_a_document_has_a_form(value, form):
    document = read_document(value)
    assert document.form == form
    assert errors(document.problems) == ()
    assert document.spec is not None


@pytest.mark.parametrize(
    ("value", "start"),
    [
        pytest.param(None, "expected a mapping, got nothing", id="nothing"),
        pytest.param([POOL], "expected a mapping, got a list", id="a bare list"),
        pytest.param("chief", "expected a mapping, got a string", id="text"),
        pytest.param({}, "this does not describe a job", id="empty"),
        pytest.param({"displayName": "digits"}, "this does not describe a job", id="a name alone"),
        pytest.param(
            {"workerPoolSpec": [POOL]},
            "this does not describe a job: the document has workerPoolSpec; did you mean worker_pool_specs?",
            id="a misspelt key",
        ),
        pytest.param({1: 2}, "this does not describe a job", id="a key that is no text"),
    ],
)
def test_anything_else_gets_a_list_of_the_forms(value, start):
    document = read_document(value)
    assert document.spec is None
    (problem,) = document.problems
    assert problem.path == ""
    assert problem.message.startswith(start)
    kinds = ("trialJobSpec", "trainingTaskInputs")
    for form in ("workerPoolSpecs", "jobSpec", "chief", "trainingInput", "gcloud", *kinds):
        assert form in problem.message


@pytest.mark.parametrize(
    ("value", "mixed"),
    [
        pytest.param(
            {"workerPoolSpecs": [POOL], "chief": {"machine_type": "n1-standard-4"}},
            "worker pools (workerPoolSpecs) and roles (chief)",
            id="pools and roles",
        ),
        pytest.param(
            {**JOB, "workerPoolSpecs": [POOL]},
            "worker pools (workerPoolSpecs) and a custom job (jobSpec)",
            id="pools beside a job",
        ),
        pytest.param(
            {**JOB, "trainingInput": {}},
            "a custom job (jobSpec) and a training input (trainingInput)",
            id="job and training input",
        ),
    ],
)
def test_a_document_has_one_form(value, mixed):
    document = read_document(value)
    assert document.spec is None
    assert words(document) == [f"the document mixes {mixed}; keep one form"]


def test_a_job_spec_has_to_be_a_mapping():
    document = read_document({"displayName": "digits", "jobSpec": [POOL]})
    assert document.spec is None
    assert words(document) == ["job_spec: expected a mapping with worker_pool_specs, got a list"]


def test_a_field_next_to_the_job_spec_and_in_it_is_refused():
    document = read_document({**JOB, "labels": {"a": "b"}, "jobSpec": {**JOB["jobSpec"], "labels": {}}})
    assert words(document) == ["labels: is given both in job_spec and outside of it; keep one"]


# Names, places.


def test_pools_need_no_display_name():
    document = read_document({"workerPoolSpecs": [POOL]})
    assert document.spec.display_name == ""
    assert document.problems == ()


@pytest.mark.parametrize("name", ["", "x" * 129])
def test_a_display_name_that_is_given_is_checked(name):
    assert paths(read_document({**JOB, "displayName": name})) == ["display_name"]


def test_a_whole_job_needs_a_display_name():
    assert paths(read_document({"jobSpec": {"workerPoolSpecs": [POOL]}})) == ["display_name"]


def test_what_the_service_sets_is_passed_over():
    assert read_document(ANSWER).spec == read_document(JOB).spec


@pytest.mark.parametrize(
    ("value", "given", "location"),
    [
        pytest.param(JOB, None, None, id="none"),
        pytest.param(JOB, "us-east1", "us-east1", id="the given one"),
        pytest.param(ANSWER, None, "europe-west4", id="from the job's name"),
        pytest.param(ANSWER, "us-east1", "us-east1", id="the given one before the job's name"),
        pytest.param({**JOB, "name": "digits"}, None, None, id="not from any other name"),
        pytest.param({**JOB, "name": 3}, None, None, id="not from a number"),
        pytest.param(
            {"trainingInput": {"region": "us-west1"}}, None, "us-west1", id="from the training input"
        ),
        pytest.param(
            {"trainingInput": {"region": "us-west1"}}, "us-east1", "us-east1", id="before the training input"
        ),
        pytest.param({"trainingInput": {"region": 3}}, None, None, id="not from a wrong region"),
        pytest.param(
            {"gcloud": "gcloud ai-platform jobs submit training j --region us-west1"},
            None,
            "us-west1",
            id="from the command",
        ),
    ],
)
def test_a_document_has_a_location(value, given, location):
    assert read_document(value, options=CheckOptions(location=given)).location == location


def test_the_location_of_the_document_is_checked_against():
    pool = {**GPU_POOL, "replicaCount": 1}
    name = "projects/1/locations/us-west2/customJobs/1"
    document = read_document({"displayName": "d", "name": name, "jobSpec": {"workerPoolSpecs": [pool]}})
    assert paths(document) == ["worker_pool_specs[0].machine_spec.accelerator_type"]


# The spec.


def test_the_spec_is_in_normal_form():
    document = read_document({"workerPoolSpecs": [POOL, {}, {**WORKERS, "replicaCount": 0}, {}]})
    assert counts(document) == [1]


def test_the_spec_is_available_despite_errors():
    document = read_document({"workerPoolSpecs": [{**POOL, "replicaCount": 3}, {}, {}]})
    assert paths(document) == ["worker_pool_specs[0].replica_count"]
    assert counts(document) == [3]


def test_a_spec_that_cannot_be_read_has_placeholders():
    document = read_document({"workerPoolSpecs": [{**POOL, "replicaCount": "many"}]})
    assert paths(document) == ["worker_pool_specs[0].replica_count"]
    assert counts(document) == [1]


def test_a_field_that_is_not_known_is_named():
    assert paths(read_document({"workerPoolSpecs": [POOL], "netwrok": "x"})) == ["netwrok"]


def test_options_reach_the_rules():
    machine = {"machineType": "n9-standard-4"}
    document = read_document(
        {"workerPoolSpecs": [{**POOL, "machineSpec": machine}]},
        options=CheckOptions(allow_unknown_types=True),
    )
    assert [problem.level for problem in document.problems] == ["warning"]


# Reduction servers by number.


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(
            {
                "workerPoolSpecs": [
                    {**GPU_POOL, "replicaCount": 1},
                    {**GPU_POOL, "replicaCount": 4},
                    {"replicaCount": "auto"},
                ]
            },
            id="pools",
        ),
        pytest.param(
            {
                "displayName": "d",
                "jobSpec": {
                    "workerPoolSpecs": [
                        {**GPU_POOL, "replicaCount": 1},
                        {**GPU_POOL, "replicaCount": 4},
                        {"replicaCount": "auto"},
                    ]
                },
            },
            id="a whole job",
        ),
        pytest.param(
            {
                "chief": GPU_POOL,
                "workers": {**GPU_POOL, "replica_count": 4},
                "reduction_servers": "auto",
            },
            id="roles",
        ),
    ],
)
def test_reduction_servers_can_be_counted(value):
    document = read_document(value)
    assert errors(document.problems) == ()
    assert document.sizing.replicas == 16
    servers = document.spec.worker_pool_specs[2]
    assert (servers.replica_count, servers.machine_type) == (16, "n1-highcpu-16")
    assert servers.container_spec.image_uri == REDUCTION_SERVER


def test_other_documents_have_no_sizing():
    assert read_document(JOB).sizing is None


# Where findings are.

ORIGINS = {
    "worker_pool_specs": "",
    "worker_pool_specs[1]": "worker",
    "worker_pool_specs[1].machine_spec": "worker",
    "worker_pool_specs[1].machine_spec.reservation_affinity.key": "worker.reservation_affinity_key",
}


@pytest.mark.parametrize(
    ("path", "written"),
    [
        pytest.param("worker_pool_specs[1]", "worker", id="itself"),
        pytest.param(
            "worker_pool_specs[1].machine_spec.accelerator_count", "worker.accelerator_count", id="below"
        ),
        pytest.param("worker_pool_specs[1].replica_count", "worker.replica_count", id="the nearest"),
        pytest.param(
            "worker_pool_specs[1].machine_spec.reservation_affinity.key",
            "worker.reservation_affinity_key",
            id="exactly",
        ),
        pytest.param("worker_pool_specs[10].replica_count", "[10].replica_count", id="not by a prefix"),
        pytest.param("worker_pool_specs", "", id="the whole document"),
        pytest.param("network", "network", id="unknown stays"),
    ],
)
def test_a_path_leads_back_to_what_was_written(path, written):
    assert written_path(path, ORIGINS) == written


def test_a_finding_is_translated_in_path_basis_and_words():
    problem = Problem(
        path="worker_pool_specs[1].replica_count",
        message="put the others in worker_pool_specs[1].machine_spec, the workers",
        rests_on=("worker_pool_specs[1].machine_spec.machine_type",),
    )
    (found,) = as_written([problem], ORIGINS)
    assert found.path == "worker.replica_count"
    assert found.message == "put the others in worker, the workers"
    assert found.rests_on == ("worker.machine_type",)


def test_what_was_written_once_is_reported_once():
    one, other = (Problem(path=f"worker_pool_specs[{i}].x", message="wrong") for i in (1, 2))
    assert len(as_written([one, other], {"worker_pool_specs[1]": "a", "worker_pool_specs[2]": "a"})) == 1


# Any values whatever.

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
        pytest.param("gcloud ai-platform jobs", "put a command under the key gcloud", id="a command"),
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
