"""Pipelines of a killed emulator, and their continuation after the next start."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import Answer, call, kill
from support.emulated.job_emulator import PARENT, running_jobs
from support.emulated.services.pipelines import ENDED, SAVE, Pipelines, pipeline, serving
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.daemon.vertex_ai import VertexService
from vertex_emulator.jobs.pipelines.backing import Backing, BackingJob
from vertex_emulator.jobs.pipelines.inputs import CUSTOM
from vertex_emulator.jobs.pipelines.service import PipelineService
from vertex_emulator.kernel.projects import Place
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

PIPELINES = f"{PARENT}/trainingPipelines"
WAIT = "import os, time\nwhile not os.path.exists('/gcs/work/go'): time.sleep(0.02)\n"


class Apart:
    """An emulator in a process of its own."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        running = launcher.ensure(self.data_dir)
        return call(running.url, method, path, body=body, token=running.token)

    def kill(self) -> None:
        kill(json.loads((self.data_dir / "emulator.json").read_text())["pid"])


@contextmanager
def apart(data_dir: Path) -> Iterator[tuple[Apart, Pipelines]]:
    emulator = Apart(data_dir)
    try:
        yield emulator, Pipelines(emulator)
    finally:
        assert emulator.call("POST", "/_local/reset", {}).status == 200
        launcher.stop(data_dir)


def models(pipelines: Pipelines) -> list[dict[str, Any]]:
    return pipelines.done("GET", f"{PARENT}/models").get("models", [])


@pytest.mark.parity(
    "Training pipelines: a killed emulator", own_way="the next start continues; a model is uploaded once"
)
def test_a_job_that_ended_meanwhile_uploads_its_model_once(tmp_path: Path) -> None:
    with apart(tmp_path / "data") as (emulator, pipelines):
        name = pipelines.create(pipeline(WAIT + SAVE, modelToUpload=serving()))
        pipelines.wait(name, "PIPELINE_STATE_RUNNING")
        emulator.kill()
        bucket = tmp_path / "data" / "buckets" / "work"
        (bucket / "go").touch()
        eventually((bucket / "out" / "model" / "model.bin").exists)
        over = pipelines.wait(name)
        assert over["state"] == "PIPELINE_STATE_SUCCEEDED", over
        emulator.kill()
        assert pipelines.wait(name)["modelToUpload"] == over["modelToUpload"]
        assert [(each["name"], each["versionId"]) for each in models(pipelines)] == [
            (over["modelToUpload"]["name"], "1")
        ]


@pytest.mark.parity("Training pipelines: a killed emulator")
def test_a_pipeline_that_was_killed_before_its_job_runs_it_once(tmp_path: Path) -> None:
    """Kill the emulator during a long export, before the job exists."""
    with apart(tmp_path / "data") as (emulator, pipelines):
        rows = "number\n" + "".join(f"{number}\n" for number in range(300_000))
        dataset = pipelines.dataset(pipelines.put("in/rows.csv", rows))
        config = {
            "datasetId": dataset.rpartition("/")[2],
            "gcsDestination": {"outputUriPrefix": "gs://work/data"},
        }
        program = "import os; open('/gcs/work/said', 'w').write(os.environ['AIP_TRAINING_DATA_URI'])"
        name = pipelines.create(pipeline(program, inputDataConfig=config))
        assert pipelines.done("GET", "/_local/jobs") == {"jobs": []}
        emulator.kill()
        over = pipelines.wait(name)
        assert over["state"] == "PIPELINE_STATE_SUCCEEDED", over
        assert len(pipelines.done("GET", "/_local/jobs")["jobs"]) == 1
        said = pipelines.read("gs://work/said").decode()
        folder = said.removeprefix("gs://work/").removesuffix("training-*.csv")
        sizes = [pipelines.read(f"gs://work/{each}").count(b"\n") - 1 for each in pipelines.names(folder)]
        assert sum(sizes) == 300_000
        assert len(sizes) == 12


class KilledError(Exception):
    """Represents the end of the process at that point."""


@dataclass(frozen=True)
class KilledBacking:
    """The jobs of pipelines in an emulator that is killed before or after it creates one."""

    backing: Backing
    creates: bool

    def job(self, pipeline: Any, inputs: Any) -> Any:
        return self.backing.job(pipeline, inputs)

    def model_base(self, inputs: Any) -> str:
        return self.backing.model_base(inputs)

    def check(self, place: Place, job: Any, *, allow_unknown_types: bool) -> None:
        self.backing.check(place, job, allow_unknown_types=allow_unknown_types)

    def submit(self, place: Place, job: Any, job_id: str, variables: Mapping[str, str]) -> None:
        if self.creates:
            self.backing.submit(place, job, job_id, variables)
        raise KilledError

    def state(self, place: Place, job_id: str) -> BackingJob | None:
        return self.backing.state(place, job_id)

    def cancel(self, job_id: str) -> None:
        self.backing.cancel(job_id)


@pytest.mark.parametrize("creates", [pytest.param(False, id="before"), pytest.param(True, id="after")])
def test_a_kill_around_the_creation_of_the_job(tmp_path: Path, sandbox: Sandbox, creates: bool) -> None:
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        vertex = emulator.daemon._jobs
        assert isinstance(vertex, VertexService)
        (service,) = [one for one in vertex._services if isinstance(one, PipelineService)]
        emulator.daemon.scheduler.close()  # nothing goes on after the kill
        custom = service._backings[CUSTOM.name]
        service._backings[CUSTOM.name] = KilledBacking(custom, creates)
        assert Pipelines(emulator).call("POST", PIPELINES, pipeline(SAVE)).status == 500
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        client = Pipelines.again(emulator)
        (found,) = emulator.call("GET", PIPELINES).json()["trainingPipelines"]
        over = client.wait(found["name"])
        assert over["state"] == "PIPELINE_STATE_SUCCEEDED", over
        jobs = [one["name"] for one in emulator.call("GET", "/_local/jobs").json()["jobs"]]
        assert jobs == [over["trainingTaskMetadata"]["backingCustomJob"]]


def test_a_pipeline_whose_supervisor_was_killed_has_failed_and_runs_no_second_job(tmp_path: Path) -> None:
    with apart(tmp_path / "data") as (emulator, pipelines):
        name = pipelines.create(pipeline(WAIT))
        job = pipelines.wait(name, "PIPELINE_STATE_RUNNING")["trainingTaskMetadata"]["backingCustomJob"]
        folder = tmp_path / "data" / "jobs" / job.rpartition("/")[2]
        kill(json.loads((folder / "supervisor.json").read_text())["pid"])
        assert pipelines.wait(name)["state"] == "PIPELINE_STATE_FAILED"
        emulator.kill()
        assert pipelines.wait(name)["state"] == "PIPELINE_STATE_FAILED"
        assert [one["name"] for one in pipelines.done("GET", "/_local/jobs")["jobs"]] == [job]


def test_a_pipeline_is_cancelled_although_the_emulator_is_killed(tmp_path: Path) -> None:
    with apart(tmp_path / "data") as (emulator, pipelines):
        name = pipelines.create(pipeline(WAIT))
        pipelines.wait(name, "PIPELINE_STATE_RUNNING")
        pipelines.done("POST", f"/v1/{name}:cancel", {})
        emulator.kill()
        assert pipelines.wait(name)["state"] == "PIPELINE_STATE_CANCELLED"


def test_a_model_is_uploaded_without_any_request(tmp_path: Path) -> None:
    with apart(tmp_path / "data") as (_, pipelines):
        pipelines.create(pipeline(SAVE, modelToUpload=serving()))
        eventually(lambda: len(models(pipelines)) == 1)
        (found,) = pipelines.done("GET", PIPELINES)["trainingPipelines"]
        assert found["state"] in ENDED


def test_an_import_that_was_killed_has_imported_nothing(tmp_path: Path) -> None:
    with apart(tmp_path / "data") as (emulator, pipelines):
        dataset = pipelines.dataset(kind="text")
        lines = "".join(f'{{"textContent": "text {number}"}}\n' for number in range(200_000))
        schema = "gs://google-cloud-aiplatform/schema/dataset/ioformat/text_io_format_1.0.0.yaml"
        source = {"gcsSource": {"uris": [pipelines.put("in/items.jsonl", lines)]}, "importSchemaUri": schema}
        operation = pipelines.done("POST", f"/v1/{dataset}:import", {"importConfigs": [source]})
        assert "done" not in operation
        emulator.kill()
        operation = pipelines.get(operation["name"])
        assert operation["error"]["code"] == 10
        assert "nothing was imported or exported. Send the request again." in operation["error"]["message"]
        assert "dataItemCount" not in pipelines.get(dataset)
