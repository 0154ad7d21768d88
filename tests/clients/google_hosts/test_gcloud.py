"""gcloud with Google's own endpoints: no override is set, and everything goes through the proxy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.clients.google_hosts import image_in, output, shell_of
from support.clients.tools import tool
from support.job_emulator import JobEmulator
from vertex_emulator.daemon import Daemon

pytestmark = pytest.mark.slow

REGION = "--region=us-central1"
HOST = "us-central1-docker.pkg.dev"

Run = Callable[..., str]


@pytest.fixture(scope="module")
def shell(daemon: Daemon) -> dict[str, str]:
    """Return a shell with the proxy, without gcloud's variables for endpoints."""
    found = {
        name: value
        for name, value in shell_of(daemon).items()
        if not name.startswith("CLOUDSDK_API_ENDPOINT_OVERRIDES_")
    }
    return {
        **found,
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
    }


@pytest.fixture(scope="module")
def gcloud(shell: dict[str, str]) -> Run:
    program = tool("gcloud")

    def run(*words: str | Path, fails: bool = False) -> str:
        return output([program, *words], shell, fails=fails)

    return run


def test_project(gcloud: Run) -> None:
    assert gcloud("projects", "describe", "local", "--format=value(projectId)").strip() == "local"


def test_storage(gcloud: Run, tmp_path: Path) -> None:
    (tmp_path / "hello.txt").write_text("hello")
    gcloud("storage", "buckets", "create", "gs://of-gcloud", "--location=us-central1")
    gcloud("storage", "cp", tmp_path / "hello.txt", "gs://of-gcloud/a/")
    assert gcloud("storage", "ls", "gs://of-gcloud/**").split() == ["gs://of-gcloud/a/hello.txt"]
    assert gcloud("storage", "cat", "gs://of-gcloud/a/hello.txt") == "hello"
    gcloud("storage", "rm", "gs://of-gcloud/a/hello.txt")
    assert "matched no objects" in gcloud("storage", "ls", "gs://of-gcloud/**", fails=True)


@pytest.fixture(scope="module")
def jobs(gcloud: Run, daemon: Daemon) -> list[str]:
    """Create a job that prints a line and ends, and one that does not end. Return their names."""
    create = ("ai", "custom-jobs", "create", REGION, "--format=value(name)", "--command=sh")
    pool = "--worker-pool-spec=machine-type=n1-standard-4,replica-count=1,container-image-uri=python:3.11"
    found = [
        gcloud(*create, pool, f"--display-name={name}", f"--args=-c,{code}").strip()
        for name, code in (("short", "echo hello"), ("long", "sleep 600"))
    ]
    JobEmulator(daemon).wait(found[0])
    return found


def test_jobs(gcloud: Run, daemon: Daemon, jobs: list[str]) -> None:
    listed = gcloud("ai", "custom-jobs", "list", REGION, "--format=value(name)")
    assert sorted(listed.split()) == sorted(jobs)
    described = json.loads(gcloud("ai", "custom-jobs", "describe", jobs[0], "--format=json"))
    assert (described["state"], described["displayName"]) == ("JOB_STATE_SUCCEEDED", "short")
    gcloud("ai", "custom-jobs", "cancel", jobs[1])
    assert JobEmulator(daemon).wait(jobs[1])["state"] == "JOB_STATE_CANCELLED"
    assert "NOT_FOUND" in gcloud("ai", "custom-jobs", "describe", "1", REGION, fails=True)


def test_logs(gcloud: Run, jobs: list[str]) -> None:
    lines = gcloud("ai", "custom-jobs", "stream-logs", jobs[0], "--polling-interval=1").splitlines()
    assert "hello" in [line.rpartition("\t")[2] for line in lines]
    text = f"resource.labels.job_id={jobs[0].rpartition('/')[2]} jsonPayload.message=hello"
    found = json.loads(gcloud("logging", "read", text, "--format=json"))
    assert [each["jsonPayload"]["message"] for each in found] == ["hello"]


def test_artifacts(gcloud: Run, shell: dict[str, str], tmp_path: Path) -> None:
    """Push with the credentials of gcloud's helper, as after `gcloud auth configure-docker`."""
    create = ("artifacts", "repositories", "create", "images", "--location=us-central1")
    gcloud(*create, "--repository-format=docker")
    helper = tool("docker-credential-gcloud")
    login = json.loads(output([helper, "get"], shell, input=HOST))
    image = image_in(tmp_path)
    creds = f"{login['Username']}:{login['Secret']}"
    for name in (f"{HOST}/local/images/one:v1", "gcr.io/local/two:v1"):
        push = ("--insecure-policy", "copy", "--dest-creds", creds, f"oci:{image}")
        output([tool("skopeo"), *push, f"docker://{name}"], shell)
    listing = ("artifacts", "docker", "images", "list", "--include-tags", "--format=value(package,tags)")
    assert gcloud(*listing, f"{HOST}/local/images").split() == [f"{HOST}/local/images/one", "v1"]
    assert gcloud(*listing, "us-docker.pkg.dev/local/gcr.io").split() == [
        "us-docker.pkg.dev/local/gcr.io/two",
        "v1",
    ]
    gcloud("artifacts", "docker", "images", "delete", f"{HOST}/local/images/one:v1", "--delete-tags")
    assert gcloud(*listing, f"{HOST}/local/images") == ""
