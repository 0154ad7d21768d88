"""Links to the Google Cloud console, compared with those of Google's SDK, and the emulator's commands."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from urllib.parse import unquote

import pytest
from google.cloud.aiplatform.utils import console_utils

from pulumi_vertex_training.program import links

JOB = "projects/my-project/locations/us-central1/customJobs/7"
TENSORBOARD = "projects/7/locations/us-central1/tensorboards/9"


def test_the_console_is_that_of_the_sdk() -> None:
    assert links.console_url("google", JOB) == console_utils.custom_job_console_uri(JOB)


def test_the_tensorboard_is_that_of_the_sdk() -> None:
    expected = console_utils.custom_job_tensorboard_console_uri(TENSORBOARD, JOB)
    assert links.tensorboard_url(JOB, TENSORBOARD) == expected


def test_the_log_is_filtered_by_the_job() -> None:
    url = links.logs_url("google", JOB)
    assert unquote(url) == (
        'https://console.cloud.google.com/logs/query;query=resource.type="ml_job"\n'
        'resource.labels.job_id="7"?project=my-project'
    )
    assert not set(' "\n') & set(url)


def test_the_emulator_has_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERTEX_TRAINING_COMMAND", "vertex-training")
    assert links.console_url("emulator", JOB) == "vertex-training ui --open"
    assert links.logs_url("emulator", JOB) == links.logs_command(JOB) == "vertex-training logs 7"


@pytest.mark.parametrize(
    ("configured", "expected"),
    [
        ({"endpoint": "google", "project": "p", "location": "us-central1"}, f"logs {JOB} --endpoint google"),
        ({"project": "my-project"}, f"logs {JOB}"),
        ({"dataDir": "/data/mine"}, "logs 7 --data-dir /data/mine"),
    ],
)
def test_the_commands_of_a_stack_find_its_jobs(
    monkeypatch: pytest.MonkeyPatch, configured: dict[str, str], expected: str
) -> None:
    monkeypatch.setenv("VERTEX_TRAINING_COMMAND", "vertex-training")
    stack = {f"vertex-training:{key}": value for key, value in configured.items()}
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps(stack))
    assert links.logs_command(JOB) == f"vertex-training {expected}"


def test_the_dashboard_opens_where_the_job_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERTEX_TRAINING_COMMAND", "vertex-training")
    stack = {"vertex-training:project": "my-project", "vertex-training:dataDir": "/data/mine"}
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps(stack))
    elsewhere = JOB.replace("us-central1", "europe-west4")
    assert links.console_url("emulator", elsewhere) == (
        "vertex-training ui --open --project my-project --location europe-west4 --data-dir /data/mine"
    )


def test_event_files_are_below_the_buckets(tmp_path: Path) -> None:
    command = links.event_files_command(tmp_path / "a b", "gs://bucket/train/1/")
    assert shlex.split(command) == ["tensorboard", "--logdir", f"{tmp_path}/a b/buckets/bucket/train/1/logs"]


def test_ids_of_mocks_have_links() -> None:
    assert links.console_url("google", "train-id").startswith(links.CONSOLE)
