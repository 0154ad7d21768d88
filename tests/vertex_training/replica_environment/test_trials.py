"""The environment of a trial, and that nothing else differs from the job without one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.ground import jobs
from support.ground.jobs import pool
from support.ground.specs.environment_views import (
    CONTRACTS,
    FULL,
    cluster_spec,
    environment,
    environments,
    tf_config,
)

BASE = {"base_output_directory": "gs://b/out"}
TUNING = {"CLOUD_ML_TRIAL_ID", "CLOUD_ML_HP_METRIC_FILE", "CLOUD_ML_HP_METRIC_TAG"}
DIRECTORIES = {"AIP_MODEL_DIR", "AIP_CHECKPOINT_DIR", "AIP_TENSORBOARD_LOG_DIR"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AIP_MODEL_DIR", "gs://b/out/7/model/"),
        ("AIP_CHECKPOINT_DIR", "gs://b/out/7/checkpoints/"),
        ("AIP_TENSORBOARD_LOG_DIR", "gs://b/out/7/logs/"),
        ("CLOUD_ML_TRIAL_ID", "7"),
        ("CLOUD_ML_HP_METRIC_FILE", "/tmp/hypertune/output.metrics"),
        ("CLOUD_ML_HP_METRIC_TAG", "training/hptuning/metric"),
    ],
)
def test_the_variables_of_a_trial(name, value):
    assert environment(pool(), trial="7", **BASE)[name] == value


@pytest.mark.parametrize(
    ("option", "name"), [("metric_tag", "CLOUD_ML_HP_METRIC_TAG"), ("metric_file", "CLOUD_ML_HP_METRIC_FILE")]
)
def test_the_metric_may_be_given(option, name):
    assert environment(pool(), trial="1", **{option: "/mine"})[name] == "/mine"


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("read", [cluster_spec, tf_config])
def test_a_task_has_its_trial_as_text(read, contract):
    assert read(*FULL, pool=1, trial="3", contract=contract)["task"]["trial"] == "3"


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("read", [cluster_spec, tf_config])
def test_a_task_has_no_trial_outside_a_tuning_job(read, contract):
    assert "trial" not in read(*FULL, pool=1, contract=contract)["task"]


@pytest.mark.parametrize("name", sorted(TUNING))
def test_no_variables_of_tuning_outside_a_tuning_job(name):
    assert name not in environment(pool(), metric_tag="loss", **BASE)


@pytest.mark.parametrize("trial", ["", "0", "-1", "01", "one", "1.5", " 1", "1\n"])
def test_an_invalid_trial_is_rejected(trial):
    with pytest.raises(ValueError, match="is not a trial"):
        environment(pool(), trial=trial, **BASE)


@given(jobs.topologies, st.sampled_from(CONTRACTS), st.integers(1, 500).map(str))
def test_a_trial_differs_in_its_own_variables_only(pools, contract, trial):
    job = environments(*pools, contract=contract, **BASE)
    tried = environments(*pools, contract=contract, trial=trial, **BASE)
    for one, other in zip(job, tried, strict=True):
        plain, of_trial = one.as_variables(), other.as_variables()
        assert set(of_trial) - set(plain) == TUNING
        assert set(plain) <= set(of_trial)
        for name in {"CLUSTER_SPEC", "TF_CONFIG"} & set(plain):
            value = json.loads(of_trial[name])
            assert value["task"].pop("trial") == trial
            assert value == json.loads(plain[name])
        for name in DIRECTORIES:
            assert of_trial[name] == plain[name].replace("gs://b/out/", f"gs://b/out/{trial}/")
        same = set(plain) - DIRECTORIES - {"CLUSTER_SPEC", "TF_CONFIG"}
        assert {name: of_trial[name] for name in same} == {name: plain[name] for name in same}
