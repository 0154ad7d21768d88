"""`gcloud ai custom-jobs` and `gcloud logging read`, as users type them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import JobEmulator

pytestmark = pytest.mark.slow

Run = Callable[..., str]

REGION = "--region=us-central1"
TRAINER = "us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.1-13.py310:latest"
SERVER = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
GPUS = "machine-type=n1-highmem-96,replica-count={},accelerator-type=NVIDIA_TESLA_V100,accelerator-count=8"


RANKED = """
import os, time
rank = os.environ['RANK']
print('rank ' + rank, flush=True)
os.makedirs('/gcs/train/ranks', exist_ok=True)
open('/gcs/train/ranks/' + rank, 'w').close()
while rank == '0' and len(os.listdir('/gcs/train/ranks')) < 5: time.sleep(0.1)
"""
"""The chief ends last: its end would stop the others."""


@pytest.fixture(scope="module")
def reduction(gcloud: Run, emulator: JobEmulator, bucket: str) -> Any:
    """Create the documentation's example of a job with a reduction server, with the test's own program."""
    text = gcloud(
        *("beta", "ai", "custom-jobs", "create", REGION, "--display-name=reduction"),
        f"--worker-pool-spec={GPUS.format(1)},container-image-uri={TRAINER}",
        f"--worker-pool-spec={GPUS.format(4)},container-image-uri={TRAINER}",
        f"--worker-pool-spec=machine-type=n1-highcpu-16,replica-count=16,container-image-uri={SERVER}",
        "--command=python3",
        f"--args=^|^-c|{RANKED}",
        "--labels=team=a,stage=b",
        "--format=json",
    )
    job = json.loads(text)
    emulator.wait(job["name"])
    return job


@pytest.mark.parity("Custom jobs: clients")
def test_create_with_a_reduction_server(reduction: Any) -> None:
    pools = reduction["jobSpec"]["workerPoolSpecs"]
    assert [(each["machineSpec"]["machineType"], each["replicaCount"]) for each in pools] == [
        ("n1-highmem-96", "1"),
        ("n1-highmem-96", "4"),
        ("n1-highcpu-16", "16"),
    ]


def test_create_answers_with_the_job_as_it_was_then(reduction: Any) -> None:
    assert reduction["state"] == "JOB_STATE_PENDING"


def test_create_with_labels(reduction: Any) -> None:
    assert reduction["labels"] == {"team": "a", "stage": "b"}


def test_the_job_has_run(reduction: Any, emulator: JobEmulator) -> None:
    assert emulator.get(reduction["name"])["state"] == "JOB_STATE_SUCCEEDED"


def test_every_trainer_has_its_rank(reduction: Any, emulator: JobEmulator) -> None:
    tasks = ["workerpool0-0", *(f"workerpool1-{index}" for index in range(4))]
    assert [emulator.printed(reduction["name"], task) for task in tasks] == [
        [f"rank {rank}"] for rank in range(5)
    ]


def test_describe(gcloud: Run, reduction: Any) -> None:
    found = json.loads(gcloud("ai", "custom-jobs", "describe", reduction["name"], "--format=json"))
    assert (found["state"], found["jobSpec"]) == ("JOB_STATE_SUCCEEDED", reduction["jobSpec"])


def test_describe_by_id(gcloud: Run, reduction: Any) -> None:
    job_id = reduction["name"].rpartition("/")[2]
    assert (
        gcloud("ai", "custom-jobs", "describe", job_id, REGION, "--format=value(displayName)")
        == "reduction\n"
    )


def test_describe_of_what_is_not_there(gcloud: Run) -> None:
    assert "NOT_FOUND" in gcloud("ai", "custom-jobs", "describe", "123456789", REGION, fails=True)


@pytest.fixture(scope="module")
def others(
    gcloud: Run, emulator: JobEmulator, reduction: Any, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """Create two more jobs: one that fails, from a file, and one that keeps running, from flags."""
    config = tmp_path_factory.mktemp("config") / "job.yaml"
    config.write_text(
        "workerPoolSpecs:\n"
        "- machineSpec: {machineType: n1-standard-4}\n"
        "  replicaCount: 1\n"
        "  containerSpec:\n"
        "    imageUri: python:3.11\n"
        "    command: [sh, -c]\n"
        "    args: ['echo to stderr >&2; exit 7']\n"
        "    env: [{name: MODE, value: test}]\n"
        "scheduling: {timeout: 3600s, restartJobOnWorkerRestart: false}\n"
        "baseOutputDirectory: {outputUriPrefix: 'gs://train/out'}\n"
    )
    create = ("ai", "custom-jobs", "create", REGION, "--format=value(name)")
    failing = gcloud(*create, "--display-name=failing", f"--config={config}").strip()
    long = gcloud(
        *create,
        "--display-name=long",
        "--worker-pool-spec=machine-type=n1-standard-4,container-image-uri=python:3.11",
        "--command=sleep",
        "--args=600",
    ).strip()
    emulator.wait(failing)
    emulator.wait(long, "JOB_STATE_RUNNING")
    return [failing, long]


@pytest.mark.smoke
def test_create_from_a_file(others: list[str], emulator: JobEmulator) -> None:
    found = emulator.get(others[0])
    assert (found["state"], found["jobSpec"]["scheduling"]["timeout"]) == ("JOB_STATE_FAILED", "3600s")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param((), ["long", "failing", "reduction"], id="all"),
        pytest.param(("--filter=displayName=reduction",), ["reduction"], id="by name"),
        pytest.param(("--filter=state=JOB_STATE_FAILED",), ["failing"], id="by state"),
        pytest.param(("--filter=labels.team=a",), ["reduction"], id="by label"),
        pytest.param(("--filter=displayName~^l OR state:FAILED",), ["long", "failing"], id="by a pattern"),
        pytest.param(("--sort-by=createTime", "--limit=2"), ["reduction", "failing"], id="sorted, some"),
        pytest.param(("--page-size=1",), ["long", "failing", "reduction"], id="by pages"),
    ],
)
def test_list(gcloud: Run, others: list[str], flags: tuple[str, ...], expected: list[str]) -> None:
    listed = gcloud("ai", "custom-jobs", "list", REGION, "--format=value(displayName)", *flags)
    assert listed.split() == expected


@pytest.mark.parity("Custom jobs: clients")
def test_stream_logs(gcloud: Run, reduction: Any) -> None:
    lines = gcloud("ai", "custom-jobs", "stream-logs", reduction["name"], "--polling-interval=1").splitlines()
    said = sorted(line.split("\t")[-1] for line in lines if "\trank " in line)
    assert said == [f"rank {rank}" for rank in range(5)]


def test_stream_logs_of_one_replica(gcloud: Run, reduction: Any) -> None:
    words = ("ai", "custom-jobs", "stream-logs", reduction["name"], "--polling-interval=1")
    lines = gcloud(*words, "--task-name=workerpool1-2").splitlines()
    assert {line.split("\t")[2] for line in lines[1:]} == {"workerpool1-2"}


def messages(text: str) -> list[str]:
    return [each["jsonPayload"]["message"] for each in json.loads(text)]


@pytest.mark.parity("The interface: Cloud Logging")
@pytest.mark.parity("Custom jobs: logs")
def test_logging_read(gcloud: Run, reduction: Any) -> None:
    job_id = reduction["name"].rpartition("/")[2]
    text = f'resource.type="ml_job" AND resource.labels.job_id="{job_id}" AND jsonPayload.message:"rank"'
    found = messages(gcloud("logging", "read", text, "--format=json", "--order=asc"))
    assert sorted(found) == [f"rank {rank}" for rank in range(5)]


def test_logging_read_by_severity(gcloud: Run, others: list[str]) -> None:
    text = f"resource.labels.job_id={others[0].rpartition('/')[2]} severity>=ERROR"
    found = json.loads(gcloud("logging", "read", text, "--format=json", "--freshness=1h"))
    assert "to stderr" in [each["jsonPayload"]["message"] for each in found]
    assert {each["severity"] for each in found} == {"ERROR"}


def test_logging_read_begins_with_the_newest(gcloud: Run, reduction: Any) -> None:
    words = ("logging", "read", f"resource.labels.job_id={reduction['name'].rpartition('/')[2]}")
    assert messages(gcloud(*words, "--format=json", "--limit=1")) == ["Job completed successfully."]


def test_cancel(gcloud: Run, others: list[str], emulator: JobEmulator) -> None:
    gcloud("ai", "custom-jobs", "cancel", others[1])
    assert emulator.wait(others[1])["state"] == "JOB_STATE_CANCELLED"


def test_cancel_of_what_has_ended(gcloud: Run, others: list[str]) -> None:
    said = gcloud("ai", "custom-jobs", "cancel", others[0], fails=True)
    assert "is in state JOB_STATE_FAILED and cannot be canceled." in said


def test_credentials_of_gcloud_for_programs(gcloud: Run, emulator: JobEmulator) -> None:
    given = gcloud("auth", "application-default", "print-access-token").strip()
    assert given not in ("", emulator.daemon.token)


def test_the_users_own_configuration_is_left_alone(gcloud: Run, environment: dict[str, str]) -> None:
    gcloud("config", "set", "core/verbosity", "error")
    assert not Path(environment["HOME"], ".config/gcloud/configurations").exists()
