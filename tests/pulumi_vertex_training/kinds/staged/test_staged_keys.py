"""Staged files with and without the key of their resource: which are shared, and which are orphans."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.objects import SHARED_KEY, STAGED_KEY
from pulumi_vertex_training.core.state.hidden_input import KEY_INPUT
from pulumi_vertex_training.providers import StagedFileProvider, StagingBucketProvider
from support.client.in_process.small_engine import Declared, SmallEngine

PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
BUCKET = "staged-keys"


@pytest.fixture
def engine(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallEngine:
    monkeypatch.chdir(tmp_path)
    Path("data.txt").write_text("1")
    return SmallEngine({"vertex-training:dataDir": str(data_dir)})


def bucket() -> Declared:
    inputs = {**PLACE, "name": BUCKET, "force_destroy": True}
    return Declared(name="bucket", provider=StagingBucketProvider(), inputs=inputs)


def file(name: str, key: str) -> Declared:
    inputs = {**PLACE, "bucket": BUCKET, "source": "data.txt", "prefix": "files", KEY_INPUT: key}
    return Declared(name=name, provider=StagedFileProvider(), inputs=inputs)


def there(endpoint: Endpoint) -> list[objects.ObjectRecord]:
    return list(objects.list_objects(endpoint, BUCKET))


def test_an_object_of_two_resources_is_shared(
    engine: SmallEngine, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.up([bucket(), file("a", "stack-a"), file("b", "stack-b")])
    (found,) = there(endpoint)
    assert found.metadata[SHARED_KEY] == "1"
    engine.up([bucket()])
    assert f"gs://{BUCKET}/{found.name} is kept: it was staged more than once" in capsys.readouterr().out
    assert [one.name for one in there(endpoint)] == [found.name]
    engine.destroy()


def test_an_object_that_this_resource_staged_before_is_not_shared(
    engine: SmallEngine, endpoint: Endpoint
) -> None:
    engine.up([bucket(), file("a", "stack-a")])
    engine.entries = [one for one in engine.entries if one.name == "bucket"]  # as a kill leaves it
    engine.up([bucket(), file("a", "stack-a")])
    (found,) = there(endpoint)
    assert SHARED_KEY not in found.metadata
    assert found.metadata[STAGED_KEY] == "stack-a"
    engine.up([bucket()])
    assert there(endpoint) == []
    engine.destroy()


@pytest.mark.parametrize("key", ["", "stack-b"])
def test_only_orphans_of_the_resource_are_deleted(engine: SmallEngine, endpoint: Endpoint, key: str) -> None:
    engine.up([bucket(), file("a", "stack-a")])
    engine.entries = [one for one in engine.entries if one.name == "bucket"]
    Path("data.txt").write_text("2")
    engine.up([bucket(), file("a", key)])
    assert len(there(endpoint)) == 2
    Path("data.txt").write_text("3")
    engine.up([bucket(), file("a", "stack-a")])
    assert len(there(endpoint)) == 1
    engine.destroy()
