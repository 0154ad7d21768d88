"""The cleanup finds what a run has created also without its states, and deletes nothing else."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from scripts.verify_google import cleanup
from scripts.verify_google.rest import Rest
from scripts.verify_google.stacks import Side
from support.emulated.emulator import running
from support.emulated.job_emulator import pool

RUN, OTHER, EMPTY = "vtv-0123456789", "vtv-9876543210", "vtv-aaaaaaaaaa"


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    """Yield an emulator in which two runs have a job, a bucket with an object and a repository each."""
    with running(tmp_path_factory.mktemp("emulator")) as daemon:
        where = {"project": "my-project", "location": "us-central1"}
        endpoint = Endpoint(kind="emulator", url=daemon.url, token=daemon.token, **where)  # type: ignore[arg-type]
        for run in (RUN, OTHER):
            job = {
                "displayName": "job",
                "labels": {"pulumi-stack": run},
                "jobSpec": {"workerPoolSpecs": [pool("import time; time.sleep(600)")]},
            }
            _post(endpoint, f"{endpoint.vertex_url}/v1/{endpoint.parent}/customJobs", job)
            bucket = f"my-project-training-environment-{run}-training"
            storage = f"{endpoint.storage_api_url}/storage/v1/b?project=my-project"
            _post(endpoint, storage, {"name": bucket, "location": "us-central1"})
            objects = f"{endpoint.storage_api_url}/upload/storage/v1/b/{bucket}/o"
            _post(endpoint, f"{objects}?uploadType=media&name=a/b", {})
            repositories = f"{endpoint.artifact_registry_url}/v1/{endpoint.parent}/repositories"
            _post(endpoint, f"{repositories}?repositoryId=environment-{run}", {"format": "DOCKER"})
        yield Rest(endpoint=endpoint)


def _post(endpoint: Endpoint, url: str, body: Mapping[str, object]) -> None:
    rest.call(endpoint, "POST", url, body=body)


def left(services: Rest) -> str:
    parent = services.endpoint.parent
    return str(
        [
            services.listed(f"{parent}/customJobs", "customJobs"),
            services.listed("", "items", {"project": "my-project"}),
            services.listed(f"{parent}/repositories", "repositories"),
        ]
    )


def test_all_of_a_run_and_nothing_else_is_deleted(services: Rest, tmp_path: Path) -> None:
    side = Side(endpoint=services.endpoint, folder=tmp_path / "lost", run=RUN)
    said: list[str] = []
    before = left(services)
    assert cleanup.clean(side, killed=True, report=said.append) == []
    after = left(services)
    assert RUN in before
    assert RUN not in after, after
    assert after.count(OTHER) == before.count(OTHER)
    assert len(said) == 3


def test_calls_of_a_command_that_was_killed_may_be_under_way(services: Rest, tmp_path: Path) -> None:
    side = Side(endpoint=services.endpoint, folder=tmp_path / "lost", run=EMPTY)
    side.folder.mkdir()
    printed = side.folder / "printed"
    printed.touch()  # by a command that is not alive any more
    (problem,) = cleanup.clean(side, killed=True, report=lambda _line: None)
    assert problem.endswith("requests of the killed command may still create something.")
    os.utime(printed, (0, time.time() - cleanup.LATE_SECONDS))
    assert cleanup.clean(side, killed=True, report=lambda _line: None) == []
