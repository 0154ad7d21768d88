"""The program of infra/ under Pulumi's mocks: on the emulator, on Google, and in an environment."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.registry import TYPES
from support.mocked_program import Program, run

GOOGLE = {
    "vertex-training:endpoint": "google",
    "gcp:project": "my-project",
    "gcp:region": "europe-west4",
    "digits:workers": "4",
}
ACCOUNT = "trainer@my-project.iam.gserviceaccount.com"
ENVIRONMENT = {
    "endpoint": "google",
    "project": "my-project",
    "location": "europe-west4",
    "bucket": "team-bucket",
    "repository": "europe-west4-docker.pkg.dev/my-project/team",
    "replica_account": ACCOUNT,
    "network": "projects/12/global/networks/team",
    "kms_key_name": "projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k",
    "notification_channels": [],
}
NAME = "organization/training-environment/dev"


@pytest.fixture(scope="module")
def alone() -> Program:
    """Return the program on Google Cloud without an environment: it makes its own."""
    return run("dev", GOOGLE)


@pytest.fixture(scope="module")
def dev() -> Program:
    """Return the program in the environment of another stack."""
    return run("dev", {**GOOGLE, "digits:environment": NAME}, stacks={NAME: ENVIRONMENT})


def test_without_an_environment_services_are_enabled_and_stay_so(alone: Program) -> None:
    services = {one["inputs"]["service"]: one["inputs"] for one in alone.of("Service")}
    assert {
        "aiplatform.googleapis.com",
        "artifactregistry.googleapis.com",
        "storage.googleapis.com",
    } <= services.keys()
    assert all(inputs["disableOnDestroy"] is False for inputs in services.values())
    assert all(inputs["project"] == "my-project" for inputs in services.values())


def test_without_an_environment_the_job_runs_as_an_account_that_may_use_the_bucket(alone: Program) -> None:
    (account,) = alone.of("Account")
    email = f"{account['inputs']['accountId']}@my-project.iam.gserviceaccount.com"
    (job,) = alone.of("CustomJob")
    assert job["inputs"]["service_account"] == email
    grants = alone.of("BucketIAMMember")
    assert {grant["inputs"]["role"] for grant in grants} == {
        "roles/storage.objectUser",
        "roles/storage.legacyBucketReader",
    }
    for grant in grants:
        assert grant["inputs"]["member"] == f"serviceAccount:{email}"
        assert grant["inputs"]["bucket"] == "my-project-bucket"


def test_in_an_environment_the_program_makes_only_the_training(dev: Program) -> None:
    assert not [one for one in dev.declared if one["type"].startswith("gcp:")]
    assert not dev.of("StagingBucket")
    assert not dev.of("ImageRepository")
    (job,) = dev.of("CustomJob")
    assert job["inputs"]["service_account"] == ACCOUNT
    assert job["inputs"]["network"] == ENVIRONMENT["network"]
    assert job["inputs"]["encryption_spec"] == {"kms_key_name": ENVIRONMENT["kms_key_name"]}
    assert "tensorboard" not in job["inputs"]
    assert dev.of("TrainingImage")[0]["inputs"]["repository"] == ENVIRONMENT["repository"]


def test_an_environment_elsewhere_is_a_warning(dev: Program) -> None:
    assert "WARNING" not in dev.printed
    moved = run(
        "dev",
        {**GOOGLE, "digits:environment": NAME, "gcp:region": "us-east1"},
        stacks={NAME: ENVIRONMENT},
    )
    assert (
        f"the environment {NAME} has the location 'europe-west4', and this stack 'us-east1'. If that is not "
        "what you want, run `pulumi config set vertex-training:location europe-west4 --stack dev`."
    ) in moved.printed


def test_a_stack_without_an_environment_is_refused() -> None:
    found = run("dev", {**GOOGLE, "digits:environment": NAME}, stacks={NAME: {"bucket": "b"}})
    assert "has no output endpoint, project, location, repository. Let its program call" in found.error
    assert "run `pulumi up --stack dev` in its folder" in found.error


def test_all_resources_are_on_google_in_one_region(alone: Program) -> None:
    ours = [one for one in alone.declared if one["type"] in TYPES]
    assert len(ours) == 6
    for one in ours:
        assert one["inputs"]["endpoint"] == "google"
        assert one["inputs"]["project"] == "my-project"
        assert one["inputs"]["location"] == "europe-west4"


def test_the_pools_follow_the_configuration(alone: Program) -> None:
    (job,) = alone.of("CustomJob")
    counts = [int(pool.get("replica_count", 0)) for pool in job["inputs"]["worker_pool_specs"]]
    assert counts == [1, 4, 0, 1]


def test_trainers_run_the_image_and_the_evaluator_the_package(alone: Program) -> None:
    (job,) = alone.of("CustomJob")
    chief, workers, _, evaluator = job["inputs"]["worker_pool_specs"]
    image = "europe-west4-docker.pkg.dev/my-project/r/train@sha256:1"
    assert [pool["container_spec"]["image_uri"] for pool in (chief, workers)] == [image, image]
    assert evaluator["python_package_spec"]["package_uris"] == ["gs://b/p.tar.gz"]


def test_the_local_stack_needs_no_google() -> None:
    local = run("local", {}, without="pulumi_gcp")
    assert not [one for one in local.declared if one["type"].startswith("gcp:")]
    assert len(local.of("CustomJob")) == 1
    assert local.of("StagingBucket")[0]["inputs"]["endpoint"] == "emulator"
