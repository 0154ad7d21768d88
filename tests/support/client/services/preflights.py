"""A job that has all it needs in a project of Google Cloud, and the findings of a preflight there."""

from __future__ import annotations

from typing import Any

from pulumi_vertex_training.preflight.finding import Finding
from pulumi_vertex_training.preflight.preflight import findings_of
from pulumi_vertex_training.preflight.scope import Scope
from pulumi_vertex_training.preflight.subject import Subject
from pulumi_vertex_training.runs.lookups import Lookups
from support.client.services.google_project import NUMBER, PROJECT, REGION, REGISTRY, GoogleProject, quota
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.pools import ContainerSpec, MachineSpec, WorkerPoolSpec

NEVER_LATE = 120.0
ACCOUNT = "trainer@my-project.iam.gserviceaccount.com"
OWN_ACCOUNT = f"service-{NUMBER}@gcp-sa-aiplatform-cc.iam.gserviceaccount.com"
IMAGE = f"{REGISTRY}/my-project/images/train:1"
L4 = MachineSpec(machine_type="g2-standard-4", accelerator_type="NVIDIA_L4", accelerator_count=1)
G2_CPUS = quota("g2_cpus", (None, 100))


def pool(machine: MachineSpec, replicas: int = 1, image: str = IMAGE) -> WorkerPoolSpec:
    return WorkerPoolSpec(
        machine_spec=machine, replica_count=replicas, container_spec=ContainerSpec(image_uri=image)
    )


JOB = CustomJobSpec(
    display_name="train",
    worker_pool_specs=(pool(L4), pool(L4, 3)),
    service_account=ACCOUNT,
    base_output_directory="gs://data/out/",
)


def look(
    google: GoogleProject, *specs: CustomJobSpec, is_preview: bool = False, **more: Any
) -> list[Finding]:
    """Return the findings about jobs, by default about one that has all it needs."""
    subjects = tuple(
        Subject(name=f"job-{number}", collection="customJobs", spec=spec, **more)
        for number, spec in enumerate(specs or (JOB,))
    )
    scope = Scope(
        project=PROJECT, location=REGION, is_emulator=False, subjects=subjects, is_preview=is_preview
    )
    return list(findings_of(scope, google.endpoint, Lookups(), seconds=NEVER_LATE))


def bad(found: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.check, finding.level) for finding in found if finding.level != "ok"]


def only(found: list[Finding]) -> Finding:
    """Return the one finding that is not in order."""
    (finding,) = [finding for finding in found if finding.level != "ok"]
    return finding


def live_job(job_id: str, gpus: int, state: str = "JOB_STATE_RUNNING", **labels: str) -> dict[str, Any]:
    machine = {"machineType": "g2-standard-4", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}
    pools = [{"machineSpec": machine, "replicaCount": str(gpus), "containerSpec": {"imageUri": IMAGE}}]
    return {
        "name": f"projects/{NUMBER}/locations/{REGION}/customJobs/{job_id}",
        "displayName": "other",
        "state": state,
        "labels": labels,
        "jobSpec": {"workerPoolSpecs": pools},
    }
