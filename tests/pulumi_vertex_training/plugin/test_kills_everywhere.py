"""Resources other than jobs whose deployment is killed at every single point of each operation.

Whatever the point: the next deployment leaves what is declared, once, and the one after it has nothing to
do; a destruction leaves nothing. What a killed deployment created is in no state, so only another deployment
finds it, by the key that the stack recorded before.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.image_repository import gateway as repositories
from pulumi_vertex_training.kinds.image_repository.provider import ImageRepositoryProvider
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model.provider import ModelProvider
from pulumi_vertex_training.kinds.persistent_resource import gateway as persistent_resources
from pulumi_vertex_training.kinds.persistent_resource.provider import PersistentResourceProvider
from pulumi_vertex_training.kinds.staged.provider import StagedFileProvider
from pulumi_vertex_training.kinds.staged.spec import SHARED_KEY
from pulumi_vertex_training.kinds.staged_folder.provider import StagedFolderProvider
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.kinds.staging_bucket.provider import StagingBucketProvider
from support.in_process.programs import STACK_KEY, keyed
from support.in_process.small_engine import Declared, SmallEngine, kills
from support.waiting import TIMEOUT
from vertex_emulator.control import Control

PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
PARENT = "projects/local/locations/us-central1"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module", autouse=True)
def short_changes(endpoint: Endpoint) -> None:
    Control(url=endpoint.url or "", token=endpoint.token or "").set_persistent_resource_delay(0.03)


class ModelTrial:
    """A stack with one model of its own id."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.id = endpoint, f"model-{next(_NUMBERS)}"

    def program(self, spec: str, note: str = "first") -> list[Declared]:
        container = {"image_uri": SERVING, "env": [{"name": "SPEC", "value": spec}]}
        inputs = {
            "display_name": note,
            "model_id": self.id,
            "container_spec": container,
            "description": note,
            "version_description": note,
            "version_aliases": [note],
            "labels": {"note": note},
            "on_delete": "delete",
            "marks": {"project": "p", "stack": "s", "resource": self.id},
            **PLACE,
        }
        return [STACK_KEY, Declared(name=self.id, provider=ModelProvider(), inputs=keyed(self.id, inputs))]

    def there(self) -> list[tuple[str, str, str]]:
        """Return the full names of the versions, with the specs that they were declared with."""
        try:
            found = models.versions(self.endpoint, f"{PARENT}/models/{self.id}")
        except NotFound:
            return []
        return [(one.full_name, _spec(one.wire), str(one.wire["versionDescription"])) for one in found]


def _spec(wire: Mapping[str, Any]) -> str:
    return str(wire["containerSpec"]["env"][0]["value"])


class ResourceTrial:
    """A stack with one persistent resource of its own id. A note is its display name and its size."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.id = endpoint, f"resource-{next(_NUMBERS)}"

    def program(self, spec: str, note: str = "first") -> list[Declared]:
        pool = {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": len(note),
            "id": spec.lower(),
        }
        inputs = {
            "persistent_resource_id": self.id,
            "resource_pools": [pool],
            "display_name": note,
            "reboot_token": note if note.startswith("reboot") else None,
            "marks": {"project": "p", "stack": "s", "resource": self.id},
            **PLACE,
        }
        made = Declared(
            name=self.id,
            provider=PersistentResourceProvider(),
            inputs=keyed(self.id, inputs),
            delete_before_replace=True,
        )
        return [STACK_KEY, made]

    def there(self) -> list[tuple[str, str, str]]:
        name = f"{PARENT}/persistentResources/{self.id}"
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                found = persistent_resources.get(self.endpoint, name)
            except NotFound:
                return []
            if found.state.word == "RUNNING":
                break
            assert time.monotonic() < deadline
            time.sleep(0.01)
        pool = found.wire["resourcePools"][0]
        note = str(found.wire["displayName"])
        assert int(pool["replicaCount"]) == len(note)
        return [(name, str(pool["id"]).upper(), note)]


class BucketTrial:
    """A stack with one bucket, whose name follows from its names. A spec is its place, a note a label."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.id = endpoint, f"bucket-{next(_NUMBERS)}"

    def program(self, spec: str, note: str = "first") -> list[Declared]:
        inputs = {
            **PLACE,
            "location": _LOCATIONS[spec],
            "labels": {"note": note},
            "marks": {"project": "p", "stack": "s", "resource": self.id},
        }
        provider = StagingBucketProvider()
        return [STACK_KEY, Declared(name=self.id, provider=provider, inputs=keyed(self.id, inputs))]

    def there(self) -> list[tuple[str, str, str]]:
        name = f"local-p-s-{self.id}"
        try:
            found = buckets.get(self.endpoint, name)
        except NotFound:
            return []
        (spec,) = [each for each, location in _LOCATIONS.items() if location.upper() == found.location]
        return [(name, spec, str(found.wire["labels"]["note"]))]


class RepositoryTrial:
    """A stack with one repository, whose id follows from its names."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.id = endpoint, f"repository-{next(_NUMBERS)}"

    def program(self, spec: str, note: str = "first") -> list[Declared]:
        inputs = {
            **PLACE,
            "kms_key_name": _KMS_KEY.format(spec),
            "description": note,
            "marks": {"project": "p", "stack": "s", "resource": self.id},
        }
        provider = ImageRepositoryProvider()
        return [STACK_KEY, Declared(name=self.id, provider=provider, inputs=keyed(self.id, inputs))]

    def there(self) -> list[tuple[str, str, str]]:
        name = f"{PARENT}/repositories/p-s-{self.id}"
        try:
            found = repositories.get(self.endpoint, name)
        except NotFound:
            return []
        spec = str(found.wire["kmsKeyName"]).rpartition("/")[2]
        return [(name, spec, str(found.wire["description"]))]


class StagedTrial:
    """A stack with a bucket and a file in it. A spec is the file's content; nothing can change in place.

    The bucket is deleted only when it is empty.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.id = endpoint, f"staged-{next(_NUMBERS)}"

    def program(self, spec: str, note: str = "first") -> list[Declared]:
        Path(f"{self.id}.txt").write_text(f"{spec} {note}")
        bucket = keyed("bucket", {**PLACE, "name": self.id})
        source = {"bucket": self.id, "source": f"{self.id}.txt", "prefix": "files"}
        file = keyed("file", {**PLACE, **source})
        return [
            STACK_KEY,
            Declared(name="bucket", provider=StagingBucketProvider(), inputs=bucket),
            Declared(name=self.id, provider=StagedFileProvider(), inputs=file),
        ]

    def there(self) -> list[tuple[str, str, str]]:
        try:
            found = list(objects.list_objects(self.endpoint, self.id))
        except NotFound:
            return []
        assert not [one.name for one in found if SHARED_KEY in one.metadata]
        return [(f"gs://{self.id}/{one.name}", *self._content(one.name)) for one in found]

    def _content(self, name: str) -> tuple[str, str]:
        spec, note = objects.read(self.endpoint, self.id, name).decode().split()
        return spec, note


class FolderTrial:
    """A stack with a bucket and a folder of three files in it, one of which never changes.

    A spec and a note are the contents of the two others. The bucket is deleted only when it is empty.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.id = endpoint, f"folder-{next(_NUMBERS)}"

    def program(self, spec: str, note: str = "first") -> list[Declared]:
        files = {"same.txt": "same", "train/spec.txt": spec, "train/note.txt": note}
        for path, text in files.items():
            file = Path(self.id, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        bucket = keyed("bucket", {**PLACE, "name": self.id})
        folder = keyed("folder", {**PLACE, "bucket": self.id, "source": self.id, "prefix": "folders"})
        return [
            STACK_KEY,
            Declared(name="bucket", provider=StagingBucketProvider(), inputs=bucket),
            Declared(name=self.id, provider=StagedFolderProvider(), inputs=folder),
        ]

    def there(self) -> list[tuple[str, str, str]]:
        """Return the folders that have an object, with the contents of their files, "" for a missing one."""
        try:
            found = list(objects.list_objects(self.endpoint, self.id))
        except NotFound:
            return []
        assert not [one.name for one in found if SHARED_KEY in one.metadata]
        contents = {one.name: objects.read(self.endpoint, self.id, one.name).decode() for one in found}
        roots = sorted({"/".join(name.split("/")[:2]) for name in contents})
        assert {contents.get(f"{root}/same.txt") for root in roots} <= {"same"}
        return [
            (
                f"gs://{self.id}/{root}",
                contents.get(f"{root}/train/spec.txt", ""),
                contents.get(f"{root}/train/note.txt", ""),
            )
            for root in roots
        ]


_LOCATIONS = {"A": "us-central1", "B": "europe-west4", "C": "us-east1"}
_KMS_KEY = "projects/local/locations/us-central1/keyRings/ring/cryptoKeys/{}"

Trial = ModelTrial | ResourceTrial | BucketTrial | RepositoryTrial | StagedTrial | FolderTrial
TRIALS: Mapping[type[Trial], str] = {
    ModelTrial: "model",
    ResourceTrial: "persistent resource",
    BucketTrial: "bucket",
    RepositoryTrial: "repository",
    StagedTrial: "staged file",
    FolderTrial: "staged folder",
}


@pytest.fixture(autouse=True)
def in_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage files of the test's own folder: a source is relative to the working directory."""
    monkeypatch.chdir(tmp_path)


def assert_declared(engine: SmallEngine, trial: Trial, spec: str, note: str = "first") -> None:
    """Assert that the declared resources exist once, and that the state has exactly these."""
    (entry,) = [one for one in engine.entries if one.name == trial.id]
    assert trial.there() == [(entry.id, spec, note)]
    assert engine.up(trial.program(spec, note)) == 0
    assert trial.there() == [(entry.id, spec, note)]


WIDE = frozenset(
    {
        "the first",
        "a change in place",
        "a replacement",
        "a replacement with a change",
        "a replacement on demand, then another",
    }
)
"""With KILLS=all only; the others take the same steps."""

OPERATIONS = [
    # before, what is deployed, what is deployed then
    pytest.param(None, ("A", "first"), ("A", "first"), id="the first"),
    pytest.param(None, ("A", "first"), ("A", "second"), id="the first, then a change"),
    pytest.param(None, ("A", "first"), None, id="the first, and again, then a destruction"),
    pytest.param("A", ("A", "second"), ("A", "second"), id="a change in place"),
    pytest.param("A", ("A", "second"), ("A", "third"), id="a change in place, then another"),
    pytest.param("A", ("A", "second"), ("A", "first"), id="a change in place, then back"),
    pytest.param("A", ("A", "reboot"), ("A", "reboot"), id="a reboot"),
    pytest.param("A", ("B", "first"), ("B", "first"), id="a replacement"),
    pytest.param("A", ("B", "second"), ("B", "second"), id="a replacement with a change"),
    pytest.param("A", ("B", "first"), ("C", "first"), id="a replacement, then another"),
    pytest.param("A", ("B", "first"), ("A", "first"), id="a replacement, then back"),
    pytest.param("A", ("B", "first"), None, id="a replacement, then a destruction"),
    pytest.param("A", "replace", ("A", "first"), id="a replacement on demand"),
    pytest.param("A", "replace", ("B", "first"), id="a replacement on demand, then another"),
    pytest.param("A", None, None, id="a destruction"),
    pytest.param("A", None, ("A", "first"), id="a destruction, then a deployment"),
]


_STAGED = (StagedTrial, FolderTrial)
_WITHOUT_PARTS = (ResourceTrial, BucketTrial, RepositoryTrial, *_STAGED)
USUAL = frozenset(
    {
        "the first, then a change",
        "the first, and again, then a destruction",
        "a replacement, then another",
        "a replacement on demand",
        "a replacement on demand, then another",
        "a destruction, then a deployment",
    }
)
"""Operations of kinds without versions or machines."""

NOT_RECORDED = [
    (ModelTrial, ("A", "first"), None),
    *(
        (kind, (spec, "first"), None)
        for kind in (ResourceTrial, BucketTrial, RepositoryTrial)
        for spec in "AB"
    ),
    *((kind, (spec, "first"), None) for kind in _STAGED for spec in "AB"),
]
"""The state has nothing that could be destroyed, and says so by a pending creation; to deploy it once more
first adopts it. An object whose replacement is taken back stays beside it until the resource is deleted."""


def _is_tried(kind: type[Trial], name: str) -> bool:
    """Return whether an operation is tried for a kind without KILLS=all as well."""
    if os.environ.get("KILLS") == "all":
        return True
    return name in USUAL if kind in (BucketTrial, RepositoryTrial, *_STAGED) else name not in WIDE


@pytest.mark.parametrize(
    ("kind", "before", "interrupted", "then"),
    [
        pytest.param(kind, *each.values, id=f"{each.id}-{noun}")
        for kind, noun in TRIALS.items()
        for each in OPERATIONS
        if _is_tried(kind, str(each.id))
    ],
)
def test_killed_at_every_point(
    data_dir: Path,
    endpoint: Endpoint,
    kind: type[Trial],
    before: str | None,
    interrupted: Any,
    then: tuple[str, str] | None,
) -> None:
    wrong = []
    for at in range(200):
        engine, trial = SmallEngine({"vertex-training:dataDir": str(data_dir)}), kind(endpoint)
        if before:
            engine.up(trial.program(before))
            trial.there()

        def operation(engine: SmallEngine = engine, trial: Trial = trial) -> None:
            if interrupted is None:
                engine.destroy()
            elif interrupted == "replace":
                engine.up(trial.program("A"), replace=[trial.id])
            else:
                engine.up(trial.program(*interrupted))

        died = kills(engine, operation, at)
        try:
            if then is not None:
                if isinstance(interrupted, tuple) and then == (before, "first"):
                    engine.refresh()  # the state has what is declared, and Pulumi warns of what was begun
                engine.up(trial.program(*then))
                if not (kind in _STAGED and then == (before, "first")):
                    assert_declared(engine, trial, *then)
            if died and (kind, interrupted, then) in NOT_RECORDED:
                engine.up(trial.program(*interrupted))
            engine.destroy()
            assert trial.there() == []
        except Exception as error:
            wrong.append(f"point {at}: {type(error).__name__}: {str(error)[:300]}")
        if not died:
            break
    assert not wrong, "\n".join(wrong)
    assert at >= 2  # or nothing was killed
