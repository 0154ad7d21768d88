"""`make down` of an environment, with the real CLI on a small program of the same name."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import stack
from scripts.layout import layout as layout_of
from scripts.processes import run_openly
from scripts.report import ChoreError, Report

PROGRAM = "import pulumi\npulumi.ComponentResource('vertex-training:index:TrainingEnvironment', 'training')\n"
PROJECT = "training-environment"
USER = {"type": "pulumi:pulumi:StackReference", "inputs": {"name": f"organization/{PROJECT}/local"}}


def test_it_names_the_stacks_that_use_the_environment_and_asks_on_a_terminal(
    tmp_path: Path, root: Path, report: Report, printed: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = replace(layout_of(root=root), local=tmp_path / "local", folder="environment")
    (tmp_path / "Pulumi.yaml").write_text(f"name: {PROJECT}\nruntime: python\n")
    (tmp_path / "__main__.py").write_text(PROGRAM)
    there = ["--cwd", str(tmp_path), "--non-interactive"]
    ready = stack.prepare(here, report, stack="local")
    up = [ready.cli.program, "up", "--yes", "--skip-preview", "--stack", "local", *there]
    assert run_openly(up, cwd=tmp_path, env=ready.env) == 0
    for latest, name in (({"resources": [USER]}, "uses"), ({"resources": []}, "ended"), (None, "new")):
        file = here.state / ".pulumi" / "stacks" / "training" / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"checkpoint": {"latest": latest}}))
    monkeypatch.delenv("CI", raising=False)
    leader, follower = os.openpty()
    os.write(leader, b"\n")
    with (
        os.fdopen(leader, "wb"),
        os.fdopen(follower) as terminal,
        pytest.raises(ChoreError, match="Nothing was deleted"),
    ):
        stack.down(here, report, stack="local", arguments=there, stdin=terminal)
    assert not stack.is_empty(here, "local")
    assert stack.down(here, report, stack="local", arguments=there, stdin=io.StringIO()) == 0
    assert f"Environment {PROJECT}/local: in use by training/uses.\n" in printed.getvalue()
    assert stack.is_empty(here, "local")


@pytest.mark.parametrize(("typed", "environ"), [(b"y\n", {}), (b"Yes\n", {}), (b"", {"CI": "true"})])
def test_consent_or_a_pipeline_deletes_without_another_word(typed: bytes, environ: dict[str, str]) -> None:
    leader, follower = os.openpty()
    os.write(leader, typed)
    with os.fdopen(leader, "wb"), os.fdopen(follower) as terminal:
        stack._confirm_loss(terminal, environ)
