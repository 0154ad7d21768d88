"""`ImageRepository` on the real Pulumi CLI and an emulator."""

from __future__ import annotations

from typing import Any

from support.engine import Engine
from vertex_training.cloud import artifact_registry, custom_jobs
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


KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"


def test_replacing_on_demand_loses_no_repository(engine: Engine) -> None:
    write(engine)
    engine.up().ok()
    (urn,) = (one["urn"] for one in engine.state())
    engine.up("--replace", urn).ok()
    assert there(engine).name == NAME


def test_a_repository_with_images_is_not_replaced_and_no_job_is_cancelled(engine: Engine) -> None:
    (engine.folder / "infra" / "trainer").mkdir()
    (engine.folder / "infra" / "trainer" / "task.py").write_text("import time\ntime.sleep(600)\n")
    program = """
    repository = vt.ImageRepository("trainers", **{arguments!r})
    image = vt.TrainingImage(
        "digits", repository=repository, source="trainer", base_image="python:3.11-slim",
        command=["python3", "task.py"],
    )
    vt.CustomJob(
        "train",
        worker_pool_specs=[
            {{
                "machine_spec": {{"machine_type": "n1-standard-4"}},
                "replica_count": 1,
                "container_spec": {{"image_uri": image}},
            }}
        ],
    )
    """
    engine.write(program.format(arguments={}))
    engine.up().ok()
    (job,) = (one["id"] for one in engine.state() if one["type"].endswith(":CustomJob"))
    engine.write(program.format(arguments={"kms_key_name": KEY}))
    for command in (engine.preview, engine.up):
        output = command().failed().output
        assert "another kms_key_name replaces it, and it holds images, such as digits" in output
    assert custom_jobs.get(engine.endpoint(), job).state.name == "JOB_STATE_RUNNING"
    engine.write(program.format(arguments={"force_destroy": True}))
    engine.up().ok()
    engine.write(program.format(arguments={"force_destroy": True, "kms_key_name": KEY}))
    assert "3 replaced" in engine.up().ok().output
