"""Programs in Python with the package on the real engine: every kind from creation to destruction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pulumi_vertex_training import registry
from pulumi_vertex_training.kinds.custom_job.gateway import GATEWAY
from pulumi_vertex_training.registry import package_token
from support.client.engine import Engine
from support.client.package_plugin import install_plugin, with_plugin
from support.client.specs.tuning_programs import REPORT, one_trial
from support.emulated import command
from support.waiting import eventually
from vertex_emulator.client.control import Control

SECRET = "hush-hush-hush"
PROGRAM = f"""
def task(code, **variables):
    image = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
    return vt.task_from_image(image, command=["python3", "-c", code], environment_variables=variables)


team, code = config.get("team") or "a", config.get("code") or "pass"
environment = vt.TrainingEnvironment("team", bucket={{"force_destroy": True, "labels": {{"my_team": team}}}})
package = vt.StagedPackage("package", bucket=environment.bucket, source="trainer", package_name="trainer",
    version="1")
file = vt.StagedFile("file", bucket=environment.bucket, source="trainer/task.py")
folder = vt.StagedFolder("folder", bucket=environment.bucket, source="trainer")
repository = vt.ImageRepository("images", labels={{"my_team": team}})
token = pulumi.Output.secret({SECRET!r})
train = vt.CustomJob(
    "train", **task(code, TOKEN=token), staging_bucket=environment.bucket, labels={{"my_team": team}},
    wait="done",
    opts=pulumi.ResourceOptions(additional_secret_outputs=["end_time"]),
)
vt.TrainingPipeline("pipe", custom_task=task(code), wait="done")
search = {one_trial(f"task({REPORT!r} + '; ' + code)")}
vt.DistributedTraining(
    "both", chief=task(code)["worker_pool_specs"][0], workers=task(code)["worker_pool_specs"][0], wait="done"
)
machines = vt.PersistentResource(
    "machines", resource_pools=[{{"machine_spec": {{"machine_type": "n1-standard-4"}}, "replica_count": 1}}],
    labels={{"my_team": team}},
)
image = vt.TrainingImage("image", repository=repository, source="app", tags=[team], on_delete="delete")
model = vt.Model(
    "digits", artifact_uri=folder.uri, labels={{"my_team": team}}, on_delete="delete",
    container_spec={{"image_uri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-5:latest"}},
)
nightly = vt.TrainingSchedule("nightly", schedule="0 3 * * *", job=train)
pulumi.export("machines", machines.resource_pools[0]["machine_spec"])
pulumi.export("image", image.digest)
pulumi.export("version", model.version_id)
pulumi.export("trial", search.trial_job_spec["worker_pool_specs"][0]["machine_spec"])
"""
LIVE = f"{PROGRAM}vt.CustomJob('more', **task('import time; time.sleep(600)'))\n"
CONTAINER = {"imageUri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest", "command": ["true"]}
POOL = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 1, "containerSpec": CONTAINER}


@pytest.fixture(scope="module")
def engine(shared_engine: Engine) -> Iterator[Engine]:
    """Yield the project, with the plugin in Pulumi's folder."""
    install_plugin(shared_engine.environment)
    trainer = shared_engine.folder / "infra" / "trainer"
    trainer.mkdir()
    (trainer / "__init__.py").touch()
    app = trainer.with_name("app")
    app.mkdir()
    (app / "Dockerfile").write_text("FROM scratch\nCOPY train.py /app/\n")
    (app / "train.py").touch()
    yield shared_engine


@pytest.fixture(autouse=True)
def as_at_first(engine: Engine) -> None:
    """Undo what other tests have set and written: each begins with the same program and an empty stack."""
    for key, value in {"vertex-training:form": "package", "team": None, "code": None}.items():
        engine.set(key, value)
    (engine.folder / "infra" / "trainer" / "task.py").write_text("print('trained')\n")
    engine.write(PROGRAM)
    if engine.checkpoint():
        with engine.edited_deployment() as deployment:
            deployment.pop("pending_operations", None)


def resources(engine: Engine) -> dict[str, dict[str, Any]]:
    """Return the resources of the package in the state, by their kinds and names."""
    tokens = {package_token(name): name for name in registry.RESOURCES}
    listed = [one for one in engine.checkpoint().get("resources", []) if one["type"] in tokens]
    return {f"{tokens[one['type']]} {one['urn'].rpartition('::')[2]}": one for one in listed}


def test_the_life_of_a_stack(engine: Engine) -> None:
    preview, created = engine.preview_and_up()
    assert "train would cost on Google Cloud" in preview.ok().output
    created.ok()
    found = resources(engine)
    assert {one["type"] for one in found.values()} == {*map(package_token, registry.RESOURCES)}
    assert "pulumi-python" not in str(engine.checkpoint())
    assert {one["outputs"]["state"] for one in found.values() if "jobId" in one["outputs"]} == {"SUCCEEDED"}
    assert SECRET not in created.output + str(engine.checkpoint())
    assert "ciphertext" in found["CustomJob train"]["outputs"]["endTime"]
    outputs = engine.outputs()
    assert outputs["trial"] == outputs["machines"] == {"machine_type": "n1-standard-4"}
    assert outputs["image"].startswith("sha256:")
    assert outputs["version"] == "1"
    assert engine.preview("--refresh", "--expect-no-changes").ok()

    _a_failed_job_fails_each_deployment(engine)
    _an_interrupted_creation_is_adopted(engine)
    _the_other_form_is_refused(engine)
    engine.destroy().ok()
    assert not resources(engine)
    assert not [one for one in GATEWAY.list_jobs(engine.endpoint()) if not one.state.is_terminal]


def _a_failed_job_fails_each_deployment(engine: Engine) -> None:
    """Change everything that can change, so that the jobs run again and fail; then let them succeed."""
    engine.set("team", "b")
    engine.set("code", "print('why'); raise SystemExit(3)")
    (engine.folder / "infra" / "trainer" / "task.py").write_text("print('trained again')\n")
    preview = engine.run("preview", "--json", "--non-interactive").ok().output
    steps = json.loads(preview[preview.index("{") :])["steps"]
    changes = {one["newState"]["type"]: one.get("detailedDiff") or {} for one in steps if one["op"] != "same"}
    assert {*map(package_token, registry.RESOURCES)} <= changes.keys()
    assert [*changes[package_token("StagingBucket")]] == ["labels.my_team"]
    changed = engine.up().failed()
    assert "replica workerpool0-0 exited with a non-zero status of 3" in changed.output
    assert "updated" in changed.output and "replaced" in changed.output
    assert resources(engine)["CustomJob train"]["outputs"]["state"] == "FAILED"
    assert not resources(engine)["CustomJob train"].get("initErrors")
    again = engine.up().failed()
    assert 'With wait="done" each deployment fails until it has succeeded' in again.output
    engine.set("code", "print('now')")
    engine.up().ok()


def _an_interrupted_creation_is_adopted(engine: Engine) -> None:
    """Kill a deployment when the service has the first jobs of two resources. One stays, the other goes."""
    gone = LIVE.splitlines()[-1].replace("more", "gone")
    engine.write(f"{LIVE}{gone}\n")
    emulator = engine.endpoint()
    control = Control(url=emulator.url, token=emulator.token)
    control.add_fault({"method": "CreateCustomJob", "delay": 600.0, "times": 2})
    process = engine.start("up", "--yes", "--skip-preview", "--non-interactive")
    eventually(lambda: any(one["held"] == 2 for one in control.faults()))
    engine.kill(process)
    control.clear_faults()
    engine.write(LIVE)
    assert "adopted custom job" in engine.up().ok().output
    found = GATEWAY.list_by_label(engine.endpoint(), {"pulumi-resource": "more"})
    assert [one.name for one in found] == [resources(engine)["CustomJob more"]["id"]]
    assert not GATEWAY.list_by_label(engine.endpoint(), {"pulumi-resource": "gone"})


def _the_other_form_is_refused(engine: Engine) -> None:
    engine.set("vertex-training:form", "dynamic")
    before = {name: one["id"] for name, one in resources(engine).items()}
    assert "vertex-training migrate-state --to dynamic" in engine.up().failed().output
    assert {name: one["id"] for name, one in resources(engine).items()} == before
    engine.set("vertex-training:form", "package")


@pytest.mark.slow
def test_a_stack_moves_there_and_back_with_a_live_job(engine: Engine) -> None:
    engine.set("vertex-training:form", None)
    engine.write(LIVE)
    engine.up().ok()
    recorded = {one["urn"]: one for one in engine.checkpoint()["resources"]}
    live = {one.name for one in GATEWAY.list_jobs(engine.endpoint()) if not one.state.is_terminal}
    assert live

    engine.set("vertex-training:form", "package")
    assert "vertex-training migrate-state --to package" in engine.preview().failed().output
    shown = _migrate(engine, "--to", "package")
    assert "CustomJob" in shown and "To move it, add --yes" in shown
    assert {one["urn"] for one in engine.checkpoint()["resources"]} == recorded.keys()
    assert SECRET not in _migrate(engine, "--to", "package", "--yes")
    assert "pulumi-python" not in str(engine.checkpoint())
    _is_unchanged(engine, live)
    assert "no resource" in _migrate(engine, "--to", "package", "--yes").lower()

    engine.set("vertex-training:form", "dynamic")
    _migrate(engine, "--to", "dynamic", "--yes")
    assert _comparable(engine.checkpoint()["resources"]) == _comparable(recorded.values())
    _is_unchanged(engine, live)
    engine.destroy().ok()
    assert not [one for one in GATEWAY.list_jobs(engine.endpoint()) if not one.state.is_terminal]


def _migrate(engine: Engine, *options: str) -> str:
    done = command.run("migrate-state", *options, env=engine.environment, folder=engine.folder)
    assert done.code == 0, done.err
    return done.out


def _is_unchanged(engine: Engine, live: set[str]) -> None:
    """Preview and deploy a stack that has moved. Its live job keeps running."""
    for done in engine.preview_and_up("--expect-no-changes"):
        assert "unchanged" in done.ok().output
        assert " to " not in done.output.partition("Resources:")[2]
    assert {one.name for one in GATEWAY.list_jobs(engine.endpoint()) if not one.state.is_terminal} == live


def _comparable(listed: Any) -> dict[str, Any]:
    """Return the resources of a state by their URNs, without what differs in each export."""
    kept = ("type", "inputs", "outputs", "parent", "dependencies", "additionalSecretOutputs")
    return {
        one["urn"]: _without_ciphers({name: one.get(name) for name in kept})
        for one in listed
        if not one["type"].startswith("pulumi:providers:")
    }


def _without_ciphers(value: Any) -> Any:
    if isinstance(value, dict):
        shown = {name: _without_ciphers(each) for name, each in value.items()}
        return {**shown, "ciphertext": ""} if "ciphertext" in shown else shown
    return [_without_ciphers(each) for each in value] if isinstance(value, list) else value


# Shown quicker in tests/pulumi_vertex_training: package/test_both_forms.py, package/test_python_form.py
@pytest.mark.slow
def test_a_program_in_yaml_takes_the_stack_over_and_gives_it_back(engine: Engine) -> None:
    """Deploy the same bucket and job with Python, with YAML, and with Python again. One job runs."""
    in_yaml = with_plugin(engine)
    project = engine.folder / "Pulumi.yaml"
    python = project.read_text()
    engine.set("vertex-training:form", "package")
    more = "staging_bucket=vt.StagingBucket('data'), wait='done'"
    engine.write(f"vt.CustomJob('train', worker_pool_specs=[{POOL!r}], {more})")
    engine.up().ok()
    job = resources(engine)["CustomJob train"]["id"]
    train = {"workerPoolSpecs": [POOL], "stagingBucket": "${data.name}", "wait": "done"}
    declared = {
        "data": {"type": "vertex-training:StagingBucket"},
        "train": {"type": "vertex-training:CustomJob", "properties": train},
    }
    project.write_text(json.dumps({"name": "engine-test", "runtime": "yaml", "resources": declared}))
    for deploying in (in_yaml, engine):
        assert "1 updated" in deploying.up().ok().output
        assert deploying.preview("--expect-no-changes").ok()
        project.write_text(python)
    assert resources(engine)["CustomJob train"]["id"] == job
    engine.destroy().ok()
