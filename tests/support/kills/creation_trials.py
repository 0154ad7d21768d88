"""Stacks with one resource of a kind, whose creation is killed, and whose name or content changes then."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects, rest
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry.descriptors import parts_of
from pulumi_vertex_training.cloud.container_registry.image_names import parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.image_repository.provider import ImageRepositoryProvider
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model.provider import ModelProvider
from pulumi_vertex_training.kinds.persistent_resource.provider import PersistentResourceProvider
from pulumi_vertex_training.kinds.staged.provider import StagedFileProvider
from pulumi_vertex_training.kinds.staged.spec import SHARED_KEY
from pulumi_vertex_training.kinds.staged_folder.provider import StagedFolderProvider
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.kinds.staging_bucket.provider import StagingBucketProvider
from pulumi_vertex_training.kinds.training_image.provider import TrainingImageProvider
from pulumi_vertex_training.kinds.training_schedule.provider import TrainingScheduleProvider
from pulumi_vertex_training.plugin.provider import Failure
from support.in_process.programs import SERVING, STACK_KEY, keyed, pool
from support.in_process.small_engine import Declared, SmallEngine, kills
from support.waiting import eventually
from vertex_emulator.control import Control

PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
PARENT = "projects/local/locations/us-central1"
Program = list[Declared]
NAMES = ("zero", "one", "two")


@dataclass(kw_only=True)
class Trial(ABC):
    """A stack with one resource of a kind, and what it needs. `id` is unique to the trial."""

    endpoint: Endpoint
    id: str

    @abstractmethod
    def program(self, name: str) -> Program:
        """Return the program in which the resource has this name, or this content."""

    @abstractmethod
    def there(self) -> list[str]:
        """Return the names that exist."""

    def needed(self) -> Program:
        """Return the program without the resource."""
        return [one for one in self.program("none") if one.name != self.id]

    def interrupt(self, engine: SmallEngine, operation: Callable[[], object], at: int) -> str:
        """Kill the operation at a point. Return the text of the point, or "" if it ended before."""
        texts: list[str] = []

        def is_reached(text: str) -> bool:
            texts.append(text)
            return len(texts) == at + 1

        return texts[at] if kills(engine, operation, is_reached) else ""

    def declared(self, provider: Any, inputs: Mapping[str, Any], **more: Any) -> Declared:
        return Declared(name=self.id, provider=provider, inputs=keyed(self.id, {**PLACE, **inputs}), **more)

    def listed(self, collection: str) -> list[str]:
        url = f"{self.endpoint.vertex_url}/v1/{PARENT}/{collection}"
        found = rest.call(self.endpoint, "GET", url).get(collection, [])
        return sorted(
            name.removeprefix(f"{self.id}-")
            for one in found
            if (name := one["name"].rpartition("/")[2]).startswith(f"{self.id}-")
        )


class BucketTrial(Trial):
    def program(self, name: str) -> Program:
        return [STACK_KEY, self.declared(StagingBucketProvider(), {"name": f"{self.id}-{name}"})]

    def there(self) -> list[str]:
        found = []
        for name in NAMES:
            try:
                buckets.get(self.endpoint, f"{self.id}-{name}")
            except NotFound:
                continue
            found.append(name)
        return found


class RepositoryTrial(Trial):
    def program(self, name: str) -> Program:
        marks = {"project": "p", "stack": "s", "resource": self.id}
        inputs = {"repository_id": f"{self.id}-{name}", "marks": marks}
        return [STACK_KEY, self.declared(ImageRepositoryProvider(), inputs)]

    def there(self) -> list[str]:
        return self.listed("repositories")


class ResourceTrial(Trial):
    def program(self, name: str) -> Program:
        machines = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1, "id": "pool"}
        inputs = {
            "persistent_resource_id": f"{self.id}-{name}",
            "resource_pools": [machines],
            "marks": {"project": "p", "stack": "s", "resource": self.id},
        }
        provider = PersistentResourceProvider()
        return [STACK_KEY, self.declared(provider, inputs, delete_before_replace=True)]

    def there(self) -> list[str]:
        def states() -> dict[str, str]:
            url = f"{self.endpoint.vertex_url}/v1/{PARENT}/persistentResources"
            found = rest.call(self.endpoint, "GET", url).get("persistentResources", [])
            return {one["name"]: one["state"] for one in found if f"/{self.id}-" in one["name"]}

        eventually(lambda: set(states().values()) <= {"RUNNING"}, what=states)
        return self.listed("persistentResources")


class ModelTrial(Trial):
    """A name is that of the model."""

    def model(self, name: str) -> tuple[str, str]:
        """Return the model's id and its spec."""
        return f"{self.id}-{name}", "spec"

    def program(self, name: str) -> Program:
        model, spec = self.model(name)
        container = {"image_uri": SERVING, "env": [{"name": "SPEC", "value": spec}]}
        inputs = {
            "display_name": "a model",
            "model_id": model,
            "container_spec": container,
            "on_delete": "delete",
            "marks": {"project": "p", "stack": "s", "resource": self.id},
        }
        return [STACK_KEY, self.declared(ModelProvider(), inputs)]

    def there(self) -> list[str]:
        return [name for name in NAMES for _ in self._versions(name)]

    def _versions(self, name: str) -> list[Any]:
        model, spec = self.model(name)
        try:
            found = models.versions(self.endpoint, f"{PARENT}/models/{model}")
        except NotFound:
            return []
        return [one for one in found if one.wire["containerSpec"]["env"][0]["value"] == spec]


class VersionTrial(ModelTrial):
    """A name is the spec of a version; the model has one id."""

    def model(self, name: str) -> tuple[str, str]:
        return self.id, name


class StagedTrial(Trial):
    """A name is the prefix of the object; the bucket is deleted only when it is empty."""

    def program(self, name: str) -> Program:
        Path(f"{self.id}.txt").write_text("the content")
        bucket = keyed("bucket", {**PLACE, "name": self.id})
        inputs = {"bucket": self.id, "source": f"{self.id}.txt", "prefix": name}
        return [
            STACK_KEY,
            Declared(name="bucket", provider=StagingBucketProvider(), inputs=bucket),
            self.declared(self.provider(), inputs),
        ]

    def provider(self) -> Any:
        return StagedFileProvider()

    def there(self) -> list[str]:
        try:
            found = list(objects.list_objects(self.endpoint, self.id))
        except NotFound:
            return []
        assert not [one.name for one in found if SHARED_KEY in one.metadata]
        return sorted({one.name.partition("/")[0] for one in found})


class FolderTrial(StagedTrial):
    def program(self, name: str) -> Program:
        folder = Path(self.id)
        folder.mkdir(exist_ok=True)
        for file in ("one", "two"):
            (folder / file).write_text(file)
        bucket = keyed("bucket", {**PLACE, "name": self.id})
        inputs = {"bucket": self.id, "source": self.id, "prefix": name}
        return [
            STACK_KEY,
            Declared(name="bucket", provider=StagingBucketProvider(), inputs=bucket),
            self.declared(StagedFolderProvider(), inputs),
        ]


class ImageTrial(Trial):
    """A name is the content of the image; the repository is deleted only when it is empty."""

    def program(self, name: str) -> Program:
        folder = Path(self.id)
        folder.mkdir(exist_ok=True)
        (folder / "task.py").write_text(f"print('{name}')\n")
        marks = {"project": "p", "stack": "s", "resource": self.id}
        repository = {**PLACE, "repository_id": self.id, "marks": marks}
        inputs = {
            "repository": f"us-central1-docker.pkg.dev/local/{self.id}",
            "name": "image",
            "source": self.id,
            "base_image": "python:3.11-slim",
            "labels": {"content": name},
            "tags": ["latest"],
            "on_delete": "delete",
        }
        return [
            STACK_KEY,
            Declared(
                name="repository", provider=ImageRepositoryProvider(), inputs=keyed("repository", repository)
            ),
            self.declared(TrainingImageProvider(), inputs),
        ]

    def there(self) -> list[str]:
        url = f"{self.endpoint.vertex_url}/v1/{PARENT}/repositories"
        repositories = rest.call(self.endpoint, "GET", url).get("repositories", [])
        if f"{PARENT}/repositories/{self.id}" not in [one["name"] for one in repositories]:
            return []
        found = rest.call(self.endpoint, "GET", f"{url}/{self.id}/dockerImages").get("dockerImages", [])
        return sorted(self._content(one["uri"]) for one in found)

    def interrupt(self, engine: SmallEngine, operation: Callable[[], object], at: int) -> str:
        """Refuse the push, or its tag: the calls of a registry are no points of the engine."""
        pushes = (1, 2)
        if at == len(pushes):
            operation()
            return ""
        control = Control(url=self.endpoint.url or "", token=self.endpoint.token or "")
        number = control.add_fault({"method": "registry.manifests.put", "nth": pushes[at], "status": 403})[
            "number"
        ]
        with pytest.raises(Failure):
            operation()
        control.remove_fault(number)
        return f"push {pushes[at]}"

    def _content(self, uri: str) -> str:
        manifest = registry.manifest(self.endpoint, parse(uri))
        config = registry.read_blob(self.endpoint, parse(uri), parts_of(manifest.content).config)
        return str(json.loads(config)["config"]["Labels"]["content"])


class ScheduleTrial(Trial):
    def program(self, name: str) -> Program:
        job = {"worker_pool_specs": [pool("A", ["true"])], "staging_bucket": "runs", **PLACE}
        inputs = {
            "schedule_id": f"{self.id}-{name}",
            "schedule": "0 3 1 1 *",
            "job": "train",
            "collection": "customJobs",
            "parent": PARENT,
            "request": {"declaration": job},
            "paused": True,
            "marks": {"project": "p", "stack": "s", "resource": self.id},
        }
        return [STACK_KEY, self.declared(TrainingScheduleProvider(), inputs)]

    def there(self) -> list[str]:
        return sorted({*self.listed("jobs"), *self.listed("workflows")})


KINDS: Mapping[str, type[Trial]] = {
    "bucket": BucketTrial,
    "repository": RepositoryTrial,
    "persistent resource": ResourceTrial,
    "model": ModelTrial,
    "version": VersionTrial,
    "staged file": StagedTrial,
    "staged folder": FolderTrial,
    "image": ImageTrial,
    "schedule": ScheduleTrial,
}
