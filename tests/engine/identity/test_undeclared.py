"""Killed creations of resources that the program does not declare any more, or calls by another name.

The whole deployment is killed when the service has carried the creations out, so no state has what it made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from support.client.engine import Engine, Result
from support.client.kills.stage import UP, Hold, Moment, Stage, Victim, at
from support.client.shared_engine import mentions

DECLARED = """
import pathlib

bucket = vt.StagingBucket("bucket", name="declared")
images = vt.ImageRepository("images", repository_id="declared")
"""
SOURCES = """
pathlib.Path("same.txt").write_text("the same")
pathlib.Path("kept.txt").write_text("kept")
pathlib.Path("source").mkdir(exist_ok=True)
pathlib.Path("source/task.py").write_text("print({content!r})")
"""
RESOURCES = """
vt.StagingBucket("back", name="back")
vt.StagingBucket("{name} bucket", name="renamed")
vt.ImageRepository("{name} repository", repository_id="renamed")
vt.StagedFile("{name} file", bucket=bucket, source="same.txt")
vt.StagedFile("weights", bucket=bucket, source="kept.txt"{kept})
image = {{"source": "source", "base_image": "python:3.11-slim", "tags": ["{name}"], "on_delete": "delete"}}
vt.TrainingImage("{name} image", repository=images, **image)
"""
KEPT = ", opts=pulumi.ResourceOptions(retain_on_delete=True)"
FIRST = f"""
{SOURCES.format(content="the same")}
{RESOURCES.format(name="old", kept="")}
vt.StagingBucket("removed", name="removed")
"""
SECOND = f"""
{SOURCES.format(content="the same")}
{RESOURCES.format(name="new", kept=KEPT)}
"""
OTHER_IMAGE = f"""
{SOURCES.format(content="the other")}
{RESOURCES.format(name="new", kept=KEPT)}
"""
CREATIONS = Hold(
    what="storage.buckets.insert",
    moment=Moment.CARRIED_OUT,
    calls=3,
    also=(
        at("CreateRepository", Moment.CARRIED_OUT),
        Hold(what="storage.objects.insert", moment=Moment.CARRIED_OUT, calls=2),
        at("registry.manifests.put", Moment.CARRIED_OUT),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Made:
    """The resources of the service, and the notes of begun creations."""

    buckets: list[str]
    repositories: list[str]
    objects: list[str]
    images: list[str]
    """The tags of all images."""
    notes: list[str]
    """The titles of the resources whose creation has begun."""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The output of each deployment, and what the service had after it."""

    killed: Made
    preview: Result
    previewed: Made
    second: Result
    made: Made
    killed_again: Made
    removed: Made


def look(stage: Stage) -> Made:
    def names(collection: str) -> list[str]:
        return sorted(one["name"].rpartition("/")[2] for one in stage.listed(collection))

    packages = "/v1/projects/local/locations/us-central1/repositories/declared/dockerImages"
    images = stage.control.call("GET", packages).get("dockerImages", [])
    assert stage.data_dir is not None
    return Made(
        buckets=names("buckets"),
        repositories=names("repositories"),
        objects=names("objects"),
        images=sorted(",".join(one.get("tags", [])) for one in images),
        notes=sorted(
            json.loads(note.read_text())["title"] for note in (stage.data_dir / "creations").glob("*.begun")
        ),
    )


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    stage = Stage(shared_engine)

    def declare(program: str) -> None:
        stage.engine.write(DECLARED + program)

    def killed(program: str, hold: Hold) -> Made:
        declare(program)
        stage.interrupt((*UP, "--parallel", "16"), hold, Victim.BOTH)
        stage.settle()
        return look(stage)

    declare("")
    stage.up()
    first = killed(FIRST, CREATIONS)
    declare(SECOND)
    preview, previewed = stage.engine.preview().ok(), look(stage)
    second, made = stage.up(), look(stage)
    killed_again = killed(OTHER_IMAGE, at("registry.manifests.put", Moment.CARRIED_OUT))
    declare("")
    stage.up()
    return Steps(
        killed=first,
        preview=preview,
        previewed=previewed,
        second=second,
        made=made,
        killed_again=killed_again,
        removed=look(stage),
    )


def test_what_is_not_declared_any_more_is_deleted(steps: Steps) -> None:
    assert steps.killed.buckets == ["back", "declared", "removed", "renamed"]
    assert mentions(
        steps.preview.output,
        "bucket removed: an interrupted deployment of this stack began to create it, and it is not declared. "
        "If it exists and is unused, it is deleted",
    )
    assert steps.previewed == steps.killed
    assert mentions(steps.second.output, "it is not declared; it is deleted")
    assert steps.made.buckets == ["back", "declared", "renamed"]
    assert [title for title in steps.made.notes if not title.endswith("kept.txt")] == []


def test_what_is_declared_again_or_by_another_name_stays(steps: Steps) -> None:
    assert "bucket back: it" not in mentions(steps.second.output, "is deleted")
    assert steps.made.buckets == ["back", "declared", "renamed"]
    assert steps.killed.repositories == steps.made.repositories == ["declared", "renamed"]
    assert len(steps.killed.objects) == 2
    assert steps.made.objects == steps.killed.objects
    assert steps.killed.images == [""], "the tags would follow"
    assert steps.made.images == ["new"]


def test_what_is_removed_afterwards_is_deleted_and_a_kept_file_stays(steps: Steps) -> None:
    assert steps.removed.buckets == ["declared"]
    assert steps.removed.repositories == ["declared"]
    (kept,) = steps.removed.objects
    assert kept in steps.killed.objects
    assert "kept" in kept


def test_an_image_whose_replacement_was_killed_leaves_nothing(steps: Steps) -> None:
    assert len(steps.killed_again.images) == 2
    assert steps.killed_again.notes != []
    assert steps.removed.images == []
    assert steps.removed.notes == []
