"""vertex_cluster as a separate distribution: built, installed and imported offline."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import vertex_cluster
import vertex_training

SOURCE = Path(vertex_cluster.__file__).parent
CLUSTER_SPEC = {"cluster": {"workerpool0": ["a:2222"]}, "task": {"type": "workerpool0", "index": 0}}
OFFLINE = {
    **os.environ,
    "PIP_NO_INDEX": "1",
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


def run(*command: str | Path, **options: Any) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("distribution")
    source = shutil.copytree(
        SOURCE.parents[1], folder / "source", ignore=shutil.ignore_patterns("__pycache__")
    )
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet")
    run(*pip, "--wheel-dir", folder, source, env=OFFLINE, cwd=folder)
    (built,) = folder.glob("vertex_cluster-*.whl")
    return built


def test_the_wheel_has_every_module_and_no_dependency(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
    modules = {f"vertex_cluster/{path.relative_to(SOURCE).as_posix()}" for path in SOURCE.rglob("*.py")}
    assert names == modules | {"vertex_cluster/py.typed"}
    assert "Requires-Dist" not in text
    assert "Requires-Python: >=3.8" in text


def test_it_has_the_version_of_the_project(wheel: Path) -> None:
    assert wheel.name == f"vertex_cluster-{vertex_training.__version__}-py3-none-any.whl"


def test_it_is_installed_into_an_empty_environment_and_reads_the_cluster(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin" / "python"
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        wheel,
        env=OFFLINE,
        cwd=tmp_path,
    )
    program = (
        "import importlib.util as i, json, vertex_cluster as v; "
        "print(json.dumps([v.__file__, v.from_environment().name, bool(i.find_spec('vertex_training'))]))"
    )
    file, name, has_more = json.loads(
        run(python, "-I", "-c", program, env={"CLUSTER_SPEC": json.dumps(CLUSTER_SPEC)}, cwd=tmp_path)
    )
    assert Path(file).is_relative_to(environment)
    assert name == "workerpool0-0"
    assert not has_more
