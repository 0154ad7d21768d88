"""`TrainingImage` on the real Pulumi CLI and an emulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from support.engine import Engine
from support.pushed_images import push_small_image
from vertex_training.cloud import registry, registry_push
from vertex_training.specs.image_names import ImageName, parse

BASE = "python:3.11-slim"
PLACE = "us-central1-docker.pkg.dev/local/trainers"
IMAGE = """
repository = vt.ImageRepository("trainers", force_destroy=True)
image = vt.TrainingImage("digits", repository=repository, **{arguments!r})
pulumi.export("uri", image.uri)
pulumi.export("digest", image.digest)
pulumi.export("tags", image.tag_uris)
pulumi.export("sent", image.sent_bytes)
pulumi.export("drift", image.drift)
"""
JOB = """
job = vt.CustomJob(
    "train",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            container_spec=vt.ContainerSpecArgs(image_uri=image),
        )
    ],
    wait="done",
)
"""


def program(**arguments: Any) -> str:
    return IMAGE.format(arguments={"source": "trainer", "base_image": BASE, **arguments})


def files(engine: Engine, contents: Mapping[str, str]) -> None:
    """The files of the image's source, beside the program."""
    folder = engine.folder / "infra" / "trainer"
    folder.mkdir(exist_ok=True)
    for name, text in contents.items():
        (folder / name).write_text(text)


@pytest.fixture
def trainer(engine: Engine) -> Engine:
    files(engine, {"task.py": "print('trained')\n"})
    return engine


def refresh(engine: Engine) -> str:
    return engine.run("refresh", "--yes", "--skip-preview", "--non-interactive", "--diff").ok().output


def tag(name: str) -> ImageName:
    return parse(f"{PLACE}/digits:{name}")


def test_the_life_of_an_image(trainer: Engine) -> None:
    trainer.write(program())
    trainer.up().ok()
    first = trainer.outputs()
    assert first["uri"] == f"{PLACE}/digits@{first['digest']}"
    assert first["tags"] == [f"{PLACE}/digits:latest"]
    assert registry.digest_at(trainer.endpoint(), tag("latest")) == first["digest"]
    assert first["sent"] > 0

    assert "unchanged" in trainer.up().ok().output

    files(trainer, {"task.py": "print('trained otherwise')\n"})
    output = trainer.up().ok().output
    assert "1 replaced" in output
    assert "image digits: its content changed; it is built anew" in output
    second = trainer.outputs()
    assert second["digest"] != first["digest"]
    assert registry.digest_at(trainer.endpoint(), tag("latest")) == second["digest"]
    assert registry.find_manifest(trainer.endpoint(), parse(first["uri"])) is not None, "it is kept"

    files(trainer, {"task.py": "print('trained')\n"})
    trainer.up().ok()
    third = trainer.outputs()
    assert (third["uri"], third["sent"]) == (first["uri"], 0), "what is there is not sent again"
    trainer.destroy().ok()
    assert trainer.state() == []


def test_tags_change_in_place_and_no_job_runs_again(trainer: Engine) -> None:
    trainer.write(program(command=["python3", "task.py"]) + JOB)
    trainer.up().ok()
    uri = trainer.outputs()["uri"]
    job = next(one for one in trainer.state() if one["type"].endswith(":CustomJob"))
    assert job["inputs"]["worker_pool_specs"][0]["container_spec"]["image_uri"] == uri

    trainer.write(program(command=["python3", "task.py"], tags=["v1"]) + JOB)
    preview = trainer.preview("--diff").ok().output
    assert "1 to update" in preview
    assert "replace" not in preview
    assert "1 updated" in trainer.up().ok().output
    assert trainer.outputs()["uri"] == uri
    assert registry.tags(trainer.endpoint(), parse(uri)) == ("v1",)

    trainer.write(program(command=["python3", "-u", "task.py"], tags=["v1"]) + JOB)
    preview = trainer.preview("--diff").ok().output
    assert "image digits: its content changed; it is built anew, and jobs that use it run again" in preview
    # The image, the job's run, and the job.
    assert "2 to replace" in preview


def test_what_moved_is_shown_by_a_refresh_and_not_acted_on(trainer: Engine) -> None:
    trainer.write("vt.ImageRepository('another')")
    trainer.up().ok()
    push_small_image(trainer.endpoint(), "gcr.io/bases/mine:1", b"1")
    trainer.write(program(base_image="gcr.io/bases/mine:1", tags=["latest", "v1"]))
    trainer.up().ok()
    before = trainer.outputs()
    assert before["drift"] == []
    assert "unchanged" in refresh(trainer)
    push_small_image(trainer.endpoint(), "gcr.io/bases/mine:1", b"2")
    theirs = push_small_image(trainer.endpoint(), f"{PLACE}/digits:latest", b"theirs")
    registry.delete(trainer.endpoint(), tag("v1"))
    output = refresh(trainer)
    assert f"the tag latest stands for {theirs.digest} now; somebody else moved it" in output
    assert "the tag v1 stands for nothing now" in output
    assert "the base gcr.io/bases/mine:1 stands for sha256:" in output
    output = trainer.up().ok().output
    assert "replaced" not in output
    assert "updated" not in output
    assert trainer.outputs()["uri"] == before["uri"]
    assert len(trainer.outputs()["drift"]) == 3
    assert registry.digest_at(trainer.endpoint(), tag("latest")) == theirs.digest


def test_an_image_that_is_gone_is_made_again(trainer: Engine) -> None:
    trainer.write(program())
    trainer.up().ok()
    uri = trainer.outputs()["uri"]
    registry.delete(trainer.endpoint(), tag("latest"))
    registry.delete(trainer.endpoint(), parse(uri))
    refresh(trainer)
    trainer.up().ok()
    assert trainer.outputs()["uri"] == uri


def test_a_destroyed_image_goes_by_option(trainer: Engine) -> None:
    repository = 'repository = vt.ImageRepository("trainers", force_destroy=True)\n'
    images = {"kept": "keep", "deleted": "delete", "tagged": "delete"}
    declared = [
        f'vt.TrainingImage("{name}", repository=repository, source="trainer", base_image="{BASE}", '
        f'on_delete="{option}")\n'
        for name, option in images.items()
    ]
    trainer.write(repository + "".join(declared))
    trainer.up().ok()
    endpoint = trainer.endpoint()
    found = {name: registry.manifest(endpoint, parse(f"{PLACE}/{name}:latest")) for name in images}
    registry_push.tag(endpoint, parse(f"{PLACE}/tagged:theirs"), found["tagged"])
    trainer.write(repository)
    assert "it has tags that this stack did not give it: theirs" in trainer.up().ok().output
    left = {
        name: registry.find_manifest(endpoint, parse(f"{PLACE}/{name}").at(manifest.digest)) is not None
        for name, manifest in found.items()
    }
    assert left == {"kept": True, "deleted": False, "tagged": True}
    assert registry.tags(endpoint, parse(f"{PLACE}/tagged")) == ("theirs",)


def test_a_bad_dockerfile_is_refused_in_the_preview_with_its_lines(trainer: Engine) -> None:
    files(trainer, {"Dockerfile": "FROM python:3.11\nCPOY task.py .\nCOPY nothing.py .\n"})
    trainer.write(program(base_image=None, name="Digits", colour="red"))
    output = trainer.preview().failed().output
    for words in ("Dockerfile:2: ", "CPOY", "'Digits'", "colour"):
        assert words in output


def test_what_is_not_known_yet_is_not_judged(trainer: Engine) -> None:
    """The image's own repository is new, and so are a label that follows from it and the base of another."""
    trainer.write(
        """
        repository = vt.ImageRepository("trainers", force_destroy=True)
        image = vt.TrainingImage(
            "digits", repository=repository, source="trainer", base_image="python:3.11-slim",
            labels={"made-for": repository.id},
        )
        vt.TrainingImage("more", repository=repository, source="trainer", base_image=image)
        """
    )
    assert "4 to create" in trainer.preview().ok().output
    trainer.up().ok()
    assert "unchanged" in trainer.up().ok().output


def test_an_unknown_project_is_no_other_content(trainer: Engine) -> None:
    trainer.write(program())
    trainer.up().ok()
    trainer.write(
        'bucket = vt.StagingBucket("b", name="a-new-bucket")\n'
        + program().replace('"digits", ', '"digits", project=bucket.id.apply(lambda _: "local"), ')
    )
    output = trainer.preview("--diff").ok().output
    assert "1 to create" in output
    assert "replace" not in output


def test_the_hash_of_a_secret_is_secret(trainer: Engine) -> None:
    trainer.write(
        'env = {"TOKEN": pulumi.Output.secret("hunter2")}\n'
        + program().replace('"digits", ', '"digits", env=env, ').replace("image.digest", "image.content_hash")
    )
    trainer.up().ok()
    assert trainer.outputs()["digest"] == "[secret]"
    (image,) = (one for one in trainer.state() if one["type"].endswith(":TrainingImage"))
    for properties in (image["inputs"], image["outputs"]):
        assert isinstance(properties["content_hash"], dict), "in clear"
    assert "unchanged" in trainer.up().ok().output


def test_an_image_that_another_resource_has_is_not_deleted(trainer: Engine) -> None:
    program = """
    repository = vt.ImageRepository("trainers", force_destroy=True)
    for name in {names!r}:
        image = vt.TrainingImage(
            name, name="digits", repository=repository, source="trainer", base_image="python:3.11-slim",
            on_delete="delete",
        )
    pulumi.export("uri", image.uri)
    """
    trainer.write(program.format(names=["a", "b"]))
    trainer.up().ok()
    trainer.write(program.format(names=["b"]))
    assert "1 deleted" in trainer.up().ok().output
    uri = parse(trainer.outputs()["uri"])
    assert registry.digest_at(trainer.endpoint(), tag("latest")) == uri.digest
    trainer.write('vt.ImageRepository("trainers", force_destroy=True)')
    trainer.up().ok()
    assert registry.find_manifest(trainer.endpoint(), uri) is None
