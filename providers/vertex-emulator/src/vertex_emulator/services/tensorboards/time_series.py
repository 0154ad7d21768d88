"""TensorboardService: the methods of the points of time series."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError, Unary, Violation, invalid_fields
from vertex_emulator.server.rpc.paging import page_size, page_token, read_page_token
from vertex_emulator.services.datasets.contents import DataError
from vertex_emulator.services.datasets.objects import BucketObjects
from vertex_emulator.services.resource_engine.operations import V1
from vertex_emulator.services.resource_engine.records import Record
from vertex_emulator.services.resource_engine.versions import Stamps
from vertex_emulator.services.tensorboards import blobs
from vertex_emulator.services.tensorboards.store import TensorboardStore

_MAX_POINTS_WRITTEN = 5000
_MAX_POINTS_READ = 10_000
_BLOBS = 3
_KINDS = {1: "scalar", 2: "tensor", 3: "blobs"}
"""The field of a point for each type of values."""

_DEFAULT_POINTS = {1: 1000, 2: 100, 3: 100}
"""The most points of an answer for each type of values (the comments of the service's read methods)."""


class PointMethods:
    """The methods of the points of all time series."""

    def __init__(self, store: TensorboardStore, objects: BucketObjects, stamps: Stamps) -> None:
        self._store = store
        self._objects = objects
        self._stamps = stamps

    def bindings(self) -> Mapping[str, Unary]:
        """Return the methods by their short names."""
        return {
            "WriteTensorboardRunData": self.write_run,
            "WriteTensorboardExperimentData": self.write_experiment,
            "ReadTensorboardTimeSeriesData": self.read,
            "BatchReadTensorboardTimeSeriesData": self.batch_read,
            "ExportTensorboardTimeSeriesData": self.export,
        }

    def write_run(self, request: DynamicMessage) -> DynamicMessage:
        """Write points of one run: all of them, or none."""
        with self._store.time_series.transaction():
            self._write(self._store.runs.lookup(request.tensorboard_run), request, "time_series_data")
        return descriptors.message(f"{V1}.WriteTensorboardRunDataResponse")

    def write_experiment(self, request: DynamicMessage) -> DynamicMessage:
        """Write points of several runs of an experiment: all of them, or none."""
        experiment = self._store.experiments.lookup(request.tensorboard_experiment)
        with self._store.time_series.transaction():
            for number, each in enumerate(request.write_run_data_requests):
                path = f"write_run_data_requests[{number}]"
                run = self._store.runs.lookup(each.tensorboard_run)
                if not run.name.startswith(f"{experiment.name}/"):
                    words = f"The run must be in the experiment {experiment.name}."
                    raise invalid_fields([Violation(f"{path}.tensorboard_run", words)])
                self._write(run, each, f"{path}.time_series_data")
        return descriptors.message(f"{V1}.WriteTensorboardExperimentDataResponse")

    def _write(self, run: Record, request: DynamicMessage, path: str) -> None:
        if sum(len(each.values) for each in request.time_series_data) > _MAX_POINTS_WRITTEN:
            words = f"The upper limit of data points per write request is {_MAX_POINTS_WRITTEN}."
            raise invalid_fields([Violation(path, words)])
        for number, data in enumerate(request.time_series_data):
            series_id = data.tensorboard_time_series_id
            series = self._store.time_series.lookup(f"{run.name}/timeSeries/{series_id}")
            if found := list(_type_problems(series.message, data, f"{path}[{number}]")):
                raise invalid_fields(found)
            self.add_points(series, data.values)

    def add_points(self, series: Record, points: Sequence[DynamicMessage]) -> None:
        """Store points, and note the last step of the time series."""
        if not points:
            return
        self._store.points.write(series, points)

        def change(message: DynamicMessage) -> bool:
            _extend(message.metadata, points)
            self._stamps.touch(message)
            return True

        self._store.time_series.change(series.id, change, place=series.place)

    def read(self, request: DynamicMessage) -> DynamicMessage:
        """Return points of a time series, by default up to 1000, in the order of their steps."""
        _refuse_filter(request.filter)
        series = self._store.time_series.lookup(request.tensorboard_time_series)
        most = request.max_data_points
        if most < -1:
            raise invalid_fields([Violation("max_data_points", "It must be positive, or -1 for all points.")])
        points = (
            self._store.points.read(series)
            if most == -1
            else self._store.points.sample(
                series, min(most or _DEFAULT_POINTS[series.message.value_type], _MAX_POINTS_READ)
            )
        )
        answer = descriptors.message(f"{V1}.ReadTensorboardTimeSeriesDataResponse")
        _fill(answer.time_series_data, series, points)
        return answer

    def batch_read(self, request: DynamicMessage) -> DynamicMessage:
        """Return points of several time series of a tensorboard."""
        tensorboard = self._store.tensorboards.lookup(request.tensorboard)
        answer = descriptors.message(f"{V1}.BatchReadTensorboardTimeSeriesDataResponse")
        for number, name in enumerate(request.time_series):
            series = self._store.time_series.lookup(name)
            if not series.name.startswith(f"{tensorboard.name}/"):
                words = f"The time series must be in the tensorboard {tensorboard.name}."
                raise invalid_fields([Violation(f"time_series[{number}]", words)])
            points = self._store.points.sample(series, _DEFAULT_POINTS[series.message.value_type])
            _fill(answer.time_series_data.add(), series, points)
        return answer

    def export(self, request: DynamicMessage) -> DynamicMessage:
        """Return a page of the points of a time series, in the order of their steps."""
        _refuse_filter(request.filter)
        series = self._store.time_series.lookup(request.tensorboard_time_series)
        if request.order_by not in ("", "step", "step asc"):
            raise RpcError("INVALID_ARGUMENT", f"order_by {request.order_by!r} is not valid. Use step.")
        size = page_size(request.page_size, default=1000, most=_MAX_POINTS_READ)
        query = f"points of {series.name}"
        position = read_page_token(request.page_token, query=query)
        points = self._store.points.read(series, after=position[0] if position else None, most=size + 1)
        answer = descriptors.message(f"{V1}.ExportTensorboardTimeSeriesDataResponse")
        answer.time_series_data_points.extend(_without_blobs(points[:size]))
        if len(points) > size:
            answer.next_page_token = page_token([points[size - 1].step], query=query)
        return answer

    def read_blobs(self, request: DynamicMessage) -> Iterator[DynamicMessage]:
        """Yield the blobs of a time series, which Google's uploader put into the tensorboard's bucket."""
        series = self._store.time_series.lookup(request.time_series)
        wanted = list(request.blob_ids)
        for point in self._store.points.read(series) if series.message.value_type == _BLOBS else ():
            for blob in point.blobs.values:
                if wanted and blob.id not in wanted:
                    continue
                answer = descriptors.message(f"{V1}.ReadTensorboardBlobDataResponse")
                made = answer.blobs.add()
                made.id = blob.id
                made.data = blob.data or self._content(series, blob.id)
                yield answer

    def _content(self, series: Record, blob_id: str) -> bytes:
        try:
            with self._objects.open(blobs.blob_uri(series.place, series.id, blob_id)) as file:
                return file.read()
        except DataError as error:
            raise RpcError("NOT_FOUND", f"The blob {blob_id} does not exist: {error.message}") from error


def _type_problems(series: DynamicMessage, data: DynamicMessage, path: str) -> Iterator[Violation]:
    kind = _KINDS[series.value_type]
    if data.value_type not in (0, series.value_type):
        yield Violation(f"{path}.value_type", f"The time series {series.name} has values of the type {kind}.")
    for number, point in enumerate(data.values):
        if point.WhichOneof("value") != kind:
            words = f"The time series {series.name} has values of the type {kind}."
            yield Violation(f"{path}.values[{number}]", words)
            return


def _extend(metadata: DynamicMessage, points: Iterable[DynamicMessage]) -> None:
    """Raise the greatest step, time and length of blob sequences of a time series."""
    for point in points:
        metadata.max_step = max(metadata.max_step, point.step)
        if metadata.max_wall_time.ToNanoseconds() < point.wall_time.ToNanoseconds():
            metadata.max_wall_time.CopyFrom(point.wall_time)
        length = len(point.blobs.values)
        metadata.max_blob_sequence_length = max(metadata.max_blob_sequence_length, length)


def _fill(data: DynamicMessage, series: Record, points: Iterable[DynamicMessage]) -> None:
    data.tensorboard_time_series_id = series.id.rpartition("/")[2]
    data.value_type = series.message.value_type
    data.values.extend(_without_blobs(points))


def _without_blobs(points: Iterable[DynamicMessage]) -> Iterator[DynamicMessage]:
    """Yield the points; the content of blobs has a method of its own."""
    for point in points:
        for blob in point.blobs.values if point.WhichOneof("value") == "blobs" else ():
            blob.ClearField("data")
        yield point


def _refuse_filter(text: str) -> None:
    if text:
        raise RpcError(
            "UNIMPLEMENTED", "filter: the emulator does not filter the points of a time series. Leave it out."
        )
