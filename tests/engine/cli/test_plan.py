"""`vertex-training plan` on the real engine: effects, words, live jobs and findings."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support import mermaid
from support.client.engine import Engine

PROGRAM = """
def pool(count):
    return vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type=machine),
        replica_count=count,
        container_spec=vt.ContainerSpecArgs(
            image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
            command=["python3", "-c", "import time; time.sleep(600)"],
        ),
    )


machine = "n1-standard-4"
"""
FIRST = """
vt.StagingBucket("data", force_destroy=True)
vt.CustomJob("train", worker_pool_specs=[pool(1), pool(2)])
vt.CustomJob("gone", worker_pool_specs=[pool(1)])
vt.CustomJob("same", worker_pool_specs=[pool(1)])
"""
SECOND = """
vt.StagingBucket("data", force_destroy=True, labels={"team": "vision"})
vt.CustomJob("train", worker_pool_specs=[pool(1), pool(4)])
vt.CustomJob("new", worker_pool_specs=[pool(1)])
vt.CustomJob("same", worker_pool_specs=[pool(1)])
"""
BROKEN = """
machine = "n1-standard-5"
vt.CustomJob("train", worker_pool_specs=[pool(1), pool(4)])
"""


MISCONFIGURED = """
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    workers: int = 2
    spot: bool = False


vt.read_configuration(Settings)
"""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of the command: its exit code and both outputs."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document


def plan(engine: Engine, *arguments: str) -> Run:
    done = engine.plan(*arguments)
    return Run(code=done.returncode, out=done.stdout, err=done.stderr)


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The outputs for one stack: unchanged, changed, and with an error."""

    unchanged: Run
    changed: Run
    markdown: Run
    plain: Run
    broken: Run
    left: str
    """The file of the plan after the preview that had errors, "" if it is gone."""
    nobody: Run


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    engine.write(PROGRAM + FIRST)
    engine.up().ok()
    (ended,) = [job for job in custom_jobs.list_jobs(engine.endpoint()) if job.display_name == "same"]
    custom_jobs.cancel(engine.endpoint(), ended.name)
    unchanged = plan(engine, "--json", "--exit-code")
    engine.write(PROGRAM + SECOND)
    changed = plan(engine, "--json", "--exit-code")
    markdown = plan(engine, "--markdown")
    plain = plan(engine)
    engine.write(PROGRAM + BROKEN)
    saved = engine.folder / "plan.json"
    saved.write_text("an earlier plan")
    broken = plan(engine, "--json", "--save-plan", str(saved))
    return Steps(
        unchanged=unchanged,
        changed=changed,
        markdown=markdown,
        plain=plain,
        broken=broken,
        left=saved.read_text() if saved.exists() else "",
        nobody=plan(engine, "--stack", "nobody", "--markdown"),
    )


def by_name(run: Run) -> dict[str, dict[str, Any]]:
    return {change["name"]: change for change in run.document["changes"]}


def test_an_unchanged_stack_has_no_changes(steps: Steps) -> None:
    assert steps.unchanged.code == 0, steps.unchanged.err
    assert steps.unchanged.document["changes"] == []
    assert steps.unchanged.document["counts"] == {"none": 4}


def test_each_change_has_its_effect(steps: Steps) -> None:
    assert steps.changed.code == 1, steps.changed.err
    effects = {name: change["effect"] for name, change in by_name(steps.changed).items()}
    assert effects == {"data": "update", "train": "replace", "new": "create", "gone": "delete"}
    assert steps.changed.document["counts"]["none"] == 1


def test_a_changed_pool_is_described_in_words_and_by_field(steps: Steps) -> None:
    train = by_name(steps.changed)["train"]
    assert train["words"] == ["workers: 2 -> 4 x n1-standard-4; chief unchanged"]
    assert [
        (pool["role"], pool["change"], [(field["old"], field["new"]) for field in pool["fields"]])
        for pool in train["pools"]
    ] == [("worker", "resized", [(2, 4)])]
    assert train["reasons"][0] == "its spec changed"


def test_a_changed_bucket_is_described_by_field(steps: Steps) -> None:
    fields = by_name(steps.changed)["data"]["fields"]
    assert {"path": "labels.team", "old": None, "new": "vision"} in fields


def test_live_jobs_that_will_stop_are_named(steps: Steps) -> None:
    changes = by_name(steps.changed)
    assert changes["data"]["liveJob"] is changes["new"]["liveJob"] is None
    assert changes["train"]["liveJob"]["replicas"] == 3
    assert changes["train"]["liveJob"]["runsAgain"] is True
    assert changes["gone"]["liveJob"]["runsAgain"] is False


def test_markdown_has_a_warning_a_table_and_the_fields(steps: Steps) -> None:
    text = steps.markdown.out
    assert text.startswith(
        "<!-- vertex-training plan engine-test/test -->\n### Plan of engine-test, stack test\n"
    )
    assert "> [!WARNING]\n> - `train` is " in text
    assert "up will cancel it and run it again, without its checkpoints." in text
    assert "| replace | `train` | CustomJob |" in text
    assert "| `worker_pool_specs[1].replica_count` | 2 | 4 |" in text


def test_markdown_has_a_picture_of_each_topology_that_changes(steps: Steps) -> None:
    pictures = dict(
        re.findall(r"`(\w+)`(?:, workers)?:\n\n```mermaid\n(.*?)\n```", steps.markdown.out, re.DOTALL)
    )
    assert set(pictures) == {"train", "gone", "new"}
    train = mermaid.read(pictures["train"])
    assert "workers 2 -> 4 x " in train.nodes["p1"] and train.changes == {"p1": "resized"}
    assert set(mermaid.read(pictures["gone"]).changes.values()) == {"removed"}
    assert set(mermaid.read(pictures["new"]).changes.values()) == {"added"}


def test_a_plan_that_cannot_be_made_is_a_comment_with_the_reason(steps: Steps) -> None:
    assert steps.nobody.code == 1
    assert steps.nobody.out.startswith("<!-- vertex-training plan engine-test/nobody -->\n")
    assert "no stack named 'nobody' found" in steps.nobody.out
    assert "no stack named 'nobody' found" in steps.nobody.err


def test_a_pipe_gets_a_line_for_each_change(steps: Steps) -> None:
    assert steps.plain.code == 0, steps.plain.err
    assert "1 to create, 1 to update, 1 to replace, 1 to delete, 1 unchanged" in steps.plain.out
    assert "! gone is " in steps.plain.out
    assert steps.plain.out.splitlines()[1] == "It runs train (5 replicas), new (1 replica)."


def test_errors_of_the_preview_are_errors_of_the_plan(steps: Steps) -> None:
    assert steps.broken.code == 2
    assert steps.left == ""
    errors = steps.broken.document["errors"]
    assert {error["resource"] for error in errors} == {"train"}
    assert [error["message"].partition(":")[0] for error in errors] == [
        f"worker_pool_specs[{pool}].machine_spec.machine_type" for pool in (0, 1)
    ]


def test_each_mistake_of_the_configuration_is_an_error_of_its_own(engine: Engine) -> None:
    engine.write(MISCONFIGURED)
    for key, value in {"workers": "two", "wokers": "3", "spot": "no"}.items():
        engine.set(key, value)
    document = plan(engine, "--json").document
    assert [error["message"].partition(" ")[0] for error in document["errors"]] == [
        f"engine-test:{key}" for key in ("wokers", "workers", "spot")
    ]
    command = "`pulumi config set engine-test:workers 2 --stack test`."
    assert document["errors"][1]["message"].endswith(f"Run {command}")
    plain = plan(engine).out
    assert ": it cannot be deployed: 3 errors.\n" in plain
    assert len(re.findall(r"^error: engine-test:\w+ is .*\.$", plain, re.MULTILINE)) == 3
    assert "\\n" not in plain
    comment = plan(engine, "--markdown").out
    assert comment.count("\n- **error**: engine-test:") == 3
    assert command in comment


def test_an_exception_of_the_program_is_shown_with_its_lines(engine: Engine) -> None:
    engine.write('raise ValueError("no data")')
    shown = plan(engine).out
    assert shown.count("error: ") == 1
    assert "\nTraceback (most recent call last):\n" in shown
    assert shown.endswith("\nValueError: no data\n")


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("gcp", "pulumi plugin install resource gcp 10.2.0"),
        ("vertex-training", "vertex-training plugin install"),
    ],
)
def test_a_missing_plugin_has_the_command_that_installs_it(
    engine: Engine, package: str, command: str
) -> None:
    engine.environment["PULUMI_HOME"] = str(engine.folder / "home")
    engine.environment["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
    engine.write(
        f"pulumi.CustomResource('{package}:storage/bucket:Bucket', 'data', {{}}, "
        "pulumi.ResourceOptions(version='10.2.0'))"
    )
    done = plan(engine, "--json")
    assert done.code == 2
    (error,) = done.document["errors"]
    assert error["message"].startswith(f"no resource plugin 'pulumi-resource-{package}' found")
    assert error["message"].endswith(f". Run `{command}`.")


def test_a_folder_without_a_program_is_bad_input(tmp_path: Path) -> None:
    done = subprocess.run(
        ["vertex-training", "plan", "--cwd", str(tmp_path), "--json"], capture_output=True, text=True
    )
    assert done.returncode == 2
    (error,) = json.loads(done.stdout)["errors"]
    assert error["path"] == "--cwd"
    assert "No Pulumi.yaml" in error["message"]
