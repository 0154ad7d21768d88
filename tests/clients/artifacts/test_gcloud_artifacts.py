"""`gcloud artifacts`, unchanged, against the emulator."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.clients.tools import tool
from support.emulated.emulator import ask, running
from support.emulated.registries.artifacts import HOST, PARENT, PROJECT, create, push
from vertex_emulator.daemon.daemon import Daemon

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("emulator")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def gcloud(emulator: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs `gcloud artifacts ...` as a user who has never logged in anywhere."""
    program = tool("gcloud")
    environment = {
        **{name: value for name, value in os.environ.items() if "proxy" not in name.lower()},
        "CLOUDSDK_CONFIG": str(tmp_path_factory.mktemp("gcloud")),
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(emulator.folder.token),
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_ARTIFACTREGISTRY": f"{emulator.url}/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_SERVICEUSAGE": f"{emulator.url}/",
        "CLOUDSDK_CORE_PROJECT": PROJECT,
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
        "CLOUDSDK_ARTIFACTS_LOCATION": "us-central1",
    }

    def run(*words: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [program, "artifacts", *words], env=environment, capture_output=True, text=True, timeout=120
        )
        assert (done.returncode != 0) == fails, done.stderr
        return done

    return run


def listed(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


@pytest.mark.smoke
def test_repositories_from_create_to_delete(gcloud: Run, emulator: Daemon) -> None:
    gcloud(
        "repositories",
        "create",
        "made",
        "--repository-format=docker",
        "--location=us-central1",
        "--description=by gcloud",
        "--labels=team=a",
        "--immutable-tags",
    )
    made = listed(gcloud("repositories", "describe", "made", "--location=us-central1", "--format=json"))
    assert made["dockerConfig"] == {"immutableTags": True}
    assert made["registryUri"] == f"{HOST}/{PROJECT}/made"
    gcloud(
        "repositories",
        "update",
        "made",
        "--location=us-central1",
        "--description=changed",
        "--update-labels=stage=b",
        "--no-immutable-tags",
    )
    found = ask(emulator, "GET", f"/v1/{PARENT}/repositories/made").json()
    assert found["description"] == "changed"
    assert found["labels"] == {"team": "a", "stage": "b"}
    assert not found["dockerConfig"].get("immutableTags")
    gcloud("repositories", "delete", "made", "--location=us-central1")
    assert ask(emulator, "GET", f"/v1/{PARENT}/repositories/made").status == 404


def test_listing_repositories_of_all_locations(gcloud: Run, emulator: Daemon) -> None:
    create(emulator, "here")
    create(emulator, "there", parent=f"projects/{PROJECT}/locations/europe-west4")
    found = listed(gcloud("repositories", "list", "--location=all", "--format=json"))
    assert {each["name"].rpartition("/")[2] for each in found} >= {"here", "there"}


def test_listing_repositories_by_the_servers_filter(gcloud: Run, emulator: Daemon) -> None:
    create(emulator, "filtered-one")
    name = f'name="{PARENT}/repositories/filtered-*"'
    found = listed(gcloud("repositories", "list", f"--filter={name}", "--format=json"))
    assert [each["name"].rpartition("/")[2] for each in found] == ["filtered-one"]


def test_a_repository_that_is_there(gcloud: Run, emulator: Daemon) -> None:
    create(emulator, "twice")
    words = ("repositories", "create", "twice", "--repository-format=docker", "--location=us-central1")
    assert "ALREADY_EXISTS" in gcloud(*words, fails=True).stderr


def test_cleanup_policies(gcloud: Run, emulator: Daemon, tmp_path: Path) -> None:
    create(emulator, "cleaned")
    file = tmp_path / "policies.json"
    old = {"name": "old", "action": {"type": "Delete"}, "condition": {"tagState": "any", "olderThan": "30d"}}
    new = {"name": "new", "action": {"type": "Keep"}, "mostRecentVersions": {"keepCount": 3}}
    file.write_text(json.dumps([old, new]))
    place = "--location=us-central1"
    gcloud("repositories", "set-cleanup-policies", "cleaned", place, f"--policy={file}", "--dry-run")
    kept = ask(emulator, "GET", f"/v1/{PARENT}/repositories/cleaned").json()
    assert kept["cleanupPolicyDryRun"] is True
    assert kept["cleanupPolicies"]["old"]["condition"] == {"tagState": "ANY", "olderThan": "2592000s"}
    found = listed(gcloud("repositories", "list-cleanup-policies", "cleaned", place, "--format=json"))
    assert [each["name"] for each in found] == ["new", "old"]
    gcloud("repositories", "delete-cleanup-policies", "cleaned", place, "--policynames=new,old")
    assert "cleanupPolicies" not in ask(emulator, "GET", f"/v1/{PARENT}/repositories/cleaned").json()


def test_iam_policies(gcloud: Run, emulator: Daemon, tmp_path: Path) -> None:
    create(emulator, "guarded")
    place = "--location=us-central1"
    reader = "roles/artifactregistry.reader"
    binding = (f"--role={reader}", "--member=user:a@example.com")
    gcloud("repositories", "add-iam-policy-binding", "guarded", place, *binding)
    found = listed(gcloud("repositories", "get-iam-policy", "guarded", place, "--format=json"))
    assert found["bindings"] == [{"members": ["user:a@example.com"], "role": reader}]
    file = tmp_path / "policy.json"
    found["bindings"][0]["members"] = ["allUsers"]
    file.write_text(json.dumps(found))
    gcloud("repositories", "set-iam-policy", "guarded", str(file), place)
    gcloud(
        "repositories", "remove-iam-policy-binding", "guarded", place, f"--role={reader}", "--member=allUsers"
    )
    after = listed(gcloud("repositories", "get-iam-policy", "guarded", place, "--format=json"))
    assert "bindings" not in after


def test_docker_images(gcloud: Run, emulator: Daemon) -> None:
    create(emulator, "images")
    image = f"{HOST}/{PROJECT}/images/team/trainer"
    pushed = push(emulator, image, "v1", "latest")
    other = push(emulator, image, "v2", layer=b"other")
    repository = f"{HOST}/{PROJECT}/images"
    found = listed(gcloud("docker", "images", "list", repository, "--include-tags", "--format=json"))
    assert {(each["package"], each["version"], tuple(each["tags"])) for each in found} == {
        (image, pushed.digest, ("latest", "v1")),
        (image, other.digest, ("v2",)),
    }
    of_one = listed(gcloud("docker", "images", "list", image, "--include-tags", "--format=json"))
    assert {each["version"]: each["metadata"]["imageSizeBytes"] for each in of_one} == {
        each.digest: str(each.config_size + each.layer_size) for each in (pushed, other)
    }
    summary = listed(gcloud("docker", "images", "describe", f"{image}:v1", "--format=json"))["image_summary"]
    assert summary["digest"] == pushed.digest
    assert (
        "it is tagged" in gcloud("docker", "images", "delete", f"{image}@{pushed.digest}", fails=True).stderr
    )
    gcloud("docker", "images", "delete", f"{image}@{pushed.digest}", "--delete-tags")
    left = listed(gcloud("docker", "images", "list", repository, "--format=json"))
    assert [each["version"] for each in left] == [other.digest]
    gcloud("docker", "images", "delete", image)
    assert listed(gcloud("docker", "images", "list", repository, "--format=json")) == []


def test_docker_tags(gcloud: Run, emulator: Daemon) -> None:
    create(emulator, "tagged")
    image = f"{HOST}/{PROJECT}/tagged/team/trainer"
    first, second = push(emulator, image, "v1"), push(emulator, image, "v2", layer=b"other")
    gcloud("docker", "tags", "add", f"{image}:v1", f"{image}:best")
    gcloud("docker", "tags", "add", f"{image}@{second.digest}", f"{image}:best")
    found = listed(gcloud("docker", "tags", "list", image, "--format=json"))
    assert {each["tag"].rpartition("/")[2]: each["version"].rpartition("/")[2] for each in found} == {
        "v1": first.digest,
        "v2": second.digest,
        "best": second.digest,
    }
    gcloud("docker", "tags", "delete", f"{image}:best")
    found = listed(gcloud("docker", "tags", "list", f"{HOST}/{PROJECT}/tagged", "--format=json"))
    assert [each["tag"].rpartition("/")[2] for each in found] == ["v1", "v2"]


def test_packages_versions_tags_and_files(gcloud: Run, emulator: Daemon) -> None:
    create(emulator, "parts")
    image = f"{HOST}/{PROJECT}/parts/team/trainer"
    pushed, other = push(emulator, image, "v1"), push(emulator, image, layer=b"other")
    place = ("--repository=parts", "--location=us-central1")
    of_package = (*place, "--package=team/trainer")
    packages = listed(gcloud("packages", "list", *place, "--format=json"))
    assert [each["name"] for each in packages] == ["team/trainer"]
    described = listed(gcloud("packages", "describe", "team/trainer", *place, "--format=json"))
    assert described["name"].endswith("/packages/team%2Ftrainer")
    versions = listed(gcloud("versions", "list", *of_package, "--sort-by=~create_time", "--format=json"))
    assert [each["name"].rpartition("/")[2] for each in versions] == [other.digest, pushed.digest]
    shown = listed(gcloud("versions", "describe", pushed.digest, *of_package, "--format=json"))
    assert shown["metadata"]["mediaType"] == "application/vnd.oci.image.manifest.v1+json"
    escaped = (*place, "--package=team%2Ftrainer")  # these two leave the slash as it is given
    gcloud("tags", "create", "v2", f"--version={other.digest}", *escaped)
    gcloud("tags", "update", "v2", f"--version={pushed.digest}", *escaped)
    tags = listed(gcloud("tags", "list", *of_package, "--format=json"))
    assert {each["version"].rpartition("/")[2] for each in tags} == {pushed.digest}
    files = listed(gcloud("files", "list", *place, "--format=json"))
    assert {each["name"].rpartition("/")[2] for each in files} >= {pushed.digest, other.digest}
    gcloud("versions", "delete", other.digest, *of_package)
    assert "has tags" in gcloud("versions", "delete", pushed.digest, *of_package, fails=True).stderr
    gcloud("versions", "delete", pushed.digest, "--delete-tags", *of_package)
    assert listed(gcloud("packages", "list", *place, "--format=json")) == []


def test_deleting_a_package(gcloud: Run, emulator: Daemon) -> None:
    create(emulator, "whole")
    push(emulator, f"{HOST}/{PROJECT}/whole/trainer", "v1")
    place = ("--repository=whole", "--location=us-central1")
    gcloud("packages", "delete", "trainer", *place)
    assert listed(gcloud("packages", "list", *place, "--format=json")) == []


def test_locations(gcloud: Run) -> None:
    assert {"us", "europe-west4"} <= set(gcloud("locations", "list", "--format=value(name)").stdout.split())


def test_settings(gcloud: Run) -> None:
    gcloud("vpcsc-config", "allow", "--location=us-central1")
    assert "ALLOW" in gcloud("vpcsc-config", "describe", "--location=us-central1").stdout
