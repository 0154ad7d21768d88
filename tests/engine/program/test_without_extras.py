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
from vertex_emulator.client import extras
from vertex_emulator.client.interpreter import VARIABLE
from vertex_emulator.daemon import reset as emulator_reset

pytestmark = pytest.mark.slow

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
"""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    python: Path
    deployed: support.Result
    findings: list[Finding]


@pytest.fixture(scope="module")
def recorded(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Deploy in an environment without extras, and run the doctor there."""
    python = base_environment(tmp_path_factory.mktemp("base") / "venv")
    engine = support.copy(template, tmp_path_factory.mktemp("project") / "project", python=python)
    del engine.environment[VARIABLE]
    (engine.folder / "infra" / "trainer.py").write_text("print('trained')\n")
    try:
        engine.write(PROGRAM)
        deployed = engine.up()
        doctor = subprocess.run(
            [python, "-m", "pulumi_vertex_training.cli", "doctor", "--json"],
            env=engine.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        findings = [Finding(**each) for each in json.loads(doctor.stdout)["findings"]]
        return Recorded(python=python, deployed=deployed, findings=findings)
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


def test_a_deployment_to_the_emulator_needs_the_base_only(recorded: Recorded) -> None:
    for created in ("StagingBucket staging", "StagedPackage trainer", "CustomJob train"):
        assert re.search(rf"{created} created", recorded.deployed.ok().output), recorded.deployed.output


def test_the_doctor_finds_each_of_them(recorded: Recorded) -> None:
    found = {each.about: each for each in recorded.findings if each.about.startswith("Extra ")}
    assert {each.about: each.level for each in found.values()} == {
        f"Extra {extra.name}": "note" for extra in extras.ALL
    }
    assert "pulumi-vertex-training[tuning]" in found["Extra tuning"].remedy
