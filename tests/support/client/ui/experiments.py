"""Experiments on an emulator, with the resources that Google's SDK writes for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from support.client.ui.everything import HOSTILE
from support.emulated.job_emulator import PARENT
from support.emulated.services.experiments import scalars
from support.emulated.ui.scene import Scene

STORE = f"{PARENT}/metadataStores/default"
DIGITS, PLAIN = "digits", "plain"


def context(
    scene: Scene, context_id: str, schema: str, metadata: Mapping[str, Any], **fields: Any
) -> dict[str, Any]:
    """Create a context. Its display name is its id unless the fields have one."""
    body = {"displayName": context_id, "schemaTitle": schema, "schemaVersion": "0.0.1", **fields}
    return scene.post(f"{STORE}/contexts?contextId={context_id}", {**body, "metadata": dict(metadata)})


def experiment(scene: Scene, experiment_id: str, *, board: str = "", **fields: Any) -> str:
    """Create an experiment. Return its id."""
    metadata = {"experiment_deleted": False}
    metadata |= {"backing_tensorboard_resource": board} if board else {}
    context(scene, experiment_id, "system.Experiment", metadata, **fields)
    return experiment_id


def run(scene: Scene, experiment_id: str, name: str, *, state: str = "COMPLETE", **metadata: Any) -> str:
    """Create a run of an experiment. Return the resource name of its context."""
    run_id = f"{experiment_id}-{name}"
    made = context(scene, run_id, "system.ExperimentRun", {"_state": state, **metadata}, displayName=name)
    path = f"{STORE}/contexts/{experiment_id}:addContextChildren"
    scene.post(path, {"childContexts": [made["name"]]})
    return str(made["name"])


def change(scene: Scene, name: str, **metadata: Any) -> None:
    """Replace the metadata of a context."""
    scene.call("PATCH", f"/v1/{name}?updateMask=metadata", {"metadata": metadata}).ok()


def board(scene: Scene, title: str) -> str:
    """Create a Tensorboard. Return its resource name."""
    made = scene.post(f"{PARENT}/tensorboards", {"displayName": title})
    return str(made["response"]["name"])


def series(
    scene: Scene, of: str, experiment_id: str, name: str, values: Mapping[str, Mapping[int, float]]
) -> str:
    """Create a run of a Tensorboard with time series. Return the run's resource name."""
    parent = f"/v1/{of}/experiments"
    if scene.call("GET", f"{parent}/{experiment_id}").status == 404:
        scene.post(f"{parent}?tensorboardExperimentId={experiment_id}", {"displayName": experiment_id})
    path = f"{parent}/{experiment_id}/runs?tensorboardRunId={name}"
    made = str(scene.post(path, {"displayName": name})["name"])
    for metric, points in values.items():
        body = {"displayName": metric, "valueType": "SCALAR", "pluginName": "scalars"}
        of_metric = scene.post(f"/v1/{made}/timeSeries", body)["name"]
        write(scene, of_metric, points)
    return made


def write(scene: Scene, of_metric: str, points: Mapping[int, float]) -> None:
    """Write points of a time series."""
    of_run, _, series_id = of_metric.partition("/timeSeries/")
    scene.post(f"/v1/{of_run}:write", {"timeSeriesData": [scalars(series_id, points)]})


def loss(rate: float) -> dict[int, float]:
    """Return points that look like the loss of a training."""
    return {step: 2 * math.exp(-step * rate) + 0.02 * math.sin(step) + 0.05 for step in range(1, 61)}


def make(scene: Scene, *, hostile: bool = True) -> str:
    """Create the experiment `digits` with a Tensorboard with three runs, and `plain` without one.

    Return the board.
    """
    assert scene.call("POST", f"{PARENT}/metadataStores?metadataStoreId=default", {}).status == 200
    of = board(scene, HOSTILE[:60] if hostile else "team-board")
    experiment(scene, DIGITS, board=of, description="Which rate is best for digits?")
    for name, rate, state in (("slow", 0.02, "COMPLETE"), ("fast", 0.3, "FAILED"), ("usual", 0.1, "RUNNING")):
        parameters = {"rate": rate, "optimizer": "adam"}
        metrics = {"accuracy": 1 - rate / 2} if state == "COMPLETE" else {}
        run(scene, DIGITS, name, state=state, _params=parameters, _metrics=metrics)
        series(scene, of, DIGITS, name, {"loss": loss(rate), "accuracy": {1: 0.5, 60: 1 - rate}})
    experiment(scene, PLAIN, description=HOSTILE if hostile else "")
    if hostile:
        run(scene, PLAIN, "hostile", _params={HOSTILE: HOSTILE, "layers": [1, 2]}, _metrics={"ok": 1})
    return of
