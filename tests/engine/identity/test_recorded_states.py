"""A state that an older version of this code recorded must preview "no changes" under this one.

There is no release yet. `states/0.1.0-before-release.json` was exported after `up` of the program below while
0.1.0 was in development (its `manifest.time` says when). Until the first release, a change of the state's
form records it again, and the changelog says so. On each release, record one more, which proves something
from the next version on:
`python -m pytest tests/engine/identity/test_recorded_states.py --record` writes `states/VERSION.json`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import vertex_training
from support.client.engine import Engine

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
package = vt.StagedPackage(
    "trainer", bucket=bucket, source="trainer.py", requirements=["numpy"], format="sdist"
)


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


def test_the_recorded_states_preview_no_changes(project: Engine, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--record"):
        project.up().ok()
        exported = _without_positions(json.loads(project.run("stack", "export").ok().output))
        (STATES / f"{vertex_training.__version__}.json").write_text(json.dumps(exported, indent=2) + "\n")
    recorded = sorted(STATES.glob("*.json"))
    assert STATES / "0.1.0-before-release.json" in recorded
    for state in recorded:
        project.run("stack", "import", "--file", str(state)).ok()
        count = len([one for one in project.state() if one["type"]])
        output = project.preview("--expect-no-changes", "--diff").ok().output
        assert f"{count + 2} unchanged" in output  # with the stack and its key
        types = [one["type"] for one in json.loads(state.read_text())["deployment"]["resources"]]
        kinds = {each.rpartition(":")[2] for each in types}
        assert {"StackKey", "StagingBucket", "StagedFile", "StagedPackage", "CustomJob"} <= kinds


def _without_positions(value: Any) -> Any:
    """Return the value without the lines of code of each resource: they name the machine's folders."""
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if name not in ("sourcePosition", "stackTrace")}
        return {name: _without_positions(item) for name, item in kept.items()}
    return [_without_positions(item) for item in value] if isinstance(value, list) else value
