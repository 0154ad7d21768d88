"""`gcloud ai models` in a shell with `vertex-training emulator env`."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from support.job_emulator import JobEmulator

SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-3:latest"
REGION = "--region=us-central1"


@pytest.fixture(scope="module")
def model(gcloud: Callable[..., str], emulator: JobEmulator, bucket: str) -> str:
    """The id of a model that gcloud has uploaded."""
    upload = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=model/model.bin"
    assert emulator.call("POST", upload, b"weights").status == 200
    gcloud(
        "ai",
        "models",
        "upload",
        REGION,
        "--model-id=digits",
        "--display-name=Digits",
        f"--container-image-uri={SERVING}",
        f"--artifact-uri=gs://{bucket}/model",
        "--version-aliases=golden",
    )
    return "digits"


def test_a_model_is_listed(gcloud: Callable[..., str], model: str) -> None:
    listed = json.loads(gcloud("ai", "models", "list", REGION, "--format=json"))
    assert [each["name"].rpartition("/")[2] for each in listed] == [model]


def test_a_model_is_described(gcloud: Callable[..., str], model: str) -> None:
    found = json.loads(gcloud("ai", "models", "describe", f"{model}@golden", REGION, "--format=json"))
    assert (found["displayName"], found["versionAliases"]) == ("Digits", ["default", "golden"])
    assert found["containerSpec"]["imageUri"] == SERVING


def test_versions_are_listed(gcloud: Callable[..., str], model: str) -> None:
    listed = json.loads(gcloud("ai", "models", "list-version", model, REGION, "--format=json"))
    assert [each["versionId"] for each in listed] == ["1"]


def test_a_model_is_copied_and_deleted(gcloud: Callable[..., str], model: str) -> None:
    source = f"projects/local/locations/us-central1/models/{model}"
    gcloud("ai", "models", "copy", REGION, f"--source-model={source}", "--destination-model-id=copied")
    gcloud("ai", "models", "delete", "copied", REGION)
    assert "does not exist" in gcloud("ai", "models", "describe", "copied", REGION, fails=True)
