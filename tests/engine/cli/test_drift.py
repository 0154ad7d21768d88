"""`vertex-training drift` on the real engine: all kinds, changed and deleted behind the stack's back.

Everything drifts at once, and the printed commands repair it, so the steps take few deployments.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects, rest
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry.image_names import parse
from pulumi_vertex_training.runs.gateway import gateway_of
from support.engine import Engine
from support.registries.pushed_images import push_small_image
from support.waiting import eventually
from vertex_emulator import launcher

PARENT = "projects/local/locations/us-central1"
PLACE = "us-central1-docker.pkg.dev/local/images"
BASE = "gcr.io/bases/mine:1"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
TASK_IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
SLEEP = ["python3", "-c", "import time; time.sleep(600)"]
PROGRAM = f"""
import foreign

container = {{"image_uri": {TASK_IMAGE!r}, "command": {SLEEP!r}}}
pools = [
    {{"machine_spec": {{"machine_type": "n1-standard-4"}}, "replica_count": 1, "container_spec": container}}
]
machines = [{{"machine_spec": {{"machine_type": "n1-standard-4"}}, "replica_count": 1}}]
study = {{
    "metrics": [{{"metric_id": "loss", "goal": "MINIMIZE"}}],
    "parameters": [{{"parameter_id": "x", "discrete_value_spec": {{"values": [1, 2]}}}}],
    "algorithm": "GRID_SEARCH",
}}

data = vt.StagingBucket("data", name="drift-data", force_destroy=True, labels={{"team": "vision"}})
vt.StagingBucket("lost-bucket", name="drift-lost", force_destroy=True)
rows = vt.StagedFile("rows", bucket=data, source="rows.txt", prefix="rows")
vt.StagedPackage("package", bucket=data, source="trainer")
images = vt.ImageRepository("images", repository_id="images", force_destroy=True, description="ours")
vt.ImageRepository("lost-images", repository_id="lost-images")
for name in ("tagged", "rebased", "lost-image"):
    base = {BASE!r} if name == "rebased" else "python:3.11-slim"
    vt.TrainingImage(name, repository=images, source="trainer", base_image=base)
for name in ("default", "labelled", "lost-model"):
    vt.Model(
        name,
        model_id=name,
        artifact_uri="gs://drift-data/rows",
        container_spec={{"image_uri": {SERVING!r}}},
        labels={{"team": "vision"}},
        is_default_version=True,
        opts=pulumi.ResourceOptions(depends_on=[rows]),
    )
for name in ("machines", "lost-machines"):
    vt.PersistentResource(name, persistent_resource_id=name, resource_pools=machines)
for name in ("same", "cancelled", "lost", "cancelled-never", "lost-never"):
    rerun = "never" if name.endswith("never") else "on_change"
    vt.CustomJob(name, worker_pool_specs=pools, rerun=rerun, wait="none")
quick = {{**pools[0], "container_spec": {{**container, "command": ["true"]}}}}
vt.CustomJob("ended", worker_pool_specs=[quick], wait="done")
vt.CustomJob("adopted", worker_pool_specs=pools, adopt=config.require("adopt"), wait="none")
for name in ("search", "lost-search"):
    vt.HyperparameterTuningJob(
        name,
        study_spec=study,
        max_trial_count=2,
        parallel_trial_count=1,
        trial_job_spec={{"worker_pool_specs": pools}},
        wait="none",
    )
for name in ("pipeline", "lost-pipeline"):
    task = vt.task_from_image({TASK_IMAGE!r}, command={SLEEP!r})
    vt.TrainingPipeline(name, custom_task=task, staging_bucket=data, wait="none")
for name in ("other", "lost-other"):
    foreign.Thing(name)
"""
FOREIGN = """
import json
from pathlib import Path

from pulumi.dynamic import CreateResult, ReadResult, Resource, ResourceProvider


class Provider(ResourceProvider):
    def create(self, props):
        Path("thing-" + props["name"]).write_text(json.dumps({"size": 1, "token": props["token"]}))
        return CreateResult(props["name"], props)

    def read(self, id, props):
        file = Path("thing-" + id)
        if not file.exists():
            return ReadResult(None, {})
        live = {**props, **json.loads(file.read_text())}
        return ReadResult(id, live, {name: value for name, value in live.items() if name != "__provider"})

    def update(self, id, olds, news):
        self.create(news)
        from pulumi.dynamic import UpdateResult
        return UpdateResult(news)


class Thing(Resource, module="foreign", name="Thing"):
    def __init__(self, name):
        import pulumi
        token = pulumi.Output.secret("hunter2-hunter2")
        super().__init__(Provider(), name, {"name": name, "size": 1, "token": token})
"""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of a command: its exit code and both outputs."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document

    @property
    def changes(self) -> dict[str, dict[str, Any]]:
        return {change["name"]: change for change in self.document["changes"]}


def run(engine: Engine, *command: str) -> Run:
    done = subprocess.run(
        command,
        cwd=engine.folder,
        env=engine.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Run(code=done.returncode, out=done.stdout, err=done.stderr)


def drift(engine: Engine, *arguments: str) -> Run:
    return run(engine, "vertex-training", "drift", *arguments)


def call(engine: Engine, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Call a method of a REST API on the emulator, as somebody else would. Wait for its operation, if any."""
    endpoint = engine.endpoint()

    def send(method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        return rest.call(endpoint, method, f"{endpoint.url}{path}", body=body)

    answer = send(method, path, body)
    operation = str(answer.get("name", ""))
    if "/operations/" in operation:
        eventually(lambda: send("GET", f"/v1/{operation}").get("done"), what=lambda: operation)
    return answer


def state_files(engine: Engine) -> dict[str, str]:
    """Return the hash of each file of the backend, by its path."""
    files = [path for path in (engine.folder / "state").rglob("*") if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def ids(engine: Engine) -> dict[str, str]:
    """Return the ids of the recorded resources by name, without the records of runs."""
    return {
        one["urn"].rpartition("::")[2]: one["id"]
        for one in engine.checkpoint()["resources"]
        if one["custom"] and not one["type"].endswith("Run")
    }


def change_everything(engine: Engine, of: dict[str, str]) -> None:
    """Change, cancel or delete one resource of each kind."""
    endpoint = engine.endpoint()
    storage = "/storage/v1/b"
    upload = {"displayName": "theirs", "containerSpec": {"imageUri": SERVING}}
    call(
        engine,
        "POST",
        f"/v1/{PARENT}/models:upload",
        {
            "parentModel": f"{PARENT}/models/default",
            "model": {**upload, "artifactUri": "gs://drift-data/rows", "versionAliases": ["default"]},
        },
    )
    call(
        engine,
        "PATCH",
        f"{storage}/drift-data",
        {"labels": {"team": "speech"}, "versioning": {"enabled": True}},
    )
    call(engine, "DELETE", f"{storage}/drift-lost")
    objects.upload(endpoint, "drift-data", object_of(of["rows"]), b"4,5,6")
    call(engine, "DELETE", f"{storage}/drift-data/o/{object_of(of['package']).replace('/', '%2F')}")
    call(engine, "PATCH", f"/v1/{of['images']}?updateMask=description", {"description": "theirs"})
    call(engine, "DELETE", f"/v1/{of['lost-images']}")
    push_small_image(endpoint, f"{PLACE}/tagged:latest", b"theirs")
    push_small_image(endpoint, BASE, b"newer")
    registry.delete(endpoint, parse(f"{PLACE}/lost-image:latest"))
    registry.delete(endpoint, parse(of["lost-image"]))
    call(engine, "PATCH", f"/v1/{PARENT}/models/labelled?updateMask=labels", {"labels": {"team": "speech"}})
    call(engine, "DELETE", f"/v1/{PARENT}/models/lost-model")
    machines = call(engine, "GET", f"/v1/{PARENT}/persistentResources/machines")
    (pool,) = machines["resourcePools"]
    call(
        engine,
        "PATCH",
        f"/v1/{PARENT}/persistentResources/machines?updateMask=resourcePools",
        {"resourcePools": [{"id": pool["id"], "machineSpec": pool["machineSpec"], "replicaCount": "2"}]},
    )
    call(engine, "DELETE", f"/v1/{PARENT}/persistentResources/lost-machines")
    for name in ("cancelled", "cancelled-never", "search", "pipeline", *DELETED_JOBS):
        call(engine, "POST", f"/v1/{of[name]}:cancel", {})
    for name in ("ended", *DELETED_JOBS):
        eventually(lambda name=name: has_ended(engine, of[name]), what=lambda name=name: name)
        call(engine, "DELETE", f"/v1/{of[name]}")
    for name in ("cancelled", "cancelled-never", "search", "pipeline"):
        eventually(lambda name=name: has_ended(engine, of[name]), what=lambda name=name: name)
    (engine.folder / "infra" / "thing-other").write_text(json.dumps({"size": 2, "token": "hunter3-hunter3"}))
    (engine.folder / "infra" / "thing-lost-other").unlink()


DELETED_JOBS = ("lost", "lost-never", "adopted", "lost-search", "lost-pipeline")


def object_of(uri: str) -> str:
    return uri.removeprefix("gs://drift-data/")


def has_ended(engine: Engine, name: str) -> bool:
    return gateway_of(name).get(engine.endpoint(), name).state.is_terminal


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The outputs of the command for one stack: unchanged, drifted, refused by a service, and repaired."""

    unchanged: Run
    drifted: Run
    files: tuple[dict[str, str], dict[str, str]]
    """Hashes of the backend's files before and after."""
    markdown: Run
    refused: Run
    repairs: list[Run]
    repaired: Run
    live: dict[str, Any]
    """Values of services after the repair."""


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    infra = engine.folder / "infra"
    (infra / "foreign.py").write_text(FOREIGN)
    (infra / "rows.txt").write_text("1,2,3\n")
    (infra / "trainer").mkdir()
    (infra / "trainer" / "task.py").write_text("print('trained')\n")
    push_small_image(engine.endpoint(), BASE, b"base")
    theirs = {
        "displayName": "adopted",
        "jobSpec": {
            "workerPoolSpecs": [
                {
                    "machineSpec": {"machineType": "n1-standard-4"},
                    "replicaCount": "1",
                    "containerSpec": {"imageUri": TASK_IMAGE, "command": SLEEP},
                }
            ]
        },
    }
    engine.set("adopt", call(engine, "POST", f"/v1/{PARENT}/customJobs", theirs)["name"])
    engine.write(PROGRAM)
    engine.up().ok()
    unchanged = drift(engine, "--json", "--exit-code")
    change_everything(engine, ids(engine))

    lock = engine.folder / "state" / ".pulumi" / "locks" / "organization" / "engine-test" / "test" / "1.json"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text(
        json.dumps({"pid": 1, "username": "other", "hostname": "h", "timestamp": "2026-01-01T00:00:00Z"})
    )
    before = state_files(engine)
    drifted = drift(engine, "--json", "--exit-code")
    after = state_files(engine)
    lock.unlink()
    markdown = drift(engine, "--markdown")
    run(
        engine,
        "vertex-training",
        "emulator",
        "fault",
        "add",
        "storage.buckets.get",
        "--status",
        "403",
        "--always",
    )
    refused = drift(engine, "--json")
    run(engine, "vertex-training", "emulator", "fault", "clear")

    # The command of most resources, the one with every other repair in it, and the one that accepts the rest.
    commands = ("pulumi up --refresh", drifted.document["repair"], "pulumi refresh")
    repairs = [
        run(engine, *shlex.split(command), "--yes", "--skip-preview", "--non-interactive")
        for command in commands
    ]
    live = live_values(engine)
    launcher.stop(engine.data_dir)
    return Steps(
        unchanged=unchanged,
        drifted=drifted,
        files=(before, after),
        markdown=markdown,
        refused=refused,
        repairs=repairs,
        repaired=drift(engine, "--json", "--exit-code"),
        live=live,
    )


def live_values(engine: Engine) -> dict[str, Any]:
    """Return what the services have of each resource that drifted, by its name."""
    endpoint, of = engine.endpoint(), ids(engine)

    def get(path: str) -> dict[str, Any]:
        return call(engine, "GET", path)

    bucket = get("/storage/v1/b/drift-data")
    infra = engine.folder / "infra"
    return {
        "data": (bucket["labels"]["team"], bucket["versioning"]["enabled"]),
        "lost-bucket": get("/storage/v1/b/drift-lost")["name"],
        "rows": objects.read(endpoint, "drift-data", object_of(of["rows"])),
        "package": get(f"/storage/v1/b/drift-data/o/{object_of(of['package']).replace('/', '%2F')}")["name"],
        "images": get(f"/v1/{of['images']}")["description"],
        "lost-images": get(f"/v1/{of['lost-images']}")["name"],
        **{
            name: registry.digest_at(endpoint, parse(f"{PLACE}/{name}:latest")) == parse(of[name]).digest
            for name in ("tagged", "rebased", "lost-image")
        },
        "default": "default" in get(f"/v1/{of['default']}")["versionAliases"],
        "labelled": get(f"/v1/{of['labelled']}")["labels"]["team"],
        "lost-model": get(f"/v1/{of['lost-model']}")["displayName"],
        "machines": get(f"/v1/{of['machines']}")["resourcePools"][0]["replicaCount"],
        "lost-machines": get(f"/v1/{of['lost-machines']}")["resourcePools"][0]["replicaCount"],
        **{name: not has_ended(engine, of[name]) for name in REPAIRED_JOBS},
        "other": json.loads((infra / "thing-other").read_text())["size"],
        "lost-other": json.loads((infra / "thing-lost-other").read_text())["size"],
    }


REPAIRED_JOBS = ("cancelled", "lost", "adopted", "search", "lost-search", "pipeline", "lost-pipeline")


UP = "pulumi up --refresh"
DELETED = (
    "lost",
    "adopted",
    "lost-search",
    "lost-pipeline",
    "lost-bucket",
    "rows",
    "package",
    "lost-images",
    "lost-image",
    "lost-model",
    "lost-machines",
    "lost-other",
)
CHANGED: dict[str, list[str]] = {
    "data": ["labels.team: vision -> speech", "versioning.enabled: false -> true"],
    "images": ["description: ours -> theirs"],
    "labelled": ["labels.team: vision -> speech"],
    "machines": ["resource_pools[0].replica_count: 1 -> 2"],
    "other": ["size: 1 -> 2"],
}
REPLACED = {
    "tagged": "the tag latest was moved to sha256:",
    "rebased": f"the base image {BASE} is now sha256:",
    "default": "it is no longer the default version: version 2 is",
}


def test_nothing_has_drifted_after_a_deployment_and_jobs_that_start_have_not(steps: Steps) -> None:
    assert steps.unchanged.code == 0, steps.unchanged.err
    assert steps.unchanged.document["changes"] == []
    assert steps.unchanged.document["repair"] is None
    assert set(steps.unchanged.document["counts"]) == {"none"}


def test_the_state_stays_as_it_is_byte_by_byte_and_a_lock_of_a_deployment_does_not_matter(
    steps: Steps,
) -> None:
    before, after = steps.files
    assert before == after
    assert any("/locks/" in path for path in before)
    assert any(path.endswith("/test.json") for path in before)


def test_every_resource_that_was_changed_and_no_other_has_drifted(steps: Steps) -> None:
    assert steps.drifted.code == 1, steps.drifted.err
    cancelled = {"cancelled", "cancelled-never", "search", "pipeline"}
    expected = {*DELETED, "lost-never", *CHANGED, *REPLACED, *cancelled}
    assert set(steps.drifted.changes) == expected
    assert steps.drifted.document["counts"] == {
        "changed": len(CHANGED) + len(REPLACED),
        "cancelled": 4,
        "deleted": len(DELETED) + 1,
        "none": 2,
    }


@pytest.mark.parametrize("name", DELETED)
def test_a_deleted_resource_is_created_again_by_the_next_deployment(steps: Steps, name: str) -> None:
    change = steps.drifted.changes[name]
    assert (change["effect"], change["repair"]) == ("deleted", UP)
    assert change["words"][0].startswith("it was deleted")


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_resource_is_described_by_property(steps: Steps, name: str) -> None:
    change = steps.drifted.changes[name]
    assert (change["effect"], change["repair"]) == ("changed", UP)
    assert change["words"] == CHANGED[name]
    assert [f"{one['path']}: " for one in change["fields"]] == [
        f"{words.partition(':')[0]}: " for words in CHANGED[name]
    ]


@pytest.mark.parametrize("name", REPLACED)
def test_what_no_deployment_changes_back_is_repaired_by_a_replacement(steps: Steps, name: str) -> None:
    change = steps.drifted.changes[name]
    assert change["effect"] == "changed"
    assert change["words"][0].startswith(REPLACED[name])
    assert change["repair"] == f"{UP} --replace {change['urn']}"
    assert change["because"]


@pytest.mark.parametrize("name", ["cancelled", "search", "pipeline"])
def test_a_cancelled_job_runs_again_on_demand_alone(steps: Steps, name: str) -> None:
    change = steps.drifted.changes[name]
    assert change["effect"] == "cancelled"
    assert change["words"][0].endswith(" -> CANCELLED")
    assert change["repair"] == f"{UP} --replace {change['urn']}"
    assert 'rerun is "on_change"' in change["because"]


@pytest.mark.parametrize("name", ["cancelled-never", "lost-never"])
def test_a_job_that_never_runs_again_can_only_be_accepted(steps: Steps, name: str) -> None:
    change = steps.drifted.changes[name]
    assert change["repair"] == "pulumi refresh"
    assert 'rerun is "never"' in change["because"]


def test_a_secret_value_is_never_printed(steps: Steps) -> None:
    for one in (steps.drifted, steps.markdown, steps.refused):
        assert "hunter" not in one.out + one.err


def test_the_printed_commands_repair_every_resource(steps: Steps) -> None:
    for one in steps.repairs:
        assert one.code == 0, one.out + one.err
    assert steps.live["package"].startswith("packages/package/")
    assert {name: value for name, value in steps.live.items() if name != "package"} == {
        "data": ("vision", False),
        "lost-bucket": "drift-lost",
        "rows": b"1,2,3\n",
        "images": "ours",
        "lost-images": f"{PARENT}/repositories/lost-images",
        "tagged": True,
        "rebased": True,
        "lost-image": True,
        "default": True,
        "labelled": "vision",
        "lost-model": "lost-model",
        "machines": "1",
        "lost-machines": "1",
        **dict.fromkeys(REPAIRED_JOBS, True),
        "other": 1,
        "lost-other": 1,
    }


def test_nothing_has_drifted_after_the_repair_and_a_stopped_emulator_is_started(steps: Steps) -> None:
    assert steps.repaired.code == 0, steps.repaired.out + steps.repaired.err
    assert steps.repaired.document["changes"] == []


def test_markdown_has_the_differences_the_commands_and_the_fields(steps: Steps) -> None:
    text = steps.markdown.out
    assert steps.markdown.code == 0, steps.markdown.err
    assert "| cancelled | `search` | HyperparameterTuningJob | state: " in text
    assert f"| all of these | `{steps.drifted.document['repair']}` |" in text
    assert "| `versioning.enabled` | false | true |" in text


def test_a_service_that_refuses_is_an_error_beside_the_drift_of_all_others(steps: Steps) -> None:
    assert steps.refused.code == 2
    assert steps.refused.document["unread"] == ["data", "lost-bucket"]
    assert {one["resource"] for one in steps.refused.document["errors"]} == {"data", "lost-bucket"}
    assert all(
        one["message"].startswith("Could not read bucket ") for one in steps.refused.document["errors"]
    )
    assert set(steps.refused.changes) == set(steps.drifted.changes) - {"data", "lost-bucket"}


def test_a_stack_that_does_not_exist_is_an_error_with_a_remedy(steps: Steps, shared_engine: Engine) -> None:
    unknown = drift(shared_engine, "--stack", "nobody", "--json")
    assert unknown.code == 1
    (error,) = unknown.document["errors"]
    assert "no stack named 'nobody' found. `pulumi stack ls` lists the stacks." in error["message"]
