"""Notifications on Google Cloud under Pulumi's mocks: which resources, with which arguments of pulumi_gcp."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

RUN = """
import asyncio, json, sys
import pulumi
from pulumi.runtime import config, mocks, rpc
from pulumi.runtime.stack import run_pulumi_func

declared = []


class Mocks(mocks.Mocks):
    def new_resource(self, args):
        inputs = {key: value for key, value in args.inputs.items() if key != "__provider"}
        declared.append({"type": args.typ, "name": args.name, "inputs": inputs})
        outputs = dict(inputs)
        if args.typ.endswith((":CustomJob", ":HyperparameterTuningJob")):
            outputs |= {"job_id": "4711" if args.name == "train" else "4712"}
        if args.typ.endswith(":NotificationChannel"):
            name = "projects/my-project/notificationChannels/" + args.name
            return [name, {**outputs, "name": name}]
        if args.typ.endswith(":Topic"):
            return ["projects/other/topics/" + args.name, outputs]
        if args.typ.endswith(":ProjectSink"):
            outputs |= {"writerIdentity": "serviceAccount:sink@gcp-sa-logging.iam.gserviceaccount.com"}
        return [args.name + "-id", outputs]

    def call(self, args):
        return {}


HEAD = '''
import pulumi
import pulumi_gcp as gcp
import pulumi_vertex_training as vt

POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "container_spec": {"image_uri": "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"},
}
SECRET = pulumi.Output.secret("https://hooks.example.com/s3cr3t?token=t0k3n")


def job(name="train", **options):
    options = {"wait": "none", "base_output_directory": "gs://b/d", **options}
    return vt.CustomJob(name, worker_pool_specs=[POOL], **options)


'''
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
settings = {"endpoint": "google", "project": "my-project", "location": "us-central1", "lookupTimeout": "0"}
config.set_all_config({f"vertex-training:{key}": value for key, value in settings.items()})
mocks.set_mocks(Mocks(), project="digits", stack="prod", preview=False)


async def program():
    await run_pulumi_func(lambda: exec(HEAD + sys.argv[1], {}))


error = ""
try:
    loop.run_until_complete(program())
except Exception as raised:
    error = str(raised)
print(json.dumps({"declared": declared, "error": error}, default=str))
"""


def run(program: str) -> tuple[list[dict[str, Any]], str]:
    """Run a program under mocks. Return the resources that it declared, and its error."""
    process = subprocess.run(
        [sys.executable, "-c", RUN, program], capture_output=True, text=True, timeout=120, check=False
    )
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout.splitlines()[-1])
    return found["declared"], found["error"]


def declare(program: str) -> dict[str, dict[str, Any]]:
    """Return the inputs of the resources of pulumi_gcp that a program declares, by type and name."""
    declared, error = run(program)
    assert error == ""
    return {
        f"{one['type'].rpartition(':')[2]} {one['name']}": one["inputs"]
        for one in declared
        if one["type"].startswith("gcp:")
    }


@pytest.fixture(scope="module")
def everything() -> dict[str, dict[str, Any]]:
    return declare(
        """
topic = gcp.pubsub.Topic("runs")
mail = gcp.monitoring.NotificationChannel("mail", type="email")
job(
    notifications=[
        vt.NotificationArgs(webhook=SECRET, channel=["projects/p/notificationChannels/1", mail]),
        vt.NotificationArgs(on=["failed"], pubsub_topic=topic, command=["notify"]),
        {"pubsub_topic": "others"},
        {"channel": pulumi.Output.from_input(["projects/p/notificationChannels/2"])},
    ]
)
job("other", notifications=[])
job("third", notifications={"command": ["notify"]})
vt.HyperparameterTuningJob(
    "tuning",
    study_spec={
        "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
        "parameters": [{"parameter_id": "x", "discrete_value_spec": {"values": [1]}}],
    },
    max_trial_count=1,
    parallel_trial_count=1,
    trial_job_spec={"worker_pool_specs": [POOL], "base_output_directory": "gs://b/d"},
    wait="none",
    notifications={"webhook": SECRET, "on": ["failed"]},
)
"""
    )


def plain(value: Any) -> Any:
    """Return a value of a mock without the envelopes of secrets."""
    if isinstance(value, dict):
        if "4dabf18193072939515e22adb298388d" in value:
            return plain(value["value"])
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def test_which_resources_are_declared(everything: dict[str, dict[str, Any]]) -> None:
    assert sorted(everything) == [
        "AlertPolicy train",
        "AlertPolicy train-4",
        "AlertPolicy tuning",
        "NotificationChannel mail",
        "NotificationChannel train",
        "NotificationChannel tuning",
        "ProjectSink train-2",
        "ProjectSink train-3",
        "Topic runs",
        "TopicIAMMember train-2",
        "TopicIAMMember train-3",
    ]


def test_the_alert_policy(everything: dict[str, dict[str, Any]]) -> None:
    policy = plain(everything["AlertPolicy train"])
    (condition,) = policy["conditions"]
    assert condition["conditionMatchedLog"] == {
        "filter": 'resource.type="ml_job"\nresource.labels.job_id="4711"\n'
        'labels."ml.googleapis.com/job_state"=("SUCCEEDED" OR "FAILED" OR "CANCELLED")',
        "labelExtractors": {"state": 'EXTRACT(labels."ml.googleapis.com/job_state")'},
    }
    assert policy["notificationChannels"] == [
        "projects/p/notificationChannels/1",
        "projects/my-project/notificationChannels/mail",
        "projects/my-project/notificationChannels/train",
    ]
    assert policy["alertStrategy"] == {
        "autoClose": "1800s",
        "notificationPrompts": ["OPENED"],
        "notificationRateLimit": {"period": "300s"},
    }
    assert policy["userLabels"] == {
        "pulumi-project": "digits",
        "pulumi-stack": "prod",
        "pulumi-resource": "train",
    }
    other = plain(everything["AlertPolicy train-4"])
    assert other["notificationChannels"] == ["projects/p/notificationChannels/2"]


def test_the_address_of_a_webhook_is_secret(everything: dict[str, dict[str, Any]]) -> None:
    channel = everything["NotificationChannel train"]
    assert channel["type"] == "webhook_tokenauth"
    assert plain(channel["labels"]) == {"url": "https://hooks.example.com/s3cr3t?token=t0k3n"}
    assert channel["labels"] != plain(channel["labels"])  # there is an envelope
    others = {name: one for name, one in everything.items() if not name.startswith("NotificationChannel")}
    assert "t0k3n" not in json.dumps(others)


def test_the_sink_may_publish_to_its_topic_only(everything: dict[str, dict[str, Any]]) -> None:
    sink = everything["ProjectSink train-2"]
    assert sink["destination"] == "pubsub.googleapis.com/projects/other/topics/runs"
    assert sink["filter"].endswith('=("FAILED")')
    assert everything["TopicIAMMember train-2"] == {
        "project": "other",
        "topic": "runs",
        "role": "roles/pubsub.publisher",
        "member": "serviceAccount:sink@gcp-sa-logging.iam.gserviceaccount.com",
    }
    assert everything["ProjectSink train-3"]["destination"] == (
        "pubsub.googleapis.com/projects/my-project/topics/others"
    )


def test_a_job_without_targets_on_google_declares_nothing(everything: dict[str, dict[str, Any]]) -> None:
    assert not [name for name in everything if "other" in name or "third" in name]


def test_a_tuning_job_is_reported_by_its_own_id(everything: dict[str, dict[str, Any]]) -> None:
    (condition,) = everything["AlertPolicy tuning"]["conditions"]
    assert condition["conditionMatchedLog"]["filter"].endswith(
        'job_id="4712"\nlabels."' + f'{LABEL}"=("FAILED")'
    )


LABEL = "ml.googleapis.com/job_state"


def test_mistakes() -> None:
    program = """
found = []
for name, notifications in {
    "http": {"webhook": "http://example.com/t0k3n"},
    "names": [{"channel": "mine"}, {"pubsub_topic": "?"}],
}.items():
    try:
        job(name, notifications=notifications)
    except pulumi.RunError as error:
        found.append(str(error))
try:
    task = {"worker_pool_specs": [POOL], "base_output_directory": "gs://b/d"}
    vt.TrainingPipeline("pipeline", custom_task=task, wait="none", notifications={"webhook": SECRET})
except pulumi.RunError as error:
    found.append(str(error))
raise pulumi.RunError("\\n".join(found))
"""
    _, error = run(program)
    for words in (
        "http: notifications.webhook: cannot be used on Google Cloud",
        "names: notifications[0].channel: is not a channel of Cloud Monitoring",
        "names: notifications[1].pubsub_topic: is not a Pub/Sub topic",
        "pipeline: notifications are not possible for a training pipeline on Google Cloud",
    ):
        assert words in error
    assert "t0k3n" not in error


@pytest.mark.parametrize(
    ("notifications", "message"),
    [
        pytest.param(
            "{'webhook': pulumi.Output.secret('http://example.com/t0k3n')}",
            "train: notifications.webhook: cannot be used on Google Cloud",
            id="webhook",
        ),
        pytest.param(
            "{'channel': pulumi.Output.from_input('mine')}",
            "train: notifications.channel: is not a channel of Cloud Monitoring",
            id="channel",
        ),
    ],
)
def test_mistakes_in_outputs(notifications: str, message: str) -> None:
    _, error = run(f"job(notifications={notifications})")
    assert message in error
    assert "t0k3n" not in error
