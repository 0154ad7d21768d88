"""Properties of all replicas of a job together, and of the cluster that training code reads back."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

import vertex_cluster
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.environment import ai_platform_environments
from support.client.specs.ai_platform_jobs import training_input
from support.ground import jobs
from support.ground.specs.environment_views import CONTRACTS, JOB_IDENTITY, environments
from vertex_training.replica_environment.replica import ReplicaEnvironment
from vertex_training.topology.roles import Role

contracts = st.sampled_from(CONTRACTS)
trials = st.none() | st.integers(1, 99).map(str)
counts = st.integers(0, 4)
inputs = st.builds(
    training_input,
    counts,
    counts,
    counts,
    use_chief_in_tf_config=st.booleans(),
    runtime_version=st.sampled_from([None, "1.15", "2.1"]),
    hyperparameters=st.none() | st.just({"goal": "MAXIMIZE"}),
)


def clusters(found: list[ReplicaEnvironment], variable: str) -> list[dict]:
    values = [getattr(each, variable) for each in found]
    return [value["cluster"] for value in values if value is not None]


def addresses(found: list[ReplicaEnvironment]) -> list[str]:
    """Return the address of each replica, found by its own task."""
    specs = [each.cluster_spec for each in found]
    return [spec["cluster"][spec["task"]["type"]][spec["task"]["index"]] for spec in specs]


# Vertex AI.


@given(jobs.topologies, contracts, trials)
def test_all_see_one_cluster(pools, contract, trial):
    found = environments(*pools, contract=contract, trial=trial)
    for variable in ("cluster_spec", "tf_config"):
        seen = clusters(found, variable)
        assert all(cluster == seen[0] for cluster in seen)


@given(jobs.topologies, contracts)
def test_every_replica_is_where_its_task_says(pools, contract):
    found = environments(*pools, contract=contract)
    listed = [host for hosts in found[0].cluster_spec["cluster"].values() for host in hosts]
    assert addresses(found) == listed
    assert len(set(listed)) == len(found)


@given(jobs.topologies, contracts)
def test_tf_config_lists_its_own_task_at_the_same_address(pools, contract):
    found = environments(*pools, contract=contract)
    for each, address in zip(found, addresses(found), strict=True):
        if each.tf_config is not None and each.role is not Role.EVALUATOR:
            task = each.tf_config["task"]
            assert each.tf_config["cluster"][task["type"]][task["index"]] == address


@given(jobs.topologies, contracts)
def test_ranks_are_a_permutation_and_the_chief_is_first(pools, contract):
    found = environments(*pools, contract=contract)
    trainers = [each for each in found if each.role in (Role.CHIEF, Role.WORKER)]
    ranked = [each for each in found if "RANK" in each.variables]
    assert ranked == (trainers if len(found) > 1 else [])
    assert [int(each.variables["RANK"]) for each in ranked] == list(range(len(ranked)))
    assert {each.variables["WORLD_SIZE"] for each in ranked} <= {str(len(trainers))}
    assert len({each.variables["MASTER_ADDR"] + each.variables["MASTER_PORT"] for each in ranked}) <= 1


@given(jobs.topologies, contracts)
def test_there_is_exactly_one_chief(pools, contract):
    found = environments(*pools, contract=contract)
    assert [each.role for each in found].count(Role.CHIEF) == 1
    types = [each.tf_config["task"]["type"] for each in found if each.tf_config is not None]
    assert types.count("chief") == (1 if len(found) > 1 else 0)


@given(jobs.topologies, contracts)
def test_tf_config_is_set_on_all_or_none_but_for_reduction_servers(pools, contract):
    found = environments(*pools, contract=contract)
    others = [each for each in found if each.role is not Role.REDUCTION_SERVER]
    assert {each.tf_config is not None for each in others} == {len(found) > 1}
    assert all(each.tf_config is None for each in found if each.role is Role.REDUCTION_SERVER)


@given(jobs.topologies, contracts)
def test_tf_config_never_lists_evaluators_or_reduction_servers(pools, contract):
    found = environments(*pools, contract=contract)
    expected = {Role.CHIEF: "chief", Role.WORKER: "worker", Role.PARAMETER_SERVER: "ps"}
    for cluster in clusters(found, "tf_config"):
        assert set(cluster) == {expected[each.role] for each in found if each.role in expected}


@given(jobs.topologies, contracts, trials)
def test_training_code_reads_every_replica_back(pools, contract, trial):
    found = environments(*pools, contract=contract, trial=trial, open_ports=[3333])
    listed = tuple(addresses(found))
    for number, each in enumerate(found):
        cluster = vertex_cluster.from_environment(each.as_variables())
        assert (cluster.pool, cluster.index, cluster.trial) == (each.pool, each.index, trial)
        assert (cluster.source, cluster.open_ports) == ("CLUSTER_SPEC", (3333,))
        assert cluster.address == listed[number]
        assert vertex_cluster.all_replicas(cluster) == vertex_cluster.Ranks(rank=number, addresses=listed)
        if len(found) > 1:
            ranks = vertex_cluster.trainers(cluster)
            own = each.variables.get("RANK")
            assert ranks.rank == (None if own is None else int(own))
            assert ranks.world_size == int(found[0].variables["WORLD_SIZE"])
            assert cluster.chief_host == found[0].variables["MASTER_ADDR"]


@given(jobs.topologies, contracts)
def test_training_code_reads_the_same_from_tf_config(pools, contract):
    for each in environments(*pools, contract=contract):
        if each.tf_config is None:
            continue
        variables = each.as_variables()
        whole = vertex_cluster.parse_cluster_spec(variables["CLUSTER_SPEC"])
        read = vertex_cluster.parse_tf_config(variables["TF_CONFIG"])
        assert (read.pool, read.index) == (whole.pool, whole.index)
        assert vertex_cluster.trainers(read) == vertex_cluster.trainers(whole)


@given(jobs.topologies, trials)
def test_the_contracts_differ_only_in_names_and_job(pools, trial):
    observed = environments(*pools, contract="observed", trial=trial)
    documented = environments(*pools, contract="documented", trial=trial)
    for one, other in zip(observed, documented, strict=True):
        assert one.variables == other.variables
        assert (one.tf_config is None) == (other.tf_config is None)
        if one.tf_config is not None:
            assert {**one.tf_config, "job": None} == {**other.tf_config, "job": None}
        seen = {**one.cluster_spec, "job": None}
        if len(observed) == 1:
            assert seen["task"]["type"] == "chief"
            seen["task"] = {**seen["task"], "type": "workerpool0"}
            seen["cluster"] = {"workerpool0": seen["cluster"]["chief"]}
        assert seen == {**other.cluster_spec, "job": None}
        assert isinstance(one.cluster_spec["job"], str)
        assert isinstance(other.cluster_spec["job"], dict)


@given(jobs.topologies, contracts)
def test_every_variable_is_text_and_both_json_forms_are_faithful(pools, contract):
    for each in environments(*pools, contract=contract):
        variables = each.as_variables()
        assert all(isinstance(value, str) for value in variables.values())
        assert json.loads(variables["CLUSTER_SPEC"]) == each.cluster_spec


# AI Platform.


@given(inputs)
def test_all_replicas_on_ai_platform_see_one_cluster(given_input):
    found = ai_platform_environments(given_input, **JOB_IDENTITY)
    for variable in ("cluster_spec", "tf_config"):
        seen = clusters(found, variable)
        assert all(cluster == seen[0] for cluster in seen)
        assert all("evaluator" not in cluster for cluster in seen)
    assert len(clusters(found, "tf_config")) == len(found)


@given(inputs)
def test_both_variables_on_ai_platform_list_the_same_machines(given_input):
    found = ai_platform_environments(given_input, **JOB_IDENTITY)
    in_order = [list(clusters(found, name)[0].values()) for name in ("cluster_spec", "tf_config")]
    assert in_order[0] == in_order[1]


@given(inputs)
def test_there_is_exactly_one_master_on_ai_platform(given_input):
    found = ai_platform_environments(given_input, **JOB_IDENTITY)
    types = [each.tf_config["task"]["type"] for each in found]
    assert types.count("chief") + types.count("master") == 1


@given(inputs)
def test_training_code_reads_every_replica_on_ai_platform_back(given_input):
    found = ai_platform_environments(given_input, **JOB_IDENTITY)
    for each in found:
        cluster = vertex_cluster.from_environment(each.as_variables())
        assert (cluster.pool, cluster.index) == (each.pool, each.index)
        assert cluster.source == ("TF_CONFIG" if each.role is Role.EVALUATOR else "CLUSTER_SPEC")
        assert cluster.trial == each.variables.get("CLOUD_ML_TRIAL_ID")
        if len(found) > 1:
            ranks = vertex_cluster.trainers(cluster)
            own = each.variables.get("RANK")
            assert ranks.rank == (None if own is None else int(own))
            assert ranks.world_size == int(found[0].variables["WORLD_SIZE"])
