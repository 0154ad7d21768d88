"""A job's life on the real engine: run, unchanged, changed, refreshed, destroyed."""

from __future__ import annotations

import psutil
import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.engine import Engine

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
pulumi.export("total", job.completion["metrics"]["total"])
pulumi.export("job", job.id)
"""


@pytest.fixture
def deployed(engine: Engine) -> Engine:
    engine.write(PROGRAM)
    (engine.folder / "infra" / "numbers.txt").write_text("1 2 3")
    engine.up().ok()
    return engine


def test_from_up_to_destroy(deployed: Engine) -> None:
    engine = deployed
    first = engine.outputs()
    assert (first["state"], first["total"]) == ("SUCCEEDED", 6)
    endpoint = engine.endpoint()

    # unchanged: nothing to do, nothing sent, and a refresh agrees
    before = generations(endpoint)
    assert "5 unchanged" in engine.preview("--expect-no-changes").ok().output
    assert "5 unchanged" in engine.up("--expect-no-changes").ok().output
    engine.run("refresh", "--yes", "--skip-preview", "--non-interactive", "--expect-no-changes").ok()
    assert before == {
        one.name: one.generation for one in objects.list_objects(endpoint, "engine-test-bucket")
    }
    assert engine.outputs() == first

    # another number of workers: said in words, the job is replaced, its package and data stay
    engine.set("workers", "2")
    output = engine.preview().ok().output
    assert "workers: 1 -> 2 x n1-standard-4; chief unchanged; the job is replaced, because" in output
    assert "~ replica_count" in engine.preview("--diff").ok().output
    engine.up().ok()
    second = engine.outputs()
    assert second["job"] != first["job"]
    assert [record.name for record in custom_jobs.list_jobs(endpoint)] == [second["job"]]

    # changed data is another object, and a reason to train again
    (engine.folder / "infra" / "numbers.txt").write_text("1 2 3 4")
    engine.up().ok()
    assert engine.outputs()["total"] == 10

    # gone: no job, no bucket, no process of the emulator's
    engine.destroy().ok()
    assert custom_jobs.list_jobs(endpoint) == []
    with pytest.raises(NotFound):
        buckets.get(endpoint, "engine-test-bucket")
    assert processes_in(str(engine.data_dir / "jobs")) == []


def test_a_job_deleted_behind_our_back_is_seen_by_refresh_and_made_again(deployed: Engine) -> None:
    engine = deployed
    endpoint = engine.endpoint()
    custom_jobs.delete(endpoint, engine.outputs()["job"])
    engine.run("refresh", "--yes", "--skip-preview", "--non-interactive").ok()
    assert "1 to create" in engine.preview().ok().output
    engine.up().ok()
    assert len(custom_jobs.list_jobs(endpoint)) == 1


def test_drift_of_a_bucket_shows_as_property_lines_and_is_fixed(deployed: Engine) -> None:
    engine = deployed
    buckets.patch(engine.endpoint(), "engine-test-bucket", {"versioning": {"enabled": True}})
    engine.run("refresh", "--yes", "--skip-preview", "--non-interactive").ok()
    assert "~ versioning" in engine.preview("--diff").ok().output
    engine.up().ok()
    assert not buckets.get(engine.endpoint(), "engine-test-bucket").wire.get("versioning", {}).get("enabled")


def test_a_replaced_or_renamed_file_of_the_same_content_stays_in_the_bucket(engine: Engine) -> None:
    program = """
    bucket = vt.StagingBucket("staging", name="engine-test-bucket", force_destroy=True)
    vt.StagedFile("{name}", bucket=bucket, source="numbers.txt", prefix="shared")
    """
    engine.write(program.format(name="one"))
    (engine.folder / "infra" / "numbers.txt").write_text("1 2 3")
    engine.up().ok()
    before = generations(engine.endpoint())
    urn = next(one["urn"] for one in engine.state() if one["type"].endswith(":StagedFile"))
    engine.up("--replace", urn).ok()
    assert generations(engine.endpoint()) == before
    engine.write(program.format(name="two"))
    engine.up().ok()
    assert generations(engine.endpoint()) == before
    engine.destroy().ok()


def generations(endpoint: Endpoint) -> dict[str, int]:
    """Return the generation of each object of the bucket; one that is sent again has another."""
    return {one.name: one.generation for one in objects.list_objects(endpoint, "engine-test-bucket")}


def processes_in(folder: str) -> list[str]:
    """Command lines of processes that name the folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if folder in line:
            found.append(line)
    return found
