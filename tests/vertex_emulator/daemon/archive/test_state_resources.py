"""Export, import and reset of tuning jobs, pipelines, datasets, models and persistent resources."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.archives.exported_resources import KINDS, PLACE, VIEWS, rows_left
from support.emulated.archives.members import control
from support.emulated.emulator import found_sandbox, running
from support.emulated.job_emulator import PARENT, SLEEP, JobEmulator, pool, running_jobs
from support.emulated.services.pipelines import SAVE, Pipelines, pipeline, serving
from support.emulated.services.tuning import create as create_tuning
from support.emulated.services.tuning import wait_for_trials
from vertex_emulator.services.datasets.contents import DataError, Item
from vertex_emulator.services.datasets.store import DatasetStore

SCHEMA = "gs://google-cloud-aiplatform/schema/dataset/ioformat/text_classification_single_label_io_format_1.0.0.yaml"


def persistent(emulator: JobEmulator, name: str, **more: Any) -> dict[str, Any]:
    """Create a persistent resource, and return the operation."""
    body = {"resourcePools": [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 2}], **more}
    return (
        emulator.call("POST", f"{PARENT}/persistentResources?persistentResourceId={name}", body).ok().json()
    )


def text_dataset(data: Pipelines, *texts: str) -> str:
    name = data.dataset(kind="text", displayName="texts")
    lines = "".join(json.dumps({"textContent": each}) + "\n" for each in texts)
    config = {
        "gcsSource": {"uris": [data.put("items.jsonl", lines)]},
        "importSchemaUri": SCHEMA,
        "dataItemLabels": {"from": "a test"},
    }
    assert "error" not in data.operation("POST", f"/v1/{name}:import", {"importConfigs": [config]})
    return name


def write(emulator: JobEmulator, *texts: str) -> None:
    entries = [
        {"textPayload": text, "insertId": str(number), "timestamp": f"2026-01-0{number}T00:00:00Z"}
        for number, text in enumerate(texts, start=1)
    ]
    body = {"logName": "projects/local/logs/mine", "entries": entries}
    assert emulator.call("POST", "/v2/entries:write", body).status == 200


def written(emulator: JobEmulator) -> list[dict[str, Any]]:
    body = {"resourceNames": ["projects/local"], "filter": 'logName="projects/local/logs/mine"'}
    return emulator.call("POST", "/v2/entries:list", body).json().get("entries", [])


def fill(emulator: JobEmulator) -> Pipelines:
    """Create one resource of each kind, none of which is still running."""
    work = Pipelines(emulator)
    emulator.wait(create_tuning(emulator, trials=2))
    rows = work.dataset(work.put("rows.csv", "a,b\n1,2\n3,4\n5,6\n"))
    text_dataset(work, "one", "two", "three")
    body = pipeline(
        SAVE,
        modelToUpload=serving(),
        modelId="digits",
        inputDataConfig={
            "datasetId": rows.rpartition("/")[2],
            "gcsDestination": {"outputUriPrefix": "gs://work/data"},
        },
    )
    assert work.wait(work.create(body))["state"] == "PIPELINE_STATE_SUCCEEDED"
    for number in (2, 3):
        more = {"versionAliases": ["golden"]} if number == 3 else {}
        work.upload(serving(labels={"number": str(number)}, **more), parentModel=f"{PLACE}/models/digits")
    assert work.call("DELETE", f"/v1/{PLACE}/models/digits@2:deleteVersion").status == 200
    assert work.operation("POST", f"/v1/{persistent(emulator, 'gpus')['name']}:wait", {"timeout": "20s"})
    write(emulator, "first", "second")
    return work


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobEmulator]:
    """Run an emulator with one resource of each kind."""
    with running_jobs(tmp_path_factory.mktemp("source"), sandbox=found_sandbox()) as emulator:
        fill(emulator)
        yield emulator


@pytest.fixture(scope="module")
def archive(source: JobEmulator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "state.tar"
    control(source.daemon).export_state(path)
    return path


@pytest.fixture(scope="module")
def added(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[JobEmulator, Any]]:
    """Run an emulator with the imported archive, and yield it with the response. Tests do not change it."""
    with running_jobs(tmp_path_factory.mktemp("other"), sandbox=found_sandbox()) as emulator:
        yield emulator, control(emulator.daemon).import_state(archive)


@pytest.fixture
def other(tmp_path: Path, archive: Path) -> Iterator[JobEmulator]:
    """Run an emulator with the imported archive that the test may change."""
    with running_jobs(tmp_path / "own", sandbox=found_sandbox()) as emulator:
        control(emulator.daemon).import_state(archive)
        yield emulator


def test_an_import_reports_the_number_of_resources(added: tuple[JobEmulator, Any]) -> None:
    assert (added[1]["resources"], added[1]["endedJobs"]) == (KINDS, 0)


@pytest.mark.parametrize("path", VIEWS.values(), ids=list(VIEWS))
def test_what_was_exported_is_there_again(
    source: JobEmulator, added: tuple[JobEmulator, Any], path: str
) -> None:
    shown = source.call("GET", path)
    assert (shown.status, shown.json()) == (200, added[0].call("GET", path).json())
    assert shown.json()


def test_log_entries_are_there_again(source: JobEmulator, added: tuple[JobEmulator, Any]) -> None:
    assert [each["textPayload"] for each in written(source)] == ["first", "second"]
    assert written(added[0]) == written(source)


def test_the_items_of_a_dataset_are_exported_as_before(other: JobEmulator) -> None:
    listed = other.call("GET", f"{PARENT}/datasets?filter=display_name%3Dtexts").json()["datasets"]
    body = {"exportConfig": {"gcsDestination": {"outputUriPrefix": "gs://work/out"}}}
    operation = other.call("POST", f"/v1/{listed[0]['name']}:export", body).json()
    done = other.call("POST", f"/v1/{operation['name']}:wait", {"timeout": "20s"}).json()
    found = []
    for uri in done["response"]["exportedFiles"]:
        name = uri.removeprefix("gs://work/").replace("/", "%2F")
        content = other.call("GET", f"/storage/v1/b/work/o/{name}?alt=media").body
        found += [json.loads(line) for line in content.splitlines()]
    assert sorted(each["textContent"] for each in found) == ["one", "three", "two"]
    assert {each["dataItemResourceLabels"]["from"] for each in found} == {"a test"}


def test_numbers_of_deleted_versions_do_not_come_again(other: JobEmulator) -> None:
    body = {"model": serving(), "parentModel": f"{PLACE}/models/digits"}
    answer = other.call("POST", f"{PARENT}/models:upload", body).json()
    assert answer["response"]["modelVersionId"] == "4"


def test_the_trials_jobs_go_with_an_imported_tuning_job(other: JobEmulator) -> None:
    [found] = other.call("GET", f"{PARENT}/hyperparameterTuningJobs").json()["hyperparameterTuningJobs"]
    custom_jobs = [each["customJob"] for each in found["trials"]]
    assert other.delete(found["name"]).status == 200
    assert [other.call("GET", f"/v1/{each}").status for each in custom_jobs] == [404, 404]


def test_a_job_runs_on_an_imported_persistent_resource(other: JobEmulator) -> None:
    name = other.create(pool("pass"), persistentResourceId="gpus")
    assert other.wait(name)["state"] == "JOB_STATE_SUCCEEDED"


def test_what_was_going_on_has_ended(tmp_path: Path) -> None:
    with running_jobs(tmp_path / "source", sandbox=found_sandbox()) as source:
        work = Pipelines(source)
        tuning = create_tuning(source, pool(SLEEP))
        wait_for_trials(source, tuning, 1, "ACTIVE")
        trains = work.create(pipeline(SLEEP))
        work.wait(trains, "PIPELINE_STATE_RUNNING")
        source.call("POST", f"/v1/{persistent(source, 'used')['name']}:wait", {"timeout": "20s"})
        source.wait(source.create(pool(SLEEP), persistentResourceId="used"), "JOB_STATE_RUNNING")
        source.call("PUT", "/_local/persistent-resource-delay", {"seconds": 600})
        persistent(source, "comes")
        assert source.get(f"{PLACE}/persistentResources/used")["resourcePools"][0]["usedReplicaCount"] == "1"
        control(source.daemon).export_state(tmp_path / "state.tar")
        assert source.get(tuning)["state"] == "JOB_STATE_RUNNING", "an export disturbs nobody"
        control(source.daemon).reset()
    with running_jobs(tmp_path / "other", sandbox=found_sandbox()) as other:
        assert control(other.daemon).import_state(tmp_path / "state.tar")["endedJobs"] == 5
        found = other.get(tuning)
        assert (found["state"], found["error"]["code"]) == ("JOB_STATE_FAILED", 13)
        assert found["error"]["message"].startswith("The job was in state JOB_STATE_RUNNING when it was")
        assert [each["state"] for each in found["trials"]] == ["INFEASIBLE"]
        assert found["trials"][0]["infeasibleReason"].startswith("The trial was in state ACTIVE when it was")
        found = other.get(trains)
        assert (found["state"], found["error"]["code"]) == ("PIPELINE_STATE_FAILED", 13)
        assert found["error"]["message"] == (
            "The pipeline was in state PIPELINE_STATE_RUNNING when it was exported; an imported pipeline "
            "is not resumed."
        )
        for name in ("used", "comes"):
            resource = other.get(f"{PLACE}/persistentResources/{name}")
            assert resource["state"] == "RUNNING"
            assert resource["resourcePools"][0].get("usedReplicaCount", "0") == "0"
        assert other.call("GET", "/_local/info").json()["liveJobs"] == 0


# --- reset


def test_a_reset_leaves_no_row_of_anything(tmp_path: Path) -> None:
    with running_jobs(tmp_path / "data", sandbox=found_sandbox()) as emulator:
        work = fill(emulator)
        create_tuning(emulator, pool(SLEEP))
        work.create(pipeline(SLEEP))
        emulator.call("PUT", "/_local/persistent-resource-delay", {"seconds": 600})
        persistent(emulator, "comes")
        share = emulator.data_dir / "file-shares" / "nfs" / "10.0.0.2" / "exports"
        share.mkdir(parents=True)
        (share / "file").write_text("left")
        before = rows_left(emulator.daemon)
        tables = {"model_versions", "dataset_items", "tuning_trials", "log_entries", "operations"}
        assert tables | {"persistent_resource_changes", "training_pipeline_work"} <= before.keys()
        control(emulator.daemon).reset()
        assert rows_left(emulator.daemon) == {}
        assert not (emulator.data_dir / "file-shares").exists()
        assert [emulator.call("GET", path).json() for path in VIEWS.values() if "digits" not in path] == [
            *[{}] * 5,
            {"logNames": []},
        ]


def test_a_reset_emulator_takes_its_own_archive(tmp_path: Path, archive: Path) -> None:
    with running(tmp_path / "own") as own:
        first = control(own).import_state(archive)
        control(own).reset()
        assert control(own).import_state(archive) == first


def test_a_dataset_that_was_deleted_gets_no_items(tmp_path: Path) -> None:
    """Add items late, from an import that was running when the dataset was deleted."""
    with running(tmp_path / "data") as daemon:
        store = DatasetStore(daemon._database, daemon.clock)
        with pytest.raises(DataError, match="The dataset 7 was deleted"):
            store.add_items("7", [Item(content={"textContent": "late"}, labels={})])
        assert rows_left(daemon) == {}


def test_an_item_that_could_not_be_written_again_is_refused(tmp_path: Path) -> None:
    with running_jobs(tmp_path / "data", sandbox=found_sandbox()) as emulator:
        data = Pipelines(emulator)
        name = data.dataset(kind="text")
        config = {
            "gcsSource": {"uris": [data.put("items.jsonl", '{"textContent": NaN}\n')]},
            "importSchemaUri": SCHEMA,
        }
        over = data.operation("POST", f"/v1/{name}:import", {"importConfigs": [config]})
        assert "line 1: it is not JSON" in over["error"]["message"]
