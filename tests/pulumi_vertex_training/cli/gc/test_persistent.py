"""`vertex-training gc` of persistent resources and models in an emulator; the backend has no stacks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.persistent_resource import gateway as persistent_resources
from pulumi_vertex_training.views import target
from support.emulated.command import Ended, environment, run
from support.services.training import SLEEP, job, pool
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control
from vertex_emulator.daemon import reset as emulator_reset
from vertex_emulator.kernel.timeouts import ClientTimeouts

Env = dict[str, str]
PLACE = "projects/local/locations/us-central1"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-3:latest"
POOLS = [{"machineSpec": pool("")["machineSpec"], "replicaCount": "2"}]


def marks(project: str = "digits") -> Mapping[str, str]:
    return {"pulumi-project": project, "pulumi-stack": "prod", "pulumi-resource": "left"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("persistent")


@pytest.fixture(scope="module")
def env(folder: Path) -> Iterator[Env]:
    assert shutil.which("pulumi"), "no pulumi on PATH; run the tests with `make test` or `source ./activate`"
    emulator = launcher.ensure(folder / "emulator", timeouts=ClientTimeouts(start=TIMEOUT))
    Control(url=emulator.url, token=emulator.token).set_persistent_resource_delay(0)
    yield environment(folder, VERTEX_TRAINING_DATA_DIR=str(folder / "emulator"))
    emulator_reset.reset(folder / "emulator")


@pytest.fixture(scope="module")
def endpoint(env: Env, folder: Path) -> Endpoint:
    return target.resolve(target.Choice(data_dir=folder / "emulator"), {})


def gc(env: Env, *words: str) -> Ended:
    return run("gc", "--backend", f"file://{env['HOME']}", *words, env=env)


def listed(env: Env, project: str) -> dict[str, str]:
    """Return the status of each resource of a Pulumi project."""
    ended = gc(env, "--json", "--pulumi-project", project)
    assert ended.code == 0, ended
    document = ended.json
    assert not any(one["chosen"] for one in document["resources"])
    return {one["name"].partition("us-central1/")[2]: one["is"] for one in document["resources"]}


def resource(endpoint: Endpoint, id_: str, labels: Mapping[str, str]) -> str:
    """Create a persistent resource, wait until it runs, and return its name."""
    name = f"{PLACE}/persistentResources/{id_}"
    persistent_resources.create(endpoint, id_, {"resourcePools": POOLS, "labels": dict(labels)})
    eventually(lambda: persistent_resources.get(endpoint, name).state.word == "RUNNING")
    return name


def model(endpoint: Endpoint, id_: str, *labels: Mapping[str, str]) -> str:
    """Upload a model with a version for each of `labels`, and return its name."""
    name = f"{PLACE}/models/{id_}"
    for number, each in enumerate(labels):
        wire = {
            "displayName": id_,
            "containerSpec": {"imageUri": SERVING},
            "labels": dict(each),
        }
        models.upload(endpoint, wire, **({"parent_model": name} if number else {"model_id": id_}))
    return name


def test_labelled_resources_are_listed_and_deleted_by_name(env: Env, endpoint: Endpoint) -> None:
    resource(endpoint, "left", marks())
    resource(endpoint, "theirs", {"team": "vision"})
    resource(endpoint, "elsewhere", marks("other"))
    model(endpoint, "left", marks(), marks())
    model(endpoint, "theirs", {})
    both = {"persistentResources/left": "unproven", "models/left": "unproven"}
    assert listed(env, "digits") == both
    assert listed(env, "other") == {"persistentResources/elsewhere": "unproven"}

    nothing = gc(env, "--yes", "--pulumi-project", "digits")
    assert (nothing.code, "no resource is a proven orphan" in nothing.err) == (0, True), nothing
    assert "its labels name digits/prod/left, but labels alone are no proof" in nothing.out
    ambiguous = gc(env, "--yes", "left")
    assert (ambiguous.code, "Give the full name." in ambiguous.err) == (2, True), ambiguous
    for word in ("theirs", "lefd"):
        unknown = gc(env, "--yes", word)
        assert (unknown.code, "`vertex-training gc` lists them" in unknown.err) == (2, True), unknown
    assert "Did you mean 'left'?" in unknown.err
    assert listed(env, "digits") == both

    deleted = gc(env, "--yes", f"{PLACE}/models/left", f"{PLACE}/persistentResources/left")
    assert (deleted.code, "Deleted 2." in deleted.err) == (0, True), deleted
    assert listed(env, "digits") == {}
    (document,) = gc(env, "--yes", "--json", "elsewhere").json["resources"]
    assert (document["deleted"], document["outcome"], document["state"]) == (True, "deleted", "RUNNING")
    assert models.get(endpoint, f"{PLACE}/models/theirs")
    assert persistent_resources.get(endpoint, f"{PLACE}/persistentResources/theirs")


def test_a_resource_on_which_jobs_run_stays_until_they_have_ended(env: Env, endpoint: Endpoint) -> None:
    name = resource(endpoint, "busy", marks())
    body = job("on-it", SLEEP)
    body["jobSpec"]["persistentResourceId"] = "busy"
    running = custom_jobs.create(endpoint, body).name
    eventually(lambda: custom_jobs.get(endpoint, running).state.word == "RUNNING")
    refused = gc(env, "--yes", "busy")
    assert (refused.code, "failed 1" in refused.err) == (1, True), refused
    assert "jobs on it use 1 of its machines and would be cancelled with it. Stop them first" in refused.out
    assert custom_jobs.get(endpoint, running).state.word == "RUNNING"

    custom_jobs.cancel(endpoint, running)
    eventually(lambda: custom_jobs.get(endpoint, running).state.is_terminal)
    deleted = gc(env, "--yes", "busy")
    assert deleted.code == 0, deleted
    with pytest.raises(NotFound):
        persistent_resources.get(endpoint, name)


def test_a_model_with_a_version_of_another_stack_stays(env: Env, endpoint: Endpoint) -> None:
    name = model(endpoint, "shared", marks("mixed"), {**marks("mixed"), "pulumi-stack": "dev"})
    refused = gc(env, "--yes", "shared")
    assert (refused.code, "its versions have different labels" in refused.out) == (1, True), refused
    assert len(models.versions(endpoint, name)) == 2
