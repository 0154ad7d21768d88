"""One of everything on an emulator, with hostile names, for the pages of the dashboard."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.runs import secret_arguments
from support.client.registries.pushed_images import push_small_image
from support.emulated.emulator import ask
from support.emulated.job_emulator import PARENT, pool
from support.emulated.services.pipelines import pipeline
from support.emulated.services.studies import categorical, double, study_spec
from support.emulated.ui.scene import Scene, owned
from support.waiting import eventually

HOSTILE = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>&amp;"
"""A name that would open a dialog if it became markup."""

IMAGE = "us-central1-docker.pkg.dev/local/images/digits:latest"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(3)</script></svg>'
OWNER = {"pulumi-project": "train", "pulumi-stack": "dev"}

TRIAL = """
import json, os, sys
values = dict(one[2:].split('=', 1) for one in sys.argv[1:] if one.startswith('--'))
rate = float(values['rate'])
number = os.environ['CLOUD_ML_TRIAL_ID']
if number == '2':
    sys.exit('this trial fails')
import hypertune
tuner = hypertune.HyperTune()
tuner.report_hyperparameter_tuning_metric('accuracy', 1 - abs(rate - 0.3), 1)
"""
"""A trial whose metric depends on a parameter; the second one fails."""

LAST = """
if number == '4':
    import time
    while not os.path.exists('/gcs/flags/{name}'): time.sleep(0.05)
"""
"""Code that lets the fourth trial wait for a flag."""


@dataclass(frozen=True, kw_only=True)
class Everything:
    """The keys of jobs, and the digest of an image."""

    first: str
    second: str
    tuning: str
    image: str


def picture(width: int = 60, height: int = 40) -> bytes:
    """Return a PNG with a gradient."""
    rows = b"".join(
        b"\0" + bytes(part for x in range(width) for part in (255 * x // width, 255 * y // height, 128))
        for y in range(height)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    end = chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + end


def upload(
    scene: Scene, bucket: str, name: str, content: bytes, kind: str = "application/octet-stream"
) -> None:
    """Put an object."""
    path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(name, safe='')}"
    emulator = scene.emulator
    sent = {"Content-Type": kind}
    ask(emulator, "POST", path, content, headers=sent).ok()


def make_objects(scene: Scene, *, many: int) -> None:
    """Fill the bucket `train-dev-data`."""
    scene.bucket("train-dev-data", {**OWNER, "pulumi-resource": "data"})
    metrics = b'{"accuracy":0.93,"big":123456789012345678901234567890,"per_class":[0.90,0.95]}'
    upload(scene, "train-dev-data", "digits/model/metrics.json", metrics, "application/json")
    upload(scene, "train-dev-data", "digits/labels.csv", b"name,label\nzero,0\none,1\n", "text/csv")
    upload(scene, "train-dev-data", "digits/picture.png", picture(), "text/html")
    upload(scene, "train-dev-data", "digits/picture.svg", SVG, "image/svg+xml")
    upload(scene, "train-dev-data", HOSTILE, b"<script>alert(4)</script>", "text/html")
    upload(scene, "train-dev-data", "weights.bin", bytes(range(256)) * 4)
    upload(scene, "train-dev-data", "empty", b"")
    for number in range(many):
        upload(scene, "train-dev-data", f"many/part-{number:04}", b"x")


def make_image(scene: Scene) -> str:
    """Push an image. Return its address with the digest."""
    body = {"format": "DOCKER", "labels": {**OWNER, "pulumi-resource": "images"}}
    scene.post(f"{PARENT}/repositories?repositoryId=images", body)
    return str(push_small_image(endpoint_of(scene), IMAGE, b"content"))


def make_runs(scene: Scene, *, name: str = "digits", replicas: tuple[int, int] = (1, 3)) -> tuple[str, str]:
    """Run two jobs of one resource with metrics, the second with more workers and another rate.

    Return their keys. The loss of each is lowest at step 2 of 3.
    """
    keys = []
    for run, (accuracy, workers) in enumerate(zip((0.91, 0.94), replicas, strict=True), start=1):
        code = (
            "import json, os\nfolder = os.environ['AIP_MODEL_DIR'].replace('gs://', '/gcs/', 1)\n"
            f"os.makedirs(folder, exist_ok=True)\nmetrics = {{'accuracy': {accuracy}, {HOSTILE!r}: 1}}\n"
            "json.dump(metrics, open(folder + 'metrics.json', 'w'))\n"
            f"history = [{{'step': step, 'at': 60 * {run} * step, 'metrics': {{'loss': loss}}}} "
            "for step, loss in enumerate("
            f"(1.0, {round(1 - accuracy, 2)}, 0.5), start=1)]\n"
            f"report = open('/gcs/train-dev-data/{name}/runs/{run}/vertex_cluster_progress.json', 'w')\n"
            "json.dump({**history[-1], 'history': history}, report)\n"
        )
        args = ["--rate", str(run / 10), "--token", f"hunter{run}"]
        labels = owned(name, run=f"{name}-{run}", reason="spec" if run > 1 else "")
        labels[secret_arguments.LABEL] = "0-6_1-6"
        directory = {"outputUriPrefix": f"gs://train-dev-data/{name}/runs/{run}/"}
        key = scene.create(
            pool(code, args=args),
            pool("pass", replicas=workers, args=args),
            name=name,
            labels=labels,
            baseOutputDirectory=directory,
        )
        scene.wait(key)
        keys.append(key)
    return keys[0], keys[1]


RANDOM = study_spec(
    double("rate", 0.0, 1.0), categorical("optimizer", "adam", "<b>sgd</b>"), algorithm="RANDOM_SEARCH"
)


def make_tuning(
    scene: Scene, *, trials: int = 6, waits_for: str = "", study: Mapping[str, Any] = RANDOM
) -> str:
    """Start a tuning job. Return its key. With `waits_for` its fourth trial waits for that flag."""
    code = TRIAL + (LAST.format(name=waits_for) if waits_for else "")
    made = scene.post(
        f"{PARENT}/hyperparameterTuningJobs",
        {
            "displayName": "search",
            "maxTrialCount": trials,
            "parallelTrialCount": 1,
            "maxFailedTrialCount": 3,
            "studySpec": study,
            "trialJobSpec": {"workerPoolSpecs": [pool(code)]},
            "labels": owned("search", run="tune-1"),
        },
    )
    return "/".join(made["name"].split("/")[-2:])


def trials_of(scene: Scene, key: str, *states: str) -> list[Mapping[str, Any]]:
    """Return the trials of a tuning job that are in one of the states."""
    trials: list[Mapping[str, Any]] = scene.get(key).get("trials", [])
    return [one for one in trials if one["state"] in states]


def make_resources(scene: Scene) -> None:
    """Create a persistent resource, a schedule, a model, and a pipeline."""
    machines = {
        "resourcePools": [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "2"}],
        "labels": {**OWNER, "pulumi-resource": "machines"},
    }
    scene.post(f"{PARENT}/persistentResources?persistentResourceId=machines", machines)
    schedule = {
        "name": f"{PARENT.removeprefix('/v1/')}/jobs/nightly",
        "schedule": "0 3 * * *",
        "timeZone": "Etc/UTC",
        "httpTarget": {
            "uri": f"https://us-central1-aiplatform.googleapis.com{PARENT}/customJobs",
            "httpMethod": "POST",
            "headers": {"X-Vertex-Training-Owner": "train/dev/nightly"},
            "body": "e30=",
        },
    }
    scene.post(f"{PARENT}/jobs", schedule)
    upload(scene, "train-dev-data", "digits/saved/model.bin", b"trained")
    serving = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-3:latest"
    model = {
        "displayName": HOSTILE[:60],
        "containerSpec": {"imageUri": serving},
        "artifactUri": "gs://train-dev-data/digits/saved/",
        "labels": {**OWNER, "pulumi-resource": "model"},
    }
    directory = {"outputUriPrefix": "gs://train-dev-data/pipeline"}
    trained = pipeline("", name="weekly", task={"baseOutputDirectory": directory})
    scene.post(f"{PARENT}/trainingPipelines", {**trained, "labels": owned("weekly", run="weekly-1")})
    scene.post(f"{PARENT}/models:upload", {"model": model})
    eventually(lambda: scene.call("GET", f"{PARENT}/models").json().get("models"), what=lambda: "no model")


def make(scene: Scene, *, many: int = 130) -> Everything:
    """Make one of everything. The tuning job may still be running."""
    scene.bucket("flags")
    make_objects(scene, many=many)
    image = make_image(scene)
    make_resources(scene)
    tuning = make_tuning(scene)
    first, second = make_runs(scene)
    return Everything(first=first, second=second, tuning=tuning, image=image)


def endpoint_of(scene: Scene) -> Endpoint:
    """Return the endpoint of the emulator."""
    emulator = scene.emulator
    return Endpoint(
        kind="emulator", project="local", location="us-central1", url=emulator.url, token=emulator.token
    )
