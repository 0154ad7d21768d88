"""Export, import and reset of what is made of jobs or stands beside them: tuning jobs, pipelines and more."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulator import call, running
from support.job_emulator import PARENT, SLEEP, JobEmulator, pool, running_jobs
from support.services.archives import (
    Edit,
    Members,
    changed,
    control,
    packed,
    send,
    unpacked,
    with_member,
    without,
)
from support.services.pipelines import SAVE, SERVING, Pipelines, pipeline, serving
from support.services.steps import Steps
from support.services.tuning import create as create_tuning
from support.services.tuning import tuning_job, wait_for_trials
from support.tables import every_row
from vertex_emulator.control import ControlError
from vertex_emulator.custom_jobs.sandbox.probe import probe
from vertex_emulator.daemon import Daemon
from vertex_emulator.datasets.contents import DataError, Item
from vertex_emulator.datasets.store import DatasetStore
from vertex_emulator.kernel.projects import project_number

PLACE = f"projects/{project_number('local')}/locations/us-central1"
SCHEMA = "gs://google-cloud-aiplatform/schema/dataset/ioformat/text_classification_single_label_io_format_1.0.0.yaml"
KINDS = {
    "hyperparameterTuningJobs": 1,
    "trainingPipelines": 1,
    "models": 1,
    "datasets": 2,
    "persistentResources": 1,
    "logEntries": 2,
}
VIEWS = {
    "tuning jobs": f"{PARENT}/hyperparameterTuningJobs",
    "pipelines": f"{PARENT}/trainingPipelines",
    "models": f"{PARENT}/models",
    "versions": f"{PARENT}/models/digits:listVersions",
    "an alias": f"{PARENT}/models/digits@golden",
    "datasets": f"{PARENT}/datasets",
    "persistent resources": f"{PARENT}/persistentResources",
    "logs": "/v2/projects/local/logs",
}


def persistent(emulator: JobEmulator, name: str, **more: Any) -> dict[str, Any]:
    """Create a persistent resource, and return the operation."""
    body = {"resourcePools": [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 2}], **more}
    answer = emulator.call("POST", f"{PARENT}/persistentResources?persistentResourceId={name}", body)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


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
    found: list[dict[str, Any]] = emulator.call("POST", "/v2/entries:list", body).json().get("entries", [])
    return found


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
    with running_jobs(tmp_path_factory.mktemp("source"), sandbox=probe()) as emulator:
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
    with running_jobs(tmp_path_factory.mktemp("other"), sandbox=probe()) as emulator:
        yield emulator, control(emulator.daemon).import_state(archive)


@pytest.fixture
def other(tmp_path: Path, archive: Path) -> Iterator[JobEmulator]:
    """Run an emulator with the imported archive that the test may change."""
    with running_jobs(tmp_path / "own", sandbox=probe()) as emulator:
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


def test_an_archive_of_an_archive_is_the_same(
    added: tuple[JobEmulator, Any], archive: Path, tmp_path: Path
) -> None:
    control(added[0].daemon).export_state(tmp_path / "again.tar")
    one, two = (
        {name: data for name, data in unpacked(each).items() if name.startswith("resources/")}
        for each in (archive, tmp_path / "again.tar")
    )
    assert one == two
    assert sum(name.endswith(".json") for name in one) == sum(KINDS.values()) - 1  # the entries are in one


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


def test_what_is_there_already_is_not_imported(source: JobEmulator, archive: Path, tmp_path: Path) -> None:
    members = {name: data for name, data in unpacked(archive).items() if name.startswith(("m", "resources"))}
    (tmp_path / "some.tar").write_bytes(packed(members))
    with pytest.raises(ControlError) as refused:
        control(source.daemon).import_state(tmp_path / "some.tar")
    assert refused.value.status == 409
    assert "has PersistentResource projects/" in str(refused.value)
    assert len(written(source)) == 2


def test_what_was_going_on_has_ended(tmp_path: Path) -> None:
    with running_jobs(tmp_path / "source", sandbox=probe()) as source:
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
    with running_jobs(tmp_path / "other", sandbox=probe()) as other:
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


def test_what_was_being_cancelled_is_cancelled(target: Daemon, tmp_path: Path) -> None:
    members = good()
    set_resource(TUNING, state="JOB_STATE_CANCELLING")(members)
    set_resource(PIPELINE, state="PIPELINE_STATE_CANCELLING")(members)
    (tmp_path / "state.tar").write_bytes(packed(members))
    with running(tmp_path / "own") as own:
        control(own).import_state(tmp_path / "state.tar")
        for name, state, words in (
            (f"hyperparameterTuningJobs/{ID}", "JOB_STATE_CANCELLED", "The job was cancelled."),
            (f"trainingPipelines/{ID}", "PIPELINE_STATE_CANCELLED", "CANCELED"),
        ):
            found = call(own.url, "GET", f"{PARENT}/{name}", token=own.token).json()
            assert (found["state"], found["error"]) == (state, {"code": 1, "message": words})


# --- reset


def rows_left(daemon: Daemon) -> dict[str, int]:
    """Return the tables that have rows, except for the emulator's own settings."""
    with sqlite3.connect(daemon.folder.database) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        counts = {each: database.execute(f"SELECT COUNT(*) FROM {each}").fetchone()[0] for each in tables}
    database.close()
    return {name: count for name, count in counts.items() if count and name not in _OWN}


_OWN = ("settings", "schema_versions", "sqlite_sequence")


def test_a_reset_leaves_no_row_of_anything(tmp_path: Path) -> None:
    with running_jobs(tmp_path / "data", sandbox=probe()) as emulator:
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
    with running_jobs(tmp_path / "data", sandbox=probe()) as emulator:
        data = Pipelines(emulator)
        name = data.dataset(kind="text")
        config = {
            "gcsSource": {"uris": [data.put("items.jsonl", '{"textContent": NaN}\n')]},
            "importSchemaUri": SCHEMA,
        }
        over = data.operation("POST", f"/v1/{name}:import", {"importConfigs": [config]})
        assert "line 1: it is not JSON" in over["error"]["message"]


# --- archives that somebody else made

ID = "1234567890123456789"
TUNING, PIPELINE = "resources/hyperparameterTuningJobs/0.json", "resources/trainingPipelines/0.json"
MODEL, DATASET = "resources/models/0.json", "resources/datasets/0.json"
PERSISTENT, ENTRIES = "resources/persistentResources/0.json", "resources/logEntries/0.json"
CREATED = "2026-01-01T00:00:00Z"


def resource(collection: str, resource_id: str = ID, /, more: Any = None, **fields: Any) -> bytes:
    named = {"name": f"{PLACE}/{collection}/{resource_id}"} if collection != "models" else {}
    return json.dumps(
        {
            "project": "local",
            "location": "us-central1",
            "id": resource_id,
            "resource": {**named, "createTime": CREATED, **fields},
            **(more or {}),
        }
    ).encode()


def line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def trial(number: int = 1, **fields: Any) -> dict[str, Any]:
    name = f"{PLACE}/hyperparameterTuningJobs/{ID}/trials/{number}"
    found = {"id": str(number), "name": name, "state": "SUCCEEDED", **fields}
    return {"trial": found, "customJob": str(number), "stopped": ""}


def version(number: int = 1, **fields: Any) -> dict[str, Any]:
    times = {"createTime": CREATED, "versionCreateTime": CREATED}
    own = {"containerSpec": {"imageUri": SERVING}, "versionId": str(number), **times}
    return {"version": {**own, "versionAliases": ["default"], **fields}}


ENTRY = {
    "logName": "projects/local/logs/mine",
    "textPayload": "x",
    "timestamp": CREATED,
    "receiveTimestamp": CREATED,
    "insertId": "a",
}
ITEM = {"content": {"textContent": "x"}, "labels": {}}
MACHINES = [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 2}]


def good() -> Members:
    """Return the members of a small valid archive."""
    tuning = tuning_job(pool("pass"))
    metadata = "gs://google-cloud-aiplatform/schema/dataset/metadata/text_1.0.0.yaml"
    return {
        "manifest.json": b'{"format": "vertex-training emulator state", "version": 2}',
        TUNING: resource(
            "hyperparameterTuningJobs", more={"seed": 1, "stopped": ""}, state="JOB_STATE_SUCCEEDED", **tuning
        ),
        f"{TUNING}l": line(trial()),
        PIPELINE: resource(
            "trainingPipelines",
            more={"job": "1", "sizes": {"training": 1}},
            state="PIPELINE_STATE_SUCCEEDED",
            **pipeline(),
        ),
        MODEL: resource("models", "digits", displayName="digits", versionId="3"),
        f"{MODEL}l": line(version()) + line(version(3, versionAliases=["golden"])),
        DATASET: resource("datasets", displayName="texts", metadataSchemaUri=metadata),
        f"{DATASET}l": line(ITEM),
        PERSISTENT: resource("persistentResources", "gpus", resourcePools=MACHINES, state="RUNNING"),
        ENTRIES: b'{"entries": 1}',
        f"{ENTRIES}l": line(ENTRY),
    }


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Run an emulator that rejects every import, and stays empty."""
    with running(tmp_path_factory.mktemp("target")) as daemon:
        yield daemon
        assert rows_left(daemon) == {}
        assert list(daemon.folder.jobs.iterdir()) == []


def test_the_good_one_is_good(tmp_path: Path) -> None:
    (tmp_path / "state.tar").write_bytes(packed(good()))
    with running(tmp_path / "own") as own:
        found = control(own).import_state(tmp_path / "state.tar")
        assert found["resources"] == {**KINDS, "datasets": 1, "logEntries": 1}
        answers = [call(own.url, "GET", path, token=own.token) for path in VIEWS.values()]
        assert [(each.status, bool(each.json())) for each in answers] == [(200, True)] * len(VIEWS)


def set_resource(name: str, /, **fields: Any) -> Edit:
    def edit(members: Members) -> None:
        value = json.loads(members[name])
        value["resource"].update(fields)
        members[name] = json.dumps(value).encode()

    return edit


def lines(name: str, *values: Any) -> Edit:
    return with_member(f"{name}l", b"".join(map(line, values)))


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def doubled(name: str) -> Edit:
    """Return an edit that adds the same resource again under another number."""

    def edit(members: Members) -> None:
        members[name.replace("0.json", "1.json")] = members[name]

    return edit


HOSTILE: dict[str, tuple[Edit, str]] = {
    "a kind": (with_member("resources/customJobs/0.json"), "kind of resource 'customJobs' is unknown"),
    "a path": (with_member("resources/../../0.json"), "is not the name of a member"),
    "a file": (with_member("resources/models/x.json"), "is not the name of a member"),
    "lines first": (with_member("resources/models/7.jsonl", b"{}"), "does not follow its resource"),
    "no JSON": (with_member(MODEL, b"{"), "is not JSON"),
    "no object": (with_member(MODEL, b"[]"), "is not a JSON object"),
    "no resource": (changed(MODEL, resource=None), "it is not a Model"),
    "unknown field": (set_resource(MODEL, nothing=1), "it is not a Model"),
    "far too deep": (set_resource(DATASET, metadata=nested(500)), "it is not a Dataset"),
    "project": (changed(DATASET, project="a/b"), "'a/b' is not a project"),
    "region": (changed(DATASET, location="moon"), "is not a location"),
    "no place": (changed(DATASET, project=None), "project must be a string"),
    "name": (set_resource(DATASET, name=f"{PLACE}/datasets/7"), "the name of another resource"),
    "no time": (set_resource(DATASET, createTime=None), "has no create_time"),
    "id": (changed(DATASET, id="../x"), "'../x' is not the ID of a Dataset"),
    "model id": (changed(MODEL, id="a@1"), "'a@1' is not the ID of a Model"),
    "model with a name": (set_resource(MODEL, name=f"{PLACE}/models/digits"), "the name of another resource"),
    "resource id": (changed(PERSISTENT, id="-"), "'-' is not the ID of a PersistentResource"),
    "twice": (doubled(PIPELINE), "occurs twice"),
    "twice elsewhere": (
        with_member(
            "resources/datasets/1.json",
            resource("datasets", displayName="x", metadataSchemaUri="gs://x/text_1.0.0.yaml").replace(
                b"us-central1", b"europe-west4"
            ),
        ),
        "occurs twice",
    ),
    "line no JSON": (with_member(f"{DATASET}l", b"{"), "Expecting property name"),
    "line no object": (with_member(f"{DATASET}l", b"1\n"), "a line is not a JSON object"),
    "line surrogate": (with_member(f"{DATASET}l", b'{"content": "\\ud800"}\n'), "not Unicode"),
    "line NaN": (with_member(f"{DATASET}l", b'{"content": {"a": NaN}}\n'), "NaN is not a JSON number"),
    "line too long": (with_member(f"{DATASET}l", b"x" * (17 << 20)), "has a line that is too long"),
    "tuning state": (
        set_resource(TUNING, state="JOB_STATE_PAUSED"),
        "a tuning job of the emulator cannot have the state",
    ),
    "tuning no study": (set_resource(TUNING, studySpec=None), "study_spec"),
    "tuning labels": (set_resource(TUNING, labels={"A": "b"}), "Label keys"),
    "tuning trials": (set_resource(TUNING, trials=[{"id": "1"}]), "in a separate file"),
    "seed": (changed(TUNING, seed="1"), "seed must be"),
    "seed too large": (changed(TUNING, seed=2**63), "seed must be"),
    "stopped": (changed(TUNING, stopped=1), "stopped must be a string"),
    "trial live": (lines(TUNING, trial(state="ACTIVE")), "although its job had ended"),
    "trial state": (
        lines(TUNING, trial(state="STATE_UNSPECIFIED")),
        "a trial of the emulator cannot have the state",
    ),
    "trial number": (lines(TUNING, trial(2)), "trial 1 is not the next trial"),
    "trial name": (lines(TUNING, trial(name="x")), "trial 1 is not the next trial"),
    "too many trials": (lines(TUNING, *map(trial, range(1, 5))), "more trials than max_trial_count"),
    "trial job": (lines(TUNING, {**trial(), "customJob": "../1"}), "customJob must be an ID"),
    "trial other job": (lines(TUNING, trial(customJob="x")), "names another custom job"),
    "trial stopped": (lines(TUNING, {**trial(), "stopped": "me"}), "which is unknown"),
    "pipeline state": (
        set_resource(PIPELINE, state="PIPELINE_STATE_PAUSED"),
        "a pipeline of the emulator cannot have",
    ),
    "pipeline name": (set_resource(PIPELINE, displayName=""), "display_name"),
    "pipeline job": (changed(PIPELINE, job="x"), "job must be an ID"),
    "pipeline sizes": (changed(PIPELINE, sizes={"training": "1"}), "sizes are not numbers"),
    "pipeline lines": (lines(PIPELINE, {}), "a TrainingPipeline has no lines"),
    "no version": (without(f"{MODEL}l"), "no version of the model has the alias"),
    "no default": (lines(MODEL, version(versionAliases=["golden"])), "has the alias 'default'"),
    "two defaults": (lines(MODEL, version(1), version(2)), "has the alias 'default' of another version"),
    "version number": (lines(MODEL, version(4)), "version 4 is not between 1 and 3"),
    "version no number": (lines(MODEL, version(versionId="1e3")), "'1e3' is not the number of a version"),
    "version zeros": (lines(MODEL, version(versionId="01")), "'01' is not the number of a version"),
    "greatest": (set_resource(MODEL, versionId=str(2**31)), "is out of range for the number"),
    "version name": (lines(MODEL, version(name="x")), "has a name, or no time"),
    "version time": (lines(MODEL, version(versionCreateTime=None)), "has a name, or no time"),
    "version alias": (lines(MODEL, version(versionAliases=["default", "1"])), "version alias"),
    "version image": (lines(MODEL, version(containerSpec=None)), "image_uri"),
    "model name": (set_resource(MODEL, displayName=""), "display_name"),
    "model labels": (set_resource(MODEL, labels={"A": ""}), "resource.labels"),
    "dataset schema": (set_resource(DATASET, metadataSchemaUri=""), "metadata_schema_uri"),
    "item": (lines(DATASET, {**ITEM, "content": []}), "content of an item must be"),
    "item labels": (lines(DATASET, {**ITEM, "labels": {"a": 1}}), "labels of an item must be"),
    "machines": (set_resource(PERSISTENT, resourcePools=[]), "resource_pools"),
    "resource state": (
        set_resource(PERSISTENT, state="STATE_UNSPECIFIED"),
        "a persistent resource of the emulator cannot be in state",
    ),
    "entry": (lines(ENTRIES, {**ENTRY, "logName": "x"}), "is not of the form"),
    "entry field": (lines(ENTRIES, {**ENTRY, "more": 1}), "Cannot find field"),
    "entry time": (lines(ENTRIES, {**ENTRY, "timestamp": "soon"}), "is not a time"),
    "entry not received": (lines(ENTRIES, {**ENTRY, "receiveTimestamp": 1}), "has no receiveTimestamp"),
    "entry size": (lines(ENTRIES, {**ENTRY, "textPayload": "x" * (1 << 19)}), "exceeding"),
}


@every_row(("edit", "says"), HOSTILE.values(), ids=list(HOSTILE))
def test_an_archive_that_is_wrong(target: Daemon, edit: Edit, says: str) -> None:
    members = good()
    edit(members)
    ordered = {
        name: members[name] for name in sorted(members, key=lambda each: (each != "manifest.json", each))
    }
    assert says in send(target, packed(ordered))


def test_an_import_that_fails_at_its_end_leaves_nothing(tmp_path: Path) -> None:
    """Fill the disk before the jobs, which come last in the same transaction."""

    def disk_full() -> None:
        raise OSError(28, "No space left on device")

    steps = Steps()
    (tmp_path / "state.tar").write_bytes(packed(good()))
    with running(tmp_path / "own", step_hook=steps) as own:
        with steps.doing("add imported jobs", disk_full), pytest.raises(ControlError):
            control(own).import_state(tmp_path / "state.tar")
        assert rows_left(own) == {}
        assert list(own.folder.jobs.iterdir()) == []


def test_lines_that_come_twice(target: Daemon) -> None:
    twice = packed({MODEL: good()[MODEL], f"{MODEL}l": good()[f"{MODEL}l"]})
    manifest = packed({"manifest.json": good()["manifest.json"]})
    one = 512 * 2
    body = twice[: 512 * 2]
    again = twice[one : one + 512 + (len(good()[f"{MODEL}l"]) + 511) // 512 * 512]
    assert "occurs twice" in send(target, manifest[: 512 * 2] + body + again + again + bytes(1024))
