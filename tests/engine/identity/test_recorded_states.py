"""A state that an older version of this code recorded, must preview "no changes" under this one.

There is no release yet. `states/FORM/0.1.0-before-release*.json` were exported after `up` of the programs
below while 0.1.0 was in development (their `manifest.time` says when). Until the first release, a change of
the state's form records them again, and the changelog says so. On each release, record more, which prove
something from the next version on:
`python -m pytest tests/engine/identity/test_recorded_states.py --record` writes `states/FORM/VERSION*.json`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import vertex_training
from pulumi_vertex_training import registry
from support.client.engine import Engine
from support.client.package_plugin import install_plugin
from support.client.specs.tuning_programs import one_trial

STATES = Path(__file__).parent / "states"
FIRST = "0.1.0-before-release"
"""The name of the files of a version that is not released."""

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

REPORTING = """vt.task_from_image(
    "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest", command=["python3", "-c", REPORT]
)"""
EVERY_KIND = f"""{PROGRAM}
REPORT = "import hypertune; hypertune.HyperTune().report_hyperparameter_tuning_metric('loss', 1, 1)"
folder = vt.StagedFolder("folder", bucket=bucket, source="app")
repository = vt.ImageRepository("images", repository_id="recorded-images", labels={{"team": "vision"}})
image = vt.TrainingImage("image", repository=repository, source="app", tags=["first"], on_delete="delete")
vt.TrainingPipeline("pipe", custom_task={{"worker_pool_specs": [pool(1)]}}, wait="done")
{one_trial(REPORTING)}
vt.DistributedTraining("both", chief=pool(1), workers=pool(1), bucket=bucket, wait="done")
vt.PersistentResource(
    "machines", resource_pools=[{{"machine_spec": {{"machine_type": "n1-standard-4"}}, "replica_count": 1}}],
)
vt.Model(
    "digits", artifact_uri=folder.uri, on_delete="delete",
    container_spec={{"image_uri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-5:latest"}},
)
vt.TrainingSchedule("nightly", schedule="0 3 * * *", job=job)
"""
PROGRAMS = {"": PROGRAM, "-every-kind": EVERY_KIND}
"""Programs by the end of the name of their states."""


@pytest.fixture
def project(engine: Engine) -> Engine:
    infra = engine.folder / "infra"
    (infra / "numbers.txt").write_text("1 2 3")
    (infra / "trainer.py").write_text("print('trained')\n")
    (infra / "app").mkdir()
    (infra / "app" / "Dockerfile").write_text("FROM scratch\nCOPY train.py /app/\n")
    (infra / "app" / "train.py").write_text("print('trained')\n")
    return engine


@pytest.mark.parametrize("form", ["dynamic", "package"])
def test_the_recorded_states_preview_no_changes(
    project: Engine, request: pytest.FixtureRequest, form: str
) -> None:
    if form == "package":
        install_plugin(project.environment)
        project.set("vertex-training:form", "package")
    if request.config.getoption("--record"):
        for ending, program in PROGRAMS.items():
            _record(project, program, STATES / form / f"{vertex_training.__version__}{ending}.json")
    recorded = sorted((STATES / form).glob("*.json"))
    assert {STATES / form / f"{FIRST}{ending}.json" for ending in PROGRAMS} <= {*recorded}
    for state in recorded:
        is_whole = state.stem.endswith("-every-kind")
        project.write(EVERY_KIND if is_whole else PROGRAM)
        with project.edited_deployment() as deployment:
            deployment.clear()
            deployment.update(json.loads(state.read_text())["deployment"])
        types = [one["type"] for one in project.checkpoint()["resources"]]
        output = project.preview("--expect-no-changes", "--diff").ok().output
        count = sum(not each.startswith("pulumi:providers:") for each in types)
        assert f"{count} unchanged" in output
        kinds = {each.rpartition(":")[2] for each in types}
        expected = {"StagingBucket", "StagedFile", "StagedPackage", "CustomJob"}
        assert (set(registry.RESOURCES) if is_whole else expected) <= kinds


def _record(project: Engine, program: str, file: Path) -> None:
    project.write(program)
    project.up().ok()
    exported = _without_positions(json.loads(project.run("stack", "export").ok().output))
    file.write_text(json.dumps(exported, indent=2) + "\n")
    project.destroy().ok()


def _without_positions(value: Any) -> Any:
    """Return the value without the lines of code of each resource: they name the machine's folders."""
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if name not in ("sourcePosition", "stackTrace")}
        return {name: _without_positions(item) for name, item in kept.items()}
    return [_without_positions(item) for item in value] if isinstance(value, list) else value
