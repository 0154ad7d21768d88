"""`ImageRepository` on the real Pulumi CLI and an emulator."""

from __future__ import annotations

from typing import Any

import pytest

from support.engine import Engine
from vertex_training.cloud import artifact_registry, registry_push
from vertex_training.cloud.artifact_registry import RepositoryRecord
from vertex_training.cloud.registry import Manifest, digest_of
from vertex_training.specs.image_names import parse
from vertex_training.specs.image_repository_wire import from_wire, to_wire

NAME = "projects/local/locations/us-central1/repositories/trainers"
URL = "us-central1-docker.pkg.dev/local/trainers"
REPOSITORY = """
repository = vt.ImageRepository("trainers", {arguments})
pulumi.export("url", repository.url)
pulumi.export("host", repository.registry_host)
pulumi.export("id", repository.id)
"""
MARKS = {"pulumi-project": "engine-test", "pulumi-stack": "test", "pulumi-resource": "trainers"}
OCI = "application/vnd.oci.image.index.v1+json"
INDEX = b'{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}'


def write(engine: Engine, **arguments: Any) -> None:
    engine.write(
        REPOSITORY.format(arguments=", ".join(f"{key}={value!r}" for key, value in arguments.items()))
    )


def there(engine: Engine) -> RepositoryRecord:
    return artifact_registry.get(engine.endpoint(), NAME)


def push(engine: Engine) -> None:
    manifest = Manifest(digest=digest_of(INDEX), media_type=OCI, content=INDEX)
    registry_push.push(engine.endpoint(), parse(f"{URL}/digits"), manifest, [])


def test_the_life_of_a_repository(engine: Engine) -> None:
    write(engine, description="what we train with")
    engine.up().ok()
    assert engine.outputs() == {"url": URL, "host": "us-central1-docker.pkg.dev", "id": NAME}
    assert from_wire(there(engine).wire).description == "what we train with"
    assert "unchanged" in engine.up().ok().output
    write(
        engine,
        labels={"team": "a"},
        cleanup_policies=[{"id": "new", "action": "DELETE", "condition": {"older_than": "30d"}}],
    )
    output = engine.up().ok().output
    assert "1 updated" in output
    assert "replaced" not in output
    live = from_wire(there(engine).wire)
    assert (live.labels, live.description) == ({"team": "a"}, "")
    assert live.cleanup_policies[0].condition.older_than == "2592000s"
    write(engine, kms_key_name="projects/p/locations/us-central1/keyRings/r/cryptoKeys/k")
    assert "1 replaced" in engine.up().ok().output
    engine.destroy().ok()
    assert engine.state() == []


def test_the_address_is_known_in_a_preview(engine: Engine) -> None:
    write(engine)
    assert URL in engine.preview("--diff").ok().output


def test_a_refresh_shows_what_somebody_else_changed(engine: Engine) -> None:
    write(engine, labels={"team": "a"})
    engine.up().ok()
    assert "unchanged" in engine.run("refresh", "--yes", "--skip-preview", "--non-interactive").ok().output
    artifact_registry.patch(engine.endpoint(), NAME, {"labels": {"team": "b"}, "description": "theirs"})
    output = engine.run("refresh", "--yes", "--skip-preview", "--non-interactive", "--diff").ok().output
    assert "theirs" in output
    engine.up().ok()
    live = from_wire(there(engine).wire)
    assert (live.labels, live.description) == ({"team": "a"}, "")


def test_one_that_is_gone_is_made_again(engine: Engine) -> None:
    write(engine)
    engine.up().ok()
    artifact_registry.delete(engine.endpoint(), NAME)
    engine.run("refresh", "--yes", "--skip-preview", "--non-interactive").ok()
    engine.up().ok()
    assert there(engine).name == NAME


def test_one_with_images_is_kept_unless_it_may_go(engine: Engine) -> None:
    write(engine)
    engine.up().ok()
    push(engine)
    output = engine.destroy().failed().output
    assert f"repository {NAME} holds images: digits" in output
    assert "force_destroy=True" in output
    write(engine, force_destroy=True)
    assert "1 updated" in engine.up().ok().output
    engine.destroy().ok()
    assert engine.state() == []


def begin(engine: Engine, labels: dict[str, str]) -> None:
    """The repository as an interrupted deployment leaves it: the emulator runs, the state knows nothing."""
    engine.write("vt.ImageRepository('another')")
    engine.up().ok()
    wire = {**to_wire(from_wire({"name": NAME})), "labels": labels}
    artifact_registry.create(engine.endpoint(), NAME, wire)


def test_one_that_an_interrupted_deployment_made_is_taken_over(engine: Engine) -> None:
    begin(engine, MARKS)
    write(engine, description="mine")
    output = engine.up().ok().output
    assert "repository trainers: taken over; an interrupted deployment of this stack made it" in output
    assert from_wire(there(engine).wire).description == "mine"


@pytest.mark.parametrize(
    ("labels", "pushed"),
    [
        pytest.param({}, False, id="somebody else's"),
        pytest.param({**MARKS, "pulumi-stack": "other"}, False, id="another stack's"),
        pytest.param(MARKS, True, id="one that holds images"),
    ],
)
def test_one_that_is_there_already_is_refused(engine: Engine, labels: dict[str, str], pushed: bool) -> None:
    begin(engine, labels)
    if pushed:
        push(engine)
    write(engine)
    output = engine.up().failed().output
    assert "repository trainers exists already in project local, us-central1" in output
    assert f'repository="{URL}"' in output


def test_every_mistake_is_found_in_the_preview(engine: Engine) -> None:
    write(engine, name="Trainers", mode="VIRTUAL", imutable_tags=True)
    output = engine.preview().failed().output
    for words in ("'Trainers'", "nothing can be pushed to a VIRTUAL", "did you mean immutable_tags?"):
        assert words in output
