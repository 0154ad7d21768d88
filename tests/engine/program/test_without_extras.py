"""The base of the package is enough for a preview and a deployment; errors name the extra that is missing."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from pulumi_vertex_training.cli.doctor.command import Finding
from support.client import engine as support
from support.emulated.installs.environments import base_environment, closure
from vertex_emulator import extras, launcher
from vertex_emulator import reset as emulator_reset
from vertex_emulator.interpreter import VARIABLE

PROGRAM = """
bucket = vt.StagingBucket("staging", name="base", force_destroy=True)
package = vt.StagedPackage("trainer", bucket=bucket, source="trainer.py", format="wheel")
job = vt.CustomJob(
    "train",
    staging_bucket=bucket,
    worker_pool_specs=[
        {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": 1,
            "python_package_spec": {
                "executor_image_uri": "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
                "package_uris": [package.uri],
                "python_module": package.python_module,
            },
        }
    ],
    wait="none",
)
repository = vt.ImageRepository("images", repository_id="images")
vt.TrainingImage(
    "image",
    repository=repository,
    source="image",
    base_image="python:3.11",
    requirements="lock.txt",
    python_version="3.11",
    opts=pulumi.ResourceOptions(depends_on=[job]),
)
"""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    python: Path
    preview: support.Result
    refused: support.Result
    data_dir_made: bool
    deployed: support.Result
    findings: list[Finding]
    started_elsewhere: str


@pytest.fixture(scope="module")
def recorded(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Preview and deploy in an environment without extras, with and without an emulator started elsewhere."""
    python = base_environment(tmp_path_factory.mktemp("base") / "venv")
    engine = support.copy(template, tmp_path_factory.mktemp("project") / "project", python=python)
    del engine.environment[VARIABLE]
    (engine.folder / "infra" / "trainer.py").write_text("print('trained')\n")
    (engine.folder / "infra" / "image").mkdir()
    (engine.folder / "infra" / "image" / "task.py").write_text("print('trained')\n")
    (engine.folder / "infra" / "lock.txt").write_text(f"six==1.17.0 --hash=sha256:{'0' * 64}\n")
    try:
        engine.write(PROGRAM)
        preview, refused = engine.preview(), engine.up()
        data_dir_made = engine.data_dir.exists()
        doctor = subprocess.run(
            [python, "-m", "pulumi_vertex_training.cli", "doctor", "--json"],
            env=engine.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(VARIABLE, str(python))
            with pytest.raises(launcher.LauncherError) as started_elsewhere:
                launcher.ensure(engine.data_dir)
        launcher.ensure(engine.data_dir)
        return Recorded(
            python=python,
            preview=preview,
            refused=refused,
            data_dir_made=data_dir_made,
            deployed=engine.up(),
            findings=[Finding(**each) for each in json.loads(doctor.stdout)["findings"]],
            started_elsewhere=str(started_elsewhere.value),
        )
    finally:
        if engine.data_dir.exists():
            emulator_reset.stop_and_end_jobs(engine.data_dir)


def test_the_environment_lacks_every_package_of_the_extras(recorded: Recorded) -> None:
    modules = [module for extra in extras.ALL for _, module in extra.modules]
    code = (
        "import sys; from importlib.util import find_spec; print([m for m in sys.argv[1:] if find_spec(m)])"
    )
    found = subprocess.run([recorded.python, "-c", code, *modules, "numpy"], capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found.stderr
    assert len(closure(extras.DISTRIBUTION)) > 20


def test_a_preview_needs_the_base_only(recorded: Recorded) -> None:
    assert re.search(r"\+ +7 to create", recorded.preview.ok().output), recorded.preview.output


def test_a_deployment_names_the_extra_that_the_emulator_needs(recorded: Recorded) -> None:
    output = recorded.refused.failed().output
    assert "The emulator needs the extra `emulator` of pulumi-vertex-training" in output
    assert "optuna, google-re2, psutil are not installed" in output
    assert re.search(r"-m pip install 'pulumi-vertex-training\[emulator\]", output)
    assert not recorded.data_dir_made, "the emulator was not started"


def test_an_emulator_of_another_interpreter_reports_what_that_one_lacks(recorded: Recorded) -> None:
    assert "The emulator needs the extra `emulator`" in recorded.started_elsewhere
    assert f"{recorded.python} -m pip install" in recorded.started_elsewhere


def test_a_deployment_needs_the_base_only(recorded: Recorded) -> None:
    """Check that only the image, which comes last, fails."""
    for created in ("StagingBucket staging", "StagedPackage trainer", "CustomJob train"):
        assert re.search(rf"{created} created", recorded.deployed.output), recorded.deployed.output


def test_an_image_with_requirements_names_its_extra(recorded: Recorded) -> None:
    output = recorded.deployed.failed().output
    assert "requirements: An image with `requirements` needs the extra `images`" in output
    assert re.search(r"-m pip install 'pulumi-vertex-training\[images\]", output)


def test_the_doctor_finds_each_of_them(recorded: Recorded) -> None:
    found = {each.about: each for each in recorded.findings if each.about.startswith("Extra ")}
    assert {each.about: each.level for each in found.values()} == {
        "Extra emulator": "warning",
        "Extra images": "note",
        "Extra ui": "note",
    }
    assert "pulumi-vertex-training[emulator]" in found["Extra emulator"].remedy
