"""`trace` over a stack with three runs, two images and a promoted model, on a real emulator.

The engine in the test's process deploys the stack; image, data, jobs and models are real.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main
from support.client.in_process.small_engine import SmallEngine
from support.emulated.ui.dashboard import running
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

PROGRAM = """
bucket = vt.StagingBucket("bucket", name="traced", force_destroy=True)
images = vt.ImageRepository("images", repository_id="traced")
data = vt.StagedFile("data", bucket=bucket, source="data.csv")
folder = vt.StagedFolder("folder", bucket=bucket, source="folder")
image = vt.TrainingImage("image", repository=images, source="trainer", base_image="python:3.11-slim")
container = {{
    "image_uri": image.id,
    "command": ["sh", "-c", "at=/gcs/${{AIP_MODEL_DIR#gs://}}; mkdir -p $at; echo 1 > $at/weights"],
    "args": [data.path, pulumi.Output.concat("--folder=", folder.uri), "--rate", "{rate}"],
}}
machine = {{"machine_type": "n1-standard-4"}}
pool = {{"machine_spec": machine, "replica_count": 1, "container_spec": container}}
job = vt.CustomJob(
    "train", worker_pool_specs=[pool], staging_bucket=bucket, on_replace="keep", wait="none"
)
serving = {{"image_uri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"}}
first = {first!r} and vt.Model("digits", model_id="digits", artifact_uri={first!r}, container_spec=serving)
if {golden!r}:
    vt.Model(
        "golden", parent_model=first, artifact_uri={golden!r}, container_spec=serving,
        version_aliases=["golden"], is_default_version=False,
    )
"""


def git(*arguments: str) -> str:
    tool = shutil.which("git") or "git"
    own = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run([tool, *own, *arguments], capture_output=True, check=True, text=True).stdout.strip()


@dataclass
class Stack:
    """The deployed stack. `runs` are the jobs of its runs, oldest first; `images` and `commits` theirs."""

    data_dir: Path
    engine: SmallEngine
    control: Control
    images: list[str]
    commits: list[str]

    def up(self, rate: str, *, first: str = "", golden: str = "") -> None:
        self.engine.up(PROGRAM.format(rate=rate, first=first, golden=golden))

    def runs(self) -> list[dict[str, Any]]:
        jobs = self.control.call("GET", "/v1/projects/local/locations/us-central1/customJobs")["customJobs"]
        return sorted(jobs, key=lambda one: str(one["createTime"]))

    def key(self, number: int) -> str:
        return str(self.runs()[number - 1]["labels"]["vertex-training-run"])

    def files(self, number: int) -> str:
        return f"gs://traced/train/{self.key(number)}/model"

    def output(self, name: str) -> Any:
        return next(one.outs for one in self.engine.live() if one.name == name)

    def trace(self, what: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
        capsys.readouterr()
        assert main(["trace", what, "--json", "--data-dir", str(self.data_dir)]) == 0
        return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def stack(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """Run twice with one image, then with another one, each from a commit; register two of the models."""
    folder = tmp_path_factory.mktemp("program")
    running = launcher.ensure(data_dir)
    made = Stack(
        data_dir=data_dir,
        engine=SmallEngine({"vertex-training:dataDir": str(data_dir)}),
        control=Control(url=running.url, token=running.token),
        images=[],
        commits=[],
    )
    (folder / "trainer").mkdir()
    (folder / "folder").mkdir()
    (folder / "data.csv").write_text("1,2\n")
    (folder / "folder" / "part.csv").write_text("3,4\n")

    def commit(code: str) -> None:
        Path("trainer/task.py").write_text(code)
        git("add", ".")
        git("commit", "-qm", code)
        made.commits.append(git("rev-parse", "HEAD"))

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        git("init", "-q")
        for code, rate in (("one", "0.1"), ("one", "0.2"), ("two", "0.2")):
            if not made.commits or code == "two":
                commit(code)
            made.up(rate)
            eventually(lambda: made.runs()[-1]["state"] == "JOB_STATE_SUCCEEDED", what=made.runs)
            made.images.append(made.output("image")["uri"])
        made.up("0.2", first=made.files(2), golden=made.files(3))
    return made


Trace = Callable[[str], dict[str, Any]]


@pytest.fixture
def trace(stack: Stack, capsys: pytest.CaptureFixture[str]) -> Trace:
    return lambda what: stack.trace(what, capsys)


def numbers(found: dict[str, Any], relation: str = "") -> list[int]:
    """Return the numbers of the runs, oldest first."""
    runs = [one for one in found["runs"] if relation in ("", one["relation"])]
    return sorted(int(one["run"].rpartition("-")[2]) for one in runs)


def versions(found: dict[str, Any]) -> list[str]:
    return sorted({name.rpartition("/")[2] for one in found["runs"] for name in one["models"]})


def test_trace(stack: Stack, trace: Trace, capsys: pytest.CaptureFixture[str]) -> None:
    """Trace back and forth. The last step deletes records, so the steps are one test."""
    a_promoted_model_leads_back_to_its_parts(stack, trace)
    parts_lead_to_the_models_that_they_went_into(stack, trace)
    files_lead_to_the_run_that_wrote_them(stack, trace)
    people_read_it(stack, capsys)
    the_model_and_the_runs_have_the_same(stack, trace, capsys)
    a_run_whose_job_has_no_record_is_found_by_its_model(stack, trace, capsys)


def a_promoted_model_leads_back_to_its_parts(stack: Stack, trace: Trace) -> None:
    found = trace("digits@golden")
    (run,) = found["runs"]
    assert found["subject"]["kind"] == "model"
    assert (run["relation"], run["state"], versions(found)) == ("made", "SUCCEEDED", ["digits@2"])
    assert (run["run"], run["job"]) == (stack.key(3), stack.runs()[2]["name"])
    lineage = run["lineage"]
    assert [one["digest"] for one in lineage["images"]] == [stack.images[2].rpartition("@")[2]]
    assert lineage["commit"] == {"id": stack.commits[1], "isDirty": False}
    data, folder = stack.output("data"), stack.output("folder")
    assert [(one["uri"], one["kind"], one["sha256"]) for one in lineage["data"]] == [
        (data["uri"], "file", hashlib.sha256(b"1,2\n").hexdigest()),
        (folder["uri"], "folder", folder["sha256"][:16]),
    ]


def parts_lead_to_the_models_that_they_went_into(stack: Stack, trace: Trace) -> None:
    assert stack.images[0] == stack.images[1] != stack.images[2]
    ways = {
        stack.images[0]: ([1, 2], ["digits@1"]),
        stack.images[2].rpartition("@")[2]: ([3], ["digits@2"]),
        stack.commits[0]: ([1, 2], ["digits@1"]),
        stack.commits[1][:10]: ([3], ["digits@2"]),
        stack.output("data")["uri"]: ([1, 2, 3], ["digits@1", "digits@2"]),
        stack.output("data")["path"]: ([1, 2, 3], ["digits@1", "digits@2"]),
        f"{stack.output('folder')['uri']}/part.csv": ([1, 2, 3], ["digits@1", "digits@2"]),
        stack.key(1): ([1], []),
        "gs://traced/other": ([], []),
        "datasets/1": ([], []),
        "f" * 40: ([], []),
    }
    found = {what: trace(what) for what in ways}
    assert {what: (numbers(one), versions(one)) for what, one in found.items()} == ways


def files_lead_to_the_run_that_wrote_them(stack: Stack, trace: Trace) -> None:
    found = trace(f"{stack.files(2)}/weights")
    assert (numbers(found, "made"), numbers(found), versions(found)) == ([2], [2], ["digits@1"])


def people_read_it(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "digits@golden", "--data-dir", str(stack.data_dir)]) == 0
    printed = capsys.readouterr().out
    assert "Run 3 of engine-test/test/train: SUCCEEDED" in printed
    for words in (stack.images[2], stack.commits[1], stack.output("data")["uri"], "digits@2", stack.key(3)):
        assert words in printed
    assert main(["status", stack.runs()[0]["name"], "--data-dir", str(stack.data_dir)]) == 0
    assert f"Lineage:  image {stack.images[0]}" in capsys.readouterr().out
    job = stack.runs()[0]["name"].rpartition("/")[2]
    with running("--data-dir", str(stack.data_dir)) as dashboard:
        html = dashboard.text(f"/jobs/customJobs/{job}")
    assert f"<dt>commit</dt><dd><code>{stack.commits[0]}</code></dd>" in html


def the_model_and_the_runs_have_the_same(
    stack: Stack, trace: Trace, capsys: pytest.CaptureFixture[str]
) -> None:
    by_trace = trace("digits@golden")["runs"][0]["lineage"]
    assert {**stack.output("golden")["lineage"], "format": 1} == _without_none(by_trace)
    capsys.readouterr()
    assert main(["runs", "engine-test/test/train", "--json", "--data-dir", str(stack.data_dir)]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [one["lineage"]["commit"]["id"] for one in runs] == [
        stack.commits[1], stack.commits[0], stack.commits[0]
    ]  # fmt: skip
    assert runs[0]["lineage"] == by_trace


def _without_none(value: Any) -> Any:
    """Return a value as the state has it."""
    if isinstance(value, dict):
        return {name: _without_none(item) for name, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("digit", "There is no model 'digit' in local, us-central1. Did you mean 'digits'?"),
        ("gs://bucket", "names no object or folder"),
    ],
)
def test_a_thing_that_does_not_exist(
    stack: Stack, what: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", what, "--data-dir", str(stack.data_dir)]) == 2
    assert words in capsys.readouterr().err


def a_run_whose_job_has_no_record_is_found_by_its_model(
    stack: Stack, trace: Trace, capsys: pytest.CaptureFixture[str]
) -> None:
    """Delete the records of two runs: the run without a model is not seen any more."""
    image, key = stack.images[0], stack.key(2)
    for job in stack.runs()[:2]:
        stack.control.call("DELETE", f"/v1/{job['name']}")
    found = trace(image)
    assert [(one["run"], one["job"]) for one in found["runs"]] == [(key, None)]
    assert versions(found) == ["digits@1"]
    assert main(["trace", "digits@1", "--data-dir", str(stack.data_dir)]) == 0
    assert "its job has no record any more" in capsys.readouterr().out
