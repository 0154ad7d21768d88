"""The variables of a task's own `env`, together with the service's."""

from __future__ import annotations

import json

import pytest

from support.ground.jobs import REDUCTION_SERVER, package_pool, pool
from support.ground.specs.environment_views import JOB_ID, environment
from vertex_training.topology.pools import EnvVar

OWN = {
    "BASE": "/data",
    "TRAIN": "$(BASE)/train",
    "ID": "job $(CLOUD_ML_JOB_ID)",
    "RANKED": "rank $(RANK)",
    "MODEL": "$(AIP_MODEL_DIR)best",
    "ESCAPED": "$$(BASE)",
    "LATER": "$(LAST)",
    "LAST": "1",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BASE", "/data"),
        ("TRAIN", "/data/train"),
        ("ID", f"job {JOB_ID}"),
        ("RANKED", "rank 2"),
        ("MODEL", "gs://b/out/model/best"),
        ("ESCAPED", "$(BASE)"),
        ("LATER", "$(LAST)"),
        ("LAST", "1"),
    ],
)
def test_they_are_expanded_in_their_order(name, value):
    found = environment(pool(), pool(2, env=OWN), pool=1, index=1, base_output_directory="gs://b/out")
    assert found[name] == value


@pytest.mark.parametrize("name", ["CLUSTER_SPEC", "TF_CONFIG"])
def test_the_structured_variables_can_be_referred_to(name):
    found = environment(pool(env={"COPY": f"$({name})"}), pool())
    assert json.loads(found["COPY"]) == json.loads(found[name])


def test_a_reference_to_a_tf_config_that_is_not_set_stays():
    assert environment(pool(env={"COPY": "$(TF_CONFIG)"}))["COPY"] == "$(TF_CONFIG)"


def test_a_packages_variables_are_added():
    assert environment(package_pool(env=(EnvVar(name="A", value="1"),)))["A"] == "1"


def test_another_pools_variables_are_not():
    assert "A" not in environment(pool(env={"A": "1"}), pool(), pool=1)


@pytest.mark.parametrize("name", ["CLUSTER_SPEC", "TF_CONFIG", "AIP_MODEL_DIR"])
def test_the_service_wins(name):
    found = environment(pool(env={name: "mine"}), pool(), base_output_directory="gs://b/out")
    assert found[name] != "mine"


@pytest.mark.parametrize(
    "name",
    ["MASTER_PORT", "HOSTNAME", "CLOUD_ML_REGION", "TF_CONFIG", "AIP_MODEL_DIR", "AIP_EXPERIMENT_NAME"],
)
def test_own_variables_stand_where_the_services_may_be_overruled_or_is_not_set(name):
    assert environment(pool(env={name: "mine"}))[name] == "mine"


def test_own_variables_overrule_ranks():
    assert environment(pool(env={"MASTER_PORT": "23456"}), pool())["MASTER_PORT"] == "23456"


def test_a_reduction_server_may_have_a_tf_config_of_its_own():
    servers = pool(image=REDUCTION_SERVER, env={"TF_CONFIG": "{}"})
    assert environment(pool(), pool(), servers, pool=2)["TF_CONFIG"] == "{}"
