"""The plugin's archives: Pulumi installs one, and its launcher finds the Python with the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pulumi_vertex_training.package import launcher
from scripts.release import plugin_archives
from vertex_training import __version__


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return the plugin that the CLI has installed from an archive."""
    first, *others = plugin_archives.write(tmp_path, __version__)
    assert first.name == f"pulumi-resource-vertex-training-v{__version__}-linux-amd64.tar.gz"
    assert {one.read_bytes() for one in others} == {first.read_bytes()}
    home = tmp_path / "home"
    words = ["pulumi", "plugin", "install", "resource", "vertex-training", __version__, "--file", str(first)]
    environment = {**os.environ, "PULUMI_HOME": str(home), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    subprocess.run(words, env=environment, check=True, capture_output=True)
    return home / "plugins" / f"resource-vertex-training-v{__version__}" / launcher.PROGRAM


def run(program: Path, folder: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [program, "127.0.0.1:1"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_an_installed_archive_runs_the_package(installed: Path, tmp_path: Path) -> None:
    nobody = run(installed, tmp_path, PATH="/nowhere")
    assert nobody.communicate() == (
        "",
        f"the plugin vertex-training {__version__} needs its Python package, which no Python on PATH has; "
        f"run: pip install 'pulumi-vertex-training=={__version__}'\n",
    )
    assert nobody.returncode == 1
    venv = Path(sys.executable).parent.parent
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "venv").symlink_to(venv)
    for folder, environment in (
        (tmp_path, {"PATH": "/nowhere", "VIRTUAL_ENV": str(venv)}),
        (tmp_path, {"PATH": f"{venv / 'bin'}:/usr/bin"}),
        (tmp_path / "project", {"PATH": "/nowhere"}),
    ):
        started = run(installed, folder, **environment)
        assert started.stdout is not None
        assert int(started.stdout.readline()) > 0
        started.terminate()
        started.communicate()
