"""`vertex-training gc` with real stacks: what nobody knows goes, what another backend knows stays."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord, JobState
from pulumi_vertex_training.kinds.staged.spec import SHARED_KEY, STAGED_KEY
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support import engine as support
from support.engine import Engine
from support.kills import UP, Moment, Stage, Victim, at
from support.subjects import PERSISTENT_RESOURCE
from support.waiting import eventually

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
PROGRAM = f"""
bucket = vt.StagingBucket("staging", name=config.require("bucket"), force_destroy=True)
vt.StagedFile("data", bucket=config.get("shared") or bucket, source="data.txt", prefix="data")
vt.CustomJob(
    "train",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            container_spec=vt.ContainerSpecArgs(
                image_uri="{IMAGE}", command=["python3", "-c"], args=["import time; time.sleep(600)"]
            ),
        )
    ],
    staging_bucket=bucket,
    wait=config.get("wait") or "running",
    on_delete=config.get("onDelete") or "delete",
)
"""


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def gc(engine: Engine, *words: str) -> Ended:
    """The command in the folder of the project, with its backend."""
    done = subprocess.run(
        [Path(sys.executable).with_name("vertex-training"), "gc", *words],
        cwd=engine.folder,
        env=engine.environment,
        capture_output=True,
        text=True,
        timeout=180,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def verdicts(engine: Engine, *words: str) -> dict[str, str]:
    """What is said of each job, by its id, and object, by its address."""
    document = gc(engine, "--json", *words).json
    return {
        **{one["id"]: one["is"] for one in document["jobs"]},
        **{one["uri"]: one["is"] for one in document["objects"]},
    }


def deploy(engine: Engine, bucket: str, **settings: str) -> JobRecord:
    """The program, deployed; its job runs."""
    engine.write(PROGRAM)
    (engine.folder / "infra" / "data.txt").write_text("the same everywhere")
    for key, value in {"bucket": bucket, **settings}.items():
        engine.set(key, value)
    engine.up().ok()
    return job_of(engine)


def job_of(engine: Engine) -> JobRecord:
    """The job in the state of the stack."""
    (id_,) = [one["id"] for one in engine.state() if one["type"].endswith(":CustomJob")]
    return custom_jobs.get(engine.endpoint(), id_)


def forget(engine: Engine, *kinds: str) -> None:
    """Take the resources out of the state, and only there."""
    for kind in kinds:
        for one in engine.state():
            if one["type"].endswith(f":{kind}"):
                engine.run("state", "delete", one["urn"], "--yes").ok()


@pytest.fixture
def other(engine: Engine, template: Path, tmp_path: Path) -> Iterator[Engine]:
    """Another checkout with a backend of its own, with equal names, and the same cloud."""

    class SameCloud(Engine):
        @property
        def data_dir(self) -> Path:
            return engine.data_dir

    made = support.copy(template, tmp_path / "other")
    made.environment["VERTEX_TRAINING_DATA_DIR"] = str(engine.data_dir)
    made = SameCloud(folder=made.folder, environment=made.environment)
    try:
        yield made
    finally:
        made.run("cancel", "--yes")
        made.destroy()


def test_what_was_deleted_from_a_state_goes_and_the_other_backend_keeps_its_own(
    engine: Engine, other: Engine
) -> None:
    ours, theirs = deploy(engine, "bucket-ours"), deploy(other, "bucket-theirs")
    assert ours.labels["pulumi-stack"] == theirs.labels["pulumi-stack"]
    clean = gc(engine, "--backend", other.environment["PULUMI_BACKEND_URL"])
    assert clean.code == 0
    # A backend that is not the default is read instead of it: the job of `engine` is then not proven.
    assert ours.job_id in clean.out
    both = ("--backend", engine.environment["PULUMI_BACKEND_URL"])
    both += ("--backend", other.environment["PULUMI_BACKEND_URL"])
    assert verdicts(engine, *both) == {}

    forget(engine, "CustomJob", "Run", "StagedFile")
    (uri,) = [one.uri for one in objects.list_objects(engine.endpoint(), "bucket-ours", prefix="data/")]
    assert verdicts(engine) == {ours.job_id: "orphan", uri: "orphan", theirs.job_id: "unproven"}
    assert verdicts(engine, *both) == {ours.job_id: "orphan", uri: "orphan"}
    assert custom_jobs.get(engine.endpoint(), ours.name).state is JobState.JOB_STATE_RUNNING

    done = gc(engine, "--yes")
    assert done.code == 0, done.err
    assert "Deleted 2." in done.err
    assert "cancelling" in done.err
    left = custom_jobs.list_jobs(engine.endpoint())
    assert [(one.name, one.state.word) for one in left] == [(theirs.name, "RUNNING")]
    assert objects.find(engine.endpoint(), *uri.removeprefix("gs://").split("/", 1)) is None
    assert buckets.get(engine.endpoint(), "bucket-ours").name == "bucket-ours"
    other.preview("--expect-no-changes").ok()


@pytest.mark.slow
def test_what_a_removed_stack_left_is_deleted_only_by_name(engine: Engine, other: Engine) -> None:
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
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    (orphan,) = [one for one in custom_jobs.list_jobs(engine.endpoint()) if one.name != theirs.name]
    assert orphan.job_id not in verdicts(engine), "the state of the killed deployment knows it"
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


def test_what_was_kept_on_purpose_stays(engine: Engine) -> None:
    kept = deploy(engine, "bucket-ours", onDelete="cancel")
    engine.destroy().ok()
    assert verdicts(engine) == {kept.job_id: "kept"}
    assert gc(engine, "--yes").code == 0
    assert custom_jobs.get(engine.endpoint(), kept.name).state is JobState.JOB_STATE_CANCELLED
    assert gc(engine, "--yes", kept.name).code == 0
    assert custom_jobs.list_jobs(engine.endpoint()) == []


@pytest.mark.slow
def test_an_object_that_two_backends_staged_is_not_proven(engine: Engine, other: Engine) -> None:
    deploy(engine, "bucket-ours")
    (first,) = objects.list_objects(engine.endpoint(), "bucket-ours", prefix="data/")
    assert (STAGED_KEY in first.metadata, SHARED_KEY in first.metadata) == (True, False)
    deploy(other, "bucket-theirs", shared="bucket-ours")
    (second,) = objects.list_objects(engine.endpoint(), "bucket-ours", prefix="data/")
    assert (second.generation, SHARED_KEY in second.metadata) == (first.generation, True)
    forget(engine, "StagedFile")
    assert verdicts(engine)[first.uri] == "unproven"
    assert gc(engine, "--yes").code == 0
    assert objects.find(engine.endpoint(), first.bucket, first.name) is not None


def test_where_a_state_cannot_be_read_nothing_is_deleted(engine: Engine) -> None:
    job = deploy(engine, "bucket-ours")
    forget(engine, "CustomJob", "Run")
    broken = engine.folder / "state" / ".pulumi" / "stacks" / "engine-test" / "broken.json"
    broken.write_text('{"version": 3, "checkpoint": {"latest": {"resour')
    unreadable = gc(engine, "--yes")
    assert (unreadable.code, unreadable.out) == (1, "")
    assert "Nothing was deleted" in unreadable.err
    broken.unlink()

    path = engine.environment["PATH"]
    engine.environment["PATH"] = str(Path(sys.executable).parent)
    without = gc(engine, "--yes")
    engine.environment["PATH"] = path
    assert (without.code, without.out) == (1, "")
    assert "`pulumi` is not on PATH" in without.err

    assert custom_jobs.get(engine.endpoint(), job.name).state is JobState.JOB_STATE_RUNNING
    assert gc(engine, "--yes").code == 0
    assert custom_jobs.list_jobs(engine.endpoint()) == []


@pytest.mark.slow
def test_a_persistent_resource_whose_first_creation_was_killed_is_deleted_by_name(engine: Engine) -> None:
    stage = Stage(engine, subject=PERSISTENT_RESOURCE)
    stage.declare()
    stage.interrupt(UP, at(PERSISTENT_RESOURCE.method("Create"), Moment.CARRIED_OUT), Victim.BOTH)
    stage.settle()
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
