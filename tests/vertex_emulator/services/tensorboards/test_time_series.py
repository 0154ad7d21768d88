"""Time series and their points over HTTP."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1
from google.cloud.aiplatform_v1.services.tensorboard_service.transports.grpc import (
    TensorboardServiceGrpcTransport,
)

from support.emulated.clients.grpc_channel import connected
from support.emulated.services.experiments import Experiments, scalars


@pytest.fixture
def run(api: Experiments, request: pytest.FixtureRequest) -> str:
    """Return a run of the test's own tensorboard."""
    return api.run(api.experiment(api.board(request.node.name[:100]), "e"), "one")


@pytest.mark.parity(
    "Experiments and endpoints: points of time series",
    own_way="the sample is evenly spaced, and always the same; filters of points are refused",
)
def test_points_are_read_in_the_order_of_their_steps(api: Experiments, run: str) -> None:
    series = api.series(run, "loss")
    api.write(series, {5: 0.5, 1: 1.0})
    api.write(series, {5: 0.25, 3: 0.75})
    assert list(api.read(series).items()) == [(1, 1.0), (3, 0.75), (5, 0.25)]
    found = api.get(series)["metadata"]
    assert found == {"maxStep": "5", "maxWallTime": "2026-01-01T00:00:05Z"}


@pytest.mark.parity("Experiments and endpoints: points of time series")
def test_a_long_series_is_sampled(api: Experiments, run: str) -> None:
    series = api.series(run, "loss")
    api.write(series, {step: float(step) for step in range(3000)})
    found = list(api.read(series))
    assert (len(found), found[0], found[-1]) == (1000, 0, 2999)
    assert max(after - before for before, after in itertools.pairwise(found)) <= 4
    few = list(api.read(series, "?maxDataPoints=3"))
    assert (len(few), few[0], few[-1]) == (3, 0, 2999)
    assert list(api.read(series, "?maxDataPoints=1")) == [2999]
    assert len(api.read(series, "?maxDataPoints=-1")) == 3000


@pytest.mark.parity("Experiments and endpoints: points of time series")
def test_all_points_are_exported_in_pages(api: Experiments, run: str) -> None:
    series = api.series(run, "loss")
    api.write(series, dict.fromkeys(range(25), 1.0))
    steps: list[int] = []
    token = ""
    while True:
        page = api.post(f"{series}:exportTensorboardTimeSeries", {"pageSize": 10, "pageToken": token})
        steps += [int(each.get("step", 0)) for each in page["timeSeriesDataPoints"]]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert steps == list(range(25))


def test_several_series_are_read_at_once(api: Experiments, run: str) -> None:
    board = run.partition("/experiments/")[0]
    names = [api.series(run, name) for name in ("loss", "accuracy")]
    for name in names:
        api.write(name, {1: 0.5})
    query = "&".join(f"timeSeries={name}" for name in names)
    found = api.get(f"{board}:batchRead?{query}")["timeSeriesData"]
    assert [each["tensorboardTimeSeriesId"] for each in found] == [name.rpartition("/")[2] for name in names]
    other = api.series(api.run(api.experiment(api.board("another"), "e"), "one"), "loss")
    code, words = api.refused("GET", f"{board}:batchRead?timeSeries={other}")
    assert (code, "must be in the tensorboard" in words) == ("INVALID_ARGUMENT", True)
    assert int(api.get(f"{board}:readSize")["storageSizeByte"]) > 0


@pytest.mark.parity("Experiments and endpoints: points of time series")
def test_a_write_is_done_whole_or_not_at_all(api: Experiments, run: str) -> None:
    series = api.series(run, "loss")
    good = scalars(series.rpartition("/")[2], {1: 1.0})
    body = {"timeSeriesData": [good, scalars("404", {1: 1.0})]}
    assert api.refused("POST", f"{run}:write", body)[0] == "NOT_FOUND"
    assert api.read(series) == {}
    experiment = run.partition("/runs/")[0]
    request = {"writeRunDataRequests": [{"tensorboardRun": run, "timeSeriesData": [good]}]}
    api.post(f"{experiment}:write", request)
    assert api.read(series) == {1: 1.0}


@pytest.mark.parity("Experiments and endpoints: points of time series")
def test_rules_of_points(api: Experiments, run: str) -> None:
    series = api.series(run, "weights", kind="TENSOR")
    body = {"timeSeriesData": [scalars(series.rpartition("/")[2], {1: 1.0})]}
    code, words = api.refused("POST", f"{run}:write", body)
    assert (code, "has values of the type tensor" in words) == ("INVALID_ARGUMENT", True)
    many = {"timeSeriesData": [scalars("1", dict.fromkeys(range(5001), 1.0))]}
    code, words = api.refused("POST", f"{run}:write", many)
    assert (code, "5000" in words) == ("INVALID_ARGUMENT", True)
    assert api.refused("GET", f"{series}:read?filter=step%3E1")[0] == "UNIMPLEMENTED"


def test_names_of_series_are_unique_in_a_run(api: Experiments, run: str) -> None:
    """Google's uploader looks for "already exist", and then for the name in a filter."""
    name = api.series(run, "epoch loss")
    code, words = api.refused(
        "POST", f"{run}/timeSeries", {"displayName": "epoch loss", "valueType": "SCALAR"}
    )
    assert (code, "already exist" in words) == ("INVALID_ARGUMENT", True)
    listed = api.names(f"{run}/timeSeries", "tensorboardTimeSeries", 'display_name = "epoch loss"')
    assert listed == [name.rpartition("/")[2]]
    code, words = api.refused("POST", f"{run}/timeSeries", {"displayName": "typeless"})
    assert (code, "value_type" in words) == ("INVALID_ARGUMENT", True)


def test_series_of_several_runs_are_created_at_once(api: Experiments, run: str) -> None:
    experiment = run.partition("/runs/")[0]
    other = api.run(experiment, "two")
    requests = [
        {"parent": parent, "tensorboardTimeSeries": {"displayName": "loss", "valueType": "SCALAR"}}
        for parent in (run, other)
    ]
    made = api.post(f"{experiment}:batchCreate", {"requests": requests})["tensorboardTimeSeries"]
    assert [each["name"].partition("/timeSeries/")[0] for each in made] == [run, other]
    assert api.refused("POST", f"{experiment}:batchCreate", {"requests": requests})[0] == "INVALID_ARGUMENT"


def test_a_deleted_series_leaves_no_points(api: Experiments, run: str) -> None:
    made = {"displayName": "loss", "valueType": "SCALAR"}
    series = api.post(f"{run}/timeSeries?tensorboardTimeSeriesId=same", made)["name"]
    api.write(series, {1: 1.0})
    api.done("DELETE", series)
    assert api.post(f"{run}/timeSeries?tensorboardTimeSeriesId=same", made)["name"] == series
    assert api.read(series) == {}


def test_pictures_are_read_as_a_stream(api: Experiments, run: str) -> None:
    """Google's uploader puts each picture into the bucket of the tensorboard, and writes its id."""
    board, _, rest = run.partition("/experiments/")
    series = api.series(run, "digits", kind="BLOB_SEQUENCE")
    series_id = series.rpartition("/")[2]
    points = [{"step": 1, "blobs": {"values": [{"id": "in-the-bucket"}, {"id": "missing"}]}}]
    data = {"tensorboardTimeSeriesId": series_id, "valueType": "BLOB_SEQUENCE", "values": points}
    api.post(f"{run}:write", {"timeSeriesData": [data]})
    bucket = Path(api.daemon.folder.buckets) / api.get(board)["blobStoragePathPrefix"]
    folder = bucket / f"tensorboard-{board.rpartition('/')[2]}" / rest.replace("/runs/", "/") / series_id
    folder.mkdir(parents=True)
    (folder / "in-the-bucket").write_bytes(b"picture")
    with connected(api.daemon, api.daemon.token) as channel:
        transport = TensorboardServiceGrpcTransport(channel=channel)
        client = aiplatform_v1.TensorboardServiceClient(transport=transport)
        request = {"time_series": series, "blob_ids": ["in-the-bucket"]}
        answers = list(client.read_tensorboard_blob_data(request=request))
        assert [blob.data for answer in answers for blob in answer.blobs] == [b"picture"]
        with pytest.raises(exceptions.NotFound, match="missing"):
            list(client.read_tensorboard_blob_data(request={"time_series": series}))
    assert api.get(series)["metadata"]["maxBlobSequenceLength"] == "2"
