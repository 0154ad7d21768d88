from __future__ import annotations

import json
import re

import pytest
from hypothesis import given

from support import jobs
from support.jobs import EMPTY, REDUCTION_SERVER, package_pool, pool
from vertex_training.environment.replica import host_name, replica_environment
from vertex_training.topology.roles import replicas

JOB_ID = "2970106362064797696"


def addresses_of(pools):
    return [
        [f"127.0.0.1:{2000 + 100 * p + i}" for i in range(each.replica_count)] for p, each in enumerate(pools)
    ]


def environment(*pools, pool=0, index=0, **other):
    given = {
        "addresses": addresses_of(pools),
        "job_id": JOB_ID,
        "project_number": "116273516712",
        "location": "us-central1",
        "base_output_directory": None,
    }
    return replica_environment(pools=pools, pool=pool, index=index, **{**given, **other})


def cluster_spec(*pools, **other):
    return json.loads(environment(*pools, **other)["CLUSTER_SPEC"])


def tf_config(*pools, **other):
    return json.loads(environment(*pools, **other)["TF_CONFIG"])


FULL = (pool(), pool(2), pool(2), pool())


# CLUSTER_SPEC.


def test_the_observed_form_of_a_distributed_job():
    assert cluster_spec(pool(), pool(2), pool=1, index=1, open_ports=[3333]) == {
        "cluster": {
            "workerpool0": ["127.0.0.1:2000"],
            "workerpool1": ["127.0.0.1:2100", "127.0.0.1:2101"],
        },
        "environment": "cloud",
        "task": {"type": "workerpool1", "index": 1},
        "job": '{"python_module":"","package_uris":[],"job_args":[]}',
        "open_ports": [3333],
    }


def test_the_observed_form_of_a_single_replica():
    spec = cluster_spec(pool())
    assert spec["cluster"] == {"chief": ["127.0.0.1:2000"]}
    assert spec["task"] == {"type": "chief", "index": 0}
    assert "open_ports" not in spec


def test_the_documented_form_of_a_single_replica():
    spec = cluster_spec(pool(), contract="documented")
    assert spec["cluster"] == {"workerpool0": ["127.0.0.1:2000"]}
    assert spec["task"] == {"type": "workerpool0", "index": 0}


def test_the_documented_job_is_the_spec_as_a_dictionary():
    job = cluster_spec(pool(), contract="documented", base_output_directory="gs://b/out")["job"]
    assert job["workerPoolSpecs"][0]["containerSpec"]["imageUri"] == "repo/trainer:1"
    assert job["baseOutputDirectory"] == {"outputUriPrefix": "gs://b/out/"}


def test_the_observed_job_is_a_string_with_the_package():
    raw = cluster_spec(package_pool(), package_pool(2), pool=1)["job"]
    assert json.loads(raw) == {
        "python_module": "trainer.task",
        "package_uris": ["gs://staging/trainer-0.1.tar.gz"],
        "job_args": ["--epochs=20"],
    }
    assert r"--epochs\u003d20" in raw


def test_skipped_pools_are_not_in_the_cluster_and_keep_their_number():
    assert list(cluster_spec(pool(), EMPTY, pool(2), pool=2)["cluster"]) == ["workerpool0", "workerpool2"]


def test_evaluators_are_in_cluster_spec():
    assert cluster_spec(*FULL, pool=3)["cluster"]["workerpool3"] == ["127.0.0.1:2300"]


# TF_CONFIG.


@pytest.mark.parametrize("contract", ["observed", "documented"])
def test_a_single_replica_has_no_tf_config(contract):
    assert "TF_CONFIG" not in environment(pool(), contract=contract)


@pytest.mark.parametrize(("position", "task"), [(0, "chief"), (1, "worker"), (2, "ps"), (3, "evaluator")])
def test_the_tasks_of_tensorflow(position, task):
    config = tf_config(*FULL, pool=position)
    assert (config["task"]["type"], config["task"]["index"]) == (task, 0)
    assert config["cluster"] == {
        "chief": ["127.0.0.1:2000"],
        "worker": ["127.0.0.1:2100", "127.0.0.1:2101"],
        "ps": ["127.0.0.1:2200", "127.0.0.1:2201"],
    }
    assert config["environment"] == "cloud"


def test_pools_that_are_not_there_have_no_key():
    assert list(tf_config(pool(), EMPTY, EMPTY, pool())["cluster"]) == ["chief"]


def test_reduction_servers_are_no_parameter_servers():
    pools = (pool(), pool(), pool(2, image=REDUCTION_SERVER))
    assert list(tf_config(*pools)["cluster"]) == ["chief", "worker"]
    assert "TF_CONFIG" not in environment(*pools, pool=2)
    assert len(cluster_spec(*pools)["cluster"]["workerpool2"]) == 2


# torch.distributed.


def ranks(*pools, **other):
    names = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
    found = environment(*pools, **other)
    return {name: found[name] for name in names if name in found}


@pytest.mark.parametrize(("position", "index", "rank"), [(0, 0, "0"), (1, 0, "1"), (1, 1, "2")])
def test_trainers_are_ranked_in_nodes(position, index, rank):
    assert ranks(*FULL, pool=position, index=index) == {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "2000",
        "RANK": rank,
        "WORLD_SIZE": "3",
    }


@pytest.mark.parametrize("position", [2, 3])
def test_servers_and_evaluators_have_no_rank(position):
    assert ranks(*FULL, pool=position) == {}


def test_a_single_replica_has_no_rank():
    assert ranks(pool()) == {}


# The rest.


def test_the_service_s_own_variables():
    found = environment(pool(), pool(), pool=1)
    assert {name: found[name] for name in found if name.startswith("CLOUD_ML")} == {
        "CLOUD_ML_PROJECT_ID": "116273516712",
        "CLOUD_ML_JOB_ID": JOB_ID,
        "CLOUD_ML_REGION": "us-central1",
    }
    assert found["HOSTNAME"] == host_name(JOB_ID, 1, 0)


def test_host_names_look_like_the_service_s():
    assert re.fullmatch(r"cmle-training-workerpool1-[0-9a-f]{10}-2", host_name(JOB_ID, 1, 2))
    assert host_name(JOB_ID, 1, 2) != host_name("1", 1, 2)


@pytest.mark.parametrize("directory", ["gs://b/out", "gs://b/out/"])
def test_output_directories(directory):
    found = environment(pool(), base_output_directory=directory)
    assert {name: found[name] for name in found if name.startswith("AIP_")} == {
        "AIP_MODEL_DIR": "gs://b/out/model/",
        "AIP_CHECKPOINT_DIR": "gs://b/out/checkpoints/",
        "AIP_TENSORBOARD_LOG_DIR": "gs://b/out/logs/",
    }


def test_no_directory_no_variables():
    assert [name for name in environment(pool()) if name.startswith("AIP_")] == []


def test_own_variables_are_added_and_expanded_in_order():
    own = {
        "BASE": "/data",
        "TRAIN": "$(BASE)/train",
        "ID": "job $(CLOUD_ML_JOB_ID)",
        "LATER": "$(LAST)",
        "LAST": "1",
    }
    found = environment(pool(env=own))
    assert {name: found[name] for name in own} == {
        "BASE": "/data",
        "TRAIN": "/data/train",
        "ID": f"job {JOB_ID}",
        "LATER": "$(LAST)",
        "LAST": "1",
    }


def test_a_package_s_variables_are_added():
    from vertex_training.topology.pools import EnvVar

    assert environment(package_pool(env=(EnvVar(name="A", value="1"),)))["A"] == "1"


@pytest.mark.parametrize("name", ["CLUSTER_SPEC", "TF_CONFIG", "AIP_MODEL_DIR"])
def test_the_service_wins_over_own_variables(name):
    found = environment(pool(env={name: "mine"}), pool(), base_output_directory="gs://b/out")
    assert found[name] != "mine"


@pytest.mark.parametrize("name", ["MASTER_PORT", "HOSTNAME", "TF_CONFIG", "AIP_MODEL_DIR"])
def test_own_variables_stand_where_the_service_s_may_be_overruled_or_is_not_set(name):
    assert environment(pool(env={name: "mine"}))[name] == "mine"


def test_own_variables_overrule_ranks():
    assert environment(pool(env={"MASTER_PORT": "23456"}), pool())["MASTER_PORT"] == "23456"


@pytest.mark.parametrize(("position", "index"), [(0, 1), (1, 2), (2, 0), (4, 0), (-1, 0), (0, -1)])
def test_a_replica_that_does_not_exist_is_refused(position, index):
    with pytest.raises(ValueError, match="no replica"):
        environment(pool(), pool(2), EMPTY, pool=position, index=index)


@pytest.mark.parametrize(
    "addresses", [[], [["a:1"]], [["a:1"], ["b:1", "b:2", "b:3"]], [["a:1"], ["b:1", "b:2"], []]]
)
def test_addresses_that_do_not_fit_are_refused(addresses):
    with pytest.raises(ValueError, match="addresses"):
        environment(pool(), pool(2), addresses=addresses)


# All replicas of a job together.


@given(jobs.topologies)
def test_the_replicas_of_a_job_agree_with_each_other(pools):
    all_replicas = list(replicas(pools))
    environments = [environment(*pools, pool=each.pool, index=each.index) for each in all_replicas]
    specs = [json.loads(found["CLUSTER_SPEC"]) for found in environments]
    configs = [json.loads(found["TF_CONFIG"]) for found in environments if "TF_CONFIG" in found]

    assert all(spec["cluster"] == specs[0]["cluster"] for spec in specs)
    assert all(config["cluster"] == configs[0]["cluster"] for config in configs)
    assert all("evaluator" not in config["cluster"] for config in configs)

    listed = [host for hosts in specs[0]["cluster"].values() for host in hosts]
    own = [spec["cluster"][spec["task"]["type"]][spec["task"]["index"]] for spec in specs]
    assert sorted(own) == sorted(listed)
    assert len(set(own)) == len(all_replicas)

    trainers = [found for found in environments if "RANK" in found]
    assert sorted(int(found["RANK"]) for found in trainers) == list(range(len(trainers)))
    assert {found["WORLD_SIZE"] for found in trainers} <= {str(len(trainers))}
    for found in environments:
        if "TF_CONFIG" in found and json.loads(found["TF_CONFIG"])["task"]["type"] == "chief":
            assert found["RANK"] == "0"
