"""Archives with tuning jobs, datasets, models and log entries that somebody else made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.archives.exported_resources import KINDS, PLACE, VIEWS, rows_left
from support.emulated.archives.members import (
    Edit,
    Members,
    changed,
    control,
    packed,
    send,
    with_member,
    without,
)
from support.emulated.emulator import call, running
from support.emulated.job_emulator import PARENT, pool
from support.emulated.services.pipelines import SERVING, pipeline
from support.emulated.services.tuning import tuning_job
from support.services.steps import Steps
from support.tables import every_row
from vertex_emulator.control import ControlError
from vertex_emulator.daemon import Daemon


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
