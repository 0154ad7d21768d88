"""Training pipelines on the emulator: the time beyond their custom job, an export, a list of models."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figure import Figure, median_seconds
from google.protobuf import json_format

from support.emulated.emulator import call
from support.emulated.job_emulator import DONE, PARENT, job, pool
from support.emulated.services.pipelines import ENDED, SAVE, Pipelines, pipeline, serving
from vertex_emulator.client import launcher
from vertex_emulator.kernel import database
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.services.models.service import ModelService
from vertex_emulator.services.models.store import MODEL
from vertex_emulator.services.resource_engine.names import parse_parent
from vertex_emulator.services.resource_engine.operations import V1

_ROWS = 200_000
_MODELS = 4000


def figures(runs: int = 5) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        emulator = launcher.ensure(Path(folder))
        pipelines = Pipelines(_Emulator(emulator))
        try:
            bare, whole = [], []
            for _ in range(runs):
                bare.append(_seconds(pipelines, "customJobs", _job(), DONE))
                body = pipeline(SAVE, modelToUpload=serving())
                whole.append(_seconds(pipelines, "trainingPipelines", body, ENDED))
            yield Figure(
                name="emulator: a pipeline with its model over the bare custom job",
                value=statistics.median(whole) - statistics.median(bare),
                unit="s",
                budget=0.3,
                note=f"the job alone: {statistics.median(bare):.2f} s",
            )
            yield Figure(
                name=f"emulator: a dataset of {_ROWS:,} rows exported and split",
                value=_export(pipelines),
                unit="s",
                budget=6.0,
            )
            yield Figure(
                name=f"emulator: 100 of {_MODELS:,} models in order",
                value=_list_in_order(),
                unit="s",
                budget=0.2,
            )
        finally:
            launcher.stop(Path(folder))


def _list_in_order() -> float:
    """Measure a sorted list without HTTP, since creating the models over HTTP would take minutes."""
    with tempfile.TemporaryDirectory() as folder:
        opened, clock, place = database.connect(Path(folder) / "state.db"), Clock(), parse_parent(PARENT[4:])
        unused: Any = None
        service = ModelService(opened, unused, unused, clock)
        with opened.transaction():
            for number in range(_MODELS):
                model = json_format.ParseDict(
                    serving(f"model {number * 7919 % _MODELS:05}"), descriptors.message(MODEL)
                )
                service.add(place, model)
        request = descriptors.message(f"{V1}.ListModelsRequest")
        request.parent, request.order_by = str(place), "display_name"
        try:
            return median_seconds(lambda: service.models.list_page(request))
        finally:
            opened.close()


class _Emulator:
    def __init__(self, emulator: launcher.Emulator) -> None:
        self._emulator = emulator

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return call(self._emulator.url, method, path, body=body, token=self._emulator.token)


def _job() -> dict[str, Any]:
    return job(pool(SAVE), baseOutputDirectory={"outputUriPrefix": "gs://work/out"})


def _seconds(pipelines: Pipelines, collection: str, body: Any, ended: tuple[str, ...]) -> float:
    """Return the seconds from the create call to the final state."""
    began = time.perf_counter()
    name = pipelines.done("POST", f"{PARENT}/{collection}", body)["name"]
    while pipelines.get(name)["state"] not in ended:
        time.sleep(0.005)
    return time.perf_counter() - began


def _export(pipelines: Pipelines) -> float:
    rows = "number,text\n" + "".join(f"{number},some text of row {number}\n" for number in range(_ROWS))
    dataset = pipelines.dataset(pipelines.put("rows.csv", rows))
    body = {"exportConfig": {"gcsDestination": {"outputUriPrefix": "gs://work/exported"}}}
    began = time.perf_counter()
    found = pipelines.operation("POST", f"/v1/{dataset}:export", body)
    assert "error" not in found, found
    return time.perf_counter() - began
