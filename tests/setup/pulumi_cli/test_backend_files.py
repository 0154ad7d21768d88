"""Files that a kill leaves unusable in Pulumi's file backend, with the real CLI."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts import stack
from scripts.layout import Layout
from scripts.pulumi_cli import backend_files
from scripts.report import ChoreError, Report
from support.installs.small_clone import clone_with, pulumi

PROGRAM = "import pulumi\npulumi.export('greeting', 'hello')\n"
TEMPORARY = "18ea8a88b6d1a28d.tmp"


@pytest.fixture
def ready(layout: Layout, root: Path) -> stack.Ready:
    """Set up a clone whose stack `local` was created with files of attributes, as by earlier versions."""
    ready = clone_with(PROGRAM, layout=layout, root=root)
    pulumi(layout, ready, "stack", "select", "--create", "local", variables=before(layout))
    return ready


def before(layout: Layout) -> dict[str, str]:
    """Return the backend's address of earlier versions."""
    return {"PULUMI_BACKEND_URL": f"file://{layout.state}"}


def resources(state: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(state.read_text())["checkpoint"]["latest"]["resources"]
    return found


def test_no_kill_leaves_a_state_that_needs_a_hand(
    layout: Layout, ready: stack.Ready, report: Report, capfd: pytest.CaptureFixture[str]
) -> None:
    up = ("up", "--yes", "--skip-preview", "--stack", "local")
    pulumi(layout, ready, *up, variables=before(layout))
    root = layout.state / ".pulumi"
    state = root / "stacks" / "digits" / "local.json"
    attributes = state.with_name("local.json.attrs")
    locks = root / "locks" / "organization" / "digits" / "local"
    locks.mkdir(parents=True, exist_ok=True)
    assert attributes.exists()
    stack.repair_files(layout, report, "local")
    assert attributes.exists(), "what is usable stays"
    good = resources(state)
    assert good
    shutil.copy(state, state.with_name("local.json.bak"))

    def emptied(file: Path) -> Callable[[], object]:
        return lambda: file.write_bytes(b"")

    damaged = {
        "failed to load checkpoint: EOF": emptied(attributes),
        "unexpected end of JSON input": emptied(locks / f"1bb47f54.json.{TEMPORARY}"),
        "failed to load checkpoint: ": emptied(state),
        "missing version": emptied(root / "meta.yaml"),
    }
    for message, damage in damaged.items():
        damage()
        assert message in pulumi(layout, ready, *up, check=False)
        stack.unlock(layout, report, stack="local", force=False)
        assert resources(state) == good
    emptied(state.with_name(f"local.json.{TEMPORARY}"))()
    stack.repair_files(layout, report, "local")
    assert not list(root.glob("**/*.tmp"))
    attributed = sorted(root.glob("**/*.attrs"))
    pulumi(layout, ready, *up)
    assert sorted(root.glob("**/*.attrs")) == attributed, "`up` writes no file of attributes"


def test_a_state_without_a_backup_is_named(layout: Layout, report: Report, root: Path) -> None:
    shutil.copy(root / "Pulumi.yaml", layout.root)
    state = layout.state / ".pulumi" / "stacks" / "digits" / "local.json"
    state.parent.mkdir(parents=True)
    state.touch()
    with pytest.raises(ChoreError, match=r"local\.json has no content, and there is no backup of it"):
        stack.repair_files(layout, report, "local")
    backups = layout.state / ".pulumi" / "backups" / "digits" / "local"
    backups.mkdir(parents=True)
    (backups / "local.17.json").write_text('{"version": 3}')
    stack.repair_files(layout, report, "local")
    assert state.read_text() == '{"version": 3}'


def test_files_of_other_stacks_stay(layout: Layout) -> None:
    root = layout.state / ".pulumi"
    for project, name in (("digits", "local-2"), ("letters", "local")):
        file = root / "stacks" / project / f"{name}.json.attrs"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert backend_files.damages(root, project="digits", stack="local") == []


def operation(name: str, kind: str, *, type_: str = "creating") -> dict[str, Any]:
    urn = f"urn:pulumi:local::digits::{kind}::{name}"
    return {"resource": {"urn": urn, "type": kind, "custom": True, "inputs": {}}, "type": type_}


def test_unlock_forgets_what_was_adopted(
    layout: Layout, ready: stack.Ready, report: Report, printed: io.StringIO
) -> None:
    """Clean a stack that is not locked, after `pulumi cancel` and a `pulumi up` that adopted everything."""
    file = layout.state / ".pulumi" / "stacks" / "digits" / "local.json"
    theirs = "gcp:serviceaccount/account:Account"
    adopted, unknown = operation("trainer", theirs), operation("other", theirs)
    state = json.loads(file.read_text())
    latest = state["checkpoint"]["latest"]
    latest["resources"] = [{**adopted["resource"], "id": "trainer", "outputs": {}}]
    latest["pending_operations"] = [
        adopted,
        unknown,
        operation("train", "pulumi-python:dynamic/customJob:CustomJob"),
        operation("in-yaml", "vertex-training:index:CustomJob"),
        operation("trainer", theirs, type_="updating"),
    ]
    file.write_text(json.dumps(state))
    stack.forget_interrupted(layout, report, ready, stack="local")
    assert json.loads(file.read_text()) == state, "it stays as it is"
    assert f"{unknown['resource']['urn']} may exist" in printed.getvalue()
    latest["pending_operations"].remove(unknown)
    file.write_text(json.dumps(state))
    stack.forget_interrupted(layout, report, ready, stack="local")
    after = json.loads(file.read_text())["checkpoint"]["latest"]
    assert not after.get("pending_operations")
    assert len(after["resources"]) == 1
