"""The resources of each kind around which `support.kills.stage` kills a process, with their service's calls.

A program has `spec-N`, a change of which replaces the resource, and `note-N`, which changes in place;
the service's resource shows both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Template
from types import MappingProxyType
from typing import Any

from pulumi_vertex_training.registry import type_token

PARENT = "/v1/projects/local/locations/us-central1"
COLLECTIONS = (
    "customJobs",
    "hyperparameterTuningJobs",
    "trainingPipelines",
    "models",
    "persistentResources",
)
"""All collections in which a stack may leave resources."""

_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A kind, and the program that declares one resource of it.

    `message` is its name in the service's methods, `calls` has those methods that are not verb and message.
    `good` is the shell command of a job that succeeds. `run`: whether the resource has a `Run`.
    """

    noun: str
    type: str
    message: str
    collection: str
    service: str
    resource: str
    program: str
    good: str = "true"
    run: bool = True
    calls: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def urn(self) -> str:
        kind = type_token(self.type)
        return f"urn:pulumi:test::engine-test::{kind}::{self.resource}"

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

    def declaration(self, **values: Any) -> str:
        """Return the program with these values as Python literals; `options` is inserted as it is."""
        options = values.pop("options")
        given = {"name": self.resource, **values}
        return Template(self.program).substitute(
            {name: repr(value) for name, value in given.items()}, options=options
        )


def state_of(record: Mapping[str, Any]) -> str:
    """Return the state without its prefix; RUNNING for a record without a state."""
    return str(record.get("state", "RUNNING")).removeprefix("JOB_STATE_").removeprefix("PIPELINE_STATE_")


def has_ended(record: Mapping[str, Any]) -> bool:
    return state_of(record) in _ENDED


CUSTOM_JOB = Subject(
    noun="job",
    type="CustomJob",
    message="CustomJob",
    collection="customJobs",
    service="JobService",
    resource="train",
    program="""
pool = vt.WorkerPoolSpecArgs(
    machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
    replica_count=1,
    container_spec=vt.ContainerSpecArgs(
        image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        command=$command,
        env=[vt.EnvVarArgs(name="SPEC", value=$spec)],
    ),
)
vt.CustomJob($name, worker_pool_specs=[pool], **{"on_replace": "delete", **dict($options)})
""",
)

_METRIC = '{"timestamp": 1, "trial": "1", "loss": 1, "global_step": "1"}'
_POOL = """
pool = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {
        "image_uri": "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest",
        "command": $command,
        "env": [{"name": "SPEC", "value": $spec}],
    },
}
"""

TUNING_JOB = Subject(
    noun="tuning job",
    type="HyperparameterTuningJob",
    message="HyperparameterTuningJob",
    collection="hyperparameterTuningJobs",
    service="JobService",
    resource="search",
    program=_POOL
    + """
vt.HyperparameterTuningJob(
    $name,
    study_spec={
        "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
        "parameters": [{"parameter_id": "x", "discrete_value_spec": {"values": [1, 2, 3]}}],
        "algorithm": "GRID_SEARCH",
    },
    max_trial_count=3,
    parallel_trial_count=2,
    trial_job_spec={"worker_pool_specs": [pool]},
    on_replace="delete",
    $options
)
""",
    good=f"echo '{_METRIC}' > \"$CLOUD_ML_HP_METRIC_FILE\"",
)

PIPELINE = Subject(
    noun="pipeline",
    type="TrainingPipeline",
    message="TrainingPipeline",
    collection="trainingPipelines",
    service="PipelineService",
    resource="digits",
    program=_POOL
    + """
bucket = vt.StagingBucket("staging", name="staging", force_destroy=True)
vt.TrainingPipeline(
    $name,
    custom_task={"worker_pool_specs": [pool]},
    model_to_upload={
        "display_name": "digits",
        "container_spec": {"image_uri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"},
    },
    model_id="digits",
    staging_bucket=bucket,
    on_replace="delete",
    on_delete="delete",
    $options
)
""",
    good='folder="/gcs/${AIP_MODEL_DIR#gs://}"; mkdir -p "$folder"; echo weights > "$folder/model.txt"',
)

MODEL = Subject(
    noun="model",
    type="Model",
    message="Model",
    collection="models",
    service="ModelService",
    resource="digits",
    run=False,
    calls=MappingProxyType({"Create": "UploadModel"}),
    program="""
import pathlib
pathlib.Path("model.txt").write_text("a model")
bucket = vt.StagingBucket("staging", name="staging", force_destroy=True)
file = vt.StagedFile("file", bucket=bucket, source="model.txt", prefix="model")
vt.Model(
    $name,
    artifact_uri="gs://staging/model",
    container_spec={
        "image_uri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest",
        "env": [{"name": "SPEC", "value": $spec}],
    },
    description=$note,
    version_description=$note,
    version_aliases=[$note],
    model_id="digits",
    opts=pulumi.ResourceOptions(depends_on=[file]),
    on_delete="delete",
    $options
)
""",
)

PERSISTENT_RESOURCE = Subject(
    noun="persistent resource",
    type="PersistentResource",
    message="PersistentResource",
    collection="persistentResources",
    service="PersistentResourceService",
    resource="gpus",
    run=False,
    program="""
vt.PersistentResource(
    $name,
    resource_pools=[
        {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": $count, "id": $spec}
    ],
    display_name=$note,
    persistent_resource_id="gpus",
    $options
)
""",
)

BUCKET = Subject(
    noun="bucket",
    type="StagingBucket",
    message="Bucket",
    collection="buckets",
    service="storage",
    resource="staging",
    run=False,
    calls=MappingProxyType(
        {
            "Create": "storage.buckets.insert",
            "Get": "storage.buckets.get",
            "Update": "storage.buckets.patch",
            "Delete": "storage.buckets.delete",
        }
    ),
    program="""
vt.StagingBucket($name, labels={"spec": $spec, "note": $note}, $options)
""",
)

REPOSITORY = Subject(
    noun="repository",
    type="ImageRepository",
    message="Repository",
    collection="repositories",
    service="ArtifactRegistry",
    resource="images",
    run=False,
    program="""
vt.ImageRepository($name, labels={"spec": $spec}, description=$note, $options)
""",
)

STAGED_FILE = Subject(
    noun="staged file",
    type="StagedFile",
    message="Object",
    collection="objects",
    service="storage",
    resource="data",
    run=False,
    calls=MappingProxyType(
        {
            "Create": "storage.objects.insert",
            "Get": "storage.objects.get",
            "Delete": "storage.objects.delete",
        }
    ),
    program="""
import pathlib
pathlib.Path("data.txt").write_text($spec)
bucket = vt.StagingBucket("staging", name="staging")
vt.StagedFile($name, bucket=bucket, source="data.txt", prefix=$spec, $options)
""",
)
"""Its bucket has no `force_destroy`: an object that nobody deletes keeps it."""

STAGED_FOLDER = Subject(
    noun="staged folder",
    type="StagedFolder",
    message="Object",
    collection="folders",
    service="storage",
    resource="data",
    run=False,
    calls=MappingProxyType(
        {
            "Create": "storage.objects.insert",
            "Get": "storage.objects.list",
            "Delete": "storage.objects.delete",
        }
    ),
    program="""
import pathlib
folder = pathlib.Path("data")
folder.mkdir(exist_ok=True)
for file in folder.iterdir():
    file.unlink()
(folder / $spec).write_text($spec)
bucket = vt.StagingBucket("staging", name="staging")
vt.StagedFolder($name, bucket=bucket, source="data", $options)
""",
)
"""Its bucket is as that of `STAGED_FILE`. Kills among several files are tried without the engine."""
