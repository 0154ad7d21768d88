"""A staged folder on the real engine: sent once, read by a job, changed, repaired, deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from support.client.engine import Engine, Result
from support.client.shared_engine import diagnostics
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

# Shown quicker in tests/pulumi_vertex_training: kinds/staged_folder/test_folders_on_the_emulator.py
pytestmark = pytest.mark.slow

PROGRAM = """
bucket = vt.StagingBucket("staging", name="folders-bucket")
photos = vt.StagedFolder("photos", bucket=bucket, source="photos", exclude=["*.tmp"])
job = vt.CustomJob(
    "train",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            container_spec=vt.ContainerSpecArgs(
                image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
                command=["sh", "-c", '''
                    test "$(find "$0" -type f | wc -l)" = 12 && test "$(cat "$0/train/a b.txt")" = same
                '''],
                args=[photos.path],
            ),
        )
    ],
    staging_bucket=bucket,
    wait="done",
)
pulumi.export("state", job.completion["state"])
pulumi.export("job", job.id)
for name in ("uri", "path", "count", "size", "sha256"):
    pulumi.export(name, getattr(photos, name))
"""
SENT, COPIED = "storage.objects.insert", "storage.objects.rewrite"
LINEAGE = 1
"""Files that a run of the job writes beside."""


@dataclass(kw_only=True)
class Step:
    """One deployment: its output, the stack's outputs, the bucket's objects, and the calls that made them."""

    printed: str
    outputs: dict[str, Any]
    objects: dict[str, str]
    """The folder's objects: the value of the key `vertex-training-staged` by name."""
    calls: dict[str, int]


@dataclass(kw_only=True)
class Steps:
    first: Step
    preview: Result
    changed: Step
    repaired: Step
    destroyed: Result


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine, folder = shared_engine, shared_engine.folder / "infra" / "photos"
    emulator = launcher.ensure(engine.data_dir)
    control = Control(url=emulator.url, token=emulator.token)

    def deployed(*arguments: str) -> Step:
        control.forget_requests()
        printed = engine.up(*arguments).ok().output
        counts = control.requests(last=0)["counts"]
        listed = objects.list_objects(engine.endpoint(), "folders-bucket", prefix="folders/")
        return Step(
            printed=printed,
            outputs=engine.outputs(),
            objects={one.name: one.metadata["vertex-training-staged"] for one in listed},
            calls={name: counts.get(name, 0) for name in (SENT, COPIED)},
        )

    (folder / "train" / "empty").mkdir(parents=True)
    (folder / "train" / "a b.txt").write_text("same")
    for number in range(11):
        (folder / f"{number}.txt").write_text(f"photo {number}")
    (folder / "draft.tmp").write_text("a draft")
    (folder / ".cache").write_text("a cache")
    engine.write(PROGRAM)
    first = deployed()

    (folder / "0.txt").write_text("another photo")
    (folder / "1.txt").unlink()
    (folder / "new.txt").write_text("a new one")
    preview = engine.preview()
    changed = deployed()

    endpoint = engine.endpoint()
    objects.delete(endpoint, "folders-bucket", next(name for name in changed.objects if "new.txt" in name))
    return Steps(
        first=first,
        preview=preview,
        changed=changed,
        repaired=deployed("--refresh"),
        destroyed=engine.destroy(),
    )


def names(step: Step) -> list[str]:
    root = step.outputs["uri"].removeprefix("gs://folders-bucket/")
    return sorted(name.removeprefix(f"{root}/") for name in step.objects)


def test_a_job_reads_the_files_by_their_relative_paths(steps: Steps) -> None:
    expected = ["train/a b.txt", *(f"{number}.txt" for number in range(11))]
    assert names(steps.first) == sorted(expected)
    outputs = steps.first.outputs
    assert outputs["state"] == "SUCCEEDED"
    assert outputs["count"] == 12
    assert outputs["size"] == len("same") + sum(len(f"photo {number}") for number in range(11))
    assert outputs["path"] == outputs["uri"].replace("gs://", "/gcs/")
    assert steps.first.calls == {SENT: 12 + LINEAGE, COPIED: 0}


def test_what_is_left_out_is_printed(steps: Steps) -> None:
    assert "photos: left out: 1 hidden name (.cache;" in steps.first.printed
    assert "1 empty folder (train/empty/;" in steps.first.printed
    assert "draft" not in steps.first.printed


def test_the_folder_s_row_has_the_count_and_the_bytes(steps: Steps) -> None:
    assert "12 files staged: 12 sent (82 bytes)" in diagnostics(steps.first.printed, "photos")
    assert "12 files staged: 2 sent (22 bytes), 10 copied in the bucket" in diagnostics(
        steps.changed.printed, "photos"
    )


def test_a_preview_reports_the_change_in_words(steps: Steps) -> None:
    text = steps.preview.ok().output
    assert "1 changed (0.txt), 1 added (new.txt), 1 removed (1.txt); 2 files to send, 22 bytes" in text
    assert "__manifest" not in text


def test_only_what_changed_is_sent_and_the_job_runs_again(steps: Steps) -> None:
    first, changed = steps.first.outputs, steps.changed.outputs
    assert steps.changed.calls == {SENT: 2 + LINEAGE, COPIED: 10}
    assert changed["uri"] != first["uri"]
    assert changed["job"] != first["job"]
    assert changed["state"] == "SUCCEEDED"
    assert {"0.txt", "new.txt"} <= set(names(steps.changed))
    assert "1.txt" not in names(steps.changed)


def test_a_refresh_finds_a_deleted_object_and_only_that_is_sent_again(steps: Steps) -> None:
    assert "1 of 12 files missing or changed: new.txt" in steps.repaired.printed
    assert steps.repaired.calls == {SENT: 1, COPIED: 0}
    assert steps.repaired.objects == steps.changed.objects, "no object is marked as shared or has another key"
    assert steps.repaired.outputs["job"] == steps.changed.outputs["job"]


def test_a_destruction_leaves_no_object(steps: Steps) -> None:
    """Delete a bucket without `force_destroy`, which has to be empty."""
    steps.destroyed.ok()
