"""`vertex-training import` against a real emulator: what it prints declares the job that is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from pulumi_vertex_training.kinds.custom_job.kind import KIND as CUSTOM_JOB
from pulumi_vertex_training.runs.adoption import differences
from pulumi_vertex_training.runs.identity import labels
from pulumi_vertex_training.views import target
from support import json_schema
from support.emulated.command import environment, run
from support.services.training import SLEEP, job
from vertex_emulator.daemon import reset as emulator_reset
from vertex_training.job.custom_job import from_wire

Env = dict[str, str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("import")


@pytest.fixture(scope="module")
def env(folder: Path) -> Iterator[Env]:
    made = environment(folder, VERTEX_TRAINING_DATA_DIR=str(folder / "emulator"))
    assert run("emulator", "start", env=made).code == 0
    yield made
    emulator_reset.reset(folder / "emulator")


@pytest.fixture(scope="module")
def endpoint(env: Env, folder: Path) -> Endpoint:
    return target.resolve(target.Choice(data_dir=folder / "emulator"), {})


@pytest.fixture(scope="module")
def live(endpoint: Endpoint) -> JobRecord:
    """Create a job of a stack, with a label of its own."""
    marks = {**labels("feed-1", "v1-0"), "pulumi-resource": "train", "pulumi-stack": "dev"}
    return custom_jobs.create(endpoint, job("digits", SLEEP, labels={**marks, "team": "vision"}))


def test_the_python_of_a_job(env: Env, live: JobRecord) -> None:
    printed = run("import", live.job_id, env=env)
    assert (printed.code, printed.err) == (0, "")
    lines = printed.out.splitlines()
    assert lines[:2] == [
        "# The job belongs to run feed-1 (resource train, stack dev).",
        "# If that stack no longer exists, adopt the job with taking_over=<this run>.",
    ]
    assert '    display_name="digits",' in lines
    assert '    labels={"team": "vision"},' in lines
    assert f'    adopt="projects/local/locations/us-central1/customJobs/{live.job_id}",' in lines
    assert "disk_spec" not in printed.out


def test_the_json_has_the_python_and_the_job(env: Env, live: JobRecord) -> None:
    document = run("import", live.job_id, "--json", env=env).json
    assert list(document) == ["resource", "python", "spec"]
    assert document["resource"] == live.name
    assert document["python"] == run("import", live.job_id, env=env).out
    assert document["spec"]["labels"] == {"team": "vision"}
    assert differences(CUSTOM_JOB, from_wire(document["spec"]), live.wire) == ()


def test_a_name_with_the_projects_number_says_no_project(env: Env, live: JobRecord) -> None:
    printed = run("import", live.name, env=env).out
    assert f'    adopt="{live.name}",' in printed.splitlines()
    assert "project=" not in printed


def test_explain_reads_what_import_prints(env: Env, live: JobRecord, tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    file.write_text(json.dumps(run("import", live.job_id, "--json", env=env).json["spec"]))
    explained = run("explain", str(file), "--json", env=env)
    assert (explained.code, explained.json["errors"]) == (0, [])


def test_a_job_that_has_ended_is_imported_as_well(env: Env, endpoint: Endpoint, live: JobRecord) -> None:
    ended = custom_jobs.create(endpoint, job("ended", "print('done')"))
    run("logs", ended.job_id, "--follow", env=env)
    printed = run("import", "ended", env=env)
    assert printed.code == 0
    assert printed.out.startswith('vt.CustomJob(\n    "ended",\n')


def test_a_job_that_is_not_there(env: Env, live: JobRecord) -> None:
    missing = run("import", "12", env=env)
    assert (missing.code, missing.out) == (2, "")
    first, *rows = missing.err.splitlines()
    assert "There is no job '12'" in first and first.endswith("Jobs in local, us-central1:")
    assert ["digits", live.job_id] in [row.split()[::2] for row in rows], "a job on each line"


def test_a_job_must_be_named(env: Env) -> None:
    assert run("import", env=env).code == 2


def test_the_page_has_every_key(env: Env, live: JobRecord) -> None:
    document = run("import", live.job_id, "--json", env=env).json
    json_schema.check("import", document)
    assert json_schema.keys("import") == set(document)
