"""Bad input of each kind, in the engine's real provider process: mistakes with path, value and remedy.

`tests/engine/program/test_bad_input.py` shows how the CLI prints it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pulumi.dynamic import ResourceProvider

from pulumi_vertex_training.providers import (
    CustomJobProvider,
    HyperparameterTuningJobProvider,
    ImageRepositoryProvider,
    ModelProvider,
    PersistentResourceProvider,
    StagedFileProvider,
    StagedPackageProvider,
    StagingBucketProvider,
    TrainingPipelineProvider,
)
from support.client.plugin import PluginProcess

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
MARKED = {**PLACE, "marks": {"project": "p", "stack": "s", "resource": "r"}}
RUN = {**MARKED, "display_name": "r", "staging_bucket": "a-bucket"}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PluginProcess]:
    """Yield one provider process for all checks: they leave nothing in it."""
    with PluginProcess(tmp_path_factory.mktemp("project")) as running:
        yield running


def failures(process: PluginProcess, provider: ResourceProvider, props: dict[str, Any]) -> list[str]:
    _, found = process.check(provider, props)
    return [f"{path}: {message}" for path, message in found.items()]


def pool(count: int = 1, *, machine: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "machine_spec": {"machine_type": "n1-standard-4", **(machine or {})},
        "replica_count": count,
        "container_spec": {"image_uri": IMAGE, "command": ["true"]},
        **more,
    }


def job(*pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"worker_pool_specs": list(pools), **more}


JOBS = {
    "a chief of three": (job(pool(3)), ["worker_pool_specs[0].replica_count", "3", "1"]),
    "five pools": (job(*[pool()] * 5), ["worker_pool_specs", "5"]),
    "no pool": (job(), ["worker_pool_specs", "chief"]),
    "an accelerator without a count": (
        job(pool(machine={"accelerator_type": "NVIDIA_TESLA_T4"})),
        ["worker_pool_specs[0].machine_spec.accelerator_count"],
    ),
    "a misspelt field of a pool": (
        job(pool(replica_cuont=2)),
        ["worker_pool_specs[0].replica_cuont", "did you mean replica_count?"],
    ),
    "a misspelt field of the job": (
        job(pool(), servce_account="x"),
        ["servce_account", "did you mean service_account?"],
    ),
    "a network by its name": (
        job(pool(), network="n"),
        ["network", "projects/PROJECT_NUMBER/global/networks"],
    ),
    "a misspelt machine": (
        job(pool(machine={"machine_type": "n1-standart-4"})),
        ["worker_pool_specs[0].machine_spec.machine_type", "n1-standard-4"],
    ),
    "an accelerator that the machine cannot have": (
        job(pool(machine={"accelerator_type": "NVIDIA_L4", "accelerator_count": 1})),
        ["worker_pool_specs[0].machine_spec.accelerator_type", "NVIDIA_L4", "g2-standard"],
    ),
    "an accelerator that the region does not have": (
        job(
            pool(machine={"accelerator_type": "NVIDIA_TESLA_V100", "accelerator_count": 1}),
            location="us-west2",
        ),
        ["worker_pool_specs[0].machine_spec.accelerator_type", "us-west2"],
    ),
    "servers that the strategy does not use": (
        job(pool(), pool(), pool(), framework="MultiWorkerMirroredStrategy"),
        ["worker_pool_specs[2].replica_count", "MultiWorkerMirroredStrategy"],
    ),
    "an unknown framework": (job(pool(), framework="tensorflwo"), ["framework", "tensorflwo"]),
}


@pytest.mark.parametrize(("props", "words"), JOBS.values(), ids=list(JOBS))
def test_a_bad_job_is_refused(process: PluginProcess, props: dict[str, Any], words: list[str]) -> None:
    found = failures(process, CustomJobProvider(), {**RUN, **props})
    assert any(all(word in each for word in words) for each in found), found


STUDY = {
    "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
    "parameters": [{"parameter_id": "x", "discrete_value_spec": {"values": [2, 1, 1]}}],
    "algorithm": "GRID_SEARCH",
}
VALUES = "study_spec.parameters[0].discrete_value_spec.values"
KINDS = [
    pytest.param(
        HyperparameterTuningJobProvider(),
        {
            **RUN,
            "study_spec": STUDY,
            "max_trial_count": 2,
            "parallel_trial_count": 5,
            "trial_job_spec": job(pool(), base_output_directory="gs://b/out"),
        },
        [
            f"{VALUES}[1]: 1 is less than the value before it, 2",
            f"{VALUES}[2]: 1 is already listed at 1",
            "parallel_trial_count: 5 parallel trials are more than the 2 in total",
        ],
        id="a tuning job",
    ),
    pytest.param(
        TrainingPipelineProvider(),
        {
            **RUN,
            "custom_task": job(pool()),
            "model_to_upload": {"display_name": "digits"},
            "input_data_config": {
                "dataset_id": "1",
                "fraction_split": {"training_fraction": 80},
                "predefined_split": {"key": ""},
            },
            "model_id": "Digits",
        },
        [
            "container_spec: is missing; an uploaded model needs a container",
            "80 is not a fraction",
            "fraction_split and predefined_split are given",
            "'' is not a column",
            "'Digits' is not a model id",
        ],
        id="a training pipeline",
    ),
    pytest.param(
        ModelProvider(),
        {
            **MARKED,
            "display_name": "digits",
            "container_spec": {"image_uri": IMAGE},
            "model_id": "1digits",
            "artifact_uri": "/models",
            "version_aliases": ["2"],
            "labls": {},
        },
        ["'1digits' is not a model id", "'/models' is not a directory", "number of a version", "labels?"],
        id="a model",
    ),
    pytest.param(
        ModelProvider(),
        {**MARKED, "display_name": "served"},
        ["container_spec: is missing"],
        id="no container",
    ),
    pytest.param(
        StagingBucketProvider(),
        {
            **MARKED,
            "name": "Bad_Name..",
            "location": "mars",
            "lifecycle_rules": [{"action": {"type": "Go"}}],
            "colour": "red",
        },
        ["Bad_Name..", "mars", "lifecycle_rules[0].action.type", "lifecycle_rules[0].condition", "colour"],
        id="a bucket",
    ),
    pytest.param(
        PersistentResourceProvider(),
        {
            **MARKED,
            "persistent_resource_id": "GPU pool",
            "resource_pools": [{"machine_spec": {"machine_type": "n1-standard-5"}, "replica_count": 0}],
        },
        ["'GPU pool' cannot be the id", "'n1-standard-5' is not a machine type", "missing or 0"],
        id="a persistent resource",
    ),
    pytest.param(
        PersistentResourceProvider(),
        {**MARKED, "persistent_resource_id": "gpus", "resource_pool": []},
        ["did you mean resource_pools?"],
        id="a misspelt argument of a persistent resource",
    ),
    pytest.param(
        ImageRepositoryProvider(),
        {
            **MARKED,
            "repository_id": "Trainers",
            "format": "DOCKER",
            "mode": "VIRTUAL",
            "docker_config": {"imutable_tags": True},
        },
        ["'Trainers'", "the mode VIRTUAL accepts no pushes", "did you mean immutable_tags?"],
        id="a repository",
    ),
    pytest.param(
        StagedPackageProvider(),
        {**PLACE, "bucket": "No_Bucket", "source": "../no-such-thing", "format": "egg", "versoin": "1"},
        ["source: ../no-such-thing does not exist", "No_Bucket", "format: the string 'egg'", "mean version?"],
        id="a package without its source",
    ),
    pytest.param(
        StagedFileProvider(),
        {**PLACE, "bucket": "No_Bucket", "source": "../no-such-thing", "prefix": 3},
        ["source: ../no-such-thing does not exist", "No_Bucket", "prefix: "],
        id="a file without its source",
    ),
    pytest.param(
        StagedPackageProvider(),
        {**PLACE, "bucket": "some-bucket", "source": ".", "format": "egg"},
        ["format: the string 'egg' is not one of sdist, wheel"],
        id="a package of a format that does not exist",
    ),
]


@pytest.mark.parametrize(("provider", "props", "words"), KINDS)
def test_every_mistake_is_found_at_once(
    process: PluginProcess, provider: ResourceProvider, props: dict[str, Any], words: list[str]
) -> None:
    found = failures(process, provider, props)
    for each in words:
        assert any(each in failure for failure in found), found
