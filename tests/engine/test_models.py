"""`Model` on the real Pulumi CLI and an emulator."""

from __future__ import annotations

from typing import Any

import pytest

from support.engine import Engine
from vertex_training.cloud import models
from vertex_training.cloud.errors import NotFound
from vertex_training.cloud.models import ModelRecord

NAME = "projects/local/locations/us-central1/models/digits"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
PROGRAM = """
bucket = vt.StagingBucket("models", name="models", force_destroy=True)
first = vt.StagedFile("first", bucket=bucket, source="one.txt", prefix="first")
second = vt.StagedFile("second", bucket=bucket, source="two.txt", prefix="second")
model = vt.Model(
    "digits",
    container_spec={{"image_uri": "{serving}"}},
    opts=pulumi.ResourceOptions(depends_on=[first, second]),
    **{arguments!r},
)
pulumi.export("id", model.id)
pulumi.export("version", model.version_id)
"""


def write(engine: Engine, **arguments: Any) -> None:
    for name in ("one", "two"):
        (engine.folder / "infra" / f"{name}.txt").write_text(name)
    given = {"artifact_uri": "gs://models/first", **arguments}
    engine.write(PROGRAM.format(serving=SERVING, arguments=given))


def versions(engine: Engine) -> list[ModelRecord]:
    return models.versions(engine.endpoint(), NAME)


def test_the_life_of_a_model(engine: Engine) -> None:
    write(engine, version_aliases=["golden"], labels={"team": "a"})
    engine.up().ok()
    assert engine.outputs()["version"] == "1"
    (one,) = versions(engine)
    assert (one.version, set(one.aliases), one.labels["team"]) == ("1", {"default", "golden"}, "a")
    assert "unchanged" in engine.up().ok().output

    write(engine, description="what we trained", version_aliases=["best"], labels={"team": "b"})
    output = engine.up().ok().output
    assert "1 updated" in output
    assert "replaced" not in output
    (one,) = versions(engine)
    assert (set(one.aliases), one.labels["team"]) == ({"default", "best"}, "b")
    assert one.wire["description"] == "what we trained"

    write(engine, description="what we trained", version_aliases=["best"], artifact_uri="gs://models/second")
    assert "1 replaced" in engine.up().ok().output
    (one,) = versions(engine)
    assert (one.version, set(one.aliases)) == ("2", {"default", "best"})
    assert one.wire["artifactUri"].rstrip("/") == "gs://models/second"
    assert "team" not in one.labels
    assert "unchanged" in engine.up().ok().output

    engine.destroy().ok()
    assert engine.state() == []
    with pytest.raises(NotFound):
        versions(engine)


def test_a_refresh_shows_what_somebody_else_changed(engine: Engine) -> None:
    write(engine, version_aliases=["golden"])
    engine.up().ok()
    refresh = ("refresh", "--yes", "--skip-preview", "--non-interactive")
    assert "unchanged" in engine.run(*refresh).ok().output
    models.merge_aliases(engine.endpoint(), f"{NAME}@1", ["-golden", "theirs"])
    assert "theirs" in engine.run(*refresh, "--diff").ok().output
    engine.up().ok()
    assert set(versions(engine)[0].aliases) == {"default", "golden"}
    models.delete(engine.endpoint(), NAME)
    engine.run(*refresh).ok()
    engine.up().ok()
    assert [one.version for one in versions(engine)] == ["1"]


def test_replacing_on_demand_loses_no_model(engine: Engine) -> None:
    write(engine)
    engine.up().ok()
    (urn,) = (one["urn"] for one in engine.state() if one["type"].endswith(":Model"))
    engine.up("--replace", urn).ok()
    assert len(versions(engine)) == 1
    assert "unchanged" in engine.up().ok().output


def test_a_version_that_a_killed_deployment_uploaded_is_taken_over(engine: Engine) -> None:
    write(engine)
    engine.up().ok()
    (urn,) = (one["urn"] for one in engine.state() if one["type"].endswith(":Model"))
    engine.run("state", "delete", urn, "--yes").ok()
    assert "taken over" in engine.up().ok().output
    assert [one.version for one in versions(engine)] == ["1"]


def test_a_model_of_somebody_else_is_not_touched(engine: Engine) -> None:
    write(engine, model_id="other")
    engine.up().ok()
    models.upload(
        engine.endpoint(),
        {
            "displayName": "theirs",
            "artifactUri": "gs://models/first",
            "containerSpec": {"imageUri": SERVING},
        },
        model_id="digits",
    )
    write(engine)
    output = engine.up().failed().output
    assert "model digits exists already" in output
    assert 'parent_model="digits"' in output
    write(engine, parent_model="digits", is_default_version=False)
    engine.up().ok()
    assert [one.version for one in versions(engine)] == ["2", "1"]
    assert versions(engine)[1].aliases == ("default",)
    engine.destroy().ok()


def test_a_version_of_somebody_else_s_model_goes_alone(engine: Engine) -> None:
    bare = {"displayName": "theirs", "containerSpec": {"imageUri": SERVING}}
    write(engine, model_id="own")
    engine.up().ok()
    models.upload(engine.endpoint(), bare, model_id="digits")
    write(engine, parent_model="digits")
    engine.up().ok()
    assert "default" in versions(engine)[0].aliases
    engine.destroy().ok()
    (one,) = versions(engine)
    assert (one.version, one.aliases) == ("1", ("default",))
    models.delete(engine.endpoint(), NAME)


def test_a_version_that_is_there_is_adopted(engine: Engine) -> None:
    write(engine, model_id="own")
    engine.up().ok()
    models.upload(
        engine.endpoint(),
        {
            "displayName": "theirs",
            "artifactUri": "gs://models/first",
            "containerSpec": {"imageUri": SERVING},
        },
        model_id="digits",
    )
    write(engine, adopt="digits@1", display_name="digits")
    engine.up().ok()
    assert versions(engine)[0].wire["displayName"] == "digits"
    write(engine)
    assert "unchanged" in engine.up().ok().output


def test_every_mistake_is_found_in_the_preview(engine: Engine) -> None:
    write(engine, model_id="1digits", artifact_uri="/models", version_aliases=["2"], labls={})
    output = engine.preview().failed().output
    for words in ("'1digits' is no id", "'/models' is no directory", "number of a version", "labels?"):
        assert words in output


def test_nothing_is_uploaded_of_an_empty_directory(engine: Engine) -> None:
    write(engine, artifact_uri="gs://models/nothing")
    assert "gs://models/nothing" in engine.up().failed().output


def test_a_model_changes_after_its_stack_was_renamed(engine: Engine) -> None:
    write(engine)
    engine.up().ok()
    engine.run("stack", "rename", "other").ok()
    engine.environment["PULUMI_STACK"] = "other"
    write(engine, artifact_uri="gs://models/second")
    engine.up().ok()
    assert [one.version for one in versions(engine)] == ["2"]


def test_an_adopted_model_changes(engine: Engine) -> None:
    write(engine, model_id="other")
    engine.up().ok()
    models.upload(
        engine.endpoint(),
        {
            "displayName": "digits",
            "artifactUri": "gs://models/first",
            "containerSpec": {"imageUri": SERVING},
        },
        model_id="digits",
    )
    write(engine, adopt="digits@1", model_id="digits")
    engine.up().ok()
    assert [one.version for one in versions(engine)] == ["1"]
    write(engine, adopt="digits@1", model_id="digits", artifact_uri="gs://models/second")
    engine.up().ok()
    assert [one.version for one in versions(engine)] == ["2"]


def test_a_model_that_was_made_anew_is_not_deleted(engine: Engine) -> None:
    write(engine)
    engine.up().ok()
    models.delete(engine.endpoint(), NAME)
    models.upload(
        engine.endpoint(),
        {"displayName": "x", "artifactUri": "gs://models/first", "containerSpec": {"imageUri": SERVING}},
        model_id="digits",
    )
    engine.destroy().ok()
    assert [one.version for one in versions(engine)] == ["1"]
