"""An environment, and a training that takes it by a stack reference, on the real engine and the emulator."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from scripts import losses
from support.client.engine import Engine, Result
from support.client.shared_engine import diagnostics, mentions, operation

pytestmark = pytest.mark.slow

ENVIRONMENT = Path(__file__).parents[3] / "environment"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
TRAINING = f"""
environment = vt.get_training_environment("organization/training-environment/test")
train = vt.CustomJob(
    "train",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec={{"machine_type": "n1-standard-4"}},
            replica_count=1,
            container_spec={{"image_uri": "{IMAGE}", "command": ["python3", "-c", "print('trained')"]}},
        )
    ],
    staging_bucket=environment.bucket,
    persistent_resource_id=environment.persistent_resource_id,
    wait="done",
    **environment.job_options(),
)
pulumi.export("state", train.completion.state)
pulumi.export("repository", environment.repository)
pulumi.export("account", environment.replica_account)
pulumi.export("channels", environment.notification_channels)
"""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The results of two stacks, `environment` and the training, in the order of the deployments."""

    no_environment: Result
    empty_environment: Result
    preview: Result
    environment: Result
    resources: set[str]
    values: dict[str, Any]
    environment_again: Result
    deployment: Result
    outputs: dict[str, Any]
    job: dict[str, Any]
    again: Result
    other_endpoint: Result
    wrong: Result
    losses: str


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    training = shared_engine
    training.write(TRAINING)
    no_environment = training.preview()
    folder = training.folder / "environment"
    shutil.copytree(ENVIRONMENT, folder, ignore=shutil.ignore_patterns("Pulumi.*.yaml", "__pycache__"))
    environment = replace(training, folder=folder)
    environment.run("stack", "init", "test").ok()
    empty_environment = training.preview()
    environment.set("vertex-training:endpoint", "emulator")
    for key, value in {
        "tensorboard": "new",
        "persistentResource": "new",
        "replicaAccount": "trainer@local.iam.gserviceaccount.com",
        "forceDestroy": "true",
    }.items():
        environment.set(f"training-environment:{key}", value)
    preview, deployed = environment.preview_and_up()
    state = training.folder / "state" / ".pulumi" / "stacks" / "training-environment" / "test.json"
    made = json.loads(state.read_text())["checkpoint"]["latest"]["resources"]
    resources = {f"{one['type'].rpartition(':')[2]} {one['urn'].rpartition('::')[2]}" for one in made}
    (values,) = [one["outputs"] for one in made if one["type"] == "pulumi:pulumi:Stack"]
    environment_again = environment.preview("--expect-no-changes")
    deployment = training.up()
    outputs = training.outputs()
    (submitted,) = [one for one in training.state() if one["type"].endswith(":CustomJob")]
    job = dict(custom_jobs.get(training.endpoint(), submitted["id"]).wire)
    again = training.preview("--expect-no-changes")
    lost = losses.warning(training.folder / "state", project="training-environment", stack="test")
    training.set("vertex-training:endpoint", "google")
    training.set("vertex-training:project", "my-project")
    training.set("vertex-training:location", "us-central1")
    other_endpoint = training.preview()
    for key, value in {
        "logRetentionDays": "long",
        "monthlyBudget": "0",
        "enableServices": "no",
        "repositry": "images",
        "alertWebhook": "https://example.com/?auth_token=7b0c1d",
        "alertEmails": ["ada"],
    }.items():
        environment.set(f"training-environment:{key}", value)
    strict = {**environment.environment, "PULUMI_OPTION_SKIP_CONFIG_VALIDATION": "false"}
    return Steps(
        no_environment=no_environment,
        empty_environment=empty_environment,
        preview=preview,
        environment=deployed,
        resources={one for one in resources if "providers:" not in one and not one.endswith(" default")},
        values=values,
        environment_again=environment_again,
        deployment=deployment,
        outputs=outputs,
        job=job,
        again=again,
        other_endpoint=other_endpoint,
        wrong=replace(environment, environment=strict).preview(),
        losses=lost,
    )


def test_a_missing_or_empty_environment_fails_the_preview_by_its_name(steps: Steps) -> None:
    for result in (steps.no_environment, steps.empty_environment):
        output = result.failed().output
        assert (
            "the environment organization/training-environment/test is not deployed. Deploy it first: "
            "run `pulumi up --stack test` in the folder of the project training-environment"
        ) in output
        assert "Traceback" not in output


def test_the_environment_is_made_of_what_the_emulator_has(steps: Steps) -> None:
    steps.preview.ok()
    steps.environment.ok()
    assert steps.resources == {
        *("Stack training-environment-test", "StackKey vertex-training", "TrainingEnvironment training"),
        *("StagingBucket training", "ImageRepository training", "PersistentResource training"),
    }


def test_one_line_lists_what_the_emulator_does_not_have(steps: Steps) -> None:
    for result in (steps.preview, steps.environment):
        (line,) = mentions(result.output, "made without").splitlines()
        assert "services, service accounts, roles, log bucket and TensorBoard, which" in line


def test_its_outputs_have_names_that_the_training_can_use(steps: Steps) -> None:
    assert steps.values == {
        "endpoint": "emulator",
        "project": "local",
        "location": "us-central1",
        "bucket": "local-training-environment-test-training",
        "repository": "us-central1-docker.pkg.dev/local/training-environment-test-training",
        "replica_account": "trainer@local.iam.gserviceaccount.com",
        "persistent_resource_id": "training-environment-test-training",
        "notification_channels": [],
    }


def test_a_second_preview_of_the_environment_changes_nothing(steps: Steps) -> None:
    steps.environment_again.ok()


def test_the_training_runs_in_the_environment(steps: Steps) -> None:
    steps.deployment.ok()
    assert steps.outputs["state"] == "SUCCEEDED"
    assert steps.outputs["repository"] == steps.values["repository"]
    assert steps.outputs["channels"] == []
    spec = steps.job["jobSpec"]
    assert spec["serviceAccount"] == "trainer@local.iam.gserviceaccount.com"
    assert spec["persistentResourceId"] == "training-environment-test-training"
    assert spec["baseOutputDirectory"]["outputUriPrefix"].startswith(
        "gs://local-training-environment-test-training/train/"
    )
    assert "network" not in spec
    assert "encryptionSpec" not in steps.job


def test_the_next_preview_of_the_training_changes_nothing(steps: Steps) -> None:
    assert operation(steps.again.ok().output, "train") == ""


def test_before_its_end_it_is_said_what_is_lost_and_who_uses_it(steps: Steps) -> None:
    _, _, repository = str(steps.values["repository"]).rpartition("/")
    lost = f"bucket {steps.values['bucket']} with all its objects"
    assert lost in steps.losses
    assert f"repository {repository} with all its images" in steps.losses
    assert steps.losses.startswith("Environment training-environment/test: this deletes ")
    assert re.search(r"; in use by [\w-]+/[\w-]+\.$", steps.losses)


def test_an_environment_of_the_other_endpoint_is_refused(steps: Steps) -> None:
    said = diagnostics(steps.other_endpoint.failed().output)
    assert "is on the emulator, but this stack deploys to Google Cloud" in said
    assert "pulumi config set vertex-training:endpoint emulator --stack test" in said


def test_all_wrong_settings_are_reported_at_once_with_their_commands(steps: Steps) -> None:
    said = steps.wrong.failed().output
    for line in (
        "training-environment:logRetentionDays is 'long'; it must be a whole number from 0 to 3650. Run "
        "`pulumi config set training-environment:logRetentionDays 90 --stack test`.",
        "training-environment:monthlyBudget is '0'; it must be a whole number, 1 or more. Run "
        "`pulumi config set training-environment:monthlyBudget 1000 --stack test`.",
        "training-environment:enableServices is 'no'; it must be true or false. Run "
        "`pulumi config set training-environment:enableServices true --stack test`.",
        "training-environment:repositry is no setting of this program; did you mean repository? Run "
        "`pulumi config rm training-environment:repositry --stack test`.",
        "run `pulumi config set --secret training-environment:alertWebhook --stack test`.",
        "training-environment:alertEmails is '[\"ada\"]'; it must be a list; each item is an e-mail "
        "address. Run `pulumi config set --path 'training-environment:alertEmails[0]' ml@example.com "
        "--stack test`.",
    ):
        assert line in said
    assert "7b0c1d" not in said
