"""`vertex-training drift` on the real engine: all kinds, changed and deleted behind the stack's back.

Everything drifts at once, and the printed commands repair it, so the steps take few deployments.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest

from support.client.engine import Engine
from support.client.services.drifting import (
    BASE,
    PARENT,
    REPAIRED_JOBS,
    change_everything,
    ids,
    live_values,
    prepare,
)
from vertex_emulator.client import launcher

pytestmark = pytest.mark.slow


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of a command: its exit code and both outputs."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document

    @property
    def changes(self) -> dict[str, dict[str, Any]]:
        return {change["name"]: change for change in self.document["changes"]}


def run(engine: Engine, *command: str) -> Run:
    done = subprocess.run(
        command,
        cwd=engine.folder,
        env=engine.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Run(code=done.returncode, out=done.stdout, err=done.stderr)


def drift(engine: Engine, *arguments: str) -> Run:
    return run(engine, "vertex-training", "drift", *arguments)


def state_files(engine: Engine) -> dict[str, str]:
    """Return the hash of each file of the backend, by its path."""
    files = [path for path in (engine.folder / "state").rglob("*") if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The outputs of the command for one stack: unchanged, drifted, refused by a service, and repaired."""

    unchanged: Run
    drifted: Run
    files: tuple[dict[str, str], dict[str, str]]
    """Hashes of the backend's files before and after."""
    markdown: Run
    refused: Run
    repairs: list[Run]
    repaired: Run
    live: dict[str, Any]
    """Values of services after the repair."""


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    prepare(engine)
    engine.up().ok()
    unchanged = drift(engine, "--json", "--exit-code")
    change_everything(engine, ids(engine))

    lock = engine.folder / "state" / ".pulumi" / "locks" / "organization" / "engine-test" / "test" / "1.json"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text(
        json.dumps({"pid": 1, "username": "other", "hostname": "h", "timestamp": "2026-01-01T00:00:00Z"})
    )
    before = state_files(engine)
    drifted = drift(engine, "--json", "--exit-code")
    after = state_files(engine)
    lock.unlink()
    markdown = drift(engine, "--markdown")
    run(
        engine,
        "vertex-training",
        "emulator",
        "fault",
        "add",
        "storage.buckets.get",
        "--status",
        "403",
        "--always",
    )
    refused = drift(engine, "--json")
    run(engine, "vertex-training", "emulator", "fault", "clear")

    # The command of most resources, the one with every other repair in it, and the one that accepts the rest.
    commands = ("pulumi up --refresh", drifted.document["repair"], "pulumi refresh")
    repairs = [
        run(engine, *shlex.split(command), "--yes", "--skip-preview", "--non-interactive")
        for command in commands
    ]
    live = live_values(engine)
    launcher.stop(engine.data_dir)
    return Steps(
        unchanged=unchanged,
        drifted=drifted,
        files=(before, after),
        markdown=markdown,
        refused=refused,
        repairs=repairs,
        repaired=drift(engine, "--json", "--exit-code"),
        live=live,
    )


UP = "pulumi up --refresh"
DELETED = (
    "lost",
    "adopted",
    "lost-search",
    "lost-pipeline",
    "lost-bucket",
    "rows",
    "package",
    "photos",
    "lost-images",
    "lost-image",
    "lost-model",
    "lost-machines",
    "lost-other",
)
CHANGED: dict[str, list[str]] = {
    "data": ["labels.team: vision -> speech", "versioning.enabled: false -> true"],
    "images": ["description: ours -> theirs"],
    "labelled": ["labels.team: vision -> speech"],
    "machines": ["resource_pools[0].replica_count: 1 -> 2"],
    "other": ["size: 1 -> 2"],
}
REPLACED = {
    "tagged": "the tag latest was moved to sha256:",
    "rebased": f"the base image {BASE} is now sha256:",
    "default": "it is no longer the default version: version 2 is",
}


def test_nothing_has_drifted_after_a_deployment_and_jobs_that_start_have_not(steps: Steps) -> None:
    assert steps.unchanged.code == 0, steps.unchanged.err
    assert steps.unchanged.document["changes"] == []
    assert steps.unchanged.document["repair"] is None
    assert set(steps.unchanged.document["counts"]) == {"none"}


def test_the_state_stays_as_it_is_byte_by_byte_and_a_lock_of_a_deployment_does_not_matter(
    steps: Steps,
) -> None:
    before, after = steps.files
    assert before == after
    assert any("/locks/" in path for path in before)
    assert any(path.endswith("/test.json") for path in before)


def test_every_resource_that_was_changed_and_no_other_has_drifted(steps: Steps) -> None:
    assert steps.drifted.code == 1, steps.drifted.err
    cancelled = {"cancelled", "cancelled-never", "search", "pipeline"}
    expected = {*DELETED, "lost-never", *CHANGED, *REPLACED, *cancelled}
    assert set(steps.drifted.changes) == expected
    assert steps.drifted.document["counts"] == {
        "changed": len(CHANGED) + len(REPLACED),
        "cancelled": 4,
        "deleted": len(DELETED) + 1,
        "none": 2,
    }


@pytest.mark.parametrize("name", DELETED)
def test_a_deleted_resource_is_created_again_by_the_next_deployment(steps: Steps, name: str) -> None:
    change = steps.drifted.changes[name]
    assert (change["effect"], change["repair"]) == ("deleted", UP)
    assert change["words"][0].startswith("it was deleted")


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_resource_is_described_by_property(steps: Steps, name: str) -> None:
    change = steps.drifted.changes[name]
    assert (change["effect"], change["repair"]) == ("changed", UP)
    assert change["words"] == CHANGED[name]
    assert [f"{one['path']}: " for one in change["fields"]] == [
        f"{words.partition(':')[0]}: " for words in CHANGED[name]
    ]


@pytest.mark.parametrize("name", REPLACED)
def test_what_no_deployment_changes_back_is_repaired_by_a_replacement(steps: Steps, name: str) -> None:
    change = steps.drifted.changes[name]
    assert change["effect"] == "changed"
    assert change["words"][0].startswith(REPLACED[name])
    assert change["repair"] == f"{UP} --replace {change['urn']}"
    assert change["because"]


@pytest.mark.parametrize("name", ["cancelled", "search", "pipeline"])
def test_a_cancelled_job_runs_again_on_demand_alone(steps: Steps, name: str) -> None:
    change = steps.drifted.changes[name]
    assert change["effect"] == "cancelled"
    assert change["words"][0].endswith(" -> CANCELLED")
    assert change["repair"] == f"{UP} --replace {change['urn']}"
    assert 'rerun is "on_change"' in change["because"]


@pytest.mark.parametrize("name", ["cancelled-never", "lost-never"])
def test_a_job_that_never_runs_again_can_only_be_accepted(steps: Steps, name: str) -> None:
    change = steps.drifted.changes[name]
    assert change["repair"] == "pulumi refresh"
    assert 'rerun is "never"' in change["because"]


def test_a_secret_value_is_never_printed(steps: Steps) -> None:
    for one in (steps.drifted, steps.markdown, steps.refused):
        assert "hunter" not in one.out + one.err


def test_the_printed_commands_repair_every_resource(steps: Steps) -> None:
    for one in steps.repairs:
        assert one.code == 0, one.out + one.err
    assert steps.live["package"].startswith("packages/package/")
    assert {name: value for name, value in steps.live.items() if name != "package"} == {
        "data": ("vision", False),
        "lost-bucket": "drift-lost",
        "rows": b"1,2,3\n",
        "photos": b"a",
        "images": "ours",
        "lost-images": f"{PARENT}/repositories/lost-images",
        "tagged": True,
        "rebased": True,
        "lost-image": True,
        "default": True,
        "labelled": "vision",
        "lost-model": "lost-model",
        "machines": "1",
        "lost-machines": "1",
        **dict.fromkeys(REPAIRED_JOBS, True),
        "other": 1,
        "lost-other": 1,
    }


def test_nothing_has_drifted_after_the_repair_and_a_stopped_emulator_is_started(steps: Steps) -> None:
    assert steps.repaired.code == 0, steps.repaired.out + steps.repaired.err
    assert steps.repaired.document["changes"] == []


def test_markdown_has_the_differences_the_commands_and_the_fields(steps: Steps) -> None:
    text = steps.markdown.out
    assert steps.markdown.code == 0, steps.markdown.err
    assert "| cancelled | `search` | HyperparameterTuningJob | state: " in text
    assert f"| all of these | `{steps.drifted.document['repair']}` |" in text
    assert "| `versioning.enabled` | false | true |" in text


def test_a_service_that_refuses_is_an_error_and_all_other_drift_is_reported(steps: Steps) -> None:
    assert steps.refused.code == 2
    assert steps.refused.document["unread"] == ["data", "lost-bucket"]
    assert {one["resource"] for one in steps.refused.document["errors"]} == {"data", "lost-bucket"}
    assert all(
        one["message"].startswith("Could not read bucket ") for one in steps.refused.document["errors"]
    )
    assert set(steps.refused.changes) == set(steps.drifted.changes) - {"data", "lost-bucket"}


def test_a_stack_that_does_not_exist_is_an_error_with_a_remedy(steps: Steps, shared_engine: Engine) -> None:
    unknown = drift(shared_engine, "--stack", "nobody", "--json")
    assert unknown.code == 1
    (error,) = unknown.document["errors"]
    assert "no stack named 'nobody' found. `pulumi stack ls` lists the stacks." in error["message"]
