"""The lineage of a run is written once, before its job is submitted, whichever process is killed."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pulumi_vertex_training.cli.main import main
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.secret_masking import KEY, SECRETS
from pulumi_vertex_training.kinds.custom_job.provider import CustomJobInputs
from pulumi_vertex_training.package.wire import names
from pulumi_vertex_training.runs.lineage.commit import commit_of
from support.client.in_process.climbs import ClimbTrial, ladder
from support.client.in_process.climbs import trial as climb_trial
from support.client.in_process.package_host import PackageProvider
from support.client.in_process.small_engine import Declared, SmallEngine, kills
from support.client.in_process.trials import FORMS, Trial, at_every_point
from support.client.kills.subjects import CUSTOM_JOB, PIPELINE, TUNING_JOB, Declaration, Subject
from support.waiting import eventually
from vertex_emulator.client.control import Control

BUCKET = 'bucket = vt.StagingBucket("bucket", name=f"{name}-bucket", force_destroy=True)\n'
A = Declaration()
B, C = replace(A, spec="spec-2"), replace(A, spec="spec-3")


def with_data(subject: Subject, *, directory: str = "staging_bucket=bucket") -> Subject:
    """Return a subject whose job names data of its spec, and has an output directory."""
    text = subject.text.replace('"command": command,', '"command": command, "args": [f"gs://data/{spec}"],')
    assert text != subject.text
    if "staging_bucket" not in text:
        text = text.replace("    **{", f"    {directory}, **{{").replace(
            "[pool], **{", f"[pool], {directory}, **{{"
        )
    return dataclasses.replace(subject, needs=(BUCKET,), text=text)


WITH_BUCKET = with_data(CUSTOM_JOB)
SHARED = with_data(
    CUSTOM_JOB, directory='base_output_directory=pulumi.Output.concat("gs://", bucket.name, "/out")'
)


@pytest.fixture(params=FORMS)
def trial(data_dir: Path, request: pytest.FixtureRequest) -> Trial:
    return Trial(subject=WITH_BUCKET, data_dir=data_dir, serves_package=request.param)


def objects(trial: Trial) -> dict[str, dict[str, Any]]:
    """Return the files of lineages in the bucket of a trial, by their names."""
    path = f"/storage/v1/b/{trial.name}-bucket/o"
    items = trial.control.call("GET", path).get("items", [])
    return {str(one["name"]): one for one in items if "lineage" in one["name"]}


def lineage(trial: Trial, name: str) -> dict[str, Any]:
    path = f"/storage/v1/b/{trial.name}-bucket/o/{quote(name, safe='')}?alt=media"
    return trial.control.call("GET", path)


def run_of(job: dict[str, Any]) -> str:
    return str(job["labels"]["vertex-training-run"])


def assert_true(trial: Trial) -> None:
    """Assert that each job has a file, which tells what the job is, and that no file changed since."""
    files = objects(trial)
    for job in trial.records():
        name = f"{trial.name}/{run_of(job)}/lineage.json"
        found = lineage(trial, name)
        assert found["run"] == run_of(job)
        assert [one["uri"] for one in found["data"]] == re.findall(r"gs://data/spec-\d", json.dumps(job))[:1]
        assert str(files[name]["updated"]) <= str(job["createTime"])


def test_a_run_has_the_lineage_of_its_request_and_program(trial: Trial) -> None:
    trial.up(A)
    (name,) = objects(trial)
    (job,) = trial.records()
    assert name == f"{trial.name}/{run_of(job)}/lineage.json"
    found = lineage(trial, name)
    commit = commit_of(Path.cwd(), timeout=20)
    assert commit is not None
    assert found["commit"] == {"id": commit.id, "isDirty": commit.is_dirty}
    assert [found[each] for each in ("format", "kind", "program", "stack", "resource", "reason")] == [
        *(1, "custom job", "engine-test", "test", trial.name, "first-run")
    ]
    assert [found[each] for each in ("project", "location", "rung", "packages")] == [
        *("local", "us-central1", None, [])
    ]
    assert found["images"] == [
        {"uri": "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest", "digest": None}
    ]
    folder = f"gs://{trial.name}-bucket/{trial.name}/checkpoints/{run_of(job)}/"
    assert found["checkpoints"] == {"folder": folder, "firstRun": run_of(job)}
    assert found["price"]["hourly"] > 0
    assert set(found["versions"]) == {"pulumi-vertex-training", "python"}
    trial.destroy()


def test_each_run_has_a_file_that_nothing_writes_again(trial: Trial) -> None:
    first, second = (replace(each, options='on_replace="keep"') for each in (A, B))
    trial.up(first)
    trial.up(second)
    before = objects(trial)
    assert len(before) == 2
    assert trial.up(second) == 0
    eventually(trial.engine.refresh)  # until the job has started
    assert objects(trial) == before
    assert_true(trial)
    trial.destroy()


POINTS = [
    rf"{moment} POST {call}"
    for call in (r".*/upload/.*", r".*/customJobs(\?|$)")
    for moment in ("before", "after")
]
"""The points around the file and the submission that follows it."""


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("then", [B, C], ids=["the same", "another spec"])
def test_a_replacement_that_is_killed_around_its_file(trial: Trial, then: Declaration, point: str) -> None:
    """Kill it between file and submission, too: the next run has the same key, and perhaps other data."""
    trial.up(A)
    assert kills(trial.engine, lambda: trial.up(B), lambda what: re.match(point, what) is not None)
    trial.up(then)
    assert_true(trial)
    trial.destroy()


@pytest.mark.slow
@pytest.mark.parametrize("before", [None, A], ids=["a first run", "a replacement"])
@pytest.mark.parametrize("then", [B, C], ids=["the same", "another spec"])
def test_killed_at_every_point(trial: Trial, before: Declaration | None, then: Declaration) -> None:
    data_dir, package = trial.data_dir, trial.serves_package

    def begin() -> Trial:
        made = Trial(subject=WITH_BUCKET, data_dir=data_dir, serves_package=package)
        if before is not None:
            made.up(before)
        return made

    def finish(made: Trial, _died: str) -> None:
        made.up(then)
        assert_true(made)
        made.engine.destroy()

    at_every_point(begin, lambda made: made.up(B), finish)


def test_an_adopted_job_keeps_its_file(trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_submission(what: str) -> bool:
        return re.match(r"after POST .*/customJobs(\?|$)", what) is not None

    assert kills(trial.engine, lambda: trial.up(A), is_submission)
    before = objects(trial)
    (name,) = before
    monkeypatch.chdir(tmp_path)  # the program has another commit now: none
    trial.up(A)
    assert objects(trial) == before
    assert lineage(trial, name)["commit"] is not None
    assert len(trial.records()) == 1
    trial.destroy()


@pytest.mark.parametrize("has_output", [False, True])
def test_the_file_goes_with_the_record_of_a_run_without_output(trial: Trial, has_output: bool) -> None:
    """Leave nothing that would keep `pulumi destroy` from deleting a bucket without `force_destroy`."""
    trial.up(replace(A, options='on_replace="delete"'))
    (name,) = objects(trial)
    if has_output:
        output = quote(name.replace("lineage.json", "model/weights"), safe="")
        path = f"/upload/storage/v1/b/{trial.name}-bucket/o?uploadType=media&name={output}"
        trial.control.call("POST", path, {})
    trial.up(replace(B, options='on_replace="delete"'))
    assert (name in objects(trial)) == has_output
    assert len(objects(trial)) == 1 + has_output
    trial.destroy()


def test_a_run_that_was_not_submitted_has_the_commit_of_the_one_that_is(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial.up(A)

    def is_submission(what: str) -> bool:
        return re.match(r"before POST .*/customJobs(\?|$)", what) is not None

    assert kills(trial.engine, lambda: trial.up(B), is_submission)
    assert len(objects(trial)) == 1
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    trial.up(B)
    name = f"{trial.name}/{trial.run()['key']}/lineage.json"
    assert len(objects(trial)) == 1
    assert lineage(trial, name)["commit"] is None
    trial.destroy()


def test_runs_that_share_a_directory_have_a_file_each(data_dir: Path) -> None:
    trial = Trial(subject=SHARED, data_dir=data_dir)
    for each in (A, B):
        trial.up(replace(each, options='on_replace="keep"'))
    key = trial.run()["key"]
    first = key.replace("-2", "-1")
    assert set(objects(trial)) == {f"out/lineage-{each}.json" for each in (first, key)}
    assert lineage(trial, f"out/lineage-{first}.json")["data"][0]["uri"] == "gs://data/spec-1"
    trial.engine.destroy()


MODEL = """
serving = {"image_uri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"}
vt.Model("model", model_id=f"{name}-model", artifact_uri=files, container_spec=serving, description=note)
"""


def with_model(trial: Trial, declared: Declaration, folder: str, *, note: str = "note-1") -> str:
    """Return the program with a model of the files in a folder of the bucket, which gets one."""
    name = quote(f"{folder}/weights", safe="")
    trial.control.call("POST", f"/upload/storage/v1/b/{trial.name}-bucket/o?uploadType=media&name={name}", {})
    files = f"gs://{trial.name}-bucket/{folder}"
    return f"{trial.subject.program(declared, trial.name)}files, note = {files!r}, {note!r}{MODEL}"


def test_a_model_has_the_lineage_of_the_run_that_wrote_its_files(trial: Trial) -> None:
    trial.up(A)
    key = trial.run()["key"]
    trial.engine.up(with_model(trial, A, f"{trial.name}/{key}/model"))
    first = trial.engine.outputs()["model"]["lineage"]
    assert (first["run"], first["data"][0]["uri"]) == (key, "gs://data/spec-1")
    trial.engine.up(with_model(trial, A, f"{trial.name}/{key}/model", note="note-2"))
    assert trial.engine.outputs()["model"]["description"] == "note-2"
    assert trial.engine.outputs()["model"]["lineage"] == first
    eventually(trial.engine.refresh)  # until the job has started
    trial.engine.destroy()


def test_a_model_in_a_shared_directory_has_none(data_dir: Path) -> None:
    trial = Trial(subject=SHARED, data_dir=data_dir)
    trial.up(A)
    trial.engine.up(with_model(trial, A, "out/model"))
    assert trial.engine.outputs()["model"]["lineage"]["run"] == trial.run()["key"]
    trial.up(B)  # the program without the model
    trial.engine.up(with_model(trial, B, "out/other"))
    assert trial.engine.outputs()["model"].get("lineage") is None
    trial.engine.destroy()


@pytest.mark.parametrize(
    ("subject", "kind"),
    [(TUNING_JOB, "tuning job"), (PIPELINE, "training pipeline")],
    ids=["tuning", "pipeline"],
)
def test_other_kinds_have_a_file_too(data_dir: Path, subject: Subject, kind: str) -> None:
    trial = Trial(subject=with_data(subject), data_dir=data_dir)
    trial.up(A)
    (name,) = objects(trial)
    found = lineage(trial, name)
    assert (found["run"], found["kind"]) == (trial.run()["key"], kind)
    assert [one["uri"] for one in found["data"]] == ["gs://data/spec-1"]
    trial.engine.destroy()


def test_a_job_without_a_directory_has_no_lineage(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial = Trial(subject=CUSTOM_JOB, data_dir=data_dir)
    trial.up(A)
    job = trial.records()[0]["name"].rpartition("/")[2]
    assert "lineage" not in capsys.readouterr().out
    assert main(["status", job, "--data-dir", str(data_dir)]) == 0
    assert re.search(r"^Lineage: +none$", capsys.readouterr().out, re.MULTILINE)
    assert main(["status", job, "--data-dir", str(data_dir), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lineage"] is None
    trial.destroy()


def test_a_bucket_that_cannot_be_written_is_no_reason_not_to_train(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = Trial(subject=WITH_BUCKET, data_dir=data_dir)
    number = trial.control.add_fault({"method": "storage.objects.insert", "status": 403})["number"]
    trial.up(A)
    trial.control.remove_fault(number)
    assert f"warning: {trial.name}: its run has no lineage: " in capsys.readouterr().out
    assert (len(trial.records()), objects(trial)) == (1, {})
    trial.destroy()


@dataclass
class SecretEngine(SmallEngine):
    """An engine to which a program declares secrets: two values of the job's container."""

    def _register(self, declared: Declared, *, forced: bool) -> int:
        paths = ["worker_pool_specs[0].container_spec.args[1]", "worker_pool_specs[0].container_spec.env[0]"]
        if isinstance(declared.provider, PackageProvider):
            declared.provider.secrets = frozenset(names.text_outward(each, CustomJobInputs) for each in paths)
        elif type(declared.provider).__name__ == "CustomJobProvider":
            assert not callable(declared.inputs)
            declared = dataclasses.replace(declared, inputs={**declared.inputs, KEY: paths})
        return super()._register(declared, forced=forced)


def test_nothing_secret_is_in_the_file(trial: Trial) -> None:
    SECRETS.forget()
    args = '["gs://data/known", "--at=gs://data/hunter2222"]'
    text = WITH_BUCKET.text.replace('[f"gs://data/{spec}"]', args).replace(
        '"value": spec}', '"value": "gs://env/s3cret9999"}'
    )
    trial.subject = dataclasses.replace(WITH_BUCKET, text=text)
    trial.engine = SecretEngine(trial.engine.config, serves_package=trial.serves_package)
    trial.up(A)
    (name,) = objects(trial)
    found = lineage(trial, name)
    assert "hunter2222" in json.dumps(trial.records())
    assert [one["uri"] for one in found["data"]] == ["gs://data/known"]
    assert "hunter2222" not in json.dumps(found)
    assert "s3cret9999" not in json.dumps(found)
    trial.engine.destroy()


SCARCE, THERE = "n1-standard-16", "n1-standard-8"


@pytest.fixture
def scarce(endpoint: Endpoint) -> Iterator[None]:
    control = Control(url=endpoint.url or "", token=endpoint.token or "")
    control.set_capacity(SCARCE, 0, wait_seconds=0.05)
    yield
    control.clear_capacities()


@pytest.mark.usefixtures("scarce")
@pytest.mark.parametrize("package", FORMS)
def test_each_rung_has_a_file_that_names_it(data_dir: Path, package: bool) -> None:
    made: ClimbTrial = climb_trial(data_dir, serves_package=package)
    made.subject = WITH_BUCKET
    made.up(
        ladder(
            {"strategy": "SPOT", "machine_spec": {"machine_type": SCARCE}},
            {"machine_spec": {"machine_type": THERE}},
        )
    )
    assert made.way() == [(1, "FAILED"), (2, "RUNNING")]
    rungs = [lineage(made, f"{made.name}/{run_of(job)}/lineage.json")["rung"] for job in made.attempts()]
    assert rungs == [
        {"position": 1, "strategy": "SPOT", "machine": SCARCE},
        {"position": 2, "strategy": "STANDARD", "machine": THERE},
    ]
    made.engine.destroy()
