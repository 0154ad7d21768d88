"""A state that an earlier release recorded must preview "no changes" under this one.

`states/VERSION.json` was exported by that version after `up` of the program below. On a release, record one
more: `python -m pytest tests/engine/test_recorded_states.py --record`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import vertex_training
from support.engine import Engine

STATES = Path(__file__).parent / "states"

PROGRAM = """
bucket = vt.StagingBucket(
    "staging",
    name="recorded-bucket",
    labels={"team": "vision"},
    lifecycle_rules=[{"action": {"type": "Delete"}, "condition": {"age": 30}}],
    force_destroy=True,
)
data = vt.StagedFile("data", bucket=bucket, source="numbers.txt")
package = vt.StagedPackage("trainer", bucket=bucket, source="trainer.py", requirements=["numpy"])


def pool(count):
    return vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        replica_count=count,
        container_spec=vt.ContainerSpecArgs(
            image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
            command=["python3", "-c", "print('trained')"],
            args=[data.path],
            env=[vt.EnvVarArgs(name="LEVEL", value="1")],
        ),
    )


job = vt.CustomJob(
    "train",
    worker_pool_specs=vt.topology(chief=pool(1), workers=pool(2)),
    staging_bucket=bucket,
    scheduling=vt.SchedulingArgs(timeout="3600s"),
    labels={"team": "vision"},
    wait="done",
)
"""


@pytest.fixture
def project(engine: Engine) -> Engine:
    engine.write(PROGRAM)
    (engine.folder / "infra" / "numbers.txt").write_text("1 2 3")
    (engine.folder / "infra" / "trainer.py").write_text("print('trained')\n")
    return engine


def test_the_states_of_all_releases_preview_no_changes(
    project: Engine, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--record"):
        project.up().ok()
        exported = _without_positions(json.loads(project.run("stack", "export").ok().output))
        (STATES / f"{vertex_training.__version__}.json").write_text(json.dumps(exported, indent=2) + "\n")
    recorded = sorted(STATES.glob("*.json"))
    assert recorded
    for state in recorded:
        project.run("stack", "import", "--file", str(state)).ok()
        count = len([one for one in project.state() if one["type"]])
        output = project.preview("--expect-no-changes", "--diff").ok().output
        assert f"{count + 1} unchanged" in output
        kinds = {
            one["type"].rpartition(":")[2] for one in json.loads(state.read_text())["deployment"]["resources"]
        }
        assert {"StagingBucket", "StagedFile", "StagedPackage", "Run", "CustomJob"} <= kinds
    project.run("stack", "import", "--file", str(_empty(project))).ok()


def _without_positions(value: Any) -> Any:
    """The same without the lines of code that declared each resource: they name the machine's folders."""
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if name not in ("sourcePosition", "stackTrace")}
        return {name: _without_positions(item) for name, item in kept.items()}
    return [_without_positions(item) for item in value] if isinstance(value, list) else value


def _empty(project: Engine) -> Path:
    """A state without resources, so that the fixture has nothing to take down."""
    exported = json.loads(project.run("stack", "export").ok().output)
    exported["deployment"]["resources"] = []
    target = project.folder / "empty.json"
    target.write_text(json.dumps(exported))
    return target
