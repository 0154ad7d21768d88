"""Printed commands work in the shell that runs `pulumi`, whose PATH may lack the environment's programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PRINT = (
    "import sys; from pulumi.runtime import settings; "
    "settings.SETTINGS.root_directory = sys.argv[1]; "
    "from pulumi_vertex_training.program.links import job_command; print(job_command('logs', '7'))"
)
OWN = Path(sys.executable).parent


def printed(root: Path, path: str, **variables: str) -> str:
    """Return the command that a program in the project at `root` prints."""
    environment = {"PATH": path, "PYTHONPATH": os.pathsep.join(sys.path[1:]), **variables}
    return subprocess.run(
        [sys.executable, "-c", PRINT, str(root)], env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    return tmp_path


def test_a_shell_with_the_command_on_path_gets_its_name(project: Path) -> None:
    assert printed(project, f"{OWN}:/usr/bin:/bin") == "vertex-training logs 7"


def test_a_shell_without_it_gets_its_path(project: Path) -> None:
    command = printed(project, "/usr/bin:/bin")
    assert command == f"{OWN}/vertex-training logs 7"
    assert shutil.which(command.split()[0])


@pytest.mark.parametrize("options", ["{toolchain: pip, virtualenv: venv}", "{toolchain: uv}"])
def test_the_folder_that_pulumi_adds_does_not_count(project: Path, options: str) -> None:
    (project / "Pulumi.yaml").write_text(f"name: p\nruntime:\n  name: python\n  options: {options}\n")
    assert printed(project, f"{OWN}:/usr/bin:/bin") == f"{OWN}/vertex-training logs 7"
    assert printed(project, f"{OWN}:{OWN}:/usr/bin:/bin") == "vertex-training logs 7"


def test_a_chore_names_the_command(project: Path) -> None:
    given = printed(project, f"{OWN}:/usr/bin", VERTEX_TRAINING_COMMAND="'/a b/scripts/vertex-training'")
    assert given == "'/a b/scripts/vertex-training' logs 7"
