"""A job's life on the real engine: run, unchanged, changed, refreshed, destroyed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.kinds.staging_bucket.gateway import BucketRecord
from support.client.engine import Engine, Result
from support.emulated.job_emulator import wait_until_none_is_left

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"

PROGRAM = f"""
import shlex

bucket = vt.StagingBucket("staging", name="engine-test-bucket", force_destroy=True)
data = vt.StagedFile("data", bucket=bucket, source="numbers.txt")

def pool(count, script):
    return vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        replica_count=count,
        container_spec=vt.ContainerSpecArgs(
            image_uri="{IMAGE}", command=["python3", "-c"], args=[script, data.path]
        ),
    )

CHIEF = '''
import json, os, pathlib, sys
total = sum(map(int, pathlib.Path(sys.argv[1]).read_text().split()))
model = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/")
os.makedirs(model, exist_ok=True)
pathlib.Path(model, "metrics.json").write_text(json.dumps({{"total": total}}))
print("the total is", total, flush=True)
'''

job = vt.CustomJob(
    "train",
    worker_pool_specs=vt.topology(
        chief=pool(1, CHIEF), workers=pool(config.get_int("workers") or 1, "import time; time.sleep(60)")
    ),
    staging_bucket=bucket,
    wait="done",
)
pulumi.export("state", job.state)
pulumi.export("total", job.completion.metrics["total"])
pulumi.export("job", job.id)
pulumi.export("links", [job.console_url, job.logs_url, job.tensorboard_url])
vt.StagedFile(config.get("copy") or "copy", bucket=bucket, source="copied.txt", prefix="shared")
"""
REFRESH = ("refresh", "--yes", "--skip-preview", "--non-interactive")


@dataclass(kw_only=True)
class Steps:
    """The output of each command on one stack, and what the service had after the deployments."""

    outputs: list[dict[str, Any]]
    jobs: list[list[str]]
    objects: list[dict[str, int]]
    """The generation of each object; one that is sent again has another."""
    unchanged: list[Result]
    drifted: Result
    fixed: BucketRecord
    details: Result
    gone: bool


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    outputs: list[dict[str, Any]] = []
    jobs: list[list[str]] = []
    found: list[dict[str, int]] = []

    def note() -> None:
        endpoint = engine.endpoint()
        outputs.append(engine.outputs())
        jobs.append([record.name for record in custom_jobs.list_jobs(endpoint)])
        listed = objects.list_objects(endpoint, "engine-test-bucket")
        found.append({one.name: one.generation for one in listed})

    engine.write(PROGRAM)
    (engine.folder / "infra" / "numbers.txt").write_text("1 2 3")
    (engine.folder / "infra" / "copied.txt").write_text("copied")
    engine.up().ok()
    note()
    unchanged = [
        *engine.preview_and_up("--expect-no-changes"),
        engine.run(*REFRESH, "--expect-no-changes"),
    ]
    note()

    engine.set("workers", "2")
    (copy,) = (one["urn"] for one in engine.state() if one["urn"].endswith(":StagedFile::copy"))
    details, replaced = engine.preview_and_up("--diff", "--replace", copy)
    replaced.ok()
    note()

    custom_jobs.delete(engine.endpoint(), outputs[2]["job"])
    buckets.patch(engine.endpoint(), "engine-test-bucket", {"versioning": {"enabled": True}})
    drifted, repaired = engine.preview_and_up("--refresh", "--diff")
    repaired.ok()
    fixed = buckets.get(engine.endpoint(), "engine-test-bucket")
    note()

    engine.set("copy", "renamed")
    (engine.folder / "infra" / "numbers.txt").write_text("1 2 3 4")
    engine.up().ok()
    note()
    engine.destroy().ok()
    try:
        buckets.get(engine.endpoint(), "engine-test-bucket")
        gone = False
    except NotFound:
        gone = True
    jobs.append([record.name for record in custom_jobs.list_jobs(engine.endpoint())])
    return Steps(
        outputs=outputs,
        jobs=jobs,
        objects=found,
        unchanged=unchanged,
        drifted=drifted,
        fixed=fixed,
        details=details,
        gone=gone,
    )


def test_the_job_trains_on_the_staged_data(steps: Steps) -> None:
    assert (steps.outputs[0]["state"], steps.outputs[0]["total"]) == ("SUCCEEDED", 6)


def test_without_a_change_nothing_is_done_or_sent_and_a_refresh_agrees(steps: Steps) -> None:
    preview, deployment, refresh = steps.unchanged
    assert "6 unchanged" in preview.ok().output
    assert "6 unchanged" in deployment.ok().output
    refresh.ok()
    assert steps.objects[1] == steps.objects[0]
    assert steps.outputs[1] == steps.outputs[0]


def test_links_are_commands_on_the_emulator(steps: Steps) -> None:
    job = steps.outputs[0]["job"].rpartition("/")[2]
    links = ["vertex-training ui --open", f"vertex-training logs {job}", None]
    assert steps.outputs[0]["links"] == links


def test_another_number_of_workers_is_shown_in_words_and_replaces_the_job(steps: Steps) -> None:
    words = "workers: 1 -> 2 x n1-standard-4; chief unchanged; the job is replaced, because"
    assert words in steps.details.ok().output
    assert "~ replica_count" in steps.details.output
    before, after = steps.outputs[1:3]
    assert after["job"] != before["job"]
    assert steps.jobs[2] == [after["job"], before["job"]], "the job that was replaced is kept"


def test_changed_data_is_another_object_and_trains_again(steps: Steps) -> None:
    assert steps.outputs[4]["total"] == 10


def test_destroying_leaves_no_job_bucket_or_process(steps: Steps, shared_engine: Engine) -> None:
    assert steps.jobs[-1] == []
    assert steps.gone
    wait_until_none_is_left(str(shared_engine.data_dir / "jobs"))


def test_a_job_that_is_deleted_outside_after_its_recorded_end_does_not_run_again(steps: Steps) -> None:
    assert "to create" not in steps.drifted.ok().output
    assert steps.jobs[3] == [steps.outputs[1]["job"]]


def test_drift_of_a_bucket_shows_as_property_lines_and_is_fixed(steps: Steps) -> None:
    assert "~ versioning" in steps.drifted.ok().output
    assert not steps.fixed.wire.get("versioning", {}).get("enabled")


def test_a_replaced_or_renamed_file_of_the_same_content_stays_in_the_bucket(steps: Steps) -> None:
    def shared(position: int) -> dict[str, int]:
        listed = steps.objects[position]
        return {name: generation for name, generation in listed.items() if name.startswith("shared/")}

    assert len(shared(1)) == 1
    assert shared(2) == shared(1)
    assert shared(4) == shared(1)
