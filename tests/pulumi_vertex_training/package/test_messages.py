"""The messages of the core as a program with the package sees them. Each rule is in `test_every_rule.py`."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.package.wire.messages import in_package


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("it is in worker_pool_specs[1], the workers", "it is in workerPoolSpecs[1], the workers"),
        ("set allow_unknown_types=True", "set allowUnknownTypes: true"),
        ("worker_pool_specs[0].machine_spec: x. Set", "workerPoolSpecs[0].machineSpec: x. Set"),
        ('Give the job wait="done", or run `pulumi up`', "Give the job wait: done, or run `pulumi up`"),
        ("set location=us-central1 on the resource", "set location: us-central1 on the resource"),
        ("Choose another name with name=. Or", "Choose another name with name. Or"),
        ('Set versioning={"enabled": True}, or', "Set versioning: {enabled: true}, or"),
        ("set retention_policy={'is_locked': True}", "set retentionPolicy: {isLocked: true}"),
        ("the job's keep_runs and the run's run_token", "the job's keepRuns and the run's runToken"),
        ("Set it to False. It is None: wait", "Set it to false. It is null: wait"),
        ("`run_token` is no string", "`runToken` is no string"),
    ],
)  # fmt: skip
def test_names_and_values_are_those_of_the_package(message: str, shown: str) -> None:
    assert in_package(message) == shown
    assert in_package(shown) == shown


@pytest.mark.parametrize(
    "message",
    [
        "'worker_pool_specs' is the name of a metric",
        'labels["keep_runs"]: x, and labels.keep_runs, env.run_token',
        "run `vertex-training jobs --keep_runs=3 location=x`, or gcloud --location=us-central1 --project=p",
        "gs://bucket/run_token/worker_pool_specs and /home/me/base_image.py, run_token.json, my_bucket",
        "The last lines of its log:\n    replica_count=3, wait=True\n    KeyError: display_name",
        "builder cloud_build, rerun on_failure, pulumi_gcp.artifactregistry.Repository, vertex_cluster.main",
        "None of the jobs has ended",
    ],
)
def test_what_a_user_or_a_service_wrote_stays(message: str) -> None:
    assert in_package(message) == message
