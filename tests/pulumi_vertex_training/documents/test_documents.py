"""Forms of documents, names, locations, specs, and the job in a document."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.cli.explain.documents import read_document
from support.ground.jobs import REDUCTION_SERVER
from support.ground.specs.written_documents import (
    ANSWER,
    CONFIG,
    CONTAINER,
    JOB,
    PIPELINE,
    POOL,
    WORKERS,
    paths,
)
from support.tables import every_row
from vertex_training.fields.schema import as_written, written_path
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem, errors

TRIALS = {"displayName": "search", "maxTrialCount": 4, "parallelTrialCount": "2"}


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


ORIGINS = {
    "worker_pool_specs": "",
    "worker_pool_specs[1]": "worker",
    "worker_pool_specs[1].machine_spec": "worker",
    "worker_pool_specs[1].machine_spec.reservation_affinity.key": "worker.reservation_affinity_key",
}


# Where findings are.


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


# As gcloud reads a file.


ONE = {
    **POOL,
    "containerSpec": {**CONTAINER, "args": "--a=1", "command": "run", "env": {"name": "A", "value": "b"}},
}
LISTED = {
    **POOL,
    "containerSpec": {
        **CONTAINER,
        "args": ["--a=1"],
        "command": ["run"],
        "env": [{"name": "A", "value": "b"}],
    },
}
METRIC = {"metricId": "loss", "goal": "MINIMIZE"}
PARAMETER = {"parameterId": "x", "categoricalValueSpec": {"values": "a"}}


@every_row(
    "single, listed",
    [
        ({"workerPoolSpecs": ONE}, {"workerPoolSpecs": [LISTED]}),
        ({"worker_pool_specs": [ONE]}, {"workerPoolSpecs": [LISTED]}),
        ({**JOB, "jobSpec": {"workerPoolSpecs": ONE}}, {**JOB, "jobSpec": {"workerPoolSpecs": [LISTED]}}),
        (
            {"workerPoolSpecs": POOL, "reservedIpRanges": "a", "network": "projects/1/global/networks/n"},
            {"workerPoolSpecs": [POOL], "reservedIpRanges": ["a"], "network": "projects/1/global/networks/n"},
        ),
        (
            {
                "studySpec": {"metrics": METRIC, "parameters": PARAMETER},
                "trialJobSpec": {"workerPoolSpecs": ONE},
            },
            {
                "studySpec": {
                    "metrics": [METRIC],
                    "parameters": [{**PARAMETER, "categoricalValueSpec": {"values": ["a"]}}],
                },
                "trialJobSpec": {"workerPoolSpecs": [LISTED]},
            },
        ),
    ],
)
def test_one_value_where_a_list_is_meant_is_a_list_of_one(single, listed):
    found, wanted = read_document(single), read_document(listed)
    assert found.spec == wanted.spec
    assert words(found) == words(wanted)
    assert found.spec is not None and not errors(found.problems)


@every_row(
    "pools", [{"0": POOL}, {"chief": POOL}, None, True], ids=["numbers", "roles", "null", "a truth value"]
)
def test_what_is_no_item_of_a_list_is_no_list_of_one(pools):
    assert errors(read_document({"workerPoolSpecs": pools, "network": "n"}).problems)


@every_row(
    "value, path",
    [
        ({"workerPoolSpecs": [POOL], "baseOutputDirectory": "gs://bucket"}, "base_output_directory"),
        (
            {**JOB, "jobSpec": {"workerPoolSpecs": [POOL], "baseOutputDirectory": "gs://bucket"}},
            "base_output_directory",
        ),
        (
            {
                "display_name": "a",
                "job_spec": {"worker_pool_specs": [POOL], "base_output_directory": "gs://bucket"},
            },
            "base_output_directory",
        ),
        (
            {
                "studySpec": {},
                "trialJobSpec": {"workerPoolSpecs": [POOL], "baseOutputDirectory": "gs://bucket"},
            },
            "trial_job_spec.base_output_directory",
        ),
        (
            {
                **PIPELINE,
                "trainingTaskInputs": {"workerPoolSpecs": [POOL], "baseOutputDirectory": "gs://bucket"},
            },
            "training_task_inputs.base_output_directory",
        ),
    ],
)
def test_an_output_directory_of_the_api_is_a_message(value, path):
    (found,) = [one for one in errors(read_document(value).problems) if one.path == path]
    assert found.message.startswith("expected a mapping, got the text 'gs://bucket")
    assert "{output" in found.message


def test_an_output_directory_of_a_program_is_a_text():
    assert not words(read_document({"worker_pool_specs": [POOL], "base_output_directory": "gs://bucket/x"}))


@every_row("command", ["gcloud ai custom-jobs create {}", "gcloud beta ai custom-jobs create {}"])
def test_a_command_alone_is_read_as_under_its_key(command):
    flags = (
        "--region=us-central1 --display-name=a "
        "--worker-pool-spec=machine-type=n1-standard-4,container-image-uri=gcr.io/p/i"
    )
    text = command.format(flags)
    assert read_document(text) == read_document({"gcloud": text})
    assert not errors(read_document(text).problems)
