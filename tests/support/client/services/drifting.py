"""A program with every kind of resource, and all of them changed behind its stack's back."""

from __future__ import annotations

import json
from typing import Any

from pulumi_vertex_training.cloud import objects, rest
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry.image_names import parse
from pulumi_vertex_training.runs.gateway import gateway_of
from support.client.engine import Engine
from support.client.registries.pushed_images import push_small_image
from support.waiting import eventually

PARENT = "projects/local/locations/us-central1"
PLACE = "us-central1-docker.pkg.dev/local/images"
BASE = "gcr.io/bases/mine:1"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
TASK_IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
SLEEP = ["python3", "-c", "import time; time.sleep(600)"]
PROGRAM = f"""
import foreign

container = {{"image_uri": {TASK_IMAGE!r}, "command": {SLEEP!r}}}
pools = [
    {{"machine_spec": {{"machine_type": "n1-standard-4"}}, "replica_count": 1, "container_spec": container}}
]
machines = [{{"machine_spec": {{"machine_type": "n1-standard-4"}}, "replica_count": 1}}]
study = {{
    "metrics": [{{"metric_id": "loss", "goal": "MINIMIZE"}}],
    "parameters": [{{"parameter_id": "x", "discrete_value_spec": {{"values": [1, 2]}}}}],
    "algorithm": "GRID_SEARCH",
}}

data = vt.StagingBucket("data", name="drift-data", force_destroy=True, labels={{"team": "vision"}})
vt.StagingBucket("lost-bucket", name="drift-lost", force_destroy=True)
rows = vt.StagedFile("rows", bucket=data, source="rows.txt", prefix="rows")
vt.StagedPackage("package", bucket=data, source="trainer")
vt.StagedFolder("photos", bucket=data, source="photos")
images = vt.ImageRepository("images", repository_id="images", force_destroy=True, description="ours")
vt.ImageRepository("lost-images", repository_id="lost-images")
for name in ("tagged", "rebased", "lost-image"):
    base = {BASE!r} if name == "rebased" else "python:3.11-slim"
    vt.TrainingImage(name, repository=images, source="trainer", base_image=base)
for name in ("default", "labelled", "lost-model"):
    vt.Model(
        name,
        model_id=name,
        artifact_uri="gs://drift-data/rows",
        container_spec={{"image_uri": {SERVING!r}}},
        labels={{"team": "vision"}},
        is_default_version=True,
        opts=pulumi.ResourceOptions(depends_on=[rows]),
    )
for name in ("machines", "lost-machines"):
    vt.PersistentResource(name, persistent_resource_id=name, resource_pools=machines)
for name in ("same", "cancelled", "lost", "cancelled-never", "lost-never"):
    rerun = "never" if name.endswith("never") else "on_change"
    vt.CustomJob(name, worker_pool_specs=pools, rerun=rerun, wait="none")
quick = {{**pools[0], "container_spec": {{**container, "command": ["true"]}}}}
vt.CustomJob("ended", worker_pool_specs=[quick], wait="done")
vt.CustomJob("adopted", worker_pool_specs=pools, adopt=config.require("adopt"), wait="none")
for name in ("search", "lost-search"):
    vt.HyperparameterTuningJob(
        name,
        study_spec=study,
        max_trial_count=2,
        parallel_trial_count=1,
        trial_job_spec={{"worker_pool_specs": pools}},
        wait="none",
    )
for name in ("pipeline", "lost-pipeline"):
    task = vt.task_from_image({TASK_IMAGE!r}, command={SLEEP!r})
    vt.TrainingPipeline(name, custom_task=task, staging_bucket=data, wait="none")
for name in ("other", "lost-other"):
    foreign.Thing(name)
"""
FOREIGN = """
import json
from pathlib import Path

from pulumi.dynamic import CreateResult, ReadResult, Resource, ResourceProvider


class Provider(ResourceProvider):
    def create(self, props):
        Path("thing-" + props["name"]).write_text(json.dumps({"size": 1, "token": props["token"]}))
        return CreateResult(props["name"], props)

    def read(self, id, props):
        file = Path("thing-" + id)
        if not file.exists():
            return ReadResult(None, {})
        live = {**props, **json.loads(file.read_text())}
        return ReadResult(id, live, {name: value for name, value in live.items() if name != "__provider"})

    def update(self, id, olds, news):
        self.create(news)
        from pulumi.dynamic import UpdateResult
        return UpdateResult(news)


class Thing(Resource, module="foreign", name="Thing"):
    def __init__(self, name):
        import pulumi
        token = pulumi.Output.secret("hunter2-hunter2")
        super().__init__(Provider(), name, {"name": name, "size": 1, "token": token})
"""


def prepare(engine: Engine) -> None:
    """Write the program and its files, push its base image, and submit the job that it adopts."""
    infra = engine.folder / "infra"
    (infra / "foreign.py").write_text(FOREIGN)
    (infra / "rows.txt").write_text("1,2,3\n")
    (infra / "photos").mkdir()
    (infra / "photos" / "a.txt").write_text("a")
    (infra / "photos" / "b.txt").write_text("b")
    (infra / "trainer").mkdir()
    (infra / "trainer" / "task.py").write_text("print('trained')\n")
    push_small_image(engine.endpoint(), BASE, b"base")
    theirs = {
        "displayName": "adopted",
        "jobSpec": {
            "workerPoolSpecs": [
                {
                    "machineSpec": {"machineType": "n1-standard-4"},
                    "replicaCount": "1",
                    "containerSpec": {"imageUri": TASK_IMAGE, "command": SLEEP},
                }
            ]
        },
    }
    engine.set("adopt", call(engine, "POST", f"/v1/{PARENT}/customJobs", theirs)["name"])
    engine.write(PROGRAM)


def call(engine: Engine, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Call a method of a REST API on the emulator, as somebody else would. Wait for its operation, if any."""
    endpoint = engine.endpoint()

    def send(method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        return rest.call(endpoint, method, f"{endpoint.url}{path}", body=body)

    answer = send(method, path, body)
    operation = str(answer.get("name", ""))
    if "/operations/" in operation:
        eventually(lambda: send("GET", f"/v1/{operation}").get("done"), what=lambda: operation)
    return answer


def ids(engine: Engine) -> dict[str, str]:
    """Return the ids of the recorded resources by name.

    The default provider has the name of one of them, and may stand anywhere in the state.
    """
    return {one["urn"].rpartition("::")[2]: one["id"] for one in engine.state() if one["custom"]}


def change_everything(engine: Engine, of: dict[str, str]) -> None:
    """Change, cancel or delete one resource of each kind."""
    endpoint = engine.endpoint()
    storage = "/storage/v1/b"
    upload = {"displayName": "theirs", "containerSpec": {"imageUri": SERVING}}
    call(
        engine,
        "POST",
        f"/v1/{PARENT}/models:upload",
        {
            "parentModel": f"{PARENT}/models/default",
            "model": {**upload, "artifactUri": "gs://drift-data/rows", "versionAliases": ["default"]},
        },
    )
    call(
        engine,
        "PATCH",
        f"{storage}/drift-data",
        {"labels": {"team": "speech"}, "versioning": {"enabled": True}},
    )
    call(engine, "DELETE", f"{storage}/drift-lost")
    objects.upload(endpoint, "drift-data", object_of(of["rows"]), b"4,5,6")
    objects.upload(endpoint, "drift-data", f"{object_of(of['photos'])}/a.txt", b"z")
    call(engine, "DELETE", f"{storage}/drift-data/o/{object_of(of['package']).replace('/', '%2F')}")
    call(engine, "PATCH", f"/v1/{of['images']}?updateMask=description", {"description": "theirs"})
    call(engine, "DELETE", f"/v1/{of['lost-images']}")
    push_small_image(endpoint, f"{PLACE}/tagged:latest", b"theirs")
    push_small_image(endpoint, BASE, b"newer")
    registry.delete(endpoint, parse(f"{PLACE}/lost-image:latest"))
    registry.delete(endpoint, parse(of["lost-image"]))
    call(engine, "PATCH", f"/v1/{PARENT}/models/labelled?updateMask=labels", {"labels": {"team": "speech"}})
    call(engine, "DELETE", f"/v1/{PARENT}/models/lost-model")
    machines = call(engine, "GET", f"/v1/{PARENT}/persistentResources/machines")
    (pool,) = machines["resourcePools"]
    call(
        engine,
        "PATCH",
        f"/v1/{PARENT}/persistentResources/machines?updateMask=resourcePools",
        {"resourcePools": [{"id": pool["id"], "machineSpec": pool["machineSpec"], "replicaCount": "2"}]},
    )
    call(engine, "DELETE", f"/v1/{PARENT}/persistentResources/lost-machines")
    for name in ("cancelled", "cancelled-never", "search", "pipeline", *DELETED_JOBS):
        call(engine, "POST", f"/v1/{of[name]}:cancel", {})
    for name in ("ended", *DELETED_JOBS):
        await_end(engine, of[name])
        call(engine, "DELETE", f"/v1/{of[name]}")
    for name in ("cancelled", "cancelled-never", "search", "pipeline"):
        await_end(engine, of[name])
    (engine.folder / "infra" / "thing-other").write_text(json.dumps({"size": 2, "token": "hunter3-hunter3"}))
    (engine.folder / "infra" / "thing-lost-other").unlink()


DELETED_JOBS = ("lost", "lost-never", "adopted", "lost-search", "lost-pipeline")


def object_of(uri: str) -> str:
    return uri.removeprefix("gs://drift-data/")


def await_end(engine: Engine, name: str) -> None:
    eventually(lambda: has_ended(engine, name), what=lambda: name)


def has_ended(engine: Engine, name: str) -> bool:
    return gateway_of(name).get(engine.endpoint(), name).state.is_terminal


def live_values(engine: Engine) -> dict[str, Any]:
    """Return what the services have of each resource that drifted, by its name."""
    endpoint, of = engine.endpoint(), ids(engine)

    def get(path: str) -> dict[str, Any]:
        return call(engine, "GET", path)

    bucket = get("/storage/v1/b/drift-data")
    infra = engine.folder / "infra"
    return {
        "data": (bucket["labels"]["team"], bucket["versioning"]["enabled"]),
        "lost-bucket": get("/storage/v1/b/drift-lost")["name"],
        "rows": objects.read(endpoint, "drift-data", object_of(of["rows"])),
        "photos": objects.read(endpoint, "drift-data", f"{object_of(of['photos'])}/a.txt"),
        "package": get(f"/storage/v1/b/drift-data/o/{object_of(of['package']).replace('/', '%2F')}")["name"],
        "images": get(f"/v1/{of['images']}")["description"],
        "lost-images": get(f"/v1/{of['lost-images']}")["name"],
        **{
            name: registry.digest_at(endpoint, parse(f"{PLACE}/{name}:latest")) == parse(of[name]).digest
            for name in ("tagged", "rebased", "lost-image")
        },
        "default": "default" in get(f"/v1/{of['default']}")["versionAliases"],
        "labelled": get(f"/v1/{of['labelled']}")["labels"]["team"],
        "lost-model": get(f"/v1/{of['lost-model']}")["displayName"],
        "machines": get(f"/v1/{of['machines']}")["resourcePools"][0]["replicaCount"],
        "lost-machines": get(f"/v1/{of['lost-machines']}")["resourcePools"][0]["replicaCount"],
        **{name: not has_ended(engine, of[name]) for name in REPAIRED_JOBS},
        "other": json.loads((infra / "thing-other").read_text())["size"],
        "lost-other": json.loads((infra / "thing-lost-other").read_text())["size"],
    }


REPAIRED_JOBS = ("cancelled", "lost", "adopted", "search", "lost-search", "pipeline", "lost-pipeline")
