"""Training pipelines on the emulator: the time beyond their custom job, and that of an export."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figure import Figure

from support.emulator import call
from support.job_emulator import DONE, PARENT, job, pool
from support.pipelines import ENDED, SAVE, Pipelines, pipeline, serving
from vertex_training.emulator import launcher

_ROWS = 200_000


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
        finally:
            launcher.stop(Path(folder))


class _Emulator:
    def __init__(self, emulator: launcher.Emulator) -> None:
        self._emulator = emulator

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return call(self._emulator.url, method, path, body=body, token=self._emulator.token)


def _job() -> dict[str, Any]:
    return job(pool(SAVE), baseOutputDirectory={"outputUriPrefix": "gs://work/out"})


def _seconds(pipelines: Pipelines, collection: str, body: Any, ended: tuple[str, ...]) -> float:
    """From the create call until the end is seen."""
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
