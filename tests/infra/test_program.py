"""The program of infra/ under Pulumi's mocks, and its resources on the stack that needs an account."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.registry import TYPES

ROOT = Path(__file__).parents[2]

RUN = """
import asyncio, json, os, runpy, sys
import pulumi
from pulumi.runtime import config, mocks
from pulumi.runtime.stack import run_pulumi_func

declared = []


class Mocks(mocks.Mocks):
    def new_resource(self, args):
        inputs = {key: value for key, value in args.inputs.items() if key != "__provider"}
        declared.append({"type": args.typ, "name": args.name, "inputs": inputs})
        outputs = dict(inputs)
        if args.typ.endswith(":Account"):
            outputs["email"] = "trainer@my-project.iam.gserviceaccount.com"
        if args.typ.endswith(":StagedFile"):
            outputs |= {"uri": "gs://b/digits", "path": "/gcs/b/digits"}
        if args.typ.endswith(":StagedPackage"):
            outputs |= {"uri": "gs://b/p.tar.gz", "python_module": "digits_trainer.task"}
        if args.typ.endswith(":ImageRepository"):
            outputs |= {"url": "europe-west4-docker.pkg.dev/my-project/r"}
        if args.typ.endswith(":TrainingImage"):
            return ["europe-west4-docker.pkg.dev/my-project/r/train@sha256:1", outputs]
        if args.typ.endswith(":Run"):
            outputs |= {"key": "abc-1"}
        return [args.name + "-id", outputs]

    def call(self, args):
        return {}


loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
config.set_all_config(json.loads(sys.argv[1]))
mocks.set_mocks(Mocks(), project="digits", stack=sys.argv[2], preview=True)
sys.path.insert(0, "infra")
os.chdir("infra")


async def program():
    await run_pulumi_func(lambda: runpy.run_path("__main__.py", run_name="__main__"))


loop.run_until_complete(program())
print(json.dumps(declared, default=str))
"""


def declared(stack: str, config: dict[str, str]) -> list[dict[str, Any]]:
    process = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(config), stack],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    found: list[dict[str, Any]] = json.loads(process.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def vertex() -> list[dict[str, Any]]:
    return declared(
        "vertex",
        {
            "vertex-training:endpoint": "google",
            "gcp:project": "my-project",
            "gcp:region": "europe-west4",
            "digits:workers": "4",
        },
    )


def of(resources: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [one for one in resources if one["type"].endswith(f":{kind}")]


def test_services_are_enabled_and_stay_enabled_after_destroy(vertex: list[dict[str, Any]]) -> None:
    services = {one["inputs"]["service"]: one["inputs"] for one in of(vertex, "Service")}
    assert {
        "aiplatform.googleapis.com",
        "artifactregistry.googleapis.com",
        "storage.googleapis.com",
    } <= services.keys()
    assert all(inputs["disableOnDestroy"] is False for inputs in services.values())
    assert all(inputs["project"] == "my-project" for inputs in services.values())


def test_the_job_runs_as_an_account_that_may_use_the_bucket(vertex: list[dict[str, Any]]) -> None:
    (job,), (bucket,) = of(vertex, "CustomJob"), of(vertex, "StagingBucket")
    email = "trainer@my-project.iam.gserviceaccount.com"
    assert job["inputs"]["service_account"] == email
    grants = of(vertex, "BucketIAMMember")
    assert {grant["inputs"]["role"] for grant in grants} >= {"roles/storage.objectAdmin"}
    for grant in grants:
        assert grant["inputs"]["member"] == f"serviceAccount:{email}"
        assert grant["inputs"]["bucket"] == bucket["inputs"]["name"]


def test_all_resources_are_on_google_in_one_region(vertex: list[dict[str, Any]]) -> None:
    ours = [one for one in vertex if one["type"] in TYPES]
    ours = [one for one in ours if not one["type"].endswith(":Run")]
    assert len(ours) == 6
    for one in ours:
        assert one["inputs"]["endpoint"] == "google"
        assert one["inputs"]["project"] == "my-project"
        assert one["inputs"]["location"] == "europe-west4"


def test_the_pools_follow_the_configuration(vertex: list[dict[str, Any]]) -> None:
    (job,) = of(vertex, "CustomJob")
    counts = [int(pool.get("replica_count", 0)) for pool in job["inputs"]["worker_pool_specs"]]
    assert counts == [1, 4, 0, 1]


def test_trainers_run_the_image_and_the_evaluator_the_package(vertex: list[dict[str, Any]]) -> None:
    (job,) = of(vertex, "CustomJob")
    chief, workers, _, evaluator = job["inputs"]["worker_pool_specs"]
    image = "europe-west4-docker.pkg.dev/my-project/r/train@sha256:1"
    assert [pool["container_spec"]["image_uri"] for pool in (chief, workers)] == [image, image]
    assert evaluator["python_package_spec"]["package_uris"] == ["gs://b/p.tar.gz"]


def test_the_local_stack_has_no_google_resources() -> None:
    resources = declared("local", {})
    assert not [one for one in resources if one["type"].startswith("gcp:")]
    assert len(of(resources, "CustomJob")) == 1
    assert of(resources, "StagingBucket")[0]["inputs"]["endpoint"] == "emulator"
