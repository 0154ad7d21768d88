"""One description of each kind of resource, for all tests that kill a deployment.

A `Subject` is how a kind is declared, changed and deleted, and what the service then has. The in-process
trials (`support.client.in_process.trials`), the kills of real processes (`support.client.kills.stage`) and
the soak (`soak.kills`) take the same program and the same listing of the service.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from pulumi_vertex_training.registry import type_token
from vertex_emulator.client.control import Control

PARENT = "/v1/projects/local/locations/us-central1"
JOBS = ("customJobs", "hyperparameterTuningJobs", "trainingPipelines")
COLLECTIONS = (*JOBS, "models", "persistentResources")
"""All collections in which a stack may leave resources."""

_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")
_CODE = re.compile(r"\b(spec|note)-\d+(-\d+)*")
Record = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """The values with which a program declares a resource.

    `spec` (`spec-N`): a change replaces the resource. `note` (`note-N`): a change is made in place. `called`:
    the last part of its name in the service; "" is the default name. `options` are Python arguments.
    `command` has to take the arguments of trials.
    """

    spec: str = "spec-1"
    note: str = "note-1"
    called: str = ""
    command: tuple[str, ...] = ("sh", "-c", "exec sleep 600")
    options: str = ""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A kind, and the program that declares one resource of it.

    `text` assigns the resource to `made`. It has the names `name`, `called`, `spec`, `note`, `command`,
    `image` and `options`, and those that the texts of `needs` assign. `calls` has the service's methods; a
    verb that is missing is verb and `message`. `run`: the resource is a job. `shows`: the values of a
    declaration that the service's records show.
    """

    noun: str
    type: str
    message: str
    collection: str
    service: str
    name: str
    text: str
    needs: tuple[str, ...] = ()
    run: bool = False
    shows: tuple[str, ...] = ("spec", "note", "called")
    calls: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def urn(self) -> str:
        return f"urn:pulumi:test::engine-test::{type_token(self.type)}::{self.name}"

    @property
    def creates(self) -> str:
        """The method that creates the resource."""
        method = self.method("Create")
        return method if method.startswith(f"{self.service}.") else f"{self.service}.{method}"

    def method(self, what: str) -> str:
        """Return the service's method for a verb; other names stay as they are."""
        if what in self.calls:
            return self.calls[what]
        return what + self.message if what in ("Create", "Get", "Cancel", "Delete") else what

    def program(self, declared: Declaration | None, name: str = "", *, given: str | None = None) -> str:
        """Return the program; None is the program without the resource, but with all that it needs.

        `given` assigns what it needs, in place of resources of its own.
        """
        name = name or self.name
        values = declared or Declaration()
        called = f"{name}-{values.called}" if values.called else None
        names = (name, called, values.spec, values.note, list(values.command))
        head = f"name, called, spec, note, command = {names!r}\n"
        head += f"image, options = {_STOCK!r}, dict({values.options})\n"
        needs = self.needs if given is None else (given,)
        return "".join([head, *needs, self.text if declared else ""])


def state_of(record: Record) -> str:
    """Return the state without its prefix; RUNNING for a record without a state."""
    return str(record.get("state", "RUNNING")).removeprefix("JOB_STATE_").removeprefix("PIPELINE_STATE_")


def has_ended(record: Record) -> bool:
    return state_of(record) in _ENDED


def shown(record: Record) -> tuple[str, str]:
    """Return the specs and the notes that a record of the service has anywhere, usually one of each."""
    codes = {match[0] for match in _CODE.finditer(json.dumps(record))}
    if "resourcePools" in record:
        codes |= {f"note-{pool['replicaCount']}" for pool in record["resourcePools"]}
    specs, notes = ([code for code in codes if code.startswith(kind)] for kind in ("spec", "note"))
    return " ".join(sorted(specs)), " ".join(sorted(notes))


def listed(control: Control, collection: str) -> list[dict[str, Any]]:
    """Return all records of a collection: of models, one for each version; of folders and images, likewise.

    Objects have their gs:// URIs as names. A folder is all objects below `gs://BUCKET/FOLDERS/NAME/HASH`.
    """
    if collection == "models":
        names = [one["name"] for one in _records(control, "models")]
        found = [_all(control, f"/v1/{name}:listVersions", "models") for name in names]
        return [{**one, "name": _versioned(one)} for versions in found for one in versions]
    if collection == "images":
        repositories = [one["name"] for one in _records(control, "repositories")]
        images = [_all(control, f"/v1/{name}/dockerImages", "dockerImages") for name in repositories]
        return [{**one, "name": one["uri"]} for each in images for one in each]
    if collection in ("buckets", "objects", "folders"):
        return list(_stored(control, collection))
    return _records(control, collection)


def local(name: str) -> str:
    """Return a name from the location on: the project appears as its id or as its number."""
    return name.partition("/locations/")[2] or name


def _records(control: Control, collection: str) -> list[dict[str, Any]]:
    return _all(control, f"{PARENT}/{collection}", collection)


def _all(control: Control, path: str, key: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    token = ""
    while True:
        page = control.call("GET", f"{path}{'&' if '?' in path else '?'}pageToken={token}" if token else path)
        found += page.get(key, [])
        token = page.get("nextPageToken", "")
        if not token:
            return found


def _stored(control: Control, collection: str) -> Iterator[dict[str, Any]]:
    buckets = _all(control, "/storage/v1/b?project=local", "items")
    if collection == "buckets":
        yield from buckets
        return
    folders: dict[str, list[dict[str, Any]]] = {}
    for bucket in buckets:
        for one in _all(control, f"/storage/v1/b/{quote(bucket['name'])}/o", "items"):
            uri = f"gs://{one['bucket']}/{one['name']}"
            if collection == "objects":
                yield {**one, "name": uri}
            folders.setdefault("/".join(uri.split("/")[:6]), []).append(one)
    if collection == "folders":
        yield from ({"name": name, "objects": objects} for name, objects in folders.items())


def _versioned(version: Record) -> str:
    return f"{version['name'].partition('@')[0]}@{version['versionId']}"


_STOCK = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"
_POOL = """
pool = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {
        "image_uri": image,
        "command": command,
        "env": [{"name": "SPEC", "value": spec}, {"name": "OF", "value": name}],
    },
}
"""
_RUN = '**{"on_replace": "delete", "wait": "none", **options}'
_BUCKET = 'bucket = vt.StagingBucket("bucket", name=f"{name}-bucket")\n'
"""The bucket of other resources. It has no `force_destroy`: an object that nobody deletes keeps it."""
_FORCED = 'bucket = vt.StagingBucket("bucket", name=f"{name}-bucket", force_destroy=True)\n'
_REPOSITORY = 'repository = vt.ImageRepository("repository", repository_id=f"{name}-images")\n'
SOURCE = """
import pathlib, shutil
source = pathlib.Path(f"{name}-source")
shutil.rmtree(source, ignore_errors=True)
source.mkdir()
"""

CUSTOM_JOB = Subject(
    noun="job",
    type="CustomJob",
    message="CustomJob",
    collection="customJobs",
    service="JobService",
    name="train",
    run=True,
    shows=("spec",),
    text=f"{_POOL}made = vt.CustomJob(name, worker_pool_specs=[pool], {_RUN})\n",
)
TUNING_JOB = Subject(
    noun="tuning job",
    type="HyperparameterTuningJob",
    message="HyperparameterTuningJob",
    collection="hyperparameterTuningJobs",
    service="JobService",
    name="search",
    run=True,
    shows=("spec",),
    text=f"""{_POOL}
made = vt.HyperparameterTuningJob(
    name,
    study_spec={{
        "metrics": [{{"metric_id": "loss", "goal": "MINIMIZE"}}],
        "parameters": [{{"parameter_id": "x", "discrete_value_spec": {{"values": [1, 2, 3]}}}}],
        "algorithm": "GRID_SEARCH",
    }},
    max_trial_count=3,
    parallel_trial_count=2,
    trial_job_spec={{"worker_pool_specs": [pool]}},
    {_RUN},
)
""",
)
PIPELINE = Subject(
    noun="pipeline",
    type="TrainingPipeline",
    message="TrainingPipeline",
    collection="trainingPipelines",
    service="PipelineService",
    name="digits",
    run=True,
    shows=("spec",),
    needs=(_FORCED,),
    text=f"""{_POOL}
made = vt.TrainingPipeline(
    name,
    custom_task={{"worker_pool_specs": [pool]}},
    model_to_upload={{
        "display_name": name,
        "container_spec": {{"image_uri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"}},
    }},
    model_id=name,
    staging_bucket=bucket,
    on_delete="delete",
    {_RUN},
)
""",
)
MODEL = Subject(
    noun="model",
    type="Model",
    message="Model",
    collection="models",
    service="ModelService",
    name="digits",
    calls=MappingProxyType({"Create": "UploadModel", "Update": "UpdateModel", "Delete": "DeleteModel*"}),
    text="""
serving = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
made = vt.Model(
    name,
    display_name=note,
    model_id=called or name,
    container_spec={"image_uri": serving, "env": [{"name": "SPEC", "value": spec}]},
    description=note,
    version_description=note,
    version_aliases=[note],
    labels={"note": note},
    on_delete="delete",
    **options,
)
""",
)
PERSISTENT_RESOURCE = Subject(
    noun="persistent resource",
    type="PersistentResource",
    message="PersistentResource",
    collection="persistentResources",
    service="PersistentResourceService",
    name="gpus",
    calls=MappingProxyType({"Update": "UpdatePersistentResource"}),
    text="""
machines = {"machine_type": "n1-standard-4"}
made = vt.PersistentResource(
    name,
    persistent_resource_id=called or name,
    resource_pools=[{"machine_spec": machines, "replica_count": int(note[5:]), "id": spec}],
    display_name=note,
    **options,
)
""",
)
BUCKET = Subject(
    noun="bucket",
    type="StagingBucket",
    message="Bucket",
    collection="buckets",
    service="storage",
    name="staging",
    calls=MappingProxyType(
        {
            "Create": "storage.buckets.insert",
            "Get": "storage.buckets.get",
            "Update": "storage.buckets.patch",
            "Delete": "storage.buckets.delete",
        }
    ),
    text="""
place = None if called else ("europe-west4", "us-central1", "us-east1")[int(spec[5:]) % 3]
made = vt.StagingBucket(name, name=called, location=place, labels={"spec": spec, "note": note}, **options)
""",
)
REPOSITORY = Subject(
    noun="repository",
    type="ImageRepository",
    message="Repository",
    collection="repositories",
    service="ArtifactRegistry",
    name="images",
    calls=MappingProxyType({"Update": "UpdateRepository"}),
    text="""
key = f"projects/local/locations/us-central1/keyRings/ring/cryptoKeys/{spec}"
made = vt.ImageRepository(name, repository_id=called, kms_key_name=key, description=note, **options)
""",
)
_OBJECT = MappingProxyType(
    {
        "Create": "storage.objects.insert",
        "Get": "storage.objects.get",
        "Delete": "storage.objects.delete",
    }
)
STAGED_FILE = Subject(
    noun="staged file",
    type="StagedFile",
    message="Object",
    collection="objects",
    service="storage",
    name="data",
    calls=_OBJECT,
    needs=(_BUCKET,),
    text=f"""{SOURCE}
file = source / f"{{spec}}.{{note}}.txt"
file.write_text(f"{{spec}} {{note}}")
made = vt.StagedFile(name, bucket=bucket, source=str(file), prefix=called or "files", **options)
""",
)
STAGED_PACKAGE = Subject(
    noun="staged package",
    type="StagedPackage",
    message="Object",
    collection="objects",
    service="storage",
    name="trainer",
    calls=_OBJECT,
    needs=(_BUCKET,),
    text=f"""{SOURCE}
(source / "task.py").write_text(f"print('{{spec}} {{note}}')")
prefix = f"{{called or 'packages'}}/{{spec}}/{{note}}"
made = vt.StagedPackage(name, bucket=bucket, source=str(source / "task.py"), prefix=prefix, **options)
""",
)
STAGED_FOLDER = Subject(
    noun="staged folder",
    type="StagedFolder",
    message="Object",
    collection="folders",
    service="storage",
    name="data",
    calls=MappingProxyType({**_OBJECT, "Get": "storage.objects.list"}),
    needs=(_BUCKET,),
    text=f"""{SOURCE}
(source / "same.txt").write_text("same")
(source / "train").mkdir()
for code in (spec, note):
    (source / "train" / code).write_text(code)
prefix = f"{{called or 'folders'}}/{{name}}"
made = vt.StagedFolder(name, bucket=bucket, source=str(source), prefix=prefix, **options)
""",
)
IMAGE = Subject(
    noun="image",
    type="TrainingImage",
    message="Manifest",
    collection="images",
    service="registry",
    name="image",
    shows=("spec", "note"),
    calls=MappingProxyType(
        {
            "Create": "registry.manifests.put",
            "Update": "registry.manifests.put",
            "Delete": "registry.manifests.delete",
        }
    ),
    needs=(_REPOSITORY,),
    text=f"""{SOURCE}
(source / "task.py").write_text(f"print('{{spec}}')")
made = vt.TrainingImage(
    name,
    repository=repository,
    source=str(source),
    base_image="python:3.11-slim",
    tags=[spec, note],
    on_delete="delete",
    **options,
)
""",
)
SCHEDULE = Subject(
    noun="schedule",
    type="TrainingSchedule",
    message="Job",
    collection="jobs",
    service="CloudScheduler",
    name="nightly",
    shows=("note", "called"),
    needs=(_POOL + 'job = vt.CustomJob(f"job of {name}", worker_pool_specs=[pool], wait="none")\n',),
    text="""
made = vt.TrainingSchedule(
    name, job=job, schedule_id=called, schedule="0 3 1 1 *", paused=True, description=note, **options
)
""",
)
SUBJECTS = (
    *(CUSTOM_JOB, TUNING_JOB, PIPELINE, MODEL, PERSISTENT_RESOURCE, BUCKET, REPOSITORY),
    *(STAGED_FILE, STAGED_PACKAGE, STAGED_FOLDER, IMAGE, SCHEDULE),
)
