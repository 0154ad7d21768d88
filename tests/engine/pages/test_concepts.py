"""The files and commands of docs/concepts/."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.client import engine
from support.client.pages.pages import DOCS, Step, blocks, execute, follow
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

PAGES = DOCS / "concepts"
OF_A_JOB = {
    "vertex-training runs train",
    "vertex-training runs train --compare",
    "vertex-training logs JOB",
}
"""Commands for a job, which are run by `test_tutorial.py`."""


@pytest.fixture(scope="module")
def steps(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Step]]:
    """Run the commands of all pages in one project, whose emulator is started by them."""
    base = tmp_path_factory.mktemp("concepts")
    (base / "state").mkdir()
    (base / "Pulumi.yaml").write_text("name: concepts\nruntime: python\n")
    variables = engine.with_command(engine.environment(base, base / "emulator"), base / "bin", python)
    execute("pulumi stack init dev", base, variables).ok()
    try:
        found: list[Step] = []
        for page in sorted(PAGES.glob("*.md")):
            launcher.ensure(base / "emulator")
            found += follow(page, base, variables, runs=lambda command: command not in OF_A_JOB)
        yield found
    finally:
        if (base / "emulator").exists():
            emulator_reset.stop_and_end_jobs(base / "emulator")


def test_every_command_succeeds_and_prints_what_the_page_shows(steps: list[Step]) -> None:
    assert len(steps) >= 8
    for step in steps:
        assert step.result.code == 0, f"{step.command}\n{step.result.output}"
        step.check()


def test_the_emulator_is_started_and_stopped(steps: list[Step]) -> None:
    managed = {step.command: step.result.output for step in steps if " emulator " in step.command}
    assert "running at http://127.0.0.1:" in managed["vertex-training emulator start"]
    assert managed['eval "$(vertex-training emulator env)"'] == ""
    assert "127.0.0.1" in managed["vertex-training emulator status"]


def test_the_picture_is_what_the_command_draws(tmp_path: Path) -> None:
    (declared,) = (block for block in blocks(PAGES / "topology.md") if block.language == "yaml")
    (tmp_path / "topology.yaml").write_text(declared.text)
    drawn = execute(
        "vertex-training explain topology.yaml --svg", tmp_path, engine.environment(tmp_path, tmp_path)
    )
    assert drawn.ok().output == (DOCS / "pictures" / "concepts-topology.svg").read_text()


def test_the_program_of_the_page_is_a_chief_when_it_runs_alone() -> None:
    (*_, program) = (block.text for block in blocks(PAGES / "topology.md") if block.language == "python")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "chief 0 1\n"
