"""A project of the template installs the package that its stack names, and trains a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.layout import Layout
from scripts.layout import layout as clone_layout
from scripts.pulumi_cli import installed
from scripts.release import command as release
from scripts.report import ChoreError, Report
from support.tables import every_row

STACK = "config:\n  mine:package: {}\n  vertex-training:endpoint: emulator\n"
OTHER_METRICS = """
import json, os, pathlib
folder = pathlib.Path(os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/"))
folder.mkdir(parents=True, exist_ok=True)
(folder / "metrics.json").write_text(json.dumps({}))
"""
"""A user's own training script: its metrics are not those of the template's script."""
PARTS = ("vertex-cluster", "vertex-training", "vertex-emulator", "pulumi-vertex-training")


@pytest.fixture
def project(tmp_path: Path, root: Path) -> Path:
    """Return a folder with the template's environment/ and a stack without a package."""
    (tmp_path / "environment").mkdir()
    for file in (root / release.TEMPLATE / "environment").glob("*.*"):
        (tmp_path / "environment" / file.name).write_bytes(file.read_bytes())
    (tmp_path / "Pulumi.other.yaml").write_text("config:\n  mine:workers: 4\n")
    return tmp_path


def requirements(project: Path) -> subprocess.CompletedProcess[str]:
    code = "import stack_package; print(*stack_package.requirements(), sep=chr(10))"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=project / "environment", capture_output=True, text=True, check=False
    )


@every_row(
    ("package", "expected"),
    [
        pytest.param("0.1.0", ["pulumi-vertex-training==0.1.0"], id="a version"),
        pytest.param('"1.0"', ["pulumi-vertex-training==1.0"], id="a version in quotes"),
        pytest.param("2.0rc1", ["pulumi-vertex-training==2.0rc1"], id="a version before a release"),
        pytest.param(
            "https://host/pulumi_vertex_training-1-py3-none-any.whl",
            [f"{part} @ https://host/{part.replace('-', '_')}-1-py3-none-any.whl" for part in PARTS],
            id="a URL, with the other wheels beside it",
        ),
        pytest.param(
            "git+https://host/a@v1",
            [f"{part} @ git+https://host/a@v1#subdirectory=providers/{part}" for part in PARTS],
            id="a URL of a repository",
        ),
    ],
)
def test_the_requirements_of_a_version_or_url(project: Path, package: str, expected: list[str]) -> None:
    (project / "Pulumi.dev.yaml").write_text(STACK.format(package))
    assert requirements(project).stdout.splitlines() == expected


@pytest.mark.parametrize("relative", [True, False])
def test_the_requirements_of_a_wheel(project: Path, relative: bool) -> None:
    wheels = [project / f"{part.replace('-', '_')}-1-py3-none-any.whl" for part in PARTS]
    for wheel in wheels:
        wheel.touch()
    (project / "Pulumi.dev.yaml").write_text(STACK.format(wheels[-1].name if relative else wheels[-1]))
    expected = [f"{part} @ {wheel.as_uri()}" for part, wheel in zip(PARTS, wheels, strict=True)]
    assert requirements(project).stdout.splitlines() == expected


def test_the_requirements_of_a_clone(project: Path, root: Path) -> None:
    (project / "Pulumi.dev.yaml").write_text(STACK.format(root))
    expected = [f"{part} @ {(root / 'providers' / part).as_uri()}" for part in PARTS]
    assert requirements(project).stdout.splitlines() == expected


@every_row(
    ("stacks", "message"),
    [
        pytest.param([], "No stack of", id="no package"),
        pytest.param(["''"], "No stack of", id="an empty one"),
        pytest.param(["two.whl"], "two.whl: not a version or a URL, and /", id="a missing file"),
        pytest.param(["0.1", "0.2"], "different packages: 0.1 (Pulumi.0.yaml), 0.2", id="two packages"),
    ],
)
def test_a_mistake_is_named_with_the_command(project: Path, stacks: list[str], message: str) -> None:
    for number in range(2):
        stack = project / f"Pulumi.{number}.yaml"
        stack.unlink(missing_ok=True)
        if number < len(stacks):
            stack.write_text(STACK.format(stacks[number]))
    found = requirements(project)
    assert found.returncode == 1
    assert message in found.stderr, found.stderr
    assert "pulumi config set package 0.1.0" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.slow
def test_a_new_project_trains_a_model(root: Path, report: Report, tmp_path: Path) -> None:
    """Build the wheels, then go from `pulumi new` to a trained model with an empty home.

    The environment of this clone is active in the shell, as after `source ./activate`.
    """
    clone: Layout = clone_layout(root=root)
    cli = installed.ensure(clone, report)
    with report.step("build") as step:
        built = release.build(clone, tmp_path / "dist", step)
    release.check(clone, built)
    (wheel,) = (path for path in built if path.name.startswith("pulumi_") and path.suffix == ".whl")
    with release.trial(cli, wheel, activated=clone.venv) as trial:
        trial.create()
        assert (trial.folder / "venv" / "pyvenv.cfg").exists()
        assert not (trial.folder / "pyvenv.cfg").exists()
        trial.run("pulumi", "install")  # as in an upgrade; Pulumi downloads no plugin for the package
        assert trial.train() == "SUCCEEDED, accuracy 0.9925"
        for metrics, expected in ({"loss": 0.25}, "SUCCEEDED, loss 0.25"), ({}, "SUCCEEDED"):
            (trial.folder / "train.py").write_text(OTHER_METRICS.format(metrics))
            assert trial.train() == expected
        trial.remove()


@pytest.mark.slow
def test_a_mistyped_package_is_named_by_pulumi_new(root: Path, report: Report) -> None:
    cli = installed.ensure(clone_layout(root=root), report)
    with release.trial(cli, "/nowhere/package.whl") as trial:
        with pytest.raises(ChoreError, match="not a version or a URL") as refused:
            trial.create()
        assert "pulumi config set package /path/of/the/package.whl" in str(refused.value)
        assert "Run `pulumi install` to complete the installation." in str(refused.value)
