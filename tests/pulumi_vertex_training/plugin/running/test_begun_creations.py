"""Creations that are killed at every single point, and whose resource has another name or content afterwards.

What the killed deployment made has a name that the program and the state do not have. The next deployment
or destruction deletes it all the same, and nothing that somebody uses.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry.image_names import parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.staged.spec import SHARED_KEY
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.plugin.provider import Failure
from pulumi_vertex_training.plugin.running import begun_creations
from pulumi_vertex_training.plugin.settings import Settings
from support.in_process.small_engine import SmallEngine, kills
from support.kills.creation_trials import (
    KINDS,
    BucketTrial,
    ImageTrial,
    Program,
    RepositoryTrial,
    StagedTrial,
    Trial,
)
from support.registries.pushed_images import push_small_image
from vertex_emulator.control import Control

_NUMBERS = itertools.count(1)
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
