"""A resource that an interrupted creation made under another name, if somebody uses it, or refuses it.

`tests/pulumi_vertex_training/core/test_kills_everywhere.py` has the kills at every point.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry.image_names import parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.objects import SHARED_KEY
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.client.in_process.small_engine import kills
from support.client.in_process.trials import Trial
from support.client.kills.subjects import BUCKET, IMAGE, REPOSITORY, STAGED_FILE, Declaration, Subject
from support.client.registries.pushed_images import push_small_image
from vertex_emulator.client.control import Control

ZERO, ONE, TWO = (Declaration(called=each) for each in ("zero", "one", "two"))


@pytest.fixture(autouse=True)
def in_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage files of the test's own folder: a source is relative to the working directory."""
    monkeypatch.chdir(tmp_path)


def left_by(subject: Subject, data_dir: Path) -> Trial:
    """Return a stack with a resource `zero`, which was killed after it had created `one` instead."""
    trial = Trial(subject=subject, data_dir=data_dir)
    trial.up(ZERO)
    assert kills(trial.engine, lambda: trial.up(ONE), lambda text: text.startswith("after POST"))
    assert len(trial.notes()) == 1
    return trial


def called(trial: Trial) -> list[str]:
    """Return the last parts of the names that exist."""
    return [name.rpartition("-")[2] for name, *_ in trial.there()]


def test_a_bucket_that_was_filled_since_stays(
    data_dir: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    left = left_by(BUCKET, data_dir)
    objects.upload(endpoint, f"{left.name}-one", "an object", b"1")
    left.up(TWO)
    assert called(left) == ["one", "two"]
    assert f"bucket {left.name}-one: an interrupted deployment" in capsys.readouterr().out
    assert left.notes() == []
    left.up(TWO)
    assert called(left) == ["one", "two"]
    assert "an interrupted deployment" not in capsys.readouterr().out


def test_a_bucket_without_the_key_stays(
    data_dir: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    left = left_by(BUCKET, data_dir)
    name = f"{left.name}-one"
    buckets.delete(endpoint, name)
    buckets.create(endpoint, {"name": name, "location": "us-central1"})  # somebody else's
    left.up(TWO)
    assert called(left) == ["one", "two"]
    assert "an interrupted deployment" not in capsys.readouterr().out
    assert left.notes() == []


def test_a_repository_with_an_image_stays(
    data_dir: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    left = left_by(REPOSITORY, data_dir)
    push_small_image(endpoint, f"us-central1-docker.pkg.dev/local/{left.name}-one/digits:1", b"1")
    left.up(TWO)
    assert called(left) == ["one", "two"]
    assert "it is used or was changed since, so it stays" in capsys.readouterr().out


def test_an_object_that_is_shared_stays(data_dir: Path, endpoint: Endpoint) -> None:
    trial = Trial(subject=STAGED_FILE, data_dir=data_dir)
    trial.up(ZERO)
    bucket = f"{trial.name}-bucket"
    assert kills(
        trial.engine,
        lambda: trial.up(ONE),
        lambda text: text.startswith("after POST") and f"/{bucket}/o?" in text,
    )
    (found,) = objects.list_objects(endpoint, bucket, prefix=f"{trial.name}-one/")
    objects.add_metadata(endpoint, bucket, found.name, {SHARED_KEY: "1"})
    trial.up(TWO)
    assert sorted(one.name.partition("/")[0] for one in objects.list_objects(endpoint, bucket)) == [
        f"{trial.name}-one",
        f"{trial.name}-two",
    ]


def test_a_service_that_does_not_answer_is_asked_again(
    data_dir: Path, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    left = left_by(BUCKET, data_dir)
    control = Control(url=endpoint.url or "", token=endpoint.token or "")
    control.add_fault({"method": "storage.buckets.delete", "status": 403, "times": 2})
    left.up(TWO)
    assert called(left) == ["one", "two"]
    assert f"warning: bucket {left.name}-one, which" in capsys.readouterr().out
    left.up(TWO)
    assert called(left) == ["two"]


def test_nothing_is_asked_where_nothing_was_interrupted(data_dir: Path) -> None:
    trial = Trial(subject=BUCKET, data_dir=data_dir)
    trial.up(ZERO)
    trial.control.forget_requests()
    trial.up(ONE)
    trial.up(ONE)
    trial.engine.destroy()
    calls = [call for one in trial.control.requests()["requests"] if (call := one["call"])]
    assert calls == ["storage.buckets.insert", *["storage.buckets.delete"] * 2]


def test_a_note_that_is_not_whole_is_passed_over(data_dir: Path, endpoint: Endpoint) -> None:
    left = left_by(BUCKET, data_dir)
    (note,) = [data_dir / "creations" / name for name in left.notes()]
    note.write_text(note.read_text()[:20])
    left.up(TWO)
    assert left.notes() == []
    assert called(left) == ["one", "two"]


def test_one_whose_answer_was_not_recorded_is_deleted_by_the_second_deployment(data_dir: Path) -> None:
    trial = Trial(subject=BUCKET, data_dir=data_dir)
    before = f"before the record of {trial.name}"
    assert kills(trial.engine, lambda: trial.up(ONE), lambda text: text == before)
    trial.up(TWO)
    assert called(trial) == ["one", "two"]
    trial.up(TWO)
    assert called(trial) == ["two"]


def test_the_tags_that_an_interrupted_deletion_has_removed_are_set_again(
    data_dir: Path, endpoint: Endpoint
) -> None:
    trial = Trial(subject=IMAGE, data_dir=data_dir)
    trial.up(ONE)
    trial.control.add_fault({"method": "registry.manifests.delete", "nth": 3, "status": 403})
    with pytest.raises(Failure, match="Could not delete image"):
        trial.engine.destroy()
    trial.control.clear_faults()
    (image,) = [parse(one.id) for one in trial.engine.entries if one.name == trial.name]
    assert registry.digest_at(endpoint, image.at(ONE.spec)) is None
    assert trial.up(ONE) == 1
    assert registry.digest_at(endpoint, image.at(ONE.spec)) == image.digest
    assert trial.up(ONE) == 0
    trial.destroy()
