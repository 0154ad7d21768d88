"""`TrainingImage` on the real Pulumi CLI and an emulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry import push as registry_push
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from support.client.engine import Engine, Result
from support.client.registries.pushed_images import push_small_image

# Shown quicker in tests/pulumi_vertex_training: kinds/training_image/test_images_process.py,
# kinds/image_repository/test_images_on_the_emulator.py, package/test_other_kinds.py
pytestmark = pytest.mark.slow

BASE = "python:3.11-slim"
OWN_BASE = "gcr.io/bases/mine:1"
PLACE = "us-central1-docker.pkg.dev/local/trainers"
HEAD = """
repository = vt.ImageRepository("trainers", repository_id="trainers", force_destroy=True)
"""
OUTPUTS = ("uri", "digest", "tag_uris", "sent_bytes", "drift")
JOB = """
job = vt.CustomJob(
    "train",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            container_spec=vt.ContainerSpecArgs(image_uri=used),
        )
    ],
    wait="done",
)
"""
SECRET = """
env = {"TOKEN": pulumi.Output.secret("hunter2")}
secret = vt.TrainingImage(
    "secret", repository=repository, source="trainer", base_image="python:3.11-slim", env=env
)
pulumi.export("hash of secret", secret.content_hash)
"""
UNKNOWN = """
labelled = vt.TrainingImage(
    "labelled", repository=repository, source="trainer", base_image="python:3.11-slim",
    labels={"made-for": repository.id},
)
vt.TrainingImage("more", repository=repository, source="trainer", base_image=labelled)
"""


def declare(name: str, options: str = "", /, **arguments: Any) -> str:
    """Return the lines of a program that declare an image as a variable, and export its outputs."""
    given = {"source": "trainer", "base_image": BASE, **arguments}
    line = f"{name} = vt.TrainingImage({name!r}, repository=repository, {options} **{given!r})\n"
    return line + "".join(f'pulumi.export("{each} of {name}", {name}.{each})\n' for each in OUTPUTS)


def files(engine: Engine, contents: Mapping[str, str], folder: str = "trainer") -> None:
    """Write the files of an image's source, beside the program."""
    path = engine.folder / "infra" / folder
    path.mkdir(exist_ok=True)
    for name, text in contents.items():
        (path / name).write_text(text)


def named(image: str, tag: str) -> ImageName:
    return parse(f"{PLACE}/{image}:{tag}")


def ids(engine: Engine) -> dict[str, str]:
    return {one["urn"].rpartition("::")[2]: one["id"] for one in engine.state() if one["custom"]}


@dataclass(kw_only=True)
class Steps:
    """The output of deployments of one stack, its outputs, and the images in the registry after them."""

    planned: Result
    outputs: list[dict[str, Any]]
    used_by: str
    digest: str | None
    secret: dict[str, Any]
    unchanged: Result
    theirs: str
    drift: Result
    changed: Result
    found: dict[str, bool]
    tags: dict[str, tuple[str, ...]]
    digests: dict[str, str | None]
    both: str
    first_is_kept: bool
    job: list[str]
    replanned: Result
    both_is_kept: bool
    state: list[Any]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    endpoint = engine.endpoint()
    outputs = []
    files(engine, {"task.py": "print('trained')\n"})
    files(engine, {"task.py": "print('trained')\n"}, "digits")
    push_small_image(endpoint, OWN_BASE, b"1")

    def both(resource: str) -> str:
        return declare(resource, name="both", on_delete="delete")

    steady = [
        HEAD,
        declare("digits", source="digits"),
        declare("moved", base_image=OWN_BASE, tags=["latest", "v1"]),
        declare("gone"),
        UNKNOWN,
        SECRET,
    ]
    removed = [declare("kept", on_delete="keep")]
    removed += [declare(name, on_delete="delete") for name in ("deleted", "tagged")]
    removed.append(both("a"))
    command = ["python3", "task.py"]
    engine.write("".join((*steady, *removed, both("b"), declare("used", command=command), JOB)))
    planned, made = engine.preview_and_up()
    made.ok()
    outputs.append(engine.outputs())
    digest = registry.digest_at(endpoint, named("digits", "latest"))
    state = {one["urn"].rpartition("::")[2]: one for one in engine.state()}
    jobs = [ids(engine)["train"]]
    unchanged = engine.up("--refresh").ok()

    # Somebody else moves and deletes tags and images.
    push_small_image(endpoint, OWN_BASE, b"2")
    theirs = push_small_image(endpoint, f"{PLACE}/moved:latest", b"theirs")
    registry.delete(endpoint, named("moved", "v1"))
    registry.delete(endpoint, named("gone", "latest"))
    registry.delete(endpoint, parse(outputs[0]["uri of gone"]))
    manifests = {
        name: registry.manifest(endpoint, named(name, "latest")) for name in ("kept", "deleted", "tagged")
    }
    registry_push.tag(endpoint, named("tagged", "theirs"), manifests["tagged"])
    drift = engine.run("refresh", "--yes", "--skip-preview", "--non-interactive", "--diff").ok()

    # The program changes the content of one image and the tags of another, and removes some.
    files(engine, {"task.py": "print('trained otherwise')\n"}, "digits")
    used = declare("used", command=command, tags=["v1"])
    engine.write("".join((*steady, both("b"), used, JOB)))
    changed = engine.up().ok()
    outputs.append(engine.outputs())
    jobs.append(ids(engine)["train"])
    found = {
        name: registry.find_manifest(endpoint, parse(f"{PLACE}/{name}").at(manifest.digest)) is not None
        for name, manifest in manifests.items()
    }
    uris = {name: parse(outputs[1][f"uri of {name}"]) for name in ("used", "b")}
    tags = {
        "tagged": registry.tags(endpoint, parse(f"{PLACE}/tagged")),
        "used": registry.tags(endpoint, uris["used"]),
    }
    digests = {
        name: registry.digest_at(endpoint, named(name, "latest")) for name in ("digits", "both", "moved")
    }
    first_is_kept = registry.find_manifest(endpoint, parse(outputs[0]["uri of digits"])) is not None

    # A command is other content; a project that is not known yet is not.
    unknown = 'bucket = vt.StagingBucket("b", name="a-new-bucket")\n'
    unknown += declare("digits", 'project=bucket.id.apply(lambda _: "local"),', source="digits")
    other = declare("used", command=["python3", "-u", "task.py"], tags=["v1"])
    engine.write("".join((HEAD, unknown, *steady[2:], both("b"), other, JOB)))
    replanned = engine.preview("--diff").ok()

    files(engine, {"task.py": "print('trained')\n"}, "digits")
    engine.write("".join(steady))
    engine.up().ok()
    outputs.append(engine.outputs())
    both_is_kept = registry.find_manifest(endpoint, uris["b"]) is not None
    engine.destroy().ok()
    return Steps(
        planned=planned,
        outputs=outputs,
        used_by=state["train"]["inputs"]["worker_pool_specs"][0]["container_spec"]["image_uri"],
        digest=digest,
        secret=state["secret"],
        unchanged=unchanged,
        theirs=theirs.digest,
        drift=drift,
        changed=changed,
        found=found,
        tags=tags,
        digests=digests,
        both=uris["b"].digest or "",
        first_is_kept=first_is_kept,
        job=jobs,
        replanned=replanned,
        both_is_kept=both_is_kept,
        state=engine.state(),
    )


def test_an_image_is_built_and_sent_with_its_tags(steps: Steps) -> None:
    first = steps.outputs[0]
    assert first["uri of digits"] == f"{PLACE}/digits@{first['digest of digits']}"
    assert first["tag_uris of digits"] == [f"{PLACE}/digits:latest"]
    assert steps.digest == first["digest of digits"]
    assert first["sent_bytes of digits"] > 0
    assert first["drift of moved"] == []


def test_changed_content_is_built_again_and_existing_content_is_not_sent_again(steps: Steps) -> None:
    first, second, third = steps.outputs
    assert "1 replaced" in steps.changed.output
    assert "image digits: its content changed. The image is built again" in steps.changed.output
    assert second["digest of digits"] != first["digest of digits"]
    assert steps.digests["digits"] == second["digest of digits"]
    assert steps.first_is_kept
    assert (third["uri of digits"], third["sent_bytes of digits"]) == (first["uri of digits"], 0)


def test_tags_change_in_place_and_no_job_runs_again(steps: Steps) -> None:
    first, second, _ = steps.outputs
    assert steps.used_by == first["uri of used"] == second["uri of used"]
    assert "1 updated" in steps.changed.output
    assert steps.tags["used"] == ("v1",)
    assert steps.job[0] == steps.job[1]


def test_other_content_of_a_used_image_runs_its_jobs_again(steps: Steps) -> None:
    output = steps.replanned.output
    assert (
        "image used: its content changed. The image is built again, and jobs that use it run again" in output
    )
    # The image and the job.
    assert "2 to replace" in output


def test_an_unknown_project_is_no_other_content(steps: Steps) -> None:
    assert "image digits" not in steps.replanned.output


def test_moved_tags_and_bases_are_shown_by_a_refresh_and_change_nothing(steps: Steps) -> None:
    output = steps.drift.output
    assert f"the tag latest was moved to {steps.theirs} outside this stack" in output
    assert "the tag v1 was removed outside this stack" in output
    assert f"the base image {OWN_BASE} is now sha256:" in output
    first, second, _ = steps.outputs
    assert second["uri of moved"] == first["uri of moved"]
    assert len(second["drift of moved"]) == 3
    assert steps.digests["moved"] == steps.theirs


def test_unchanged_resources_are_left_alone(steps: Steps) -> None:
    assert "unchanged" in steps.unchanged.output
    assert not {"updated", "replaced"} & set(steps.unchanged.output.split())


def test_an_image_that_is_gone_is_made_again(steps: Steps) -> None:
    first, second, _ = steps.outputs
    assert "1 deleted" in steps.drift.output
    assert "1 created" in steps.changed.output
    assert second["uri of gone"] == first["uri of gone"]


def test_a_destroyed_image_is_deleted_if_the_option_is_set(steps: Steps) -> None:
    assert "it has tags from outside this stack: theirs" in steps.changed.output
    assert steps.found == {"kept": True, "deleted": False, "tagged": True}
    assert steps.tags["tagged"] == ("theirs",)


def test_an_image_that_another_resource_has_is_not_deleted(steps: Steps) -> None:
    # Three by their options, and one of the two resources.
    assert "4 deleted" in steps.changed.output
    assert steps.digests["both"] == steps.both
    assert not steps.both_is_kept


def test_unknown_inputs_are_not_checked(steps: Steps) -> None:
    """Preview new images whose repository, a label that follows from it, and one base are new as well."""
    assert "16 to create" in steps.planned.output


def test_the_hash_of_a_secret_is_secret(steps: Steps) -> None:
    assert steps.outputs[0]["hash of secret"] == "[secret]"
    for properties in (steps.secret["inputs"], steps.secret["outputs"]):
        assert isinstance(properties["content_hash"], dict), "in clear"


def test_destroying_leaves_no_resource(steps: Steps) -> None:
    assert steps.state == []


def test_a_bad_dockerfile_is_refused_in_the_preview_with_its_lines(engine: Engine) -> None:
    files(engine, {"Dockerfile": "FROM python:3.11\nCPOY task.py .\nCOPY nothing.py .\n"})
    engine.write(HEAD + declare("digits", base_image=None, name="Digits", colour="red"))
    output = engine.preview().failed().output
    for words in ("Dockerfile:2: ", "CPOY", "'Digits'", "colour"):
        assert words in output
