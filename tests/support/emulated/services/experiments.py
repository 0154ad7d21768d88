"""Tensorboards and metadata stores of a test, over HTTP, each test with its own."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import google_crc32c

from support.emulated.emulator import ask
from support.emulated.job_emulator import PARENT
from vertex_emulator.daemon.daemon import Daemon


class Experiments:
    """Requests of a test."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon

    def done(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request that succeeds. Return the answer's JSON."""
        return ask(self.daemon, method, f"/v1/{path}", body).ok().json()

    def get(self, path: str) -> dict[str, Any]:
        return self.done("GET", path)

    def post(self, path: str, body: Any = None) -> dict[str, Any]:
        return self.done("POST", path, {} if body is None else body)

    def refused(self, method: str, path: str, body: Any = None) -> tuple[str, str]:
        """Send a request that is rejected. Return the code and the message of the error."""
        answer = ask(self.daemon, method, f"/v1/{path}", body)
        assert answer.status >= 400, answer.body
        error = answer.json()["error"]
        return error["status"], error["message"]

    def board(self, name: str, **fields: Any) -> str:
        """Create a tensorboard. Return its resource name."""
        operation = self.post(f"{LOCATION}/tensorboards", {"displayName": name, **fields})
        return str(operation["response"]["name"])

    def experiment(self, board: str, experiment_id: str, **fields: Any) -> str:
        """Create an experiment. Return its resource name."""
        path = f"{board}/experiments?tensorboardExperimentId={experiment_id}"
        return str(self.post(path, fields)["name"])

    def run(self, experiment: str, run_id: str, **fields: Any) -> str:
        """Create a run. Return its resource name."""
        path = f"{experiment}/runs?tensorboardRunId={run_id}"
        return str(self.post(path, {"displayName": run_id, **fields})["name"])

    def series(self, run: str, name: str, *, kind: str = "SCALAR") -> str:
        """Create a time series. Return its resource name."""
        return str(self.post(f"{run}/timeSeries", {"displayName": name, "valueType": kind})["name"])

    def write(self, series: str, values: Mapping[int, float]) -> None:
        """Write points of a time series of scalars."""
        run, _, series_id = series.partition("/timeSeries/")
        self.post(f"{run}:write", {"timeSeriesData": [scalars(series_id, values)]})

    def read(self, series: str, query: str = "") -> dict[int, float]:
        """Return the points of a time series by step."""
        data = self.get(f"{series}:read{query}")["timeSeriesData"]
        return {int(each.get("step", 0)): each["scalar"].get("value", 0.0) for each in data.get("values", [])}

    def names(self, path: str, field: str, filter_text: str = "") -> list[str]:
        """Return the last segments of the names in a list, in order of the names."""
        query = f"?filter={quote(filter_text)}" if filter_text else ""
        return sorted(each["name"].rpartition("/")[2] for each in self.get(path + query).get(field, []))

    def store(self, store_id: str) -> str:
        """Create a metadata store. Return its resource name."""
        operation = self.post(f"{LOCATION}/metadataStores?metadataStoreId={store_id}")
        return str(operation["response"]["name"])

    def node(self, store: str, collection: str, node_id: str, **fields: Any) -> str:
        """Create a context, an artifact or an execution. Return its resource name."""
        field = collection.removesuffix("s")
        return str(self.post(f"{store}/{collection}?{field}Id={node_id}", fields)["name"])


LOCATION = PARENT.removeprefix("/v1/")


def scalars(series_id: str, values: Mapping[int, float]) -> dict[str, Any]:
    """Return points of a time series of scalars in the API's JSON."""
    points = [
        {"step": step, "scalar": {"value": value}, "wallTime": f"2026-01-01T00:00:{step % 60:02}Z"}
        for step, value in values.items()
    ]
    return {"tensorboardTimeSeriesId": series_id, "valueType": "SCALAR", "values": points}


def record(data: bytes) -> bytes:
    """Return a record of an event file."""
    length = struct.pack("<Q", len(data))
    return length + _checksum(length) + data + _checksum(data)


def event(step: int, values: Mapping[str, float], *, wall_time: float = 1.7e9) -> bytes:
    """Return the record of an event with scalars, as PyTorch writes it."""
    summary = b"".join(
        _field(1, _field(1, tag.encode()) + b"\x15" + struct.pack("<f", value))
        for tag, value in values.items()
    )
    return record(b"\x09" + struct.pack("<d", wall_time) + b"\x10" + _varint(step) + _field(5, summary))


def write_events(path: Path, events: Iterable[bytes], *, mode: str = "wb") -> None:
    """Write an event file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open(mode) as file:
        file.writelines(events)


def _checksum(data: bytes) -> bytes:
    value = google_crc32c.value(data)
    return struct.pack("<I", (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
