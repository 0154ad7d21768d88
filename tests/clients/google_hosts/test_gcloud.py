"""gcloud with Google's own endpoints: no override is set, and everything goes through the proxy."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.preflight import remedies
from pulumi_vertex_training.preflight.preflight import findings_of
from pulumi_vertex_training.preflight.scope import Scope
from pulumi_vertex_training.preflight.subject import Subject
from pulumi_vertex_training.runs.lookups import Lookups
from support.clients.tools import tool
from support.emulated.clients.google_hosts import image_in, output, shell_of
from support.emulated.emulator import Answer, call
from support.emulated.job_emulator import JobEmulator
from vertex_emulator.client.control import Control
from vertex_emulator.daemon.daemon import Daemon
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.pools import ContainerSpec, MachineSpec, WorkerPoolSpec

pytestmark = pytest.mark.slow

REGION = "--region=us-central1"
HOST = "us-central1-docker.pkg.dev"
MEMBER = "user:a@example.com"
REPOSITORY = "projects/local/locations/us-central1/repositories/of-remedies"
POOL = WorkerPoolSpec(
    machine_spec=MachineSpec(machine_type="n1-standard-4"),
    replica_count=1,
    container_spec=ContainerSpec(image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"),
)

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


def test_projects(gcloud: Run) -> None:
    policy = ("--member=user:a@example.com", "--role=roles/viewer", "--condition=None")
    for project in ("listed-one", "listed-two"):
        gcloud("projects", "add-iam-policy-binding", project, *policy)
    listing = ("projects", "list", "--format=value(projectId)")
    assert {"listed-one", "listed-two"} <= set(gcloud(*listing).split())
    assert gcloud(*listing, "--filter=projectId:*-two").split() == ["listed-two"]
    assert gcloud(*listing, "--filter=projectId:listed-*", "--limit=1").split() == ["listed-one"]


def test_service_accounts(gcloud: Run) -> None:
    def run(verb: str, *words: str, fails: bool = False) -> str:
        return gcloud("iam", "service-accounts", verb, *words, fails=fails)

    def bindings() -> list[dict[str, Any]]:
        found = json.loads(run("get-iam-policy", email, "--format=json"))
        return list(found.get("bindings", []))

    email = "trainer@local.iam.gserviceaccount.com"
    run("create", "trainer")
    assert email in run("list", "--format=value(email)").split()
    assert bindings() == []
    role, member = "roles/iam.serviceAccountUser", "user:a@example.com"
    run("add-iam-policy-binding", email, f"--role={role}", f"--member={member}")
    run("add-iam-policy-binding", email, f"--role={role}", "--member=group:team@example.com")
    assert bindings() == [{"role": role, "members": [member, "group:team@example.com"]}]
    run("remove-iam-policy-binding", email, f"--role={role}", "--member=group:team@example.com")
    assert bindings() == [{"role": role, "members": [member]}]
    run("delete", email)
    assert "NOT_FOUND" in run("get-iam-policy", email, fails=True)


@pytest.mark.parity("The interface: programs that only know Google's hosts")
def test_gsutil(gcloud: Run, shell: dict[str, str], tmp_path: Path) -> None:
    gcloud("storage", "buckets", "create", "gs://of-gsutil")
    program, content = tool("gsutil"), tmp_path / "content"
    content.write_text("by gsutil")
    output([program, "cp", content, "gs://of-gsutil/a/b"], shell)
    assert output([program, "ls", "gs://of-gsutil/a"], shell).split() == ["gs://of-gsutil/a/b"]
    assert output([program, "cat", "gs://of-gsutil/a/b"], shell) == "by gsutil"


@pytest.mark.parametrize(
    ("command", "refusal"),
    [
        pytest.param(
            "storage buckets create gs://nests --enable-hierarchical-namespace --uniform-bucket-level-access",
            "does not support the field 'hierarchicalNamespace' of a bucket",
            id="a field",
        ),
        pytest.param(
            f"ai indexes list {REGION}", "does not implement GET /v1/projects/local/", id="a method"
        ),
        pytest.param(
            f"ai endpoints predict 1 {REGION} --json-request=REQUEST", "serves no model", id="a prediction"
        ),
        pytest.param("pubsub topics list", "does not have pubsub.googleapis.com", id="a host"),
    ],
)
def test_refusals_are_reported_at_once(
    gcloud: Run, daemon: Daemon, tmp_path: Path, command: str, refusal: str
) -> None:
    """Expect one request: gcloud repeats no 400."""
    request = tmp_path / "request.json"
    request.write_text('{"instances": []}')
    control = Control(url=daemon.url, token=daemon.token)
    control.forget_requests()
    assert refusal in gcloud(*command.replace("REQUEST", str(request)).split(), fails=True)
    sent = [each for each in control.requests()["requests"] if "gcloud" in each["client"]]
    assert [each["status"] for each in sent] == [400]


@pytest.fixture(scope="module")
def targets(gcloud: Run) -> None:
    """Create the bucket and the repository that remedies name."""
    gcloud("storage", "buckets", "create", "gs://of-remedies", "--location=us-central1")
    create = ("artifacts", "repositories", "create", "of-remedies", "--location=us-central1")
    gcloud(*create, "--repository-format=docker")


@pytest.mark.parametrize(
    "remedy",
    [
        remedies.enable("cloudscheduler.googleapis.com", "local"),
        remedies.on_project("local", MEMBER, "roles/aiplatform.user"),
        remedies.on_bucket("of-remedies", MEMBER, "roles/storage.objectUser"),
        remedies.on_repository(REPOSITORY, MEMBER, "roles/artifactregistry.reader"),
        remedies.new_bucket("of-a-remedy", "us-central1", "local"),
        "gcloud projects list",
    ],
)
def test_remedies_of_the_preflight(remedy: str, shell: dict[str, str], targets: None) -> None:
    tool("gcloud")
    output(["sh", "-c", remedy], shell)


@dataclass(frozen=True, kw_only=True)
class Preflight:
    """The preflight of a job of an account, as on Google Cloud."""

    daemon: Daemon
    shell: dict[str, str]
    email: str

    def remedies(self) -> list[str]:
        """Return the commands for the findings about the account that are not in order."""
        endpoint = Endpoint(
            kind="emulator",
            project="local",
            location="us-central1",
            url=self.daemon.url,
            token=self.daemon.token,
        )
        spec = CustomJobSpec(display_name="train", worker_pool_specs=(POOL,), service_account=self.email)
        scope = Scope(
            project="local",
            location="us-central1",
            is_emulator=False,
            subjects=(Subject(name="train", collection="customJobs", spec=spec),),
        )
        found = findings_of(scope, lambda: endpoint, Lookups(), seconds=600)
        return [one.remedy for one in found if self.email in one.about and one.level != "ok"]

    def run(self, remedy: str) -> str:
        """Run a remedy in a shell, as its user would."""
        return output(["sh", "-c", remedy], {**self.shell, "CLOUDSDK_CORE_ACCOUNT": "a@example.com"})

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        answer = call(self.daemon.url, method, path, body=body, token=self.daemon.token)
        assert answer.status == 200, answer.body
        return answer


def test_remedies_for_the_service_account(daemon: Daemon, shell: dict[str, str]) -> None:
    """Expect a missing and a disabled account to be in order afterwards, and the role in the policy."""
    tool("gcloud")
    email = "remedied@local.iam.gserviceaccount.com"
    path = f"/v1/projects/local/serviceAccounts/{email}"
    preflight = Preflight(daemon=daemon, shell=shell, email=email)
    assert preflight.remedies() == []
    for method, breaking in (("DELETE", path), ("POST", f"{path}:disable")):
        preflight.ask(method, breaking)
        (remedy,) = preflight.remedies()
        assert remedy.startswith("gcloud iam service-accounts ")
        preflight.run(remedy)
        assert preflight.remedies() == []
    denial = {"permission": "iam.serviceAccounts.actAs", "resource": email}
    preflight.ask("POST", "/_local/denials", denial)
    (remedy,) = preflight.remedies()
    preflight.run(remedy)
    (binding,) = preflight.ask("POST", f"{path}:getIamPolicy", {}).json()["bindings"]
    assert binding == {"role": "roles/iam.serviceAccountUser", "members": ["user:a@example.com"]}
    assert preflight.remedies() == [remedy], "a denial of the emulator holds whatever the policy says"
    preflight.ask("DELETE", "/_local/denials")
    own = Preflight(daemon=daemon, shell=shell, email="1-compute@developer.gserviceaccount.com")
    preflight.ask("DELETE", f"/v1/projects/1/serviceAccounts/{own.email}")
    (remedy,) = own.remedies()
    assert "-compute@developer.gserviceaccount.com" in own.run(remedy)


@pytest.mark.parity("The interface: programs that only know Google's hosts")
@pytest.mark.smoke
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


@pytest.mark.parity("The interface: programs that only know Google's hosts")
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


@pytest.mark.parity("The interface: images under Google's host names")
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
