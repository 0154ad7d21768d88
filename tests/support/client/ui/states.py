"""Twelve states of the dashboard with many jobs and long names: what pictures and outlines are taken of."""

from __future__ import annotations

from urllib.parse import urlencode

from support.client.ui import everything, experiments
from support.emulated.job_emulator import PARENT, pool
from support.emulated.services.studies import categorical, discrete, study_spec
from support.emulated.ui.scene import FLAG, Scene, owned
from support.waiting import eventually
from vertex_emulator.client.control import Control

JOBS = 204
LONG = "finetune-multilingual-t5-on-customer-letters"
"""A name of more than 40 letters."""

STATES = {
    "overview": "",
    "overview-groups": "?jobs-groups=1",
    "overview-none": "?jobs-words=fits+nothing",
    "job-live": "jobs/{live}",
    "job-pending": "jobs/{pending}",
    "job-failed": "jobs/{failed}",
    "job-ended": "jobs/{compared}",
    "tuning": "jobs/{tuning}",
    "compare": "compare?job={compared}&job={before}",
    "experiment": f"experiments/{LONG}",
    "resources": "resources",
    "storage": "storage/folder?{bucket}",
}
"""The address of each state; `make` returns what is between the braces."""

WIDTHS = (1440, 1024, 390)
PARAMETERS = ("learning_rate", "momentum", "dropout", "decay", "warmup")

_GRID = study_spec(
    discrete("rate", 0.1, 0.2, 0.3, 0.4, 0.5),
    categorical("optimizer", "sgd with momentum"),
    algorithm="GRID_SEARCH",
)
"""A search that finds the same in each run."""

_LIVE = """
import json, math, os, sys, time
print("joined the cluster", flush=True)
os.makedirs("/gcs/flags/live", exist_ok=True)
history = [
    {"step": step, "at": step / 2, "metrics": {"loss": 2.3 * left + 0.4, "accuracy": 0.8 - 0.7 * left}}
    for step, left in ((step, math.exp(-step / 300)) for step in range(10, 1190, 10))
]
found = {**history[-1], "total": 2600, "secondsPerStep": 0.52, "history": history}
if os.environ["CLUSTER_SPEC"].count('"type":"workerpool0"'):
    with open("/gcs/flags/live/vertex_cluster_progress.json", "w") as file:
        json.dump(found, file)
print("epoch 5 of 12: loss 0.4432", flush=True)
while not os.path.exists("/gcs/flags/live-end"): time.sleep(0.3)
"""


def make(scene: Scene) -> dict[str, str]:
    """Make the jobs and other resources. Return what the addresses of the states need.

    A start delay holds most of the jobs, so that they have no processes.
    """
    scene.bucket("flags")
    everything.make_objects(scene, many=0)
    everything.make_resources(scene)
    _experiment(scene)
    before, compared = everything.make_runs(scene, name=LONG)
    failed = scene.create(
        pool("import sys\nprint('loading the labels', flush=True)\nopen('/gcs/train-dev-data/labels.csv')"),
        pool(FLAG.format(name="never"), replicas=2),
        name="flowers",
        labels=owned("flowers", run="flowers-5", reason="spec"),
    )
    scene.wait(failed, "JOB_STATE_FAILED")
    tuning = everything.make_tuning(scene, trials=5, waits_for="tuning", study=_GRID)
    live = scene.create(
        pool(_LIVE),
        pool(_LIVE, replicas=4),
        pool(FLAG.format(name="live-end"), replicas=2),
        pool(FLAG.format(name="live-end")),
        name="resnet50",
        labels=owned("resnet50", run="resnet50-3", reason="spec"),
        baseOutputDirectory={"outputUriPrefix": "gs://flags/live"},
    )
    scene.wait(live, "JOB_STATE_RUNNING")
    eventually(
        lambda: any(one["id"] == "4" for one in everything.trials_of(scene, tuning, "ACTIVE")),
        what=lambda: scene.get(tuning),
    )
    return {
        "live": live,
        "failed": failed,
        "before": before,
        "compared": compared,
        "tuning": tuning,
        "pending": _crowd(scene),
        "bucket": urlencode({"bucket": "train-dev-data", "prefix": "digits/"}),
    }


def _crowd(scene: Scene) -> str:
    """Create jobs until there are 204, and cancel every third. Return the key of one with 200 replicas."""
    Control(url=scene.emulator.url, token=scene.emulator.token).set_start_delay(86400)
    first = scene.create(
        pool(""), pool("", replicas=199), name=f"{LONG}-on-200-machines", labels=owned("wide", run="wide-1")
    )
    known = scene.call("GET", f"{PARENT}/customJobs?pageSize=500").json()["customJobs"]
    others = scene.call("GET", f"{PARENT}/trainingPipelines").json().get("trainingPipelines", [])
    inner = 4 + len(others)  # trials and jobs of pipelines are no rows of their own
    for number in range(JOBS - (len(known) - inner) - 1 - len(others)):
        resource = f"{LONG if number % 4 else 'digits'}-{number % 23}"
        key = scene.create(
            pool(""),
            pool("", replicas=4),
            name=resource,
            labels=owned(resource, stack="production", run=f"crowd-{number}"),
        )
        if number % 3 == 0:
            assert scene.call("POST", f"{PARENT}/{key}:cancel", {}).status == 200
    return first


def _experiment(scene: Scene) -> None:
    """Create an experiment whose runs have five parameters and five metrics, and names of 40 letters."""
    experiments.make(scene, hostile=False)
    experiments.experiment(scene, LONG)
    for number in range(5):
        experiments.run(
            scene,
            LONG,
            f"sgd-with-momentum-and-a-rather-long-name-{number}",
            _params=dict.fromkeys(PARAMETERS, 0.1 * (number + 1)),
            _metrics={f"{name}_loss": 0.1 + number / 7 for name in ("train", "val", "test", "aux", "ema")},
        )
