"""Creations that are killed at every single point, and whose resource has another name or content afterwards.

What the killed deployment made has a name that the program and the state do not have. The next deployment
or destruction deletes it all the same, and nothing that somebody uses.
"""

from __future__ import annotations

import itertools
import json
import os
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
from pulumi_vertex_training.plugin.running import begun_creations
from pulumi_vertex_training.plugin.settings import Settings
from support.in_process.programs import SERVING, STACK_KEY, keyed, pool
from support.in_process.small_engine import Declared, SmallEngine, kills
from support.registries.pushed_images import push_small_image
from support.waiting import eventually
from vertex_emulator.control import Control

PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
PARENT = "projects/local/locations/us-central1"
_NUMBERS = itertools.count(1)
Program = list[Declared]


@dataclass(kw_only=True)
class Trial:
    """A stack with one resource of a kind, and what it needs. `id` is unique to the trial."""

    endpoint: Endpoint
    id: str

    def program(self, name: str) -> Program:
        """Return the program in which the resource has this name, or this content."""
        raise NotImplementedError

    def there(self) -> list[str]:
        """Return the names that exist."""
        raise NotImplementedError

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


NAMES = ("zero", "one", "two")
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
SCENARIOS = {
    # what is recorded, what is killed, what is declared then; "" is a program without the resource
    "the first, then another": (None, "one", "two"),
    "the first, then none": (None, "one", ""),
    "the first, then a destruction": (None, "one", None),
    "a replacement, then another": ("zero", "one", "two"),
    "a replacement, then back": ("zero", "one", "zero"),
    "a replacement, then none": ("zero", "one", ""),
    "a replacement, then a destruction": ("zero", "one", None),
}
USUAL = ("the first, then a destruction", "a replacement, then back")
"""The others with KILLS=all, or for buckets; another name also for the kinds that are quick."""


def is_tried(kind: str, scenario: str) -> bool:
    if os.environ.get("KILLS") == "all" or kind == "bucket" or scenario in USUAL:
        return True
    return scenario == "a replacement, then another" and kind not in ("schedule", "persistent resource")


@pytest.fixture(scope="module", autouse=True)
def short_changes(endpoint: Endpoint) -> None:
    Control(url=endpoint.url or "", token=endpoint.token or "").set_persistent_resource_delay(0.03)


@pytest.fixture(autouse=True)
def in_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage files of the test's own folder: a source is relative to the working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("kind", "scenario"),
    [pytest.param(kind, each) for kind in KINDS for each in SCENARIOS if is_tried(kind, each)],
)
def test_killed_at_every_point(data_dir: Path, endpoint: Endpoint, kind: str, scenario: str) -> None:
    before, interrupted, then = SCENARIOS[scenario]
    wrong, made = [], 0
    for at in range(200):
        engine = SmallEngine({"vertex-training:dataDir": str(data_dir)})
        trial = KINDS[kind](endpoint=endpoint, id=f"begun-{next(_NUMBERS)}")
        engine.up(trial.program(before) if before else trial.needed())
        assert trial.there() == ([before] if before else [])
        died = trial.interrupt(engine, lambda: engine.up(trial.program(interrupted)), at)  # noqa: B023
        made += interrupted in trial.there()
        if died == f"before the record of {trial.id}" and (before is None or not then):
            continue  # the engine had the answer, and no diff shows that it has not recorded it
        try:
            if then is not None:
                engine.up(trial.program(then) if then else trial.needed())
                program_ends(engine, data_dir, trial.program(then) if then else trial.needed())
                assert trial.there() == ([then] if then else [])
                assert engine.up(trial.program(then) if then else trial.needed()) == 0
                assert trial.there() == ([then] if then else [])
            stack = engine.entries[0].id
            engine.destroy()
            assert trial.there() == []
            assert not list((data_dir / "creations").glob(f"{stack}-*"))
        except Exception as error:
            wrong.append(f"point {at}, {died}: {type(error).__name__}: {str(error)[:300]}")
        if not died:
            break
    assert not wrong, "\n".join(wrong)
    assert made  # or nothing was made that could stay


def program_ends(engine: SmallEngine, data_dir: Path, program: Program) -> None:
    """Do what the program does after its last registration."""
    settings = Settings(data_dir=data_dir)
    ids = [entry.id for entry in engine.entries]
    keys = [f"{ids[0]}-{one.name}" for one in program]
    for note, _ in begun_creations.undeclared(begun_creations.begun(settings), ids[0], keys, ids):
        begun_creations.remove(note, settings, print)


@dataclass
class Left:
    """A stack with a bucket or repository `zero`, which was killed after it had created `one` instead."""

    engine: SmallEngine
    trial: Trial

    def up(self) -> None:
        """Deploy the name `two`."""
        self.engine.up(self.trial.program("two"))

    def notes(self, data_dir: Path) -> list[str]:
        """Return the notes that do not say that the engine had its answer."""
        stack = self.engine.entries[0].id
        return [one.name for one in (data_dir / "creations").glob(f"{stack}-*.begun")]


def left_by(kind: type[Trial], data_dir: Path, endpoint: Endpoint) -> Left:
    engine = SmallEngine({"vertex-training:dataDir": str(data_dir)})
    trial = kind(endpoint=endpoint, id=f"begun-{next(_NUMBERS)}")
    engine.up(trial.program("zero"))
    assert kills(engine, lambda: engine.up(trial.program("one")), lambda text: text.startswith("after POST"))
    left = Left(engine=engine, trial=trial)
    assert len(left.notes(data_dir)) == 1
    return left


def test_a_bucket_that_was_filled_since_stays(
    data_dir: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    left = left_by(BucketTrial, data_dir, endpoint)
    objects.upload(endpoint, f"{left.trial.id}-one", "an object", b"1")
    left.up()
    assert left.trial.there() == ["one", "two"]
    assert f"bucket {left.trial.id}-one: an interrupted deployment" in capsys.readouterr().out
    assert left.notes(data_dir) == []
    left.up()
    assert left.trial.there() == ["one", "two"]
    assert "an interrupted deployment" not in capsys.readouterr().out


def test_a_bucket_without_the_key_stays(
    data_dir: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    left = left_by(BucketTrial, data_dir, endpoint)
    name = f"{left.trial.id}-one"
    buckets.delete(endpoint, name)
    buckets.create(endpoint, {"name": name, "location": "us-central1"})  # somebody else's
    left.up()
    assert left.trial.there() == ["one", "two"]
    assert "an interrupted deployment" not in capsys.readouterr().out
    assert left.notes(data_dir) == []


def test_a_repository_with_an_image_stays(
    data_dir: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    left = left_by(RepositoryTrial, data_dir, endpoint)
    push_small_image(endpoint, f"us-central1-docker.pkg.dev/local/{left.trial.id}-one/digits:1", b"1")
    left.up()
    assert left.trial.there() == ["one", "two"]
    assert "it is used or was changed since, so it stays" in capsys.readouterr().out


def test_an_object_that_is_shared_stays(data_dir: Path, endpoint: Endpoint) -> None:
    engine = SmallEngine({"vertex-training:dataDir": str(data_dir)})
    trial = StagedTrial(endpoint=endpoint, id=f"begun-{next(_NUMBERS)}")
    engine.up(trial.program("zero"))
    is_sent = f"/{trial.id}/o?"
    assert kills(
        engine,
        lambda: engine.up(trial.program("one")),
        lambda text: text.startswith("after POST") and is_sent in text,
    )
    (found,) = objects.list_objects(endpoint, trial.id, prefix="one/")
    objects.add_metadata(endpoint, trial.id, found.name, {SHARED_KEY: "1"})
    engine.up(trial.program("two"))
    left = [one.name.partition("/")[0] for one in objects.list_objects(endpoint, trial.id)]
    assert left == ["one", "two"]


def test_a_service_that_does_not_answer_is_asked_again(
    data_dir: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    left = left_by(BucketTrial, data_dir, endpoint)
    control = Control(url=endpoint.url or "", token=endpoint.token or "")
    control.add_fault({"method": "storage.buckets.delete", "status": 403, "times": 2})
    left.up()
    assert left.trial.there() == ["one", "two"]
    assert f"warning: bucket {left.trial.id}-one, which" in capsys.readouterr().out
    left.up()
    assert left.trial.there() == ["two"]


def test_nothing_is_asked_where_nothing_was_interrupted(data_dir: Path, endpoint: Endpoint) -> None:
    engine = SmallEngine({"vertex-training:dataDir": str(data_dir)})
    trial = BucketTrial(endpoint=endpoint, id=f"begun-{next(_NUMBERS)}")
    control = Control(url=endpoint.url or "", token=endpoint.token or "")
    engine.up(trial.program("zero"))
    control.forget_requests()
    engine.up(trial.program("one"))
    engine.up(trial.program("one"))
    engine.destroy()
    calls = [call for one in control.requests()["requests"] if (call := one["call"])]
    assert calls == ["storage.buckets.insert", *["storage.buckets.delete"] * 2]


def test_a_note_that_is_not_whole_is_passed_over(data_dir: Path, endpoint: Endpoint) -> None:
    left = left_by(BucketTrial, data_dir, endpoint)
    (note,) = [data_dir / "creations" / name for name in left.notes(data_dir)]
    note.write_text(note.read_text()[:20])
    left.up()
    assert left.notes(data_dir) == []
    assert left.trial.there() == ["one", "two"]


def test_one_whose_answer_was_not_recorded_is_deleted_by_the_second_deployment(
    data_dir: Path, endpoint: Endpoint
) -> None:
    engine = SmallEngine({"vertex-training:dataDir": str(data_dir)})
    trial = BucketTrial(endpoint=endpoint, id=f"begun-{next(_NUMBERS)}")
    assert kills(
        engine,
        lambda: engine.up(trial.program("one")),
        lambda text: text == f"before the record of {trial.id}",
    )
    engine.up(trial.program("two"))
    assert trial.there() == ["one", "two"]
    engine.up(trial.program("two"))
    assert trial.there() == ["two"]


def test_the_tags_that_an_interrupted_deletion_has_removed_are_set_again(
    data_dir: Path, endpoint: Endpoint
) -> None:
    engine = SmallEngine({"vertex-training:dataDir": str(data_dir)})
    trial = ImageTrial(endpoint=endpoint, id=f"begun-{next(_NUMBERS)}")
    engine.up(trial.program("one"))
    control = Control(url=endpoint.url or "", token=endpoint.token or "")
    control.add_fault({"method": "registry.manifests.delete", "nth": 2, "status": 403})
    with pytest.raises(Failure, match="Could not delete image"):
        engine.destroy()
    control.clear_faults()
    (image,) = [parse(one.id) for one in engine.entries if one.name == trial.id]
    assert registry.digest_at(endpoint, image.at("latest")) is None
    assert engine.up(trial.program("one")) == 1
    assert registry.digest_at(endpoint, image.at("latest")) == image.digest
    assert engine.up(trial.program("one")) == 0
    engine.destroy()
    assert trial.there() == []
