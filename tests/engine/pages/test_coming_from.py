"""The programs of docs/coming-from/ and of the page on topologies, in one deployment to an emulator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from support.client import engine
from support.client.pages.pages import DOCS, blocks, follow
from support.waiting import eventually

PAGES = DOCS / "coming-from"
TOPOLOGY = """
small = vt.MachineSpecArgs(machine_type="n1-standard-4")
gpu = {"machine_type": "n1-standard-4", "accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 1}
task = vt.ContainerSpecArgs(
    image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
    command=["python3"],
    args=["-c", "print('training')"],
)
"""
"""Names that the first program of the page on topologies uses."""

TRAIN = "import sys\nprint('trained with', *sys.argv[1:], flush=True)\n"
WORKERS = {"digits": 2, "flowers": 2, "nightly": 0, "monthly": 0, "mnist": 2, "churn-training": 2, "train": 3}
"""The workers of each job that a page declares."""


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """The output of the deployment, its outputs, and the jobs with their logs, by resource."""

    output: str
    outputs: dict[str, Any]
    jobs: dict[str, JobRecord]
    logs: dict[str, list[str]]


def programs() -> list[str]:
    """Return all programs of the pages."""
    pages = [PAGES / f"{name}.md" for name in ("gcloud", "google-sdk", "terraform", "kubeflow", "sagemaker")]
    found = [block.text for page in pages for block in blocks(page) if (block.file or "").endswith(".py")]
    (declared, _) = (
        block.text for block in blocks(DOCS / "concepts" / "topology.md") if block.language == "python"
    )
    return [*found, TOPOLOGY, declared]


@pytest.fixture(scope="module")
def deployed(shared_engine: engine.Engine) -> Deployed:
    folder = shared_engine.folder / "infra"
    (folder / "train.py").write_text(TRAIN)
    (folder / "churn.csv").write_text("a,b\n1,2\n")
    shared_engine.write("")
    program = folder / "__main__.py"
    program.write_text(program.read_text() + "\n".join(programs()))
    output = shared_engine.up().ok().output
    endpoint = shared_engine.endpoint()
    jobs = {one.display_name: one for one in custom_jobs.list_jobs(endpoint)}
    ended = {name: _ended(shared_engine, job) for name, job in jobs.items()}
    printed = {
        name: [entry.message for entry in logs.entries(endpoint, job.job_id)] for name, job in ended.items()
    }
    return Deployed(output=output, outputs=shared_engine.outputs(), jobs=ended, logs=printed)


def _ended(made: engine.Engine, job: JobRecord) -> JobRecord:
    def found() -> JobRecord | None:
        record = custom_jobs.get(made.endpoint(), job.name)
        return record if record.state.is_terminal else None

    return eventually(found, what=lambda: f"{job.display_name} has not ended")


def test_every_program_is_deployed_and_every_job_succeeds(deployed: Deployed) -> None:
    assert {name: job.state.word for name, job in deployed.jobs.items()} == dict.fromkeys(
        WORKERS, "SUCCEEDED"
    )
    assert deployed.outputs == dict.fromkeys(("flowers", "nightly", "churn"), "SUCCEEDED")


def test_the_jobs_have_the_declared_pools(deployed: Deployed) -> None:
    for name, workers in WORKERS.items():
        pools = deployed.jobs[name].wire["jobSpec"]["workerPoolSpecs"]
        assert [int(pool.get("replicaCount", 0)) for pool in pools][:2] == [1, workers][: len(pools)], name
    train = deployed.jobs["train"].wire["jobSpec"]["workerPoolSpecs"]
    assert [int(pool.get("replicaCount", 0)) for pool in train] == [1, 3, 0, 1]


def test_arguments_and_variables_reach_the_programs(deployed: Deployed) -> None:
    assert "trained with --epochs=5" in deployed.logs["flowers"]
    assert any(
        line.startswith("trained with --epochs=5 --train=gs://") for line in deployed.logs["churn-training"]
    )
    assert "node 0 of 3" in deployed.logs["mnist"]


def test_the_command_of_gcloud_is_read(tmp_path: Path) -> None:
    (explained, *_) = follow(
        PAGES / "gcloud.md",
        tmp_path,
        engine.environment(tmp_path, tmp_path),
        runs=lambda line: "explain" in line,
    )
    assert explained.result.ok()
    explained.check()
    assert explained.shown
