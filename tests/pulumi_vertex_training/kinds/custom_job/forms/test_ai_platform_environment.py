"""The environment of a replica on AI Platform Training."""

from __future__ import annotations

import json
import re

import pytest

from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.environment import ai_platform_environments
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import (
    ReplicaConfig,
    TrainingInput,
    chief_name,
    role_counts,
)
from support.client.specs.ai_platform_jobs import CONTAINER, legacy, training_input
from support.ground.jobs import job, pool
from support.ground.specs.environment_views import JOB_ID, JOB_IDENTITY, RANK_VARIABLES
from vertex_training.replica_environment.replica import job_environments
from vertex_training.topology.roles import Role

MASTER, WORKER, SERVER, EVALUATOR = (f"{task}-replica-0" for task in ("master", "worker", "ps", "evaluator"))
PACKAGE = {"master_config": None, "python_module": "trainer.task", "package_uris": ("gs://b/p.tar.gz",)}
EVERY_ROLE = training_input(2, 2, 1)


def names_of(given: TrainingInput) -> list[str]:
    return [each.name for each in ai_platform_environments(given, **JOB_IDENTITY)]


# Replicas.


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        pytest.param({}, (1, 0, 0, 0), id="no tier is BASIC"),
        pytest.param({"scale_tier": "BASIC"}, (1, 0, 0, 0), id="BASIC"),
        pytest.param({"scale_tier": "BASIC_GPU"}, (1, 0, 0, 0), id="BASIC_GPU"),
        pytest.param({"scale_tier": "BASIC_TPU"}, (1, 0, 0, 0), id="BASIC_TPU"),
        pytest.param({"scale_tier": "STANDARD_1"}, (1, 4, 3, 0), id="STANDARD_1"),
        pytest.param({"scale_tier": "PREMIUM_1"}, (1, 19, 11, 0), id="PREMIUM_1"),
        pytest.param({"scale_tier": "CUSTOM"}, (1, 0, 0, 0), id="CUSTOM without counts"),
        pytest.param({"scale_tier": "CUSTOM", "worker_count": 9}, (1, 9, 0, 0), id="workers"),
        pytest.param({"scale_tier": "CUSTOM", "parameter_server_count": 3}, (1, 0, 3, 0), id="servers"),
        pytest.param({"scale_tier": "CUSTOM", "evaluator_count": 1}, (1, 0, 0, 1), id="evaluator"),
        pytest.param({"scale_tier": "BASIC", "worker_count": 9}, (1, 0, 0, 0), id="counts are CUSTOM's"),
        pytest.param({"worker_count": 9}, (1, 9, 0, 0), id="counts without a tier mean CUSTOM"),
        pytest.param({"worker_type": "cloud_tpu", "worker_count": 1}, (1, 0, 0, 0), id="a TPU is no replica"),
    ],
)
def test_the_scale_tier_decides_the_counts(given, counts):
    assert role_counts(TrainingInput(**given)) == counts


def test_replicas_are_named_as_in_the_services_logs():
    assert names_of(EVERY_ROLE) == [
        "master-replica-0",
        "worker-replica-0",
        "worker-replica-1",
        "ps-replica-0",
        "ps-replica-1",
        "evaluator-replica-0",
    ]


@pytest.mark.parametrize(
    ("name", "role"),
    [
        (MASTER, Role.CHIEF),
        (WORKER, Role.WORKER),
        (SERVER, Role.PARAMETER_SERVER),
        (EVALUATOR, Role.EVALUATOR),
    ],
)
def test_their_roles_are_those_of_vertex(name, role):
    assert legacy(EVERY_ROLE, name).role is role


def test_pool_and_index_are_those_of_the_worker_pools_on_vertex():
    vertex = job_environments(job(pool(), pool(2), pool(2), pool()), **JOB_IDENTITY)
    found = ai_platform_environments(EVERY_ROLE, **JOB_IDENTITY)
    assert [(each.pool, each.index) for each in found] == [(each.pool, each.index) for each in vertex]


# CLUSTER_SPEC.


@pytest.mark.parametrize(
    ("given", "is_set"),
    [
        pytest.param(training_input(1), True, id="container"),
        pytest.param(training_input(0), True, id="container alone"),
        pytest.param(training_input(1, **PACKAGE, runtime_version="2.11"), False, id="package"),
        pytest.param(
            training_input(1, **{**PACKAGE, "master_config": ReplicaConfig()}), False, id="config, no image"
        ),
    ],
)
def test_cluster_spec_is_for_custom_containers_only(given, is_set):
    assert (legacy(given).cluster_spec is not None) is is_set


@pytest.mark.parametrize(
    ("name", "task"),
    [
        (MASTER, {"type": "master", "index": 0}),
        (WORKER, {"type": "worker", "index": 0}),
        ("worker-replica-1", {"type": "worker", "index": 1}),
        ("ps-replica-1", {"type": "ps", "index": 1}),
    ],
)
def test_its_task(name, task):
    assert legacy(EVERY_ROLE, name).cluster_spec["task"] == task


def test_its_keys():
    assert set(legacy(EVERY_ROLE).cluster_spec) == {"cluster", "task", "job"}


@pytest.mark.parametrize(
    ("given", "names"),
    [
        pytest.param(training_input(), ["master"], id="master alone"),
        pytest.param(training_input(1), ["master", "worker"], id="workers"),
        pytest.param(training_input(1, 1), ["master", "worker", "ps"], id="servers"),
        pytest.param(training_input(0, 1), ["master", "ps"], id="servers alone"),
        pytest.param(training_input(0, 0, 1), ["master"], id="never an evaluator"),
        pytest.param(training_input(1, use_chief_in_tf_config=True), ["master", "worker"], id="never chief"),
    ],
)
def test_the_names_in_its_cluster(given, names):
    assert list(legacy(given).cluster_spec["cluster"]) == names


def test_an_evaluator_has_none_because_it_has_no_name_for_one():
    assert legacy(EVERY_ROLE, EVALUATOR).cluster_spec is None


@pytest.mark.parametrize("variable", ["cluster_spec", "tf_config"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scaleTier", "CUSTOM"),
        ("masterType", "n1-standard-4"),
        ("masterConfig", {"imageUri": "repo/trainer:1"}),
        ("workerCount", "2"),
        ("args", ["--epochs=2"]),
    ],
)
def test_the_job_is_the_training_input(variable, key, value):
    assert getattr(legacy(training_input(2, args=("--epochs=2",))), variable)["job"][key] == value


# TF_CONFIG.

EXAMPLE = {
    "cluster": {
        "chief": ["cmle-training-chief-[ID_STRING_1]-0:2222"],
        "ps": ["cmle-training-ps-[ID_STRING_1]-0:2222"],
        "worker": ["cmle-training-worker-[ID_STRING_1]-0:2222", "cmle-training-worker-[ID_STRING_1]-1:2222"],
    },
    "environment": "cloud",
    "task": {"cloud": "[ID_STRING_2]", "index": 0, "trial": "1", "type": "worker"},
}
"""The example of "TF_CONFIG and distributed training": runtime version 2.1, the first trial of tuning."""


def test_the_documents_example():
    given = training_input(2, 1, **PACKAGE, runtime_version="2.1", hyperparameters={"goal": "MAXIMIZE"})
    text = legacy(given, WORKER).as_variables()["TF_CONFIG"]
    found = json.loads(re.sub(r"-[0-9a-f]{10}-", "-[ID_STRING_1]-", text))
    assert found.pop("job")
    found["task"]["cloud"] = "[ID_STRING_2]"
    assert found == EXAMPLE


@pytest.mark.parametrize(
    ("given", "name"),
    [
        pytest.param(training_input(), MASTER, id="a single replica"),
        pytest.param(training_input(**PACKAGE), MASTER, id="a single replica with a package"),
        pytest.param(TrainingInput(), MASTER, id="BASIC"),
        pytest.param(EVERY_ROLE, MASTER, id="master"),
        pytest.param(EVERY_ROLE, WORKER, id="worker"),
        pytest.param(EVERY_ROLE, SERVER, id="server"),
        pytest.param(EVERY_ROLE, EVALUATOR, id="evaluator"),
    ],
)
def test_tf_config_is_set_on_every_replica_of_every_job(given, name):
    assert "TF_CONFIG" in legacy(given, name).as_variables()


@pytest.mark.parametrize(
    ("given", "name"),
    [
        pytest.param({**PACKAGE}, "master", id="no runtime version"),
        pytest.param({**PACKAGE, "runtime_version": "1.15"}, "master", id="1.15"),
        pytest.param({**PACKAGE, "runtime_version": "2.0"}, "master", id="2.0"),
        pytest.param({**PACKAGE, "runtime_version": "2.1"}, "chief", id="2.1"),
        pytest.param({**PACKAGE, "runtime_version": "2.11"}, "chief", id="2.11"),
        pytest.param({**PACKAGE, "runtime_version": "10.0"}, "chief", id="10.0"),
        pytest.param({**PACKAGE, "runtime_version": "latest"}, "master", id="no number"),
        pytest.param({**CONTAINER}, "master", id="container"),
        pytest.param({**CONTAINER, "use_chief_in_tf_config": True}, "chief", id="container that asks"),
        pytest.param({**PACKAGE, "use_chief_in_tf_config": True}, "master", id="package that asks"),
        pytest.param({**CONTAINER, "evaluators": 1}, "chief", id="container with an evaluator"),
        pytest.param(
            {**PACKAGE, "runtime_version": "1.15", "evaluators": 1}, "chief", id="1.15 with an evaluator"
        ),
    ],
)
def test_chief_or_master(given, name):
    assert chief_name(training_input(1, **given)) == name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        pytest.param(training_input(1), "master", id="master"),
        pytest.param(training_input(1, use_chief_in_tf_config=True), "chief", id="chief"),
    ],
)
@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda found: next(iter(found.tf_config["cluster"])), id="in the cluster"),
        pytest.param(lambda found: found.tf_config["task"]["type"], id="in the task"),
        pytest.param(lambda found: found.variables["HOSTNAME"].split("-")[2], id="in the host name"),
    ],
)
def test_the_name_is_used_everywhere(given, name, read):
    assert read(legacy(given)) == name


@pytest.mark.parametrize(
    ("name", "task"), [(MASTER, "chief"), (WORKER, "worker"), (SERVER, "ps"), (EVALUATOR, "evaluator")]
)
def test_the_type_of_a_task(name, task):
    assert legacy(EVERY_ROLE, name).tf_config["task"]["type"] == task


def test_an_evaluator_is_never_in_the_cluster():
    assert list(legacy(EVERY_ROLE, EVALUATOR).tf_config["cluster"]) == ["chief", "worker", "ps"]


def test_tf_config_has_an_environment():
    assert legacy(EVERY_ROLE).tf_config["environment"] == "cloud"


# The rest.


@pytest.mark.parametrize(
    ("name", "variable", "value"),
    [
        (MASTER, "RANK", "0"),
        (WORKER, "RANK", "1"),
        ("worker-replica-1", "RANK", "2"),
        (WORKER, "WORLD_SIZE", "3"),
        (WORKER, "MASTER_PORT", "2222"),
        (WORKER, "MASTER_ADDR", legacy(EVERY_ROLE).variables["HOSTNAME"]),
    ],
)
def test_ranks_are_counted_in_nodes(name, variable, value):
    assert legacy(EVERY_ROLE, name).variables[variable] == value


@pytest.mark.parametrize(
    ("given", "name"), [(EVERY_ROLE, SERVER), (EVERY_ROLE, EVALUATOR), (training_input(), MASTER)]
)
def test_who_has_no_rank(given, name):
    assert not set(RANK_VARIABLES) & set(legacy(given, name).variables)


@pytest.mark.parametrize(
    ("given", "variable", "value"),
    [
        pytest.param({}, "CLOUD_ML_JOB_ID", JOB_ID, id="job"),
        pytest.param({}, "CLOUD_ML_PROJECT_ID", "116273516712", id="project"),
        pytest.param({}, "CLOUD_ML_REGION", "us-central1", id="location"),
        pytest.param({"region": "europe-west1"}, "CLOUD_ML_REGION", "europe-west1", id="the input's region"),
    ],
)
def test_the_job_and_its_place(given, variable, value):
    assert legacy(training_input(**given)).variables[variable] == value


def test_no_region_no_variable():
    assert "CLOUD_ML_REGION" not in legacy(training_input(), location=None).variables


TUNING = {"hyperparameters": {"goal": "MAXIMIZE", "hyperparameterMetricTag": "eval/loss"}}


@pytest.mark.parametrize(
    ("given", "options", "trial"),
    [
        pytest.param({}, {}, None, id="not a tuning job"),
        pytest.param(TUNING, {}, "1", id="its first trial"),
        pytest.param(TUNING, {"trial": "4"}, "4", id="another trial"),
    ],
)
@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda found: found.cluster_spec["task"].get("trial"), id="CLUSTER_SPEC"),
        pytest.param(lambda found: found.tf_config["task"].get("trial"), id="TF_CONFIG"),
        pytest.param(lambda found: found.variables.get("CLOUD_ML_TRIAL_ID"), id="CLOUD_ML_TRIAL_ID"),
    ],
)
def test_the_trial_of_a_tuning_job(given, options, trial, read):
    assert read(legacy(training_input(1, **given), **options)) == trial


@pytest.mark.parametrize(
    ("hyperparameters", "tag"),
    [
        ({}, "training/hptuning/metric"),
        ({"hyperparameterMetricTag": "eval/loss"}, "eval/loss"),
        ({"hyperparameter_metric_tag": "eval/loss"}, "eval/loss"),
        ({"hyperparameterMetricTag": 3}, "training/hptuning/metric"),
    ],
)
def test_the_tag_of_the_metric(hyperparameters, tag):
    found = legacy(training_input(hyperparameters=hyperparameters)).variables
    assert found["CLOUD_ML_HP_METRIC_TAG"] == tag


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        pytest.param(training_input(-1), {}, "never negative", id="a negative count"),
        pytest.param(training_input(1), {"addresses": [["a:1"], [], [], []]}, "addresses", id="addresses"),
        pytest.param(training_input(1), {"trial": "x"}, "is not a trial", id="a trial"),
    ],
)
def test_rejected(given, options, message):
    with pytest.raises(ValueError, match=message):
        ai_platform_environments(given, **{**JOB_IDENTITY, **options})


def test_addresses_may_be_given():
    addresses = [["a:1"], ["b:2"], [], []]
    assert legacy(training_input(1), addresses=addresses).cluster_spec["cluster"] == {
        "master": ["a:1"],
        "worker": ["b:2"],
    }
