"""`gcloud ai hp-tuning-jobs`, `models` and `persistent-resources`, as users type them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.emulated.job_emulator import JobEmulator
from support.waiting import eventually

pytestmark = pytest.mark.slow

Run = Callable[..., str]

REGION = "--region=us-central1"
PARENT = "/v1/projects/local/locations/us-central1"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"

STUDY = """
studySpec:
  metrics: [{{metricId: score, goal: MAXIMIZE}}]
  parameters:
  - parameterId: units
    integerValueSpec: {{minValue: 1, maxValue: 2}}
  algorithm: GRID_SEARCH
trialJobSpec:
  workerPoolSpecs:
  - machineSpec: {{machineType: n1-standard-4}}
    replicaCount: 1
    containerSpec:
      imageUri: us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest
      command: [sh, -c]
      args:
      - |
        {code}
"""
REPORT = """python3 -c '
        import hypertune
        hypertune.HyperTune().report_hyperparameter_tuning_metric("score", 1.5)'
"""


@pytest.fixture(scope="module")
def studies(gcloud: Run, emulator: JobEmulator, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the names of a tuning job that has ended and of one that is running."""
    folder = tmp_path_factory.mktemp("config")
    names = []
    for name, code in (("short", REPORT), ("long", "sleep 600")):
        config = folder / f"{name}.yaml"
        config.write_text(STUDY.format(code=code))
        create = ("ai", "hp-tuning-jobs", "create", REGION, f"--display-name={name}", f"--config={config}")
        more = ("--max-trial-count=2", "--parallel-trial-count=2", "--labels=team=a", "--format=value(name)")
        names.append(gcloud(*create, *more).strip())
    emulator.wait(names[0])
    return names


@pytest.mark.parity("Tuning jobs: clients of tuning jobs")
def test_hp_tuning_jobs_create(studies: list[str], emulator: JobEmulator) -> None:
    found = emulator.get(studies[0])
    assert (found["state"], found["maxTrialCount"], found["labels"]) == (
        "JOB_STATE_SUCCEEDED",
        2,
        {"team": "a"},
    )


def test_hp_tuning_jobs_describe(gcloud: Run, studies: list[str]) -> None:
    found = json.loads(gcloud("ai", "hp-tuning-jobs", "describe", studies[0], "--format=json"))
    assert [each["finalMeasurement"]["metrics"] for each in found["trials"]] == [
        [{"metricId": "score", "value": 1.5}],
        [{"metricId": "score", "value": 1.5}],
    ]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param((), ["long", "short"], id="all"),
        pytest.param(("--filter=displayName=short",), ["short"], id="by name"),
        pytest.param(("--limit=1",), ["long"], id="the newest"),
    ],
)
def test_hp_tuning_jobs_list(
    gcloud: Run, studies: list[str], flags: tuple[str, ...], expected: list[str]
) -> None:
    listed = gcloud("ai", "hp-tuning-jobs", "list", REGION, "--format=value(displayName)", *flags)
    assert listed.split() == expected


@pytest.mark.parity("Tuning jobs: clients of tuning jobs")
def test_hp_tuning_jobs_stream_logs(gcloud: Run, studies: list[str]) -> None:
    text = gcloud("ai", "hp-tuning-jobs", "stream-logs", studies[0], "--polling-interval=1", errors=True)
    assert "INVALID" not in text


def test_hp_tuning_jobs_cancel(gcloud: Run, studies: list[str], emulator: JobEmulator) -> None:
    emulator.wait(studies[1], "JOB_STATE_RUNNING")
    gcloud("ai", "hp-tuning-jobs", "cancel", studies[1])
    assert emulator.wait(studies[1])["state"] == "JOB_STATE_CANCELLED"


def models_of(emulator: JobEmulator) -> list[dict[str, Any]]:
    return list(emulator.call("GET", f"{PARENT}/models").json().get("models", []))


@pytest.fixture(scope="module")
def model(gcloud: Run, emulator: JobEmulator, bucket: str) -> str:
    """Upload two versions of a model and return its ID."""
    folder = emulator.data_dir / "buckets" / bucket / "model"
    folder.mkdir()
    (folder / "model.pkl").write_text("weights")
    upload = ("ai", "models", "upload", REGION, f"--container-image-uri={SERVING}")
    more = (f"--artifact-uri=gs://{bucket}/model", "--description=made by gcloud")
    gcloud(*upload, *more, "--display-name=digits", "--model-id=digits", "--version-aliases=first")
    parent = "--parent-model=projects/local/locations/us-central1/models/digits"
    gcloud(*upload, *more, "--display-name=digits", parent, "--version-aliases=second")
    return "digits"


def test_models_upload(model: str, emulator: JobEmulator) -> None:
    found = emulator.call("GET", f"{PARENT}/models/{model}").json()
    assert (found["displayName"], found["containerSpec"]["imageUri"]) == ("digits", SERVING)


def test_models_list(gcloud: Run, model: str) -> None:
    listed = gcloud(
        "ai", "models", "list", REGION, "--filter=displayName=digits", "--format=value(displayName)"
    )
    assert listed == "digits\n"


@pytest.mark.parity("Models: upload and get of models")
def test_models_describe(gcloud: Run, model: str) -> None:
    found = json.loads(gcloud("ai", "models", "describe", model, REGION, "--format=json"))
    assert (found["description"], found["versionId"]) == ("made by gcloud", "1")


def test_models_describe_a_version(gcloud: Run, model: str) -> None:
    text = gcloud("ai", "models", "describe", f"{model}@second", REGION, "--format=value(versionId)")
    assert text == "2\n"


def test_models_list_version(gcloud: Run, model: str) -> None:
    text = gcloud("ai", "models", "list-version", model, REGION, "--format=value(versionId)")
    assert sorted(text.split()) == ["1", "2"]


def test_models_copy(gcloud: Run, model: str) -> None:
    source = f"projects/local/locations/us-central1/models/{model}"
    gcloud("ai", "models", "copy", REGION, f"--source-model={source}", "--destination-model-id=copied")
    gcloud("ai", "models", "delete", "copied", REGION)
    assert "does not exist" in gcloud("ai", "models", "describe", "copied", REGION, fails=True)


def test_models_delete_version_and_delete(gcloud: Run, model: str, emulator: JobEmulator) -> None:
    gcloud("ai", "models", "delete-version", f"{model}@2", REGION)
    assert [each["versionId"] for each in models_of(emulator)] == ["1"]
    gcloud("ai", "models", "delete", model, REGION)
    assert models_of(emulator) == []


@pytest.fixture(scope="module")
def resource(gcloud: Run, emulator: JobEmulator) -> str:
    """Create a persistent resource, wait until it is running and return its ID."""
    pool = "--resource-pool-spec=replica-count=1,machine-type=n1-standard-4,disk-size=100,disk-type=pd-ssd"
    create = ("ai", "persistent-resources", "create", REGION, "--persistent-resource-id=cluster")
    gcloud(*create, "--display-name=a cluster", pool, "--labels=team=a")
    found: dict[str, Any] = {}

    def runs() -> bool:
        found.update(emulator.call("GET", f"{PARENT}/persistentResources/cluster").json())
        return found.get("state") == "RUNNING"

    eventually(runs, what=lambda: str(found))
    return "cluster"


@pytest.mark.parity("Persistent resources: clients of persistent resources")
def test_persistent_resources_create(resource: str, emulator: JobEmulator) -> None:
    found = emulator.call("GET", f"{PARENT}/persistentResources/{resource}").json()
    (pool,) = found["resourcePools"]
    assert (found["displayName"], found["labels"], pool["diskSpec"]["bootDiskSizeGb"]) == (
        "a cluster",
        {"team": "a"},
        100,
    )


def test_persistent_resources_describe(gcloud: Run, resource: str) -> None:
    words = ("ai", "persistent-resources", "describe", resource, REGION, "--format=value(state)")
    assert gcloud(*words) == "RUNNING\n"


def test_persistent_resources_list(gcloud: Run, resource: str) -> None:
    listed = gcloud("ai", "persistent-resources", "list", REGION, "--format=value(displayName)")
    assert listed == "a cluster\n"


def test_a_custom_job_on_a_persistent_resource(gcloud: Run, resource: str, emulator: JobEmulator) -> None:
    create = ("ai", "custom-jobs", "create", REGION, "--display-name=on-it", "--format=value(name)")
    spec = "--worker-pool-spec=machine-type=n1-standard-4,replica-count=1,container-image-uri=python:3.11"
    name = gcloud(*create, spec, "--command=true", f"--persistent-resource-id={resource}").strip()
    found = emulator.wait(name)
    assert (found["state"], found["jobSpec"]["persistentResourceId"]) == ("JOB_STATE_SUCCEEDED", resource)


@pytest.mark.parity("Persistent resources: clients of persistent resources")
def test_persistent_resources_reboot(gcloud: Run, resource: str, emulator: JobEmulator) -> None:
    gcloud("ai", "persistent-resources", "reboot", resource, REGION)
    found = emulator.call("GET", f"{PARENT}/persistentResources/{resource}").json()
    assert found["state"] in ("REBOOTING", "RUNNING")


def test_persistent_resources_delete(gcloud: Run, resource: str, emulator: JobEmulator) -> None:
    path = f"{PARENT}/persistentResources"

    def runs() -> bool:
        return bool(emulator.call("GET", f"{path}/{resource}").json()["state"] == "RUNNING")

    eventually(runs)
    gcloud("ai", "persistent-resources", "delete", resource, REGION)
    eventually(lambda: not emulator.call("GET", path).json().get("persistentResources"))
