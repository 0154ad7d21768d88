"""`vertex-training gc` with real stacks: orphans are deleted, the jobs of another backend stay."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.objects import SHARED_KEY, STAGED_KEY
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.kinds.staging_bucket.gateway import BucketRecord
from support.client import engine as support
from support.client.engine import Engine
from support.client.kills.stage import UP, Moment, Stage, Victim, at
from support.client.kills.subjects import PERSISTENT_RESOURCE
from support.emulated import command
from support.waiting import eventually

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
PROGRAM = f"""
bucket = vt.StagingBucket("staging", name=config.require("bucket"), force_destroy=True)
vt.StagedFile("data", bucket=config.get("shared") or bucket, source="data.txt", prefix="data")


def declare(name, **options):
    command = ["python3", "-c", "import time; time.sleep(600)"]
    pool = vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        container_spec=vt.ContainerSpecArgs(image_uri="{IMAGE}", command=command),
    )
    vt.CustomJob(name, worker_pool_specs=[pool], staging_bucket=bucket, **options)


declare("train", wait=config.get("wait") or "running")
"""
KEPT = 'declare("kept", on_delete="cancel")\n'


def gc(engine: Engine, *words: str) -> command.Ended:
    """Run the command in the folder of the project, with its backend."""
    return command.run("gc", *words, env=engine.environment, folder=engine.folder, timeout=180)


def decisions(engine: Engine, *words: str) -> dict[str, str]:
    """Return the decision about each job, by its id, and about each object, by its address."""
    document = gc(engine, "--json", *words).json
    return {
        **{one["id"]: one["is"] for one in document["jobs"]},
        **{one["uri"]: one["is"] for one in document["objects"]},
    }


def deploy(engine: Engine, bucket: str, program: str = PROGRAM, **settings: str) -> JobRecord:
    """Deploy the program and return its job, which runs."""
    engine.write(program)
    (engine.folder / "infra" / "data.txt").write_text("the same everywhere")
    for key, value in {"bucket": bucket, **settings}.items():
        engine.set(key, value)
    engine.up().ok()
    return job_of(engine)


def job_of(engine: Engine, name: str = "train") -> JobRecord:
    """Return the job of a resource in the state of the stack."""
    (id_,) = [one["id"] for one in engine.state() if one["urn"].endswith(f":CustomJob::{name}")]
    return custom_jobs.get(engine.endpoint(), id_)


def is_recorded(engine: Engine) -> bool:
    """Return whether the state has the job, also while it is written."""
    try:
        return any(one["urn"].endswith(":CustomJob::train") for one in engine.state())
    except (FileNotFoundError, ValueError):
        return False


def forget(engine: Engine, *kinds: str) -> None:
    """Remove the resources of these types from the state, and only from there; not those named `kept`."""
    urns = [
        one["urn"]
        for kind in kinds
        for one in engine.state()
        if one["type"].endswith(f":{kind}") and not one["urn"].endswith("kept")
    ]
    engine.forget(*urns)


def with_own_backend(engine: Engine, template: Path, python: Path, folder: Path) -> Engine:
    """Make another checkout with a backend of its own, with equal names, and the same cloud."""

    class SameCloud(Engine):
        @property
        def data_dir(self) -> Path:
            return engine.data_dir

    made = support.copy(template, folder, python=python)
    made.environment["VERTEX_TRAINING_DATA_DIR"] = str(engine.data_dir)
    return SameCloud(folder=made.folder, environment=made.environment)


def take_down(other: Engine) -> None:
    other.unlock()
    other.destroy()


@pytest.fixture
def other(engine: Engine, template: Path, python: Path, tmp_path: Path) -> Iterator[Engine]:
    made = with_own_backend(engine, template, python, tmp_path / "other")
    try:
        yield made
    finally:
        take_down(made)


@dataclass(kw_only=True)
class Steps:
    """The output of each command on two stacks in two backends, and the service's records at the time."""

    ours: JobRecord
    theirs: JobRecord
    kept: JobRecord
    uri: str
    of_their_backend: command.Ended
    of_both: dict[str, str]
    forgotten: dict[str, str]
    forgotten_of_both: dict[str, str]
    unreadable: command.Ended
    before: JobRecord
    done: command.Ended
    left: list[JobRecord]
    object_is_left: bool
    bucket: BucketRecord
    other_unchanged: support.Result
    destroyed: dict[str, str]
    done_after: command.Ended
    kept_after: JobRecord
    named: command.Ended
    left_at_last: list[JobRecord]


@pytest.fixture(scope="module")
def steps(
    shared_engine: Engine, template: Path, python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Steps]:
    engine = shared_engine
    other = with_own_backend(engine, template, python, tmp_path_factory.mktemp("other") / "project")
    try:
        yield _steps(engine, other)
    finally:
        take_down(other)


def _steps(engine: Engine, other: Engine) -> Steps:
    ours, theirs = deploy(engine, "bucket-ours", PROGRAM + KEPT), deploy(other, "bucket-theirs")
    kept = job_of(engine, "kept")
    backends = [one.environment["PULUMI_BACKEND_URL"] for one in (engine, other)]
    both = [word for backend in backends for word in ("--backend", backend)]
    of_their_backend = gc(engine, "--backend", backends[1])
    of_both = decisions(engine, *both)

    forget(engine, "CustomJob", "StagedFile")
    (uri,) = [one.uri for one in objects.list_objects(engine.endpoint(), "bucket-ours", prefix="data/")]
    forgotten, forgotten_of_both = decisions(engine), decisions(engine, *both)

    broken = engine.folder / "state" / ".pulumi" / "stacks" / "engine-test" / "broken.json"
    broken.write_text('{"version": 3, "checkpoint": {"latest": {"resour')
    unreadable = gc(engine, "--yes")
    broken.unlink()

    before = custom_jobs.get(engine.endpoint(), ours.name)
    done = gc(engine, "--yes")
    left = custom_jobs.list_jobs(engine.endpoint())
    found = objects.find(engine.endpoint(), *uri.removeprefix("gs://").split("/", 1))
    bucket = buckets.get(engine.endpoint(), "bucket-ours")
    other_unchanged = other.preview("--expect-no-changes")

    engine.destroy().ok()
    destroyed, done_after = decisions(engine), gc(engine, "--yes")
    kept_after = custom_jobs.get(engine.endpoint(), kept.name)
    named = gc(engine, "--yes", kept.name)
    return Steps(
        ours=ours,
        theirs=theirs,
        kept=kept,
        uri=uri,
        of_their_backend=of_their_backend,
        of_both=of_both,
        forgotten=forgotten,
        forgotten_of_both=forgotten_of_both,
        unreadable=unreadable,
        before=before,
        done=done,
        left=left,
        object_is_left=found is not None,
        bucket=bucket,
        other_unchanged=other_unchanged,
        destroyed=destroyed,
        done_after=done_after,
        kept_after=kept_after,
        named=named,
        left_at_last=custom_jobs.list_jobs(engine.endpoint()),
    )


def test_only_the_backends_of_the_command_line_are_read(steps: Steps) -> None:
    assert steps.ours.labels["pulumi-stack"] == steps.theirs.labels["pulumi-stack"]
    assert steps.of_their_backend.code == 0
    # A backend that is not the default is read instead of it: the job of `engine` is then not proven.
    assert steps.ours.job_id in steps.of_their_backend.out
    assert steps.of_both == {}


def test_orphans_are_deleted_and_the_other_backend_keeps_its_own(steps: Steps) -> None:
    orphans = {steps.ours.job_id: "orphan", steps.uri: "orphan"}
    assert steps.forgotten == {**orphans, steps.theirs.job_id: "unproven"}
    assert steps.forgotten_of_both == orphans
    assert steps.done.code == 0, steps.done.err
    assert "Deleted 2." in steps.done.err
    assert "cancelling" in steps.done.err
    left = {one.name: one.state.word for one in steps.left}
    assert left == {steps.theirs.name: "RUNNING", steps.kept.name: "RUNNING"}
    assert not steps.object_is_left
    assert steps.bucket.name == "bucket-ours"
    steps.other_unchanged.ok()


def test_nothing_is_deleted_if_a_state_cannot_be_read(steps: Steps) -> None:
    assert (steps.unreadable.code, steps.unreadable.out) == (1, "")
    assert "Nothing was deleted" in steps.unreadable.err
    assert steps.before.state is JobState.JOB_STATE_RUNNING


def test_a_record_that_was_kept_on_purpose_is_deleted_only_by_name(steps: Steps) -> None:
    assert steps.destroyed == {steps.kept.job_id: "kept", steps.theirs.job_id: "unproven"}
    assert steps.done_after.code == 0
    assert steps.kept_after.state is JobState.JOB_STATE_CANCELLED
    assert steps.named.code == 0
    assert [one.name for one in steps.left_at_last] == [steps.theirs.name]


@pytest.mark.slow
def test_orphans_of_a_removed_stack_are_deleted_only_by_name(engine: Engine, other: Engine) -> None:
    theirs = deploy(other, "bucket-theirs")
    engine.write(PROGRAM)
    (engine.folder / "infra" / "data.txt").write_text("x")
    for key, value in {"bucket": "bucket-ours", "wait": "done"}.items():
        engine.set(key, value)
    process = engine.start("up", "--yes", "--skip-preview", "--non-interactive")

    def is_running() -> bool:
        found = custom_jobs.list_jobs(engine.endpoint())
        return any(one.name != theirs.name and one.state.word == "RUNNING" for one in found)

    eventually(is_running)
    eventually(lambda: is_recorded(engine))  # a moment after the service has it
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    (orphan,) = [one for one in custom_jobs.list_jobs(engine.endpoint()) if one.name != theirs.name]
    assert orphan.job_id not in decisions(engine), "the state of the killed deployment knows it"
    engine.run("cancel", "--yes").ok()
    engine.run("stack", "rm", "test", "--yes", "--force").ok()

    listed = gc(engine, "--json").json
    because = {one["id"]: one["because"] for one in listed["jobs"]}
    assert "had it when the stack was removed" in because[orphan.job_id]
    assert "no stack here has run" in because[theirs.job_id]
    assert not any(one["chosen"] for one in listed["jobs"])
    assert gc(engine, "--yes").code == 0
    assert {one.state.word for one in custom_jobs.list_jobs(engine.endpoint())} == {"RUNNING"}

    their_backend = other.environment["PULUMI_BACKEND_URL"]
    refused = gc(engine, "--yes", theirs.job_id, "--backend", their_backend)
    assert (refused.code, "is in use: stack" in refused.err) == (2, True)
    done = gc(engine, "--yes", orphan.job_id)
    assert done.code == 0, done.err
    assert [one.name for one in custom_jobs.list_jobs(engine.endpoint())] == [theirs.name]
    engine.run("stack", "init", "test").ok()


@pytest.mark.slow
def test_an_object_that_two_backends_staged_is_not_proven(engine: Engine, other: Engine) -> None:
    deploy(engine, "bucket-ours")
    (first,) = objects.list_objects(engine.endpoint(), "bucket-ours", prefix="data/")
    assert (STAGED_KEY in first.metadata, SHARED_KEY in first.metadata) == (True, False)
    deploy(other, "bucket-theirs", shared="bucket-ours")
    (second,) = objects.list_objects(engine.endpoint(), "bucket-ours", prefix="data/")
    assert (second.generation, SHARED_KEY in second.metadata) == (first.generation, True)
    forget(engine, "StagedFile")
    assert decisions(engine)[first.uri] == "unproven"
    assert gc(engine, "--yes").code == 0
    assert objects.find(engine.endpoint(), first.bucket, first.name) is not None


@pytest.mark.slow
def test_a_persistent_resource_whose_first_creation_was_killed_is_deleted_by_name(engine: Engine) -> None:
    stage = Stage(engine, subject=PERSISTENT_RESOURCE)
    stage.declare()
    stage.interrupt(UP, at(PERSISTENT_RESOURCE.method("Create"), Moment.CARRIED_OUT), Victim.BOTH)
    stage.settle()
    shutil.rmtree(engine.data_dir / "creations")  # as on another machine, which has no notes
    engine.destroy().ok()
    assert len(stage.jobs()) == 1, "destroy does not know of it"

    (left,) = gc(engine, "--json").json["resources"]
    assert (left["id"], left["kind"], left["is"], left["chosen"]) == (
        "gpus",
        "persistent resource",
        "unproven",
        False,
    )
    assert left["pulumi"] == {"project": "engine-test", "stack": "test", "resource": "gpus"}
    assert "a killed deployment of stack engine-test/test in file://" in left["because"]
    assert gc(engine, "--yes").code == 0
    assert len(stage.jobs()) == 1
    deleted = gc(engine, "--yes", "gpus")
    assert (deleted.code, "Deleted 1." in deleted.err) == (0, True), deleted.err
    assert (stage.jobs(), stage.undone()) == ([], [])

    engine.up().ok()
    refused = gc(engine, "--yes", "gpus")
    assert (refused.code, "persistent resource gpus is in use: stack engine-test/test" in refused.err) == (
        2,
        True,
    )
    assert gc(engine, "--json").json["known"] == 1
    assert len(stage.jobs()) == 1
