"""No model is lost when what it came from is replaced, on the real Pulumi CLI and an emulator."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.training_pipeline import gateway as training_pipelines
from support.client.engine import Engine, Result

# Shown quicker in tests/pulumi_vertex_training: kinds/model, package/test_other_kinds.py
pytestmark = pytest.mark.slow

SAVE = """
import os
folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/", 1)
os.makedirs(folder, exist_ok=True)
open(folder + "model.txt", "w").write("model")
"""
FAIL = "raise SystemExit(3)"
HEAD = f"""
SAVE = {SAVE!r}
bucket = vt.StagingBucket("staging", name="staging", force_destroy=True)
container = {{"image_uri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"}}


def task(code, **variables):
    image = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
    return vt.task_from_image(image, command=["python3", "-c", code], environment_variables=variables)


def models(name, code, wait="done"):
    job = vt.CustomJob(name, **task(code), staging_bucket=bucket, wait=wait)
    directory = job.completion["model_directory"]
    vt.Model(f"{{name}}-job", model_id=f"{{name}}-job", artifact_uri=directory, container_spec=container)
    vt.TrainingPipeline(
        f"{{name}}-pipeline",
        custom_task=task(SAVE, FROM=directory),
        model_to_upload={{"display_name": name, "container_spec": container}},
        model_id=f"{{name}}-pipeline",
        staging_bucket=bucket,
        wait="done",
    )


"""
LIVE = """
live = task("import time; time.sleep(600)")
"""
UNTIMELY = """
job = vt.CustomJob("live", **live, staging_bucket=bucket)
directory = job.completion["model_directory"]
vt.Model("untimely", model_id="untimely", artifact_uri=directory, container_spec=container)
"""
PARENT = """
made = {"display_name": "made", "container_spec": container}
upload = dict(custom_task=live, model_to_upload=made, staging_bucket=bucket)
first = vt.TrainingPipeline("makes", **upload)
vt.TrainingPipeline("adds", **upload, parent_model=first.model)
"""


def versions(engine: Engine, model_id: str) -> list[str]:
    """Return the versions of a model, the newest first; empty if there is no such model."""
    try:
        found = models.versions(engine.endpoint(), f"projects/local/locations/us-central1/models/{model_id}")
    except NotFound:
        return []
    return [one.version for one in found]


Versions = dict[str, list[str]]


@dataclass(kw_only=True)
class Steps:
    """The output of each deployment of one stack, and the versions of its models after it."""

    failed: list[Result]
    replaced: Result
    unchanged: Result
    versions: list[Versions]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    found: list[Versions] = []

    def deploy(code: str, *arguments: str, wait: str = "done") -> Result:
        engine.write(f'{HEAD}models("changed", {code!r}, wait={wait!r})\nmodels("demanded", SAVE)\n')
        result = engine.up(*arguments)
        names = [f"{name}-{kind}" for name in ("changed", "demanded") for kind in ("job", "pipeline")]
        found.append({name: versions(engine, name) for name in names})
        return result

    deploy(SAVE).ok()
    failed = [deploy(FAIL), deploy(FAIL, wait="none")]
    (urn,) = (one["urn"] for one in engine.state() if one["urn"].endswith(":CustomJob::demanded"))
    again = f"{SAVE}\n# again"
    replaced = deploy(again, "--replace", urn).ok()
    return Steps(failed=failed, replaced=replaced, unchanged=deploy(again).ok(), versions=found)


def test_a_training_that_fails_takes_no_model_away(steps: Steps) -> None:
    first, second = (each.failed().output for each in steps.failed)
    assert "changed-pipeline@1" not in first
    assert "changed-job@1" not in first
    # A later deployment that does not need the job to succeed has no model either.
    assert "model changed-job keeps its files" in second
    for each in steps.versions[1:3]:
        assert (each["changed-job"], each["changed-pipeline"]) == (["1"], ["1"])


def test_a_training_that_succeeds_again_has_another_version(steps: Steps) -> None:
    assert "replaced" in steps.replaced.output
    assert (steps.versions[3]["changed-job"], steps.versions[3]["changed-pipeline"]) == (["2"], ["2", "1"])
    assert "unchanged" in steps.unchanged.output
    assert not {"updated", "replaced"} & set(steps.unchanged.output.split())


def test_replacing_a_job_on_demand_takes_no_model_away(steps: Steps) -> None:
    before, after = steps.versions[2:4]
    assert (before["demanded-job"], before["demanded-pipeline"]) == (["1"], ["1"])
    assert (after["demanded-job"], after["demanded-pipeline"]) == (["2"], ["2", "1"])


def test_no_model_is_made_of_a_job_that_has_not_ended(engine: Engine) -> None:
    engine.write(HEAD + LIVE + UNTIMELY)
    output = engine.up().failed().output
    assert "artifact_uri: is None: its job has failed, or has not ended yet" in output
    assert versions(engine, "untimely") == []
    engine.write(HEAD + LIVE + PARENT)
    output = engine.up().failed().output
    assert "adds: parent_model is None; its source has not uploaded a model" in output
    (only,) = training_pipelines.GATEWAY.list_jobs(engine.endpoint())
    assert only.display_name == "makes"
