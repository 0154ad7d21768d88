"""The environments of a job: its replicas, their names, and rejected arguments."""

from __future__ import annotations

import json
import re

import pytest

from support.ground.jobs import EMPTY, REDUCTION_SERVER, job, pool
from support.ground.specs.environment_views import (
    FULL,
    JOB_ID,
    JOB_IDENTITY,
    environment,
    environments,
    local_addresses,
    role_names,
)
from vertex_training.replica_environment.replica import host_name, job_environments, replica_environment
from vertex_training.topology.roles import Role


def test_the_replicas_come_pool_by_pool():
    assert [each.name for each in environments(*FULL)] == [
        "workerpool0-0",
        "workerpool1-0",
        "workerpool1-1",
        "workerpool2-0",
        "workerpool2-1",
        "workerpool3-0",
    ]


@pytest.mark.parametrize(
    ("pools", "roles"),
    [
        pytest.param((pool(),), [Role.CHIEF], id="chief"),
        pytest.param((pool(), pool()), [Role.CHIEF, Role.WORKER], id="worker"),
        pytest.param((pool(), EMPTY, pool()), [Role.CHIEF, Role.PARAMETER_SERVER], id="parameter server"),
        pytest.param(
            (pool(), EMPTY, pool(image=REDUCTION_SERVER)),
            [Role.CHIEF, Role.REDUCTION_SERVER],
            id="reduction server",
        ),
        pytest.param((pool(), EMPTY, EMPTY, pool()), [Role.CHIEF, Role.EVALUATOR], id="evaluator"),
    ],
)
def test_the_roles(pools, roles):
    assert role_names(environments(*pools)) == roles


def test_pool_and_index_say_which_replica():
    assert [(each.pool, each.index) for each in environments(pool(), EMPTY, pool(2))] == [
        (0, 0),
        (2, 0),
        (2, 1),
    ]


def test_a_role_is_plain_text_in_json():
    assert json.dumps(environments(pool())[0].role) == '"chief"'


# The forms of the two variables.


def test_the_variables_as_text_are_the_structured_ones():
    found = environments(*FULL)[1]
    variables = found.as_variables()
    assert json.loads(variables.pop("CLUSTER_SPEC")) == found.cluster_spec
    assert json.loads(variables.pop("TF_CONFIG")) == found.tf_config
    assert variables == found.variables


@pytest.mark.parametrize("name", ["CLUSTER_SPEC", "TF_CONFIG"])
def test_the_structured_ones_are_not_repeated_as_text(name):
    assert name not in environments(pool(env={name: "mine"}), pool())[0].variables


@pytest.mark.parametrize("variable", ["cluster_spec", "tf_config"])
def test_all_replicas_share_one_cluster(variable):
    clusters = [getattr(each, variable)["cluster"] for each in environments(*FULL)]
    assert all(cluster is clusters[0] for cluster in clusters)


def test_the_values_of_variables_are_not_in_the_representation():
    found = environments(pool(env={"TOKEN": "secret"}), contract="documented")[0]
    assert "secret" not in repr(found)


# Addresses.


def test_host_names_look_like_the_services():
    assert re.fullmatch(r"cmle-training-workerpool1-[0-9a-f]{10}-2", host_name(JOB_ID, 1, 2))


def test_host_names_are_the_jobs_own():
    assert host_name(JOB_ID, 1, 2) != host_name("1", 1, 2)


def test_the_host_name_is_a_variable_whatever_the_address():
    assert environment(pool(), pool(2), pool=1, index=1)["HOSTNAME"] == host_name(JOB_ID, 1, 1)


def test_without_addresses_the_services_host_names_are_used():
    found = job_environments(job(pool(), EMPTY, pool(2)), **JOB_IDENTITY)[0]
    assert found.cluster_spec["cluster"] == {
        "workerpool0": [f"{host_name(JOB_ID, 0, 0)}:2222"],
        "workerpool2": [f"{host_name(JOB_ID, 2, 0)}:2222", f"{host_name(JOB_ID, 2, 1)}:2222"],
    }


# What is refused.


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param([], id="none"),
        pytest.param([["a:1"]], id="a pool too few"),
        pytest.param([["a:1"], ["b:1"]], id="a replica too few"),
        pytest.param([["a:1"], ["b:1", "b:2", "b:3"]], id="a replica too many"),
        pytest.param([["a:1"], ["b:1", "b:2"], []], id="a pool too many"),
    ],
)
def test_addresses_that_do_not_match_are_rejected(addresses):
    with pytest.raises(ValueError, match="addresses"):
        environments(pool(), pool(2), addresses=addresses)


@pytest.mark.parametrize(
    "pools",
    [
        pytest.param((EMPTY, pool()), id="no chief"),
        pytest.param((pool(2),), id="two chiefs"),
        pytest.param((pool(), pool(-1)), id="a negative count"),
    ],
)
def test_pools_that_do_not_form_a_job_are_rejected(pools):
    with pytest.raises(ValueError, match="do not form a job"):
        job_environments(job(*pools), **JOB_IDENTITY)


def test_a_fifth_pool_is_rejected():
    with pytest.raises(ValueError, match="at most 4"):
        environments(*FULL, pool())


# One replica at a time, as the emulator asks.


def one(*pools, pool=0, index=0, **other):
    options = {
        "addresses": local_addresses(pools),
        "base_output_directory": "gs://b/out",
        **JOB_IDENTITY,
        **other,
    }
    return replica_environment(pools=pools, pool=pool, index=index, **options)


@pytest.mark.parametrize("contract", ["observed", "documented"])
@pytest.mark.parametrize(("position", "index"), [(0, 0), (1, 1), (2, 0), (3, 0)])
def test_one_replica_equals_that_of_the_whole_job(position, index, contract):
    assert one(*FULL, pool=position, index=index, contract=contract) == environment(
        *FULL, pool=position, index=index, contract=contract, base_output_directory="gs://b/out"
    )


def test_one_replica_of_a_whole_spec():
    spec = job(tensorboard="projects/1/locations/l/tensorboards/2", experiment="e")
    found = one(pool(), pool(), spec=spec, trial="2", open_ports=[3333])
    assert found == environment(
        pool(),
        pool(),
        trial="2",
        open_ports=[3333],
        tensorboard=spec.tensorboard,
        experiment="e",
        base_output_directory="gs://b/out",
    )


@pytest.mark.parametrize(("position", "index"), [(0, 1), (1, 2), (2, 0), (4, 0), (-1, 0), (0, -1)])
def test_a_replica_that_does_not_exist_is_rejected(position, index):
    with pytest.raises(ValueError, match="no replica"):
        one(pool(), pool(2), EMPTY, pool=position, index=index)
