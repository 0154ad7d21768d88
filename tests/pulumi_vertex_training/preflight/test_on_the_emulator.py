"""A preflight against the emulator's own answers: denied permissions, disabled services, small quotas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as jobs
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.preflight.finding import Finding
from pulumi_vertex_training.preflight.preflight import findings_of
from pulumi_vertex_training.preflight.scope import Scope
from pulumi_vertex_training.preflight.subject import Subject
from pulumi_vertex_training.runs.lookups import Lookups
from support.emulated.emulator import call
from support.services.training import SLEEP, job
from support.waiting import eventually
from vertex_emulator.client.control import Control
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.pools import ContainerSpec, EnvVar, MachineSpec, WorkerPoolSpec

NEVER_LATE = 120.0
ACCOUNT = "trainer@local.iam.gserviceaccount.com"
PREBUILT = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
BUCKET = "preflight-on-the-emulator"
CPUS = "aiplatform.googleapis.com/custom_model_training_cpus"
SPEC = CustomJobSpec(
    display_name="train",
    worker_pool_specs=(
        WorkerPoolSpec(
            machine_spec=MachineSpec(machine_type="n1-standard-4"),
            replica_count=1,
            container_spec=ContainerSpec(image_uri=PREBUILT),
        ),
    ),
    service_account=ACCOUNT,
    base_output_directory=f"gs://{BUCKET}/out/",
)


@pytest.fixture(scope="module", autouse=True)
def _bucket(endpoint: Endpoint) -> None:
    buckets.create(endpoint, {"name": BUCKET, "location": "us-central1"})


@pytest.fixture
def local(endpoint: Endpoint) -> Iterator[Local]:
    made = Local(endpoint)
    yield made
    made.settle()


class Local:
    """The emulator's controls, and what they changed."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._disabled: list[str] = []

    def control(self, method: str, path: str, body: Any = None) -> Any:
        return call(self.endpoint.vertex_url, method, path, body=body, token=self.endpoint.token).ok().json()

    def deny(self, permission: str, resource: str | None = None) -> None:
        self.control("POST", "/_local/denials", {"permission": permission, "resource": resource})

    def disable(self, service: str) -> None:
        self._disabled.append(service)
        self.control("PUT", "/_local/services", {"service": service, "project": "local", "enabled": False})

    def quota(self, metric: str, limit: int) -> None:
        self.control("POST", "/_local/quotas", {"metric": metric, "region": "us-central1", "limit": limit})

    def settle(self) -> None:
        self.control("DELETE", "/_local/denials")
        self.control("DELETE", "/_local/quotas")
        for name in self._disabled:
            self.control("PUT", "/_local/services", {"service": name, "project": "local", "enabled": True})

    def look(
        self,
        data_dir: Path | None = None,
        *,
        project: str = "local",
        spec: CustomJobSpec = SPEC,
        seconds: float = NEVER_LATE,
    ) -> list[Finding]:
        """Return the findings that are not in order."""
        subject = Subject(name="train", collection="customJobs", spec=spec)
        scope = Scope(
            project=project,
            location="us-central1",
            is_emulator=True,
            subjects=(subject,),
            data_dir=data_dir,
        )
        endpoint = replace(self.endpoint, project=project)
        found = findings_of(scope, lambda: endpoint, Lookups(), seconds=seconds)
        return [finding for finding in found if finding.level != "ok"]


def seen(found: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.check, finding.level) for finding in found]


def test_a_new_emulator_is_in_order(local: Local) -> None:
    assert local.look() == []


def test_a_denied_permission(local: Local) -> None:
    local.deny("aiplatform.customJobs.create")
    (finding,) = local.look()
    assert (finding.check, finding.level) == ("permissions", "error")
    assert "aiplatform.customJobs.create" in finding.message
    assert "aiplatform.customJobs.get" not in finding.message
    assert finding.remedy == "vertex-training emulator allow"


def test_the_remedies_name_the_folder_of_another_emulator(local: Local) -> None:
    local.deny("aiplatform.customJobs.create")
    local.disable("logging.googleapis.com")
    local.quota("cpus", 1)
    remedies = [finding.remedy for finding in local.look(Path("/data/mine"))]
    assert len(remedies) == 3
    assert all(remedy.endswith(" --data-dir /data/mine") for remedy in remedies)


def test_a_denied_act_as_on_one_account(local: Local) -> None:
    local.deny("iam.serviceAccounts.actAs", ACCOUNT)
    (finding,) = local.look()
    assert (finding.check, finding.level) == ("permissions", "error")
    assert ACCOUNT in finding.about


@pytest.mark.parametrize("resource", [None, f"gs://{BUCKET}", "projects/local"])
def test_a_bucket_that_replicas_may_not_write_to(local: Local, resource: str | None) -> None:
    local.deny("storage.objects.create", resource)
    (finding,) = local.look()
    assert (finding.check, finding.level) == ("replicas", "warning")
    assert finding.remedy == "vertex-training emulator allow"
    on_bucket = f"bucket {BUCKET}: the emulator denies storage.objects.create on it to every account"
    assert (f"{finding.about}: {finding.message}" == on_bucket) == (resource != "projects/local")


def test_a_policy_that_lacks_the_replicas_account_is_fixed_by_a_grant(local: Local) -> None:
    local.control("POST", "/v3/projects/strict:setIamPolicy", {"policy": {"bindings": []}})
    (finding,) = local.look(project="strict")
    assert (finding.check, finding.level) == ("replicas", "warning")
    assert finding.remedy == (
        f"gcloud storage buckets add-iam-policy-binding gs://{BUCKET} --member=serviceAccount:{ACCOUNT} "
        "--role=roles/storage.objectUser"
    )


def test_an_image_that_may_not_be_read_is_unknown_in_the_service_s_own_words(local: Local) -> None:
    local.deny("artifactregistry.repositories.downloadArtifacts")
    pool = replace(
        SPEC.worker_pool_specs[0],
        container_spec=ContainerSpec(image_uri="us-central1-docker.pkg.dev/local/images/train:1"),
    )
    (finding,) = local.look(spec=replace(SPEC, worker_pool_specs=(pool,)))
    assert (finding.check, finding.level) == ("images", "unknown")
    denied = "Permission 'artifactregistry.repositories.downloadArtifacts' denied on resource"
    assert finding.message.startswith(f"the account may not read it: {denied}")
    assert finding.remedy == "vertex-training emulator allow"


def test_an_answer_that_does_not_come_in_time_names_the_emulator_s_state(local: Local) -> None:
    (finding,) = local.look(seconds=1e-9)
    assert (finding.check, finding.level) == ("credentials", "unknown")
    assert finding.remedy == "vertex-training emulator status"


def test_a_disabled_service(local: Local) -> None:
    local.disable("logging.googleapis.com")
    (finding,) = local.look()
    assert (finding.check, finding.level) == ("services", "error")
    assert finding.remedy == "vertex-training emulator service enable logging.googleapis.com --project=local"


def test_services_that_cannot_be_read_are_unknown(local: Local) -> None:
    local.disable("serviceusage.googleapis.com")
    (finding,) = local.look()
    assert (finding.check, finding.level) == ("services", "unknown")
    assert finding.message == "serviceusage.googleapis.com is not enabled"
    assert finding.remedy.startswith("vertex-training emulator service enable serviceusage.googleapis.com ")


@pytest.mark.parametrize("limit", [3, 0])
def test_a_quota_that_is_too_small(local: Local, limit: int) -> None:
    local.quota("cpus", limit)
    (finding,) = local.look()
    assert (finding.level, finding.message) == ("error", f"4 asked for, but the quota is {limit}")


def test_a_live_job_takes_quota_until_it_ends(local: Local) -> None:
    local.quota("cpus", 7)
    assert local.look() == []
    live = jobs.create(local.endpoint, job("busy", SLEEP))
    try:
        (finding,) = eventually(local.look)
        assert (finding.check, finding.level) == ("quota", "warning")
        assert finding.message.startswith("4 asked for, but 4 of 7 are in use")
    finally:
        jobs.cancel(local.endpoint, live.name)
    eventually(lambda: local.look() == [], what=local.look)


def test_a_secret_that_a_variable_names(local: Local) -> None:
    (pool,) = SPEC.worker_pool_specs
    task = ContainerSpec(
        image_uri=PREBUILT, env=(EnvVar(name="TOKEN", value="projects/local/secrets/token"),)
    )
    spec = replace(SPEC, worker_pool_specs=(replace(pool, container_spec=task),))
    (finding,) = local.look(spec=spec)
    assert (finding.check, finding.level, finding.message) == ("replicas", "error", "does not exist")
    assert finding.remedy == "vertex-training emulator secret set token"
    Control(url=local.endpoint.vertex_url, token=local.endpoint.token or "").set_secret("token", "value")
    assert local.look(spec=spec) == []
    local.deny("secretmanager.versions.access")
    (finding,) = local.look(spec=spec)
    assert (finding.level, finding.message) == (
        "warning",
        "the emulator denies secretmanager.versions.access on it",
    )
