"""The life of models, on the engine in the test's process and an emulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model.gateway import ModelRecord
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.client.engine import Result
from support.client.in_process.project import Project
from support.client.shared_engine import diagnostics

PARENT = "projects/local/locations/us-central1/models"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
FIRST, SECOND, THEIRS = "gs://models/first", "gs://models/second", "gs://theirs/first"
HEAD = """
bucket = vt.StagingBucket("models", name="models", force_destroy=True)
first = vt.StagedFile("first", bucket=bucket, source="one.txt", prefix="first")
second = vt.StagedFile("second", bucket=bucket, source="two.txt", prefix="second")
options = pulumi.ResourceOptions(depends_on=[first, second])
"""


def declare(name: str, **arguments: Any) -> str:
    """Return the line of a program that declares a model."""
    named = {} if "parent_model" in arguments else {"model_id": name}
    given = {
        "artifact_uri": FIRST,
        "container_spec": {"image_uri": SERVING},
        "on_delete": "delete",
        **named,
        **arguments,
    }
    return f"vt.Model({name!r}, opts=options, **{given!r})\n"


def write(engine: Project, *declared: str) -> None:
    for name in ("one", "two"):
        (engine.folder / "infra" / f"{name}.txt").write_text(name)
    engine.write(HEAD + "".join(declared))


def upload(engine: Project, model_id: str, **more: Any) -> None:
    """Upload a model as somebody else."""
    model = {"displayName": "theirs", "containerSpec": {"imageUri": SERVING}, **more}
    models.upload(engine.endpoint(), model, model_id=model_id)


def versions(engine: Project, model_id: str) -> list[ModelRecord]:
    """Return the model's versions, the newest first; empty if there is no such model."""
    try:
        return models.versions(engine.endpoint(), f"{PARENT}/{model_id}")
    except NotFound:
        return []


def numbers(records: list[ModelRecord]) -> list[str]:
    return [one.version for one in records]


Versions = dict[str, list[ModelRecord]]
NAMES = (
    "digits",
    "drifting",
    "lost",
    "demanded",
    "killed",
    "touched",
    "alone",
    "adopted",
    "changing",
    "anew",
)


@dataclass(kw_only=True)
class Life:
    """The output of each deployment of one stack, and the versions of its models after it."""

    created: Result
    first: Versions
    unchanged: Result
    drift: Result
    drifted: list[str]
    """The aliases in the state after a refresh."""
    updated: Result
    second: Versions
    replaced: Result
    third: Versions
    again: Result
    left: Versions
    state: list[Any]


@pytest.fixture(scope="module")
def life(project: Project) -> Life:
    engine = project

    def live() -> Versions:
        return {name: versions(engine, name) for name in NAMES}

    buckets.create(engine.endpoint(), {"name": "theirs", "location": "us-central1"})
    objects.upload(engine.endpoint(), "theirs", "first/model.txt", b"theirs")
    for name in ("touched", "alone"):
        upload(engine, name)
    for name in ("adopted", "changing"):
        upload(engine, name, artifactUri=THEIRS)

    # Everything is created, except for what cannot be.
    steady = [
        declare("drifting", version_aliases=["golden"]),
        *map(declare, ("lost", "killed", "anew", "demanded")),
        declare("alone", parent_model="alone"),
    ]
    adopted = {"adopt": "adopted@1", "display_name": "adopted", "on_delete": "keep"}
    changing = {"adopt": "changing@1", "model_id": "changing"}
    digits = declare("digits", version_aliases=["golden"], labels={"team": "a"})
    write(
        engine,
        *steady,
        digits,
        declare("touched"),
        declare("empty", artifact_uri="gs://models/nothing"),
        declare("adopted", artifact_uri=THEIRS, **adopted),
        declare("changing", artifact_uri=THEIRS, **changing),
    )
    created = engine.up("--continue-on-error")
    first = live()
    steady.append(declare("adopted", artifact_uri=THEIRS, on_delete="keep"))
    write(engine, *steady, digits, declare("changing", artifact_uri=THEIRS, **changing))
    unchanged = engine.up("--refresh").ok()

    # Somebody else changes some, the state loses one, and the program changes one in place.
    models.merge_aliases(engine.endpoint(), f"{PARENT}/drifting@1", ["-golden", "theirs"])
    models.delete(engine.endpoint(), f"{PARENT}/lost")
    (urn,) = (one["urn"] for one in engine.state() if one["urn"].endswith("::killed"))
    engine.forget(urn)
    drift = engine.refresh().ok()
    (drifted,) = (one["outputs"] for one in engine.state() if one["urn"].endswith("::drifting"))
    steady.append(declare("touched", parent_model="touched", is_default_version=False))
    best = {"description": "what we trained", "version_aliases": ["best"]}
    write(
        engine,
        *steady,
        declare("digits", labels={"team": "b"}, **best),
        declare("changing", artifact_uri=THEIRS, **changing),
    )
    (urn,) = (one["urn"] for one in engine.state() if one["urn"].endswith("::demanded"))
    updated = engine.up("--replace", urn).ok()
    second = live()

    write(
        engine,
        *steady,
        declare("digits", artifact_uri=SECOND, **best),
        declare("changing", artifact_uri=SECOND, **changing),
    )
    replaced = engine.up().ok()
    third = live()
    again = engine.up("--expect-no-changes")

    models.delete(engine.endpoint(), f"{PARENT}/anew")
    upload(engine, "anew")
    engine.destroy().ok()
    return Life(
        created=created,
        first=first,
        unchanged=unchanged,
        drift=drift,
        drifted=drifted["version_aliases"],
        updated=updated,
        second=second,
        replaced=replaced,
        third=third,
        again=again,
        left=live(),
        state=engine.state(),
    )


def test_a_model_is_uploaded_with_its_aliases_and_labels(life: Life) -> None:
    (one,) = life.first["digits"]
    assert (one.version, set(one.aliases), one.labels["team"]) == ("1", {"default", "golden"}, "a")


def test_unchanged_resources_are_left_alone(life: Life) -> None:
    assert "unchanged" in life.unchanged.output
    assert not {"updated", "replaced", "created"} & set(life.unchanged.output.split())
    life.again.ok()


def test_words_labels_and_aliases_change_in_place(life: Life) -> None:
    # This one and the one that somebody else changed.
    assert "2 updated" in life.updated.output
    (one,) = life.second["digits"]
    assert (one.version, set(one.aliases), one.labels["team"]) == ("1", {"default", "best"}, "b")
    assert one.wire["description"] == "what we trained"


def test_other_files_are_another_version_that_replaces_the_one_before(life: Life) -> None:
    # This one and the adopted one.
    assert "2 replaced" in life.replaced.output
    (one,) = life.third["digits"]
    assert (one.version, set(one.aliases)) == ("2", {"default", "best"})
    assert one.wire["artifactUri"].rstrip("/") == SECOND
    assert "team" not in one.labels


def test_a_refresh_shows_what_somebody_else_changed(life: Life) -> None:
    assert "theirs" in life.drifted
    assert set(life.first["drifting"][0].aliases) == {"default", "golden"}
    assert set(life.second["drifting"][0].aliases) == {"default", "golden"}


def test_a_model_that_somebody_deleted_is_uploaded_again(life: Life) -> None:
    assert "1 deleted" in life.drift.output
    assert numbers(life.second["lost"]) == ["1"]


def test_replacing_on_demand_loses_no_model(life: Life) -> None:
    # The replacement adopts the existing version.
    assert "1 replaced" in life.updated.output
    assert numbers(life.first["demanded"]) == numbers(life.second["demanded"]) == ["1"]
    assert numbers(life.third["demanded"]) == ["1"]


def test_a_version_that_a_killed_deployment_uploaded_is_adopted(life: Life) -> None:
    assert "model killed: adopted" in life.updated.output
    assert numbers(life.second["killed"]) == ["1"]


def test_a_model_of_somebody_else_is_not_touched(life: Life) -> None:
    output = diagnostics(life.created.failed().output, "touched")
    assert "model touched already exists" in output
    assert 'parent_model="touched"' in output
    assert numbers(life.first["touched"]) == ["1"]
    newer, older = life.second["touched"]
    assert (newer.version, older.version) == ("2", "1")
    assert older.aliases == ("default",)


def test_a_version_of_somebody_else_s_model_is_deleted_alone(life: Life) -> None:
    assert "default" in life.first["alone"][0].aliases
    assert numbers(life.first["alone"]) == ["2", "1"]
    (one,) = life.left["alone"]
    assert (one.version, one.aliases) == ("1", ("default",))


def test_an_existing_version_is_adopted_and_changed(life: Life) -> None:
    (one,) = life.first["adopted"]
    assert (one.version, one.wire["displayName"]) == ("1", "adopted")
    assert numbers(life.first["changing"]) == ["1"]
    assert numbers(life.third["changing"]) == ["2"]


def test_nothing_is_uploaded_of_an_empty_directory(life: Life) -> None:
    assert "gs://models/nothing" in diagnostics(life.created.failed().output, "empty")


def test_destroying_leaves_the_models_of_others(life: Life) -> None:
    """Keep the model of somebody else that has the id of a deleted one, and one without on_delete=delete."""
    assert life.state == []
    left = {name: numbers(found) for name, found in life.left.items() if found}
    assert left == {"touched": ["1"], "alone": ["1"], "anew": ["1"], "adopted": ["1"]}
