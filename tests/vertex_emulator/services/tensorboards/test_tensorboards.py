"""Tensorboards, experiments and runs over HTTP. Each test has resources of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.emulated.archives.members import control
from support.emulated.emulator import running
from support.emulated.services.experiments import LOCATION, Experiments


@pytest.mark.parity(
    "Experiments and endpoints: tensorboards, experiments, runs and time series",
    same="the same methods, with a bucket for pictures; all below a deleted resource goes with it",
)
def test_a_tensorboard_from_its_creation_to_its_deletion(api: Experiments) -> None:
    operation = api.post(f"{LOCATION}/tensorboards", {"displayName": "whole", "labels": {"team": "a"}})
    name = operation["response"]["name"]
    assert operation["name"].startswith(f"{name}/operations/")
    assert api.get(operation["name"]) == operation
    found = api.get(name)
    assert (found["displayName"], found["labels"]) == ("whole", {"team": "a"})
    assert found["createTime"] == found["updateTime"]
    changed = api.done("PATCH", f"{name}?updateMask=description", {"description": "new"})["response"]
    assert (changed["description"], changed["displayName"]) == ("new", "whole")
    assert int(changed["etag"]) > int(found["etag"])
    deleted = api.done("DELETE", name)
    assert deleted["done"]
    assert api.refused("GET", name) == ("NOT_FOUND", f"The Tensorboard does not exist: {name}.")


@pytest.mark.parity("Experiments and endpoints: tensorboards, experiments, runs and time series")
def test_the_bucket_of_a_tensorboard_exists(api: Experiments) -> None:
    bucket = api.get(api.board("with-a-bucket"))["blobStoragePathPrefix"]
    assert bucket.startswith("cloud-ai-platform-")
    assert api.get(api.board("with-the-same-bucket"))["blobStoragePathPrefix"] == bucket
    assert (Path(api.daemon.folder.buckets) / bucket).is_dir()


@pytest.mark.parity("Experiments and endpoints: tensorboards, experiments, runs and time series")
def test_one_tensorboard_is_the_default_one(api: Experiments) -> None:
    first, second = (api.board(name, isDefault=True) for name in ("default-1", "default-2"))
    listed = api.names(f"{LOCATION}/tensorboards", "tensorboards", "is_default=true")
    assert listed == [second.rpartition("/")[2]]
    assert "isDefault" not in api.get(first)


@pytest.mark.parity("Experiments and endpoints: tensorboards, experiments, runs and time series")
def test_rules_of_tensorboards(api: Experiments) -> None:
    code, words = api.refused("POST", f"{LOCATION}/tensorboards", {"labels": {"Team": "A"}})
    assert code == "INVALID_ARGUMENT"
    assert "tensorboard.display_name" in words
    assert "tensorboard.labels" in words
    board = api.board("ruled")
    code, words = api.refused("PATCH", f"{board}?updateMask=runCount", {})
    assert (code, "'run_count' cannot be updated" in words) == ("INVALID_ARGUMENT", True)
    code, words = api.refused(
        "POST", f"{board}/experiments?tensorboardExperimentId=Upper", {"labels": {"Team": "A"}}
    )
    assert code == "INVALID_ARGUMENT"
    assert "'Upper' is not a valid ID" in words
    assert "tensorboard_experiment.labels" in words
    code, _ = api.refused("POST", f"{LOCATION}/tensorboards/7/experiments?tensorboardExperimentId=a", {})
    assert code == "NOT_FOUND"


@pytest.mark.parity("Experiments and endpoints: tensorboards, experiments, runs and time series")
def test_experiments_and_runs_are_below_their_parents(api: Experiments) -> None:
    boards = [api.board(f"tree-{number}") for number in range(2)]
    for board in boards:
        for number in range(2):
            experiment = api.experiment(board, f"e-{number}")
            api.run(experiment, "first")
            api.run(experiment, "second", labels={"kind": "eval"})
    assert api.names(f"{boards[0]}/experiments", "tensorboardExperiments") == ["e-0", "e-1"]
    runs = f"{boards[0]}/experiments/e-1/runs"
    assert api.names(runs, "tensorboardRuns") == ["first", "second"]
    assert api.names(runs, "tensorboardRuns", "labels.kind=eval") == ["second"]
    assert api.names(runs, "tensorboardRuns", 'display_name="first"') == ["first"]
    assert api.get(boards[0])["runCount"] == 4
    api.done("DELETE", f"{boards[0]}/experiments/e-0")
    assert api.refused("GET", f"{boards[0]}/experiments/e-0/runs/first")[0] == "NOT_FOUND"
    assert api.get(boards[0])["runCount"] == 2
    api.done("DELETE", boards[0])
    assert api.names(f"{boards[1]}/experiments/e-0/runs", "tensorboardRuns") == ["first", "second"]


@pytest.mark.parity("Experiments and endpoints: tensorboards, experiments, runs and time series")
def test_pages_of_runs(api: Experiments) -> None:
    experiment = api.experiment(api.board("pages"), "e")
    requests = [
        {
            "parent": experiment,
            "tensorboardRunId": f"r-{number:02}",
            "tensorboardRun": {"displayName": f"{number}"},
        }
        for number in range(60)
    ]
    assert len(api.post(f"{experiment}/runs:batchCreate", {"requests": requests})["tensorboardRuns"]) == 60
    first = api.get(f"{experiment}/runs")
    rest = api.get(f"{experiment}/runs?pageToken={first['nextPageToken']}")
    names = [each["name"].rpartition("/")[2] for page in (first, rest) for each in page["tensorboardRuns"]]
    assert [len(first["tensorboardRuns"]), len(names)] == [50, 60]
    assert sorted(names) == [f"r-{number:02}" for number in range(60)]
    ordered = api.get(f"{experiment}/runs?orderBy=display_name&pageSize=2")["tensorboardRuns"]
    assert [each["displayName"] for each in ordered] == ["0", "1"]


@pytest.mark.parity("Experiments and endpoints: tensorboards, experiments, runs and time series")
def test_a_batch_creates_all_runs_or_none(api: Experiments) -> None:
    experiment = api.experiment(api.board("batches"), "e")
    requests = [
        {"parent": experiment, "tensorboardRunId": run_id, "tensorboardRun": {"displayName": run_id}}
        for run_id in ("good", "Bad")
    ]
    assert (
        api.refused("POST", f"{experiment}/runs:batchCreate", {"requests": requests})[0] == "INVALID_ARGUMENT"
    )
    assert api.names(f"{experiment}/runs", "tensorboardRuns") == []
    code, words = api.refused("POST", f"{experiment}/runs:batchCreate", {"requests": []})
    assert (code, "1 to 1000" in words) == ("INVALID_ARGUMENT", True)


def test_names_of_runs_are_unique(api: Experiments) -> None:
    experiment = api.experiment(api.board("unique"), "e")
    name = api.run(experiment, "one")
    code, words = api.refused("POST", f"{experiment}/runs?tensorboardRunId=one", {"displayName": "other"})
    assert (code, words) == ("ALREADY_EXISTS", f"The TensorboardRun {name} already exists.")
    code, words = api.refused("POST", f"{experiment}/runs?tensorboardRunId=two", {"displayName": "one"})
    assert (code, "already exists" in words) == ("INVALID_ARGUMENT", True)


def test_an_update_with_an_old_etag_is_refused(api: Experiments) -> None:
    run = api.run(api.experiment(api.board("etags"), "e"), "one")
    old = api.get(run)["etag"]
    api.done("PATCH", f"{run}?updateMask=description", {"description": "a", "etag": old})
    new = api.get(run)["etag"]
    code, words = api.refused("PATCH", f"{run}?updateMask=description", {"description": "b", "etag": old})
    assert code == "ABORTED"
    assert words == f"Specified TensorboardRun `etag`: `{old}` does not match server `etag`: `{new}`"
    assert api.get(run)["description"] == "a"


@pytest.mark.parity("Experiments and endpoints: tensorboards and metadata after a restart")
def test_archives_have_tensorboards_and_metadata(api: Experiments, tmp_path: Path) -> None:
    with running(tmp_path / "from") as source:
        here = Experiments(source)
        run = here.run(here.experiment(here.board("archived"), "e"), "one")
        series = here.series(run, "loss")
        here.write(series, {0: 1.0, 5: 0.5})
        store = here.store("default")
        parent = here.node(store, "contexts", "parent", schemaTitle="system.Experiment")
        child = here.node(store, "contexts", "child")
        artifact = here.node(store, "artifacts", "data", uri="gs://a/b")
        execution = here.node(store, "executions", "train")
        here.post(f"{parent}:addContextChildren", {"childContexts": [child]})
        here.post(f"{child}:addContextArtifactsAndExecutions", {"artifacts": [artifact]})
        here.post(f"{execution}:addExecutionEvents", {"events": [{"artifact": artifact, "type": "OUTPUT"}]})
        endpoint = here.post(f"{LOCATION}/endpoints?endpointId=digits", {"displayName": "d"})["response"][
            "name"
        ]
        names = (run, series, parent, child, artifact, execution, endpoint)
        before = [here.get(name) for name in names]
        control(source).export_state(tmp_path / "state.tar")
    with running(tmp_path / "to") as target:
        there = Experiments(target)
        control(target).import_state(tmp_path / "state.tar")
        assert [there.get(name) for name in names] == before
        assert there.read(series) == {0: 1.0, 5: 0.5}
        assert there.get(child)["parentContexts"] == [parent]
        lineage = there.get(f"{child}:queryContextLineageSubgraph")
        assert [each["name"] for each in lineage["artifacts"]] == [artifact]
        assert len(there.get(f"{execution}:queryExecutionInputsAndOutputs")["events"]) == 1
        control(target).reset()
        assert there.get(f"{LOCATION}/tensorboards") == {}
        assert there.get(f"{LOCATION}/metadataStores") == {}


@pytest.mark.parity(
    "Experiments and endpoints: tensorboards and metadata after a restart",
    own_way="they are kept, and are part of an archive",
)
def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        first = Experiments(daemon)
        series = first.series(first.run(first.experiment(first.board("kept"), "e"), "one"), "loss")
        first.write(series, {1: 0.25})
        context = first.node(first.store("default"), "contexts", "kept", metadata={"a": 1})
    with running(tmp_path) as daemon:
        second = Experiments(daemon)
        assert second.read(series) == {1: 0.25}
        assert second.get(context)["metadata"] == {"a": 1}
