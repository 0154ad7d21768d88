"""`ImageRepository` on the real Pulumi CLI and an emulator."""

from __future__ import annotations

from typing import Any

from support.engine import Engine
from vertex_training.cloud import artifact_registry
from vertex_training.cloud.artifact_registry import RepositoryRecord
from vertex_training.specs.image_repository_wire import from_wire

NAME = "projects/local/locations/us-central1/repositories/trainers"
URL = "us-central1-docker.pkg.dev/local/trainers"
REPOSITORY = """
repository = vt.ImageRepository("trainers", {arguments})
pulumi.export("url", repository.url)
pulumi.export("host", repository.registry_host)
pulumi.export("id", repository.id)
"""


def write(engine: Engine, **arguments: Any) -> None:
    engine.write(
        REPOSITORY.format(arguments=", ".join(f"{key}={value!r}" for key, value in arguments.items()))
    )


def there(engine: Engine) -> RepositoryRecord:
    return artifact_registry.get(engine.endpoint(), NAME)


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
    artifact_registry.delete(engine.endpoint(), NAME)
    engine.run("refresh", "--yes", "--skip-preview", "--non-interactive").ok()
    engine.up().ok()
    assert there(engine).name == NAME


def test_every_mistake_is_found_in_the_preview(engine: Engine) -> None:
    write(engine, name="Trainers", mode="VIRTUAL", imutable_tags=True)
    output = engine.preview().failed().output
    for words in ("'Trainers'", "nothing can be pushed to a VIRTUAL", "did you mean immutable_tags?"):
        assert words in output
