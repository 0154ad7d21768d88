"""Jobs of a team as a reader of the pictures would have them: one is live, one failed, the others ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from support.client.ui.everything import trials_of, upload
from support.emulated.job_emulator import PARENT, pool
from support.emulated.services.studies import categorical, double, study_spec
from support.emulated.ui.scene import FLAG, Scene
from support.waiting import eventually
from vertex_emulator.client.control import Control

DATA = "vision-data"

REPORT = """
import json, math, os, sys, time
folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/", 1).removesuffix("/model/")
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
def report(step, total, values, seconds):
    os.makedirs(folder, exist_ok=True)
    every = max(step // 80, 1)
    began = time.time() - seconds * step
    history = [
        {"step": each, "metrics": values(each), "at": round(began + seconds * each, 1)}
        for each in range(every, step + 1, every)
    ]
    found = {**history[-1], "total": total, "secondsPerStep": seconds, "history": history}
    with open(folder + "/.new", "w") as file:
        json.dump(found, file)
    os.replace(folder + "/.new", folder + "/vertex_cluster_progress.json")
def wave(step, scale):
    return scale * (math.sin(step * 1.7) + 0.6 * math.sin(step * 0.37))
"""
"""Code that writes the file of `vertex_cluster.report`: the package is not in the image."""

ENDED = (
    REPORT
    + """
import time
rate, steps, metric = float(given["--rate"]), int(given["--steps"]), given["--metric"]
off = abs(math.log10(rate) + 1.7)
def values(step):
    done = math.exp(-step / (240 + 200 * off))
    loss = 2.1 * done + 0.2 + 0.15 * off + wave(step, 0.006)
    return {"loss": loss, metric: (0.93 - 0.12 * off) * (1 - done) + wave(step, 0.003)}
report(steps, steps, values, 0.5)
last = ", ".join(f"{name} {value:.4f}" for name, value in values(steps).items())
print("epoch 20 of 20:", last, flush=True)
flag = "/gcs/flags/" + "-".join(folder.split("/")[-2:])
while not os.path.exists(flag): time.sleep(0.05)
"""
)
"""A program whose result depends on its rate; it ends with the flag of its run."""

LIVE = (
    REPORT
    + """
import time
def values(step):
    loss = 2.3 * math.exp(-step / 700) + 0.42 + wave(step / 7, 0.02)
    return {"loss": loss, "accuracy": 0.83 * (1 - math.exp(-step / 800)) + wave(step / 9, 0.006)}
step, held = 1180, bytearray(70_000_000)
while not os.path.exists("/gcs/flags/live-end"):
    report(step, 2600, values, 0.52)
    now = values(step)
    print(f"epoch {step // 200 + 1} step {step} loss {now['loss']:.4f} acc {now['accuracy']:.4f}", flush=True)
    if step % 200 < 2:
        print("saved gs://vision-data/resnet50/3/checkpoints/" + str(step), flush=True)
    until = time.time() + 0.12 + 0.03 * math.sin(step)
    while time.time() < until:
        sum(range(20_000))
    time.sleep(0.88)
    step += 2
"""
)

WORKER = """
import os, time
from math import sin
number, held, turn = int(os.environ.get("SLOT", "1")), bytearray(40_000_000), 0
print("joined the cluster, reading shard", os.environ.get("SLOT", "0"), flush=True)
while not os.path.exists("/gcs/flags/live-end"):
    until = time.time() + 0.05 + 0.03 * sin(turn / 3 + number)
    while time.time() < until:
        sum(range(20_000))
    time.sleep(0.5)
    turn += 1
    if turn % 40 == 0:
        print(f"shard {turn // 40} done, 12800 records", flush=True)
"""

FAILING = (
    """
print("epoch 1 of 12: loss 1.8821", flush=True)
print("loading the labels", flush=True)
"""
    + FLAG.format(name="flowers-5")
    + """
open("/gcs/vision-data/flowers/labels.csv")
"""
)

TRIAL = """
import math, os, sys
import hypertune
values = dict(one[2:].split('=', 1) for one in sys.argv[1:] if one.startswith('--'))
rate, decay = float(values['rate']), float(values['decay'])
accuracy = 0.93 - 0.09 * abs(math.log10(rate) + 2) - 0.6 * abs(decay - 0.1)
accuracy -= 0.02 if values['optimizer'] == 'sgd' else 0
for step in range(1, 9):
    hypertune.HyperTune().report_hyperparameter_tuning_metric('accuracy', accuracy * (1 - 0.6 ** step), step)
import time
flag = '/gcs/flags/search-' + str((int(os.environ['CLOUD_ML_TRIAL_ID']) - 1) // 4)
while not os.path.exists(flag): time.sleep(0.05)
"""
"""A trial that runs until its four may end."""


@dataclass(frozen=True, kw_only=True)
class Team:
    """The keys of the jobs that pictures show."""

    live: str
    failed: str
    tuning: str
    before: str
    compared: str


def labels(stack: str, resource: str, run: int, *, reason: str = "") -> dict[str, str]:
    """Return the labels of a job of a stack "project/name"."""
    project, _, name = stack.partition("/")
    found = {
        "pulumi-project": project,
        "pulumi-stack": name,
        "pulumi-resource": resource,
        "vertex-training-run": f"{resource}-{run}",
        "vertex-training-declaration": resource,
    }
    return {**found, "vertex-training-reason": reason} if reason else found


def machine(made: dict[str, Any], kind: str, accelerator: str = "") -> dict[str, Any]:
    """Return a pool with other machines."""
    spec: dict[str, Any] = {"machineType": kind}
    if accelerator:
        spec |= {"acceleratorType": accelerator, "acceleratorCount": 1}
    return {**made, "machineSpec": spec}


def make(scene: Scene) -> Team:
    """Make the jobs; the live one runs until the flag `live-end` is raised. The bucket `flags` must exist."""
    control = Control(url=scene.emulator.url, token=scene.emulator.token)
    scene.bucket(DATA, {"pulumi-project": "vision", "pulumi-stack": "dev", "pulumi-resource": "data"})
    scene.bucket("nlp-models", {"pulumi-project": "nlp", "pulumi-stack": "prod", "pulumi-resource": "models"})
    upload(scene, DATA, "flowers/train.csv", b"path,label\n", "text/csv")
    runs = [
        ("nlp/prod", "bert-squad", 1, 41, "f1", 0.2, 3),
        ("ads/prod", "two-tower-recsys", 4, 23, "auc", 0.1, 2),
        ("nlp/prod", "bert-squad", 2, 38, "f1", 0.02, 7),
        ("risk/dev", "xgb-fraud", 12, 6, "auc", 0.03, 1),
    ]
    ended = [_ended(scene, control, *one) for one in runs]
    cancelled = scene.create(
        machine(pool(FLAG.format(name="never")), "n1-standard-8", "NVIDIA_TESLA_T4"),
        name="whisper-small-de",
        labels=labels("speech/dev", "whisper-small-de", 2, reason="spec"),
    )
    scene.wait(cancelled, "JOB_STATE_RUNNING")
    control.advance_clock(847)
    assert scene.call("POST", f"{PARENT}/{cancelled}:cancel", {}).status == 200
    scene.wait(cancelled)
    tuning = _tuning(scene, control)
    _ended(scene, control, "vision/dev", "resnet50", 2, 9, "accuracy", 0.3, 3)
    failed = scene.create(
        machine(pool(FAILING), "n1-standard-8"),
        machine(pool(FLAG.format(name="never"), replicas=2), "n1-standard-8"),
        name="flowers",
        labels=labels("vision/dev", "flowers", 5, reason="spec"),
    )
    scene.wait(failed, "JOB_STATE_RUNNING")
    control.advance_clock(167)
    scene.raise_flag("flowers-5")
    scene.wait(failed)
    control.advance_clock(412)
    live = _live(scene)
    scene.wait(live, "JOB_STATE_RUNNING")
    control.advance_clock(624)
    return Team(live=live, failed=failed, tuning=tuning, before=ended[0], compared=ended[2])


def _ended(
    scene: Scene,
    control: Control,
    stack: str,
    name: str,
    run: int,
    minutes: int,
    metric: str,
    rate: float,
    workers: int,
) -> str:
    """Run a job that takes some minutes of the emulator's clock. Return its key."""
    folder, flag = f"{name}/{run}", f"{name}-{run}"
    options = {"--rate": rate, "--batch-size": 16 * workers, "--steps": 1600, "--metric": metric}
    args = [str(each) for pair in options.items() for each in pair]
    key = scene.create(
        machine(pool(ENDED, args=args), "n1-standard-8", "NVIDIA_TESLA_T4"),
        machine(pool("", replicas=workers), "n1-standard-8", "NVIDIA_TESLA_T4"),
        name=name,
        labels=labels(stack, name, run, reason="spec" if run > 1 else ""),
        baseOutputDirectory={"outputUriPrefix": f"gs://{DATA}/{folder}"},
    )
    scene.wait(key, "JOB_STATE_RUNNING")
    control.advance_clock(60 * minutes + 17)
    scene.raise_flag(flag)
    scene.wait(key)
    control.advance_clock(190)
    return key


def _live(scene: Scene) -> str:
    until_end = FLAG.format(name="live-end")
    gpu = ("n1-standard-8", "NVIDIA_TESLA_T4")
    return scene.create(
        machine(pool(LIVE), *gpu),
        machine(pool(WORKER, replicas=4, env=[{"name": "SLOT", "value": "1"}]), *gpu),
        machine(pool(until_end, replicas=2), "n1-highmem-8"),
        machine(pool("print('waits for checkpoints', flush=True)\n" + until_end), "n1-standard-4"),
        name="resnet50",
        labels=labels("vision/dev", "resnet50", 3, reason="spec"),
        baseOutputDirectory={"outputUriPrefix": f"gs://{DATA}/resnet50/3"},
    )


def _tuning(scene: Scene, control: Control) -> str:
    study = study_spec(
        double("rate", 0.0001, 0.3, scaleType="UNIT_LOG_SCALE"),
        double("decay", 0.0, 0.3),
        categorical("optimizer", "adam", "sgd"),
        algorithm="RANDOM_SEARCH",
    )
    made = scene.post(
        f"{PARENT}/hyperparameterTuningJobs",
        {
            "displayName": "resnet50-search",
            "maxTrialCount": 12,
            "parallelTrialCount": 4,
            "studySpec": study,
            "trialJobSpec": {"workerPoolSpecs": [machine(pool(TRIAL), "n1-standard-4")]},
            "labels": labels("vision/dev", "resnet50-search", 1),
        },
    )
    key = "/".join(made["name"].split("/")[-2:])
    for turn in range(3):
        started = 4 * (turn + 1)
        eventually(
            lambda wanted=started: (
                sum(_runs(scene, one) for one in trials_of(scene, key, "ACTIVE")) == 4
                and len(scene.get(key)["trials"]) == wanted
            ),
            what=lambda: scene.get(key),
        )
        control.advance_clock(250 + 60 * turn)
        scene.raise_flag(f"search-{turn}")
    scene.wait(key)
    return key


def _runs(scene: Scene, trial: Mapping[str, Any]) -> bool:
    job = str(trial.get("customJob", ""))
    return bool(job) and scene.get("/".join(job.split("/")[-2:]))["state"] == "JOB_STATE_RUNNING"
