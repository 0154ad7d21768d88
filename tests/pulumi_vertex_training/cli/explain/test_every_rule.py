"""Every rule is broken once, by a document as small as can be, and kept by the same document set right.

`CASES` has a case for each rule of `cli.explain.rule_index`. `make generate` writes the findings of all cases
into `docs/assets/rule-findings.js`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from pulumi_vertex_training.cli.explain import rule_index
from pulumi_vertex_training.cli.explain.documents import read_document
from pulumi_vertex_training.core import secret_masking
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.tuning import convert_hyperparameters
from pulumi_vertex_training.kinds.custom_job.provider import DECLARED
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.kind import (
    read as read_tuning_job,
)
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import normalise as normal_tuning_job
from pulumi_vertex_training.kinds.image_repository.rules import validate as validate_repository
from pulumi_vertex_training.kinds.image_repository.spec import RepositorySpec
from pulumi_vertex_training.kinds.persistent_resource.fit_rules import persistent_resource_problems
from pulumi_vertex_training.kinds.persistent_resource.rules import id_problems
from pulumi_vertex_training.kinds.persistent_resource.rules import validate as validate_resource
from pulumi_vertex_training.kinds.persistent_resource.spec import (
    PersistentResource,
    ResourceRuntimeSpec,
    ServiceAccountSpec,
)
from pulumi_vertex_training.kinds.staging_bucket.rules import read as read_bucket
from pulumi_vertex_training.kinds.training_image.spec import TrainingImageSpec
from pulumi_vertex_training.kinds.training_image.spec import validate as validate_image
from pulumi_vertex_training.kinds.training_schedule.rules import validate as validate_schedule
from pulumi_vertex_training.kinds.training_schedule.spec import ScheduleSpec
from pulumi_vertex_training.kinds.training_schedule.spec import normalise as normal_schedule
from pulumi_vertex_training.package.wire.messages import in_package, known_names
from support.client.specs import pipeline_rules
from support.client.specs.tuning_job_specs import tuning_job
from support.ground import jobs
from support.specs import bucket_rules, tuning_rules
from support.specs.rule_cases import RuleCase, case, warning
from vertex_training.fields.decode import decode, encode
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem, errors
from vertex_training.job.custom_job import CustomJobSpec, normalise
from vertex_training.job.job_spec import EncryptionSpec
from vertex_training.topology.pools import MachineSpec
from vertex_training.topology.rules.regions import bucket_region_problems
from vertex_training.topology.rules.resource_pools import ResourcePool

Document = Mapping[str, Any]
GONE = object()
"""Stands for a missing value."""


def of_document(document: Document) -> Iterable[Problem]:
    """Return the findings about a document; its entry "options" has the check options."""
    plain = dict(document)
    return read_document(plain, options=CheckOptions(**plain.pop("options", {}))).problems


def of_bucket(document: Document) -> Iterable[Problem]:
    return bucket_region_problems("staging", **document)


def of_bucket_settings(document: Document) -> Iterable[Problem]:
    return read_bucket(document).problems


def of_tuning_job(document: Document) -> Iterable[Problem]:
    return read_tuning_job(document).problems


def of_tuning_of_ai_platform(document: Document) -> Iterable[Problem]:
    """Return the findings about the hyperparameters of a training input."""
    return convert_hyperparameters(document.get("hyperparameters")).problems


def of_repository(document: Document) -> Iterable[Problem]:
    plain = {name: value for name, value in document.items() if name != "options"}
    return validate_repository(decode(RepositorySpec, plain).draft)


def of_image(document: Document) -> Iterable[Problem]:
    plain = {name: value for name, value in document.items() if name != "options"}
    return validate_image(decode(TrainingImageSpec, plain).draft)


def of_persistent_resource(document: Document) -> Iterable[Problem]:
    """Check a job on a persistent resource with `NETWORK`, `KEY` and four machines `N1`."""
    pools = [ResourcePool(machine_spec=MachineSpec(**N1), replica_count=4)]
    plain = {name: value for name, value in document.items() if name != "options"}
    spec = normalise(decode(CustomJobSpec, {"display_name": "digits", **plain}).draft)
    resource = PersistentResource(
        resource_pools=tuple(pools), network=NETWORK, encryption_spec=EncryptionSpec(kms_key_name=KEY)
    )
    return tuple(persistent_resource_problems(spec, resource))


def of_job_on_guarded_resource(document: Document) -> Iterable[Problem]:
    """Check a job on a persistent resource whose jobs must have a service account."""
    plain = {name: value for name, value in document.items() if name != "options"}
    spec = normalise(decode(CustomJobSpec, {"display_name": "digits", **plain}).draft)
    account = ServiceAccountSpec(enable_custom_service_account=True)
    resource = PersistentResource(
        resource_pools=(ResourcePool(machine_spec=MachineSpec(**N1), replica_count=4),),
        resource_runtime_spec=ResourceRuntimeSpec(service_account_spec=account),
    )
    return tuple(persistent_resource_problems(spec, resource))


def of_ladder(document: Document) -> Iterable[Problem]:
    """Check a custom job with its capacity ladder, as a provider does."""
    plain = {name: value for name, value in document.items() if name != "options"}
    place = {"endpoint": "emulator", "project": "p", "location": "us-central1", "display_name": "digits"}
    return DECLARED.decode_inputs({**place, **plain}).problems


def of_tuning_job_on_resource(document: Document) -> Iterable[Problem]:
    """Check a tuning job on a persistent resource with four machines `N1`."""
    plain = {name: value for name, value in document.items() if name != "options"}
    spec = normal_tuning_job(decode(HyperparameterTuningJobSpec, plain).draft)
    pools = (ResourcePool(machine_spec=MachineSpec(**N1), replica_count=4),)
    return tuple(persistent_resource_problems(spec, PersistentResource(resource_pools=pools)))


def of_resource(document: Document) -> Iterable[Problem]:
    """Return the findings about a persistent resource; its entry "id" is its id."""
    plain = dict(document)
    options = CheckOptions(**plain.pop("options", {}))
    named = tuple(id_problems(plain.pop("id")))
    return (*named, *validate_resource(decode(PersistentResource, plain).draft, options=options))


def changed(document: Document, changes: Mapping[str, object]) -> dict[str, Any]:
    """Copy a document with values set by path: {"worker_pool_specs[0].replica_count": 2}."""
    copied: Any = json.loads(json.dumps(document))  # a pool twice in a document becomes two pools
    for path, value in changes.items():
        *outer, last = (int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", path))
        below = copied
        for part in outer:
            below = below[part]
        if value is GONE:
            del below[last]
        elif isinstance(below, list) and last == len(below):
            below.append(value)
        else:
            below[last] = value
    return copied


# Worker pools.

IMAGE = "repo/trainer:1"
TF_GPU = "us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-17.py310:latest"
N1 = {"machine_type": "n1-standard-4"}
T4 = {"machine_type": "n1-standard-8", "accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 1}
L4 = {"machine_type": "g2-standard-12", "accelerator_type": "NVIDIA_L4", "accelerator_count": 1}
A100 = {"machine_type": "a2-highgpu-1g", "accelerator_type": "NVIDIA_TESLA_A100", "accelerator_count": 1}
TPU = {"machine_type": "ct5lp-hightpu-4t", "tpu_topology": "2x2"}
B200 = {"machine_type": "a4-highgpu-8g", "accelerator_type": "NVIDIA_B200", "accelerator_count": 8}
GB200 = {
    "machine_type": "a4x-highgpu-4g",
    "accelerator_type": "NVIDIA_GB200",
    "accelerator_count": 4,
    "reservation_affinity": {"reservation_affinity_type": "ANY_RESERVATION"},
}
RESERVED = {
    "reservation_affinity_type": "SPECIFIC_RESERVATION",
    "key": "compute.googleapis.com/reservation-name",
    "values": ["projects/p/zones/us-central1-a/reservations/r"],
}
PACKAGE = {
    "executor_image_uri": jobs.EXECUTOR,
    "package_uris": ["gs://staging/trainer-0.1.tar.gz"],
    "python_module": "trainer.task",
}


def pool(machine: Document = N1, replicas: object = 1, **other: object) -> dict[str, object]:
    task = {} if "python_package_spec" in other else {"container_spec": {"image_uri": IMAGE}}
    return {"machine_spec": machine, "replica_count": replicas, **task, **other}


def job(*pools: Document, options: Document | None = None, **other: object) -> dict[str, object]:
    return {"worker_pool_specs": list(pools or [pool()]), "options": options or {}, **other}


def servers(replicas: object = 2) -> Document:
    return pool(
        {"machine_type": "n1-highcpu-16"}, replicas, container_spec={"image_uri": jobs.REDUCTION_SERVER}
    )


JOB = job()
FOUR = job(pool(), pool(), pool(), pool())
PACKAGE_JOB = job(pool(python_package_spec=PACKAGE))
REDUCTION = job(pool(T4), pool(T4, 2), servers())
EU = {"location": "europe-west4"}
US = {"location": "us-central1"}
POOLS = "worker_pool_specs"
CHIEF, WORKERS, SERVERS, EVALUATORS = (f"{POOLS}[{i}]" for i in range(4))
MACHINE, TASK, PYTHON = f"{CHIEF}.machine_spec", f"{CHIEF}.container_spec", f"{CHIEF}.python_package_spec"
AFFINITY = f"{MACHINE}.reservation_affinity"
VARIABLE = {"name": "EPOCHS", "value": "20"}
STALLING = job(pool(T4, container_spec={"image_uri": IMAGE, "command": ["torchrun"], "args": ["train.py"]}))

NETWORK = "projects/123/global/networks/training"
ATTACHMENT = "projects/p/regions/us-central1/networkAttachments/a"
KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
ACCOUNT = "trainer@p.iam.gserviceaccount.com"
NAMED = job(display_name="digits")
RECORDED = job(
    tensorboard="projects/p/locations/us-central1/tensorboards/1",
    service_account=ACCOUNT,
    base_output_directory="gs://staging/out",
)
FLEX = job(
    pool(L4),
    pool(L4),
    scheduling={"strategy": "FLEX_START", "timeout": "604800s", "max_wait_duration": "60s"},
)
STRATEGY = "scheduling.strategy"
SPOT_RUNG = {"strategy": "SPOT"}
LADDER = job(pool(L4), capacity=[{"strategy": "SPOT", "wait_for": "1800s"}, {"strategy": "STANDARD"}])
PEER = {"domain": "corp.internal.", "target_project": "p", "target_network": "n"}
PSC = job(psc_interface_config={"network_attachment": ATTACHMENT, "dns_peering_configs": [PEER]})
PEERING = "psc_interface_config.dns_peering_configs[0]"
SHARE = job(
    pool(nfs_mounts=[{"server": "10.0.0.2", "path": "/share", "mount_point": "data"}]), network=NETWORK
)
MOUNT = f"{CHIEF}.nfs_mounts[0]"
SHARED = job(network=NETWORK, encryption_spec={"kms_key_name": KEY})
ROLES = {"chief": {**N1}, "worker": {"replica_count": 2, **N1}}

INPUT = "training_input"
MASTER = {"image_uri": IMAGE}
ONE_T4 = {"type": "NVIDIA_TESLA_T4", "count": 1}
LEGACY_PACKAGE = {
    "package_uris": PACKAGE["package_uris"],
    "python_module": "trainer.task",
    "runtime_version": "2.11",
}


def with_input(document: Document, **fields: object) -> dict[str, Any]:
    return {INPUT: {**document[INPUT], **fields}}


TIERED = {INPUT: {"scale_tier": "BASIC", "master_config": MASTER}}
LEGACY_ALONE = {INPUT: {"scale_tier": "CUSTOM", "master_type": "n1-standard-8", "master_config": MASTER}}
LEGACY = with_input(LEGACY_ALONE, worker_type="n1-standard-8", worker_count=2)
PACKED = {INPUT: {"scale_tier": "BASIC", **LEGACY_PACKAGE}}
COMMAND = {
    "gcloud": [
        "gcloud",
        "ai-platform",
        "jobs",
        "submit",
        "training",
        "digits",
        f"--master-image-uri={IMAGE}",
    ]
}
PACKED_COMMAND = {
    "gcloud": [
        *COMMAND["gcloud"][:-1],
        "--packages=gs://staging/trainer-0.1.tar.gz",
        "--module-name=trainer.task",
        "--runtime-version=2.11",
    ]
}


def words(*more: str) -> dict[str, object]:
    """More words of the command."""
    return {"gcloud": [*COMMAND["gcloud"], *more]}


CREATION = {
    "gcloud": [
        *("gcloud", "ai", "custom-jobs", "create", "--display-name=digits"),
        f"--worker-pool-spec=machine-type=n1-standard-4,container-image-uri={IMAGE}",
    ]
}


def creation_words(*more: str) -> dict[str, object]:
    """More words of the command that creates a custom job."""
    return {"gcloud": [*CREATION["gcloud"], *more]}


REPOSITORY = {"repository_id": "trainers", "location": "us-central1"}
POLICIES = "cleanup_policies"
DELETE_OLD = {"id": "old", "action": "DELETE", "condition": {"older_than": "30d"}}
KEEP_NEW = {"id": "new", "action": "KEEP", "most_recent_versions": {"keep_count": 5}}
CLEANED = {**REPOSITORY, POLICIES: [DELETE_OLD, KEEP_NEW]}


def repository_case(wrong: Mapping[str, object], path: str, *words: str, **other: Any) -> RuleCase:
    return case(CLEANED, wrong, path, *words, find=of_repository, **other)


SCHEDULE = {
    "schedule_id": "nightly",
    "location": "us-central1",
    "schedule": "0 3 * * *",
    "time_zone": "Europe/Berlin",
    "service_account": "runs@p.iam.gserviceaccount.com",
    "retry_config": {"retry_count": 1},
    "attempt_deadline": "60s",
    "request": {"displayName": "train"},
}


def of_schedule(document: Document) -> Iterable[Problem]:
    spec = normal_schedule(decode(ScheduleSpec, document).draft)
    return validate_schedule(spec, zones=frozenset({"Europe/Berlin", "Etc/UTC"}), on_google=True)


def schedule_case(wrong: Mapping[str, object], path: str, *words: str, **other: Any) -> RuleCase:
    return case(SCHEDULE, wrong, path, *words, find=of_schedule, **other)


RUNTIME = "resource_runtime_spec"
RESOURCE = {
    "id": "gpus",
    "options": US,
    "resource_pools": [
        {"id": "head", "machine_spec": N1, "replica_count": 1},
        {
            "id": "workers",
            "machine_spec": T4,
            "replica_count": 2,
            "autoscaling_spec": {"min_replica_count": 1, "max_replica_count": 4},
        },
    ],
    "encryption_spec": {"kms_key_name": KEY},
    "resource_runtime_spec": {
        "service_account_spec": {"enable_custom_service_account": True, "service_account": ACCOUNT},
        "ray_spec": {
            "resource_pool_images": {"head": IMAGE, "workers": IMAGE},
            "head_node_resource_pool_id": "head",
        },
    },
}


def resource_case(wrong: Mapping[str, object], path: str, *words: str, **other: Any) -> RuleCase:
    return case(RESOURCE, wrong, path, *words, find=of_resource, **other)


TRAINING_IMAGE = {
    "repository": "us-central1-docker.pkg.dev/p/trainers",
    "name": "digits",
    "source": "trainer",
    "tags": ["latest"],
}


def image_case(wrong: Mapping[str, object], path: str, *words: str) -> RuleCase:
    return case(TRAINING_IMAGE, wrong, path, *words, find=of_image)


CASES: dict[str, RuleCase] = {
    "pools-missing": case(JOB, {POOLS: []}, POOLS, "no worker pool", "with 1 replica"),
    "chief-missing": case(
        job(pool(), pool(N1, 2)), {CHIEF: {}}, CHIEF, "first worker pool is empty", "replica_count 1"
    ),
    "pools-too-many": case(FOUR, {f"{POOLS}[4]": pool()}, POOLS, "5 worker pools", "at most 4"),
    "replicas-negative": case(
        job(pool(), pool()),
        {f"{WORKERS}.replica_count": -2},
        f"{WORKERS}.replica_count",
        "-2 replicas",
        "0 skips",
    ),
    "chief-replicas": case(
        JOB, {f"{CHIEF}.replica_count": 3}, f"{CHIEF}.replica_count", "3 replicas", "other 2 in"
    ),
    "evaluators-many": warning(
        FOUR, {f"{EVALUATORS}.replica_count": 3}, f"{EVALUATORS}.replica_count", "3 evaluators", "at most one"
    ),
    "task-missing": case(JOB, {TASK: GONE}, CHIEF, "no task", "give it container_spec"),
    "task-twice": case(JOB, {PYTHON: PACKAGE}, CHIEF, "two tasks", "keep one"),
    "machine-missing": case(JOB, {MACHINE: GONE}, MACHINE, "missing", "n1-standard-4"),
    "tpu-alone": case(
        job(pool(TPU)), {WORKERS: pool()}, f"{MACHINE}.machine_type", "ct5lp-hightpu-4t", "only the first"
    ),
    # Tasks.
    "image": case(
        JOB, {f"{TASK}.image_uri": "repo/a b"}, f"{TASK}.image_uri", "'repo/a b'", "write REGISTRY"
    ),
    "prebuilt-image": warning(
        PACKAGE_JOB,
        {f"{PYTHON}.executor_image_uri": IMAGE},
        f"{PYTHON}.executor_image_uri",
        repr(IMAGE),
        "container_spec",
    ),
    "package-count": case(
        PACKAGE_JOB, {f"{PYTHON}.package_uris": []}, f"{PYTHON}.package_uris", "0 packages", "1 to 100"
    ),
    "package-uri": case(
        PACKAGE_JOB,
        {f"{PYTHON}.package_uris[0]": "trainer.tar.gz"},
        f"{PYTHON}.package_uris[0]",
        "'trainer.tar.gz'",
        "gs://BUCKET/NAME",
    ),
    "package-kind": warning(
        PACKAGE_JOB,
        {f"{PYTHON}.package_uris[0]": "gs://bucket/trainer.zip"},
        f"{PYTHON}.package_uris[0]",
        "'gs://bucket/trainer.zip'",
        "build one of them",
    ),
    "command-words": warning(
        JOB,
        {f"{TASK}.command": ["python -m trainer.task"]},
        f"{TASK}.command[0]",
        "'python -m trainer.task'",
        "each word as an entry of its own",
    ),
    "prebuilt-name": warning(
        PACKAGE_JOB,
        {f"{PYTHON}.executor_image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2.17.py310:latest"},
        f"{PYTHON}.executor_image_uri",
        "tf-cpu.2.17.py310",
        "did you mean tf-cpu.2-17.py310?",
    ),
    "prebuilt-accelerator": warning(
        job(pool(T4, python_package_spec={**PACKAGE, "executor_image_uri": TF_GPU})),
        {f"{PYTHON}.executor_image_uri": TF_GPU.replace("gpu", "cpu")},
        f"{PYTHON}.executor_image_uri",
        "1 x NVIDIA_TESLA_T4",
        "use an image for GPUs",
    ),
    "env-both": warning(
        JOB,
        {f"{TASK}.env": [{"name": "CLOUD_ML_JOB_ID", "value": "1"}]},
        f"{TASK}.env[0].name",
        "CLOUD_ML_JOB_ID",
        "use another name",
    ),
    "python-module": case(
        PACKAGE_JOB,
        {f"{PYTHON}.python_module": "trainer/task.py"},
        f"{PYTHON}.python_module",
        "'trainer/task.py'",
        "example trainer.task",
    ),
    "args-length": case(
        JOB, {f"{TASK}.args": ["x" * 100_001]}, f"{TASK}.args", "100001 characters", "a file in the bucket"
    ),
    "env-count": case(
        JOB,
        {f"{TASK}.env": [{"name": f"V{i}", "value": ""} for i in range(101)]},
        f"{TASK}.env",
        "101 variables",
        "at most 100",
    ),
    "env-name": case(
        JOB,
        {f"{TASK}.env": [{**VARIABLE, "name": "MY-VAR"}]},
        f"{TASK}.env[0].name",
        "'MY-VAR'",
        "underscores",
    ),
    "env-twice": case(
        JOB, {f"{TASK}.env": [VARIABLE, VARIABLE]}, f"{TASK}.env[1].name", "EPOCHS is set twice", "keep one"
    ),
    "env-of-service": warning(
        JOB,
        {f"{TASK}.env": [{"name": "CLUSTER_SPEC", "value": "{}"}]},
        f"{TASK}.env[0].name",
        "CLUSTER_SPEC",
        "leave it out",
    ),
    "stall-timeout": case(
        JOB,
        {f"{TASK}.env": [{"name": "VERTEX_CLUSTER_STALL_TIMEOUT", "value": "10m"}]},
        f"{TASK}.env[0].value",
        "'10m'",
        "a number of seconds",
    ),
    "stall-after-nccl": warning(
        STALLING,
        {f"{TASK}.env": [{"name": "VERTEX_CLUSTER_STALL_TIMEOUT", "value": "600"}]},
        f"{TASK}.env[0].value",
        "after 480 seconds",
        "Set at most 450",
        "to 630 or more",
    ),
    "long-variable": case(
        JOB,
        {
            f"{TASK}.env": [
                {"name": f"V{i}", "value": f"$(V{i - 1})$(V{i - 1})" if i else "x" * 100} for i in range(12)
            ]
        },
        f"{TASK}.env[11].value",
        "204800 characters",
        "in a file",
    ),
    # Machines, accelerators and disks.
    "machine-type": case(
        JOB,
        {f"{MACHINE}.machine_type": "n1-standard-5"},
        f"{MACHINE}.machine_type",
        "'n1-standard-5'",
        "n1-standard-4 or n1-standard-8",
    ),
    "accelerator-type": case(
        job(pool(T4)),
        {f"{MACHINE}.accelerator_type": "T4"},
        f"{MACHINE}.accelerator_type",
        "'T4'",
        "did you mean NVIDIA_TESLA_T4?",
    ),
    "accelerator-retired": case(
        job(pool(T4)),
        {f"{MACHINE}.accelerator_type": "NVIDIA_TESLA_K80"},
        f"{MACHINE}.accelerator_type",
        "NVIDIA_TESLA_K80",
        "NVIDIA_TESLA_T4",
    ),
    "accelerator-ending": warning(
        job(pool(T4)),
        {f"{MACHINE}.accelerator_type": "NVIDIA_TESLA_P100"},
        f"{MACHINE}.accelerator_type",
        "NVIDIA_TESLA_P100",
        "15 September 2026",
    ),
    "accelerator-both": case(
        job(pool(T4)),
        {f"{MACHINE}.accelerator_count": GONE},
        f"{MACHINE}.accelerator_count",
        "'NVIDIA_TESLA_T4'",
        "give both",
    ),
    "accelerator-negative": case(
        job(pool(T4)),
        {f"{MACHINE}.accelerator_count": -1},
        f"{MACHINE}.accelerator_count",
        "-1 accelerators",
        "1 or more",
    ),
    "accelerator-machine": case(
        job(pool(L4)),
        {f"{MACHINE}.accelerator_type": "NVIDIA_TESLA_T4"},
        f"{MACHINE}.accelerator_type",
        "NVIDIA_TESLA_T4 cannot be used on g2-standard-12",
        "1 x NVIDIA_L4",
    ),
    "accelerator-count": case(
        job(pool({**T4, "accelerator_count": 4})),
        {f"{MACHINE}.accelerator_count": 3},
        f"{MACHINE}.accelerator_count",
        "3 x NVIDIA_TESLA_T4",
        "set it to 4",
    ),
    "accelerator-needed": case(
        job(pool(L4)),
        {MACHINE: {"machine_type": "g2-standard-12"}},
        f"{MACHINE}.accelerator_type",
        "g2-standard-12",
        "1 x NVIDIA_L4",
    ),
    "tpu-topology": case(
        job(pool(TPU)), {f"{MACHINE}.tpu_topology": "3x3"}, f"{MACHINE}.tpu_topology", "'3x3'", "2x2, 2x4"
    ),
    "tpu-accelerator": case(
        job(pool(TPU)),
        {f"{MACHINE}.accelerator_count": 4},
        f"{MACHINE}.accelerator_count",
        "4 is not allowed with ct5lp-hightpu-4t",
        "leave accelerator_type",
    ),
    "gpu-partition": case(
        JOB,
        {f"{MACHINE}.gpu_partition_size": "1g.10gb"},
        f"{MACHINE}.gpu_partition_size",
        "'1g.10gb'",
        "leave it out",
    ),
    "disk-type": case(
        job(pool(disk_spec={"boot_disk_type": "pd-ssd"})),
        {f"{CHIEF}.disk_spec.boot_disk_type": "ssd"},
        f"{CHIEF}.disk_spec.boot_disk_type",
        "'ssd'",
        "pd-ssd",
    ),
    "disk-machine": case(
        job(pool(disk_spec={"boot_disk_type": "pd-ssd"})),
        {f"{CHIEF}.disk_spec.boot_disk_type": "hyperdisk-balanced"},
        f"{CHIEF}.disk_spec.boot_disk_type",
        "hyperdisk-balanced cannot be used on n1-standard-4",
        "pd-ssd or pd-standard",
    ),
    "disk-size": case(
        job(pool(disk_spec={"boot_disk_size_gb": 100})),
        {f"{CHIEF}.disk_spec.boot_disk_size_gb": 50},
        f"{CHIEF}.disk_spec.boot_disk_size_gb",
        "50 GB",
        "100 to 64000",
    ),
    # Reservations.
    "reservation-type": case(
        job(pool({**L4, "reservation_affinity": {"reservation_affinity_type": "ANY_RESERVATION"}})),
        {f"{AFFINITY}.reservation_affinity_type": "ANY"},
        f"{AFFINITY}.reservation_affinity_type",
        "'ANY'",
        "ANY_RESERVATION",
    ),
    "reservation-name": case(
        job(pool({**L4, "reservation_affinity": RESERVED})),
        {f"{AFFINITY}.values[0]": "r"},
        f"{AFFINITY}.values[0]",
        "'r'",
        "projects/PROJECT/zones/ZONE/reservations/NAME",
    ),
    "reservation-needed": case(
        job(pool(GB200)),
        {AFFINITY: GONE},
        AFFINITY,
        "a4x-highgpu-4g",
        "SPECIFIC_RESERVATION",
    ),
    "reservation-region": case(
        job(pool({**L4, "reservation_affinity": RESERVED}), options=US),
        {"options": EU},
        f"{AFFINITY}.values[0]",
        "'us-central1-a'",
        "europe-west4",
    ),
    # Regions.
    "region": case(
        job(options=US), {"options.location": "us-central1-a"}, "location", "'us-central1-a'", "its region"
    ),
    "region-accelerator": case(
        job(pool(A100), options=US),
        {"options.location": "europe-west1"},
        f"{MACHINE}.accelerator_type",
        "NVIDIA_TESLA_A100",
        "europe-west4",
    ),
    "one-zone": warning(
        job(pool(T4), pool(T4), options=US),
        {f"{WORKERS}.machine_spec": L4},
        POOLS,
        "NVIDIA_TESLA_T4 and NVIDIA_L4",
        "use one type",
    ),
    "bucket-region": case(
        {"bucket_location": "EUROPE-WEST4", "location": "europe-west4"},
        {"bucket_location": "US"},
        "staging_bucket",
        "'us'",
        "location='europe-west4'",
        find=of_bucket,
    ),
    # Reduction servers.
    "reduction-accelerators": case(
        REDUCTION,
        {f"{SERVERS}.machine_spec": T4},
        f"{SERVERS}.machine_spec.accelerator_type",
        "NVIDIA_TESLA_T4",
        "leave accelerator_type",
    ),
    "reduction-position": warning(
        job(pool(T4), pool(T4)),
        {f"{WORKERS}.container_spec.image_uri": jobs.REDUCTION_SERVER},
        f"{WORKERS}.container_spec.image_uri",
        "reduction server's image",
        "worker_pool_specs[2]",
    ),
    "reduction-workers": warning(REDUCTION, {WORKERS: {}}, WORKERS, "empty", "give the job workers"),
    "reduction-gpus": warning(
        REDUCTION,
        {MACHINE: N1},
        f"{MACHINE}.accelerator_type",
        "chief has no GPUs",
        "Give the machine GPUs",
    ),
    "reduction-trainers": warning(
        REDUCTION,
        {f"{TASK}.image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-1:latest"},
        f"{TASK}.image_uri",
        "tf-gpu.2-1",
        "TensorFlow 2.3",
    ),
    "reduction-bandwidth": warning(
        REDUCTION,
        {f"{SERVERS}.replica_count": 1},
        f"{SERVERS}.replica_count",
        "1 x n1-highcpu-16",
        "set it to 2",
    ),
    "reduction-machine": warning(
        REDUCTION,
        {f"{SERVERS}.machine_spec.machine_type": "n1-standard-4"},
        f"{SERVERS}.machine_spec.machine_type",
        "n1-standard-4",
        "n1-highcpu-16",
    ),
    "reduction-image": warning(
        {**REDUCTION, "options": US},
        {"options": EU},
        f"{SERVERS}.container_spec.image_uri",
        "image is in us",
        "europe-docker.pkg.dev",
    ),
    "auto-position": case(
        job(pool(T4), pool(T4, 2), servers("auto")),
        {f"{WORKERS}.replica_count": "auto"},
        f"{WORKERS}.replica_count",
        '"auto"',
        "give a number",
    ),
    "auto-image": case(
        job(pool(T4), pool(T4, 2), servers("auto")),
        {f"{SERVERS}.container_spec.image_uri": IMAGE},
        f"{SERVERS}.container_spec.image_uri",
        repr(IMAGE),
        "leave the task out",
    ),
    "auto-size": case(
        job(pool(T4), pool(T4, 2), servers("auto")),
        {f"{SERVERS}.machine_spec.machine_type": "cloud-tpu"},
        f"{SERVERS}.replica_count",
        "'cloud-tpu'",
        "use n1-highcpu-16",
    ),
    # Frameworks.
    "framework-unknown": case(
        job(options={"framework": "pytorch"}),
        {"options.framework": "pytorsh"},
        "framework",
        "'pytorsh'",
        "did you mean pytorch",
    ),
    "equal-accelerators": warning(
        job(pool(T4), pool(T4)),
        {f"{WORKERS}.machine_spec.accelerator_count": 2},
        f"{WORKERS}.machine_spec.accelerator_count",
        "2 x NVIDIA_TESLA_T4",
        "the same kind and number",
    ),
    "parameter-servers-needed": case(
        job(pool(), pool(), pool(), options={"framework": "ParameterServerStrategy"}),
        {SERVERS: {}},
        SERVERS,
        "ParameterServerStrategy",
        "give it replicas",
    ),
    "workers-needed": case(
        job(pool(), pool(), pool(), options={"framework": "ParameterServerStrategy"}),
        {WORKERS: {}},
        WORKERS,
        "ParameterServerStrategy",
        "give it replicas",
    ),
    "tpu-needed": case(
        job(pool(TPU), options={"framework": "TPUStrategy"}),
        {MACHINE: N1},
        f"{MACHINE}.machine_type",
        "n1-standard-4 is no TPU",
        "use a TPU machine",
    ),
    "parameter-servers-unused": case(
        job(pool(), pool(), options={"framework": "MultiWorkerMirroredStrategy"}),
        {SERVERS: pool()},
        f"{SERVERS}.replica_count",
        "1 parameter server,",
        "leave the pool out",
    ),
    "reduction-servers-unused": case(
        job(pool(T4), pool(T4), pool(), options={"framework": "ParameterServerStrategy"}),
        {SERVERS: servers()},
        f"{SERVERS}.replica_count",
        "2 reduction servers",
        "make them parameter servers",
    ),
    "evaluators-unused": case(
        job(pool(), pool(), {}, pool(), options={"framework": "MultiWorkerMirroredStrategy"}),
        {f"{EVALUATORS}.replica_count": 2},
        f"{EVALUATORS}.replica_count",
        "2 evaluators",
        "set it to 1",
    ),
    "one-machine": case(
        job(options={"framework": "MirroredStrategy"}),
        {WORKERS: pool(N1, 2)},
        f"{WORKERS}.replica_count",
        "2 workers",
        "MultiWorkerMirroredStrategy",
    ),
    # The job.
    "display-name": case(NAMED, {"display_name": ""}, "display_name", "0 characters", "1 to 128"),
    "service-account": case(
        NAMED, {"service_account": "me@example.com"}, "service_account", "'me@example.com'", "NAME@PROJECT"
    ),
    "output-directory": case(
        NAMED,
        {"base_output_directory": "/tmp/out"},
        "base_output_directory",
        "'/tmp/out'",
        "gs://BUCKET/PREFIX",
    ),
    "directory-variable": warning(
        {**JOB, "base_output_directory": "gs://bucket/out"},
        {f"{TASK}.env": [{"name": "AIP_MODEL_DIR", "value": "gs://bucket/mine"}]},
        f"{TASK}.env[0].name",
        "AIP_MODEL_DIR",
        "leave it out",
    ),
    "tensorboard-name": case(RECORDED, {"tensorboard": "mine"}, "tensorboard", "'mine'", "tensorboards/ID"),
    "tensorboard-needs": case(
        RECORDED,
        {"service_account": GONE},
        "service_account",
        "required with tensorboard",
        "name the service account",
    ),
    "resource-region": warning(
        {
            **JOB,
            "psc_interface_config": {
                "network_attachment": "projects/p/regions/us-east1/networkAttachments/a"
            },
            "options": {"location": "us-east1"},
        },
        {"options.location": "us-central1"},
        "psc_interface_config.network_attachment",
        "us-east1",
        "one of the job's region",
    ),
    "experiment-alone": case(
        RECORDED, {"experiment": "e"}, "experiment", "combined with tensorboard", "leave one out"
    ),
    "experiment-needs": case(
        {**JOB, "service_account": ACCOUNT, "experiment": "e", "experiment_run": "r"},
        {"experiment": GONE},
        "experiment",
        "required with experiment_run",
        "name the experiment",
    ),
    "kms-key": case(
        {**job(options=US), "encryption_spec": {"kms_key_name": KEY}},
        {"options": EU},
        "encryption_spec.kms_key_name",
        "in us-central1",
        "job's region",
    ),
    "persistent-resource-id": case(
        {**JOB, "persistent_resource_id": "gpus"},
        {"persistent_resource_id": "projects/p/locations/us-central1/persistentResources/gpus"},
        "persistent_resource_id",
        "'projects/p/",
        "the id alone, gpus.",
    ),
    "protected-artifact-location": warning(
        {**job(options=US), "protected_artifact_location_id": "us-east1"},
        {"protected_artifact_location_id": "us-central1"},
        "protected_artifact_location_id",
        "us-central1",
        "leave it out",
    ),
    "labels": case(NAMED, {"labels": {"team": "A B"}}, "labels.team", "'A B'", "for example a_b"),
    # Scheduling.
    "duration": case(
        job(scheduling={"timeout": "3600s"}),
        {"scheduling.timeout": "1h"},
        "scheduling.timeout",
        "'1h'",
        "3600s",
    ),
    "strategy": case(
        job(scheduling={"strategy": "SPOT"}), {STRATEGY: "SPOTT"}, STRATEGY, "'SPOTT'", "did you mean SPOT"
    ),
    "strategy-renamed": warning(
        job(scheduling={"strategy": "SPOT"}), {STRATEGY: "LOW_COST"}, STRATEGY, "LOW_COST", "write SPOT"
    ),
    "restart-without-retries": warning(
        job(scheduling={"restart_job_on_worker_restart": True}),
        {"scheduling.disable_retries": True},
        "scheduling.restart_job_on_worker_restart",
        "disable_retries",
        "leave one of the two out",
    ),
    "wait-only-flex-start": case(
        FLEX, {STRATEGY: "SPOT"}, "scheduling.max_wait_duration", "60s", "leave it out"
    ),
    "flex-start-one-machine": case(
        FLEX,
        {f"{WORKERS}.machine_spec.machine_type": "g2-standard-8"},
        f"{WORKERS}.machine_spec",
        "g2-standard-8",
        "g2-standard-12",
    ),
    "flex-start-accelerator": case(
        job(pool(L4), scheduling={"strategy": "FLEX_START"}),
        {MACHINE: T4},
        f"{MACHINE}.accelerator_type",
        "NVIDIA_TESLA_T4",
        "NVIDIA_L4",
    ),
    "flex-start-timeout": case(
        FLEX, {"scheduling.timeout": "604801s"}, "scheduling.timeout", "604801s", "at most 604800s"
    ),
    "scarce-machine": warning(
        job(pool(B200), scheduling={"strategy": "SPOT"}),
        {STRATEGY: "STANDARD"},
        f"{MACHINE}.machine_type",
        "a4-highgpu-8g",
        "reservation_affinity",
    ),
    "spot-tpu-pod": case(
        job(pool(TPU), scheduling={"strategy": "SPOT"}),
        {f"{MACHINE}.tpu_topology": "4x4"},
        f"{MACHINE}.tpu_topology",
        "4x4",
        "STANDARD",
    ),
    # Capacity.
    "capacity-rungs-differ": case(
        LADDER, {"capacity[1].strategy": "SPOT"}, "capacity[1]", "capacity[0]", "leave one", find=of_ladder
    ),
    "capacity-wait": case(
        LADDER, {"capacity[0].wait_for": "30min"}, "capacity[0].wait_for", "'30min'", "3600s", find=of_ladder
    ),
    "capacity-wait-timeout": warning(
        LADDER,
        {"scheduling": {"timeout": "600s"}},
        "capacity[0].wait_for",
        "1800s is longer",
        "600s",
        find=of_ladder,
    ),
    "capacity-location": case(
        {**LADDER, "staging_bucket": "staging"},
        {"capacity[1].location": "europe-west4"},
        "capacity[1].staging_bucket",
        "europe-west4",
        "Give the rung its own",
        find=of_ladder,
    ),
    "capacity-image-region": warning(
        job(
            pool(L4, container_spec={"image_uri": "us-central1-docker.pkg.dev/p/r/i:1"}),
            capacity=[{}, SPOT_RUNG],
        ),
        {"capacity[1].location": "europe-west4"},
        "capacity[1].location",
        "us-central1",
        "Push it",
        find=of_ladder,
    ),
    "capacity-limit": case(LADDER, {"capacity_limit": -1}, "capacity_limit", "-1", "give 0", find=of_ladder),
    "capacity-persistent-resource": case(
        LADDER, {"persistent_resource_id": "pool"}, "capacity", "pool", "Leave one", find=of_ladder
    ),
    # Network and mounts.
    "network": case(
        job(network=NETWORK),
        {"network": "projects/my-project/global/networks/n"},
        "network",
        "'projects/my-project/global/networks/n'",
        "write its number",
    ),
    "reserved-ip-ranges": case(
        job(network=NETWORK, reserved_ip_ranges=["r"]),
        {"network": GONE},
        "reserved_ip_ranges",
        "need a network",
        "give network",
    ),
    "network-attachment": case(
        PSC,
        {"psc_interface_config.network_attachment": "a"},
        "psc_interface_config.network_attachment",
        "'a'",
        "projects/PROJECT/regions/REGION",
    ),
    "dns-domain": case(
        PSC,
        {f"{PEERING}.domain": "corp.internal"},
        f"{PEERING}.domain",
        "'corp.internal'",
        "'corp.internal.'",
    ),
    "network-accelerator": warning(
        job(pool(B200), psc_interface_config={"network_attachment": ATTACHMENT}),
        {"network": NETWORK},
        "network",
        "NVIDIA_B200",
        "give psc_interface_config",
    ),
    "mount-point": case(
        SHARE, {f"{MOUNT}.mount_point": "/mnt/data"}, f"{MOUNT}.mount_point", "'/mnt/data'", "without slashes"
    ),
    "mount-source": case(SHARE, {f"{MOUNT}.server": ""}, f"{MOUNT}.server", "is empty", "name the share"),
    "nfs-path": case(SHARE, {f"{MOUNT}.path": "share"}, f"{MOUNT}.path", "'share'", "'/share'"),
    "mount-network": case(SHARE, {"network": GONE}, MOUNT, "is not connected", "give network"),
    # Persistent resources.
    "resource-pool-machine": case(
        SHARED,
        {f"{MACHINE}.machine_type": "n1-standard-8"},
        MACHINE,
        "n1-standard-8",
        "4 x n1-standard-4",
        find=of_persistent_resource,
    ),
    "resource-pool-size": case(
        {**SHARED, **job(pool(), pool(N1, 3))},
        {f"{WORKERS}.replica_count": 4},
        f"{WORKERS}.replica_count",
        "needs 5",
        "at most 4",
        find=of_persistent_resource,
    ),
    "persistent-resource-network": case(
        SHARED,
        {"network": GONE},
        "network",
        "missing",
        f"Give the network {NETWORK}",
        find=of_persistent_resource,
    ),
    "persistent-resource-key": case(
        SHARED,
        {"encryption_spec.kms_key_name": f"{KEY}2"},
        "encryption_spec.kms_key_name",
        "cryptoKeys",
        f"Give the key {KEY}",
        find=of_persistent_resource,
    ),
    "persistent-resource-service-account": case(
        job(service_account=ACCOUNT),
        {"service_account": GONE},
        "service_account",
        "missing",
        "Give its e-mail address",
        find=of_job_on_guarded_resource,
    ),
    "persistent-resource-trials": warning(
        json.loads(json.dumps(encode(tuning_job()))),
        {"parallel_trial_count": 3, "trial_job_spec.worker_pool_specs[0].replica_count": 2},
        "parallel_trial_count",
        "3 trials in parallel",
        "run only 2",
        "enlarge the resource's pools",
        find=of_tuning_job_on_resource,
    ),
    # Persistent resources.
    "resource-pools": resource_case(
        {"resource_pools": []}, "resource_pools", "is empty", "declare a pool with machine_spec"
    ),
    "resource-pool-id": resource_case(
        {"resource_pools[1].id": "head"},
        "resource_pools[1].id",
        "'head' is the id of resource_pools[0]",
        "give each its own",
    ),
    "resource-pool-replicas": resource_case(
        {"resource_pools[0].replica_count": 0},
        "resource_pools[0].replica_count",
        "missing or 0",
        "1 or more",
    ),
    "resource-pool-autoscaling": resource_case(
        {"resource_pools[1].autoscaling_spec.max_replica_count": 1},
        "resource_pools[1].autoscaling_spec.max_replica_count",
        "1 is not above min_replica_count, 1",
        "a larger number",
    ),
    "resource-id": resource_case(
        {"id": "GPU pool"}, "persistent_resource_id", "'GPU pool'", "for example gpu-pool"
    ),
    "resource-display-name": resource_case(
        {"display_name": "x" * 129}, "display_name", "129 characters", "Shorten it"
    ),
    "resource-kms-key": resource_case(
        {"options.location": "us-east1"},
        "encryption_spec.kms_key_name",
        "in us-central1, but the persistent resource is in us-east1",
        "Use a key in us-east1",
    ),
    "runtime-account": resource_case(
        {f"{RUNTIME}.service_account_spec.enable_custom_service_account": False},
        f"{RUNTIME}.service_account_spec.service_account",
        ACCOUNT,
        "Set enable_custom_service_account",
    ),
    "ray-image": resource_case(
        {f"{RUNTIME}.ray_spec.resource_pool_images": {"head": IMAGE}},
        f"{RUNTIME}.ray_spec.resource_pool_images",
        "no image for resource_pools[1]",
        "Give each pool an id",
    ),
    "ray-head": resource_case(
        {f"{RUNTIME}.ray_spec.head_node_resource_pool_id": "haed"},
        f"{RUNTIME}.ray_spec.head_node_resource_pool_id",
        "'haed'",
        "did you mean head",
    ),
    # Documents and roles.
    "document-form": case(JOB, {"chief": N1}, "", "roles (chief)", "keep one form"),
    "role-twice": case(ROLES, {"workers": N1}, "workers", "together with worker", "keep one"),
    "role-field-twice": case(
        ROLES,
        {"worker.machine_spec": N1},
        "worker.machine_type",
        "together with machine_spec",
        "write it in machine_spec",
    ),
    "auto-only-reduction-servers": case(
        {**ROLES, "parameter_server": {"replica_count": 1}},
        {"parameter_server.replica_count": "auto"},
        "parameter_server.replica_count",
        '"auto"',
        "declare reduction_servers",
    ),
    "reduction-server-image": warning(
        {"chief": T4, "worker": {"replica_count": 2, **T4}, "reduction_servers": {"replica_count": 2}},
        {"reduction_servers.container_spec": {"image_uri": IMAGE}},
        "reduction_servers.container_spec.image_uri",
        repr(IMAGE),
        "leave the task out",
    ),
    # Legacy AI Platform.
    "legacy-scale-tier": case(
        TIERED, {f"{INPUT}.scale_tier": "BASIC_CPU"}, f"{INPUT}.scale_tier", "'BASIC_CPU'", "BASIC_GPU"
    ),
    "legacy-only-custom": case(
        TIERED,
        {f"{INPUT}.worker_count": 2},
        f"{INPUT}.worker_count",
        "2 does not",
        "masterType and workerType",
    ),
    "legacy-means-custom": warning(
        LEGACY, {f"{INPUT}.scale_tier": GONE}, f"{INPUT}.scale_tier", "masterType", "Write CUSTOM"
    ),
    "legacy-master-type": case(
        LEGACY, {f"{INPUT}.master_type": GONE}, f"{INPUT}.master_type", "scaleTier CUSTOM", "n1-standard-4"
    ),
    "legacy-type-for-count": case(
        LEGACY, {f"{INPUT}.worker_type": GONE}, f"{INPUT}.worker_type", "workerCount is 2", "machine type"
    ),
    "legacy-no-replicas": warning(
        LEGACY, {f"{INPUT}.worker_count": 0}, f"{INPUT}.worker_type", "workerCount is 0", "give the count"
    ),
    "legacy-own-accelerators": case(
        with_input(LEGACY, master_config={**MASTER, "accelerator_config": ONE_T4}),
        {f"{INPUT}.master_type": "standard_v100"},
        f"{INPUT}.master_config.accelerator_config",
        "standard_v100",
        "leave it out",
    ),
    "legacy-machine-name": case(
        LEGACY,
        {f"{INPUT}.worker_type": "complex_model"},
        f"{INPUT}.worker_type",
        "'complex_model'",
        "did you",
    ),
    "legacy-master-image": case(
        with_input(LEGACY, worker_config={"image_uri": IMAGE}),
        {f"{INPUT}.master_config": GONE},
        f"{INPUT}.master_config.image_uri",
        "workerConfig",
        "needs an image",
    ),
    "legacy-image-or-package": case(
        LEGACY,
        {f"{INPUT}.python_module": "a.b"},
        f"{INPUT}.python_module",
        "masterConfig.imageUri",
        "Keep one",
    ),
    "legacy-package-parts": case(
        PACKED, {f"{INPUT}.runtime_version": GONE}, f"{INPUT}.runtime_version", "missing", "'2.11'"
    ),
    "legacy-args-twice": case(
        with_input(LEGACY, args=["--epochs=20"]),
        {f"{INPUT}.master_config.container_args": ["--epochs=30"]},
        f"{INPUT}.args",
        "together with masterConfig.containerArgs",
        "masterConfig.containerArgs and workerConfig.containerArgs",
    ),
    "legacy-command-without-image": case(
        PACKED,
        {f"{INPUT}.master_config": {"container_command": ["sh"]}},
        f"{INPUT}.master_config.container_command",
        "without a container image",
        "masterConfig.imageUri",
    ),
    "legacy-tier-machines": warning(
        LEGACY_ALONE,
        {f"{INPUT}.scale_tier": "BASIC", f"{INPUT}.master_type": GONE},
        f"{INPUT}.scale_tier",
        "BASIC becomes chief 1 x n1-standard-4",
        "write CUSTOM with masterType",
    ),
    "legacy-machine": warning(
        LEGACY, {f"{INPUT}.worker_type": "large_model"}, f"{INPUT}.worker_type", "large_model", "n1-highmem-8"
    ),
    "legacy-tpu": warning(
        LEGACY,
        {f"{INPUT}.worker_type": "cloud_tpu", f"{INPUT}.worker_count": 1},
        f"{INPUT}.worker_type",
        "the machine of the chief",
        "Check how",
    ),
    "legacy-command-not-inherited": warning(
        LEGACY,
        {f"{INPUT}.master_config.container_command": ["train"]},
        f"{INPUT}.worker_config",
        "containerCommand",
        "Repeat",
    ),
    "legacy-no-task": warning(
        LEGACY,
        {f"{INPUT}.master_config": GONE},
        INPUT,
        "has no task",
        "give masterConfig.imageUri",
    ),
    "legacy-runtime-image": warning(
        LEGACY,
        {
            f"{INPUT}.master_config": GONE,
            **{f"{INPUT}.{name}": value for name, value in LEGACY_PACKAGE.items()},
        },
        f"{INPUT}.runtime_version",
        "tf-cpu.2-11",
        "pythonPackageSpec",
    ),
    "legacy-runtime-version": case(
        PACKED,
        {f"{INPUT}.runtime_version": "2.12"},
        f"{INPUT}.runtime_version",
        "'2.12'",
        "the last one was 2.11: use that",
    ),
    "legacy-python-version": case(
        PACKED, {f"{INPUT}.python_version": "2.7"}, f"{INPUT}.python_version", "2.7", "Python 3.7"
    ),
    "legacy-job-dir": warning(
        LEGACY,
        {f"{INPUT}.job_dir": "gs://staging/out"},
        f"{INPUT}.job_dir",
        "gs://staging/out",
        "AIP_MODEL_DIR",
    ),
    "legacy-max-wait-time": warning(
        LEGACY,
        {f"{INPUT}.scheduling": {"max_wait_time": "3600s"}},
        f"{INPUT}.scheduling.max_wait_time",
        "left out",
        "FLEX_START",
    ),
    "legacy-priority": warning(
        LEGACY, {f"{INPUT}.scheduling": {"priority": 5}}, f"{INPUT}.scheduling.priority", "left out"
    ),
    "legacy-tpu-tf-version": warning(
        LEGACY,
        {f"{INPUT}.worker_config": {"tpu_tf_version": "2.11"}},
        f"{INPUT}.worker_config.tpu_tf_version",
        "left out",
        "use an image",
    ),
    "legacy-chief-in-tf-config": warning(
        LEGACY_ALONE,
        {f"{INPUT}.use_chief_in_tf_config": True},
        f"{INPUT}.use_chief_in_tf_config",
        "left out",
        "always uses chief",
    ),
    "legacy-hyperparameters": warning(
        LEGACY, {f"{INPUT}.hyperparameters": {"maxTrials": 5}}, f"{INPUT}.hyperparameters", "trial_job_spec"
    ),
    # The command gcloud ai-platform.
    "gcloud-flag": case(COMMAND, words("--worker-cont=2"), "gcloud", "--worker-cont", "--worker-count"),
    "gcloud-value": case(
        COMMAND, words("--labels=team"), "gcloud.--labels", "'team' has no =", "write NAME=VALUE"
    ),
    "gcloud-command": case(COMMAND, words("again"), "gcloud", "'again'", "after --"),
    "gcloud-config": case(COMMAND, words("--config=job.yaml"), "gcloud.--config", "put its trainingInput"),
    "gcloud-local-package": warning(
        PACKED_COMMAND,
        {"gcloud[6]": "--packages=trainer.tar.gz"},
        "gcloud.--packages",
        "'trainer.tar.gz'",
        "gs:// address",
    ),
    "gcloud-kms-key": case(COMMAND, words("--kms-key=mine"), "gcloud.--kms-key", "'mine'", "cryptoKeys/KEY"),
    # The command gcloud ai custom-jobs create.
    "custom-jobs-flag": case(
        CREATION, creation_words("--lables=a=b"), "gcloud", "'--lables'", "did you mean --labels"
    ),
    "custom-jobs-pool": case(
        CREATION,
        creation_words("--worker-pool-spec=machine-type=n1-standard-4,replica-count=2"),
        "gcloud.--worker-pool-spec[1]",
        "has no image to run",
        "give container-image-uri",
    ),
    "custom-jobs-local-package": warning(
        CREATION,
        creation_words(
            "--worker-pool-spec=machine-type=n1-standard-4,executor-image-uri=gcr.io/a/b,"
            "local-package-path=src,python-module=trainer.task"
        ),
        "gcloud.--worker-pool-spec[1]",
        "gcloud builds the image",
        "TrainingImage",
    ),
    # Schedules.
    "schedule-cron": schedule_case({"schedule": "0 25 * * *"}, "schedule", "'25' is not an hour", "0 to 23"),
    "schedule-time-zone": schedule_case(
        {"time_zone": "Europe/Berlni"}, "time_zone", "'Europe/Berlni'", "did you mean Europe/Berlin"
    ),
    "schedule-id": schedule_case({"schedule_id": "a b"}, "schedule_id", "'a b'", "hyphens and underscores"),
    "schedule-service-account": schedule_case(
        {"service_account": GONE}, "service_account", "is not given", "roles/aiplatform.user"
    ),
    "schedule-retries": schedule_case(
        {"retry_config.retry_count": 6}, "retry_config.retry_count", "6 retries", "set 0 to 5"
    ),
    "schedule-deadline": schedule_case(
        {"attempt_deadline": "10s"}, "attempt_deadline", "10s is not between 15s and 1800s"
    ),
    "schedule-overlap": schedule_case(
        {"overlap": "skip"}, "overlap", "'skip' is not possible", "a timeout below the time between two runs"
    ),
    "schedule-fixed-directory": schedule_case(
        {"request": {"jobSpec": {"baseOutputDirectory": {"outputUriPrefix": "gs://b/x/"}}}},
        "job",
        "overwrites the files",
        "RUN_ID=$(CLOUD_ML_JOB_ID)",
        level="warning",
    ),
    # Repositories for images.
    "repository-name": repository_case(
        {"repository_id": "My_Trainers"},
        "repository_id",
        "'My_Trainers'",
        "1 to 63",
        "for example my-trainers",
    ),
    "repository-location": repository_case(
        {"location": "uscentral1"}, "location", "'uscentral1'", "did you mean us-central1"
    ),
    "repository-format": repository_case({"format": "PYTHON"}, "format", "PYTHON", "holds no images"),
    "repository-mode": repository_case(
        {"mode": "REMOTE_REPOSITORY"}, "mode", "REMOTE_REPOSITORY", "accepts no pushes", "pulumi_gcp"
    ),
    "repository-kms-key": repository_case(
        {"kms_key_name": "projects/p/locations/us-east1/keyRings/r/cryptoKeys/k"},
        "kms_key_name",
        "in us-east1, but the repository is in us-central1",
        "Use a key in us-central1",
    ),
    "cleanup-policies": repository_case(
        {POLICIES: [{**DELETE_OLD, "id": f"p{i}"} for i in range(11)]}, POLICIES, "11 policies", "at most 10"
    ),
    "cleanup-policy-id": repository_case(
        {f"{POLICIES}[0].id": ""}, f"{POLICIES}[0].id", "'' is not an id", "Give the policy an id"
    ),
    "cleanup-policy-choice": repository_case(
        {f"{POLICIES}[1].condition": {"older_than": "1d"}},
        f"{POLICIES}[1]",
        "both",
        "Split it into two policies",
    ),
    "cleanup-most-recent": repository_case(
        {f"{POLICIES}[1].action": "DELETE"}, f"{POLICIES}[1].most_recent_versions", "DELETE", "with KEEP"
    ),
    "cleanup-keep-count": repository_case(
        {f"{POLICIES}[1].most_recent_versions.keep_count": 0},
        f"{POLICIES}[1].most_recent_versions.keep_count",
        "0 versions",
        "at least 1",
    ),
    "cleanup-age": repository_case(
        {f"{POLICIES}[0].condition.older_than": "a month"},
        f"{POLICIES}[0].condition.older_than",
        "'a month' is not a duration",
        "30d",
    ),
    "cleanup-tag-prefixes": repository_case(
        {f"{POLICIES}[0].condition": {"tag_prefixes": ["dev"], "tag_state": "UNTAGGED"}},
        f"{POLICIES}[0].condition.tag_prefixes",
        "UNTAGGED",
        "Use TAGGED",
    ),
    "cleanup-everything": repository_case(
        {f"{POLICIES}[0].condition": GONE},
        f"{POLICIES}[0]",
        "deletes every image",
        "older_than",
        level="warning",
    ),
    "cleanup-only-keeps": repository_case(
        {f"{POLICIES}[0].action": "KEEP"},
        POLICIES,
        "none with DELETE",
        "Add one with DELETE",
        level="warning",
    ),
    # Training images.
    "training-image-name": image_case({"name": "Digits"}, "name", "'Digits'", "for example digits"),
    "training-image-repository": image_case(
        {"repository": "us-central1-docker.pkg.dev/p"},
        "repository",
        "names no repository",
        "us-central1-docker.pkg.dev/PROJECT/NAME",
    ),
    "training-image-tags": image_case({"tags[1]": "v 1"}, "tags[1]", "'v 1' cannot be a tag", "1 to 128"),
    "training-image-build-bucket": image_case(
        {"builder": "cloud_build"}, "build_bucket", "is missing", "Cloud Build needs a bucket for the source"
    ),
}
HYPERPARAMETERS = f"{INPUT}.hyperparameters"
TUNED: Document = {
    "hyperparameters": {
        "goal": "MAXIMIZE",
        "hyperparameterMetricTag": "accuracy",
        "maxTrials": 4,
        "params": [{"parameterName": "rate", "type": "DOUBLE", "minValue": 0.1, "maxValue": 0.9}],
    }
}


def tuned(wrong: Mapping[str, object], path: str, *words: str, **other: Any) -> RuleCase:
    return case(TUNED, wrong, path, *words, find=of_tuning_of_ai_platform, **other)


CASES |= {
    "legacy-tuning": tuned(
        {"hyperparameters": GONE}, HYPERPARAMETERS, "are missing", "vt.from_training_input(document)"
    ),
    "legacy-parameter-type": tuned(
        {"hyperparameters.params[0].type": "DUOBLE"},
        f"{HYPERPARAMETERS}.params[0].type",
        "'DUOBLE'",
        "did you mean DOUBLE?",
    ),
    "legacy-parameter-bounds": tuned(
        {"hyperparameters.params[0].maxValue": GONE},
        f"{HYPERPARAMETERS}.params[0].max_value",
        "is missing",
        "DOUBLE has minValue and maxValue",
    ),
    "legacy-metric-tag": tuned(
        {"hyperparameters.hyperparameterMetricTag": GONE},
        f"{HYPERPARAMETERS}.hyperparameter_metric_tag",
        "training/hptuning/metric",
        "hypertune.HyperTune()",
        level="warning",
    ),
    "legacy-resumed-tuning": tuned(
        {"hyperparameters.resumePreviousJobId": "digits_1"},
        f"{HYPERPARAMETERS}.resume_previous_job_id",
        "digits_1 is left out",
        level="warning",
    ),
    "legacy-early-stopping": tuned(
        {"hyperparameters.enableTrialEarlyStopping": True},
        f"{HYPERPARAMETERS}.enable_trial_early_stopping",
        "median_automated_stopping_spec",
        level="warning",
    ),
}
CASES |= {name: replace(one, find=of_bucket_settings) for name, one in bucket_rules.CASES.items()}
CASES |= {name: replace(one, find=of_tuning_job) for name, one in tuning_rules.CASES.items()}
CASES |= pipeline_rules.CASES
CASES = {name: replace(one, find=one.find or of_document) for name, one in CASES.items()}


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(rule_index.RULES)


@pytest.mark.parametrize("name", CASES)
def test_a_rule(name: str) -> None:
    """Check that breaking the rule is reported in well-formed sentences, and a valid document is not."""
    case = CASES[name]
    document = changed(case.right, case.wrong)
    (problem,) = (each for each in case.find(document) if each.rule == name)
    assert (problem.path, problem.level) == (case.path, case.level)
    for word in case.words:
        assert word in problem.message
    check_that_it_is_well_formed(problem.message)
    check_that_the_package_spells_it(problem.message)
    if shows_a_value(name):
        check_that_it_can_be_masked(problem.message, case, document)

    kept = list(case.find(case.right))
    assert [each for each in kept if each.rule == name] == []
    assert errors(kept) == ()

    source = rule_index.RULES[name].source
    assert not source.startswith("ours") or re.match(r"ours: \S+ \S+", source)


def check_that_it_is_well_formed(message: str) -> None:
    """Check for one or two sentences that are punctuated once."""
    assert len(re.findall(r"[.?] [A-Z]", message)) <= 1
    assert "  " not in message
    assert not re.search(r"\.$|[?.;:,][?.;:,]", message.replace("...", ""))


def check_that_the_package_spells_it(message: str) -> None:
    """Check that a program in another language sees no input in snake case, and the same values."""
    quoted, shown = re.compile(r"""(?<!\w)'[^']*'(?!\w)|"[^"]*\""""), in_package(message)
    assert quoted.findall(shown) == quoted.findall(re.sub(r"""\w=(\{.*?\}|".*?"|'.*?')""", "", message))
    bare = quoted.sub("", shown)
    assert not known_names()[0].keys() & set(re.findall(r"(?<![\w./-])[a-z]+(?:_[a-z0-9]+)+", bare))
    assert not re.search(r"\b(True|False)\b|[a-z]=\w", bare)


def texts_in(value: object) -> list[str]:
    """Return the texts and numbers in a value, as a message may show them."""
    if isinstance(value, (dict, list)):
        return [
            text for item in (value.values() if isinstance(value, dict) else value) for text in texts_in(item)
        ]
    return [] if value in (GONE, None, "") or isinstance(value, bool) else [str(value)]


def shows_a_value(name: str) -> bool:
    """Return whether the message of a rule may show a value of the document."""
    return any(map(texts_in, CASES[name].wrong.values())) and not name.startswith("gcloud-")


def test_most_rules_may_show_a_value() -> None:
    assert sum(map(shows_a_value, CASES)) >= 235


def check_that_it_can_be_masked(message: str, case: RuleCase, document: Document) -> None:
    """Check that a message shows no part of a secret value, and keeps the rest, and with it the remedy."""
    paths = [path for path, value in case.wrong.items() if texts_in(value)]
    secrets = secret_masking.Secrets()
    with secrets.of_call([{**document, secret_masking.KEY: paths}]):
        shown = secrets.masked(message)
    texts = [text for path in paths for text in texts_in(case.wrong[path])]
    for text in texts:
        assert not re.search(rf"(?<![\w./\[-]){re.escape(text)}(?![\w/-]|\.\w)", shown)
    # What of the message has nothing to do with the value stays.
    chunks = {chunk.casefold() for text in texts for chunk in re.findall(r"[A-Za-z0-9]+", text)}
    parts = {word: set(re.findall(r"[a-z0-9]+", word.casefold())) for word in message.split()}
    rest = [word for word, of_word in parts.items() if of_word and not chunks & of_word]
    assert [word for word in rest if word not in shown.split()] == []


def test_two_rules_of_one_name_are_refused() -> None:
    rule = next(iter(rule_index.RULES.values()))
    with pytest.raises(ValueError, match=f"two rules have the name '{rule.name}'"):
        rule_index.by_name([rule, replace(rule, says="something else")])


def test_the_source_of_a_rule() -> None:
    assert rule_index.source_of("chief-replicas") == 'Vertex AI documentation, "Distributed training"'
    assert rule_index.source_of("no-rule") == ""


def gpus(machine_type: str, kind: str | None = None, count: int = 0) -> Document:
    return {"machine_type": machine_type, "accelerator_type": kind, "accelerator_count": count}


K80, T4_NAME = "NVIDIA_TESLA_K80", "NVIDIA_TESLA_T4"
H200 = gpus("a3-ultragpu-8g", "NVIDIA_H200_141GB", 8)


@pytest.mark.parametrize(
    ("document", "rule", "remedy"),
    [
        pytest.param(job(pool(N1, -1)), "replicas-negative", "give 1, as", id="a chief of -1"),
        pytest.param(job(pool(TPU, 2)), "chief-replicas", "choose a larger TPU", id="two TPU chiefs"),
        pytest.param(job({}, pool(TPU)), "tpu-alone", "not in the first pool", id="a TPU as worker"),
        pytest.param(
            job(pool(gpus("n1-standard-8", K80, 8))), "accelerator-retired", "T4 (1, 2 or 4)", id="8 K80"
        ),
        pytest.param(
            job(pool(gpus("g2-standard-12", K80, 1))), "accelerator-retired", "1 x NVIDIA_L4", id="K80 on G2"
        ),
        pytest.param(
            job(pool(gpus("e2-standard-4", K80, 1))), "accelerator-retired", "Leave it out", id="K80 on E2"
        ),
        pytest.param(
            job(pool(gpus("g2-standard-12", None, 1))), "accelerator-both", "1 x NVIDIA_L4", id="count on G2"
        ),
        pytest.param(
            job(pool(gpus("e2-standard-4", None, 1))),
            "accelerator-both",
            "leave out accelerator_type",
            id="count on E2",
        ),
        pytest.param(
            job(pool(gpus("n1-standard-8", None, 1))), "accelerator-both", "or none", id="count on N1"
        ),
        pytest.param(
            job(pool({"machine_type": "a9-highgpu-8g"})), "machine-type", "allow_unknown_types", id="machine"
        ),
        pytest.param(
            job(pool(gpus("n1-standard-8", "NVIDIA_X", 1))),
            "accelerator-type",
            "allow_unknown_types",
            id="accelerator",
        ),
        pytest.param(
            job(options={"location": "mars-east1"}), "region", "allow_unknown_types", id="a new region"
        ),
        pytest.param(
            job(pool(T4), pool(T4), servers(), options={"framework": "ParameterServerStrategy"}),
            "reduction-servers-unused",
            "parameter servers with your own image",
            id="reduction servers where parameter servers are needed",
        ),
        pytest.param(
            job(pool(L4), pool(L4), servers(), scheduling={"strategy": "FLEX_START"}),
            "flex-start-one-machine",
            "so it cannot have reduction servers",
            id="reduction servers with FLEX_START",
        ),
        pytest.param(
            job(pool(TPU), scheduling={"strategy": "FLEX_START"}),
            "flex-start-accelerator",
            "ct5lp-hightpu-4t without a GPU",
            id="a TPU with FLEX_START",
        ),
    ],
)
def test_the_remedy_is_one_for_this_document(document: Document, rule: str, remedy: str) -> None:
    (message,) = (problem.message for problem in of_document(document) if problem.rule == rule)
    assert remedy in message


def test_a_switch_that_is_set_is_not_the_remedy() -> None:
    new = job(pool({"machine_type": "a9-highgpu-8g"}), options={"allow_unknown_types": True, **US})
    (problem,) = of_document(new)
    assert (problem.rule, problem.level) == ("machine-type", "warning")
    assert "allow_unknown_types" not in problem.message


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(
            job(pool(B200), scheduling={"strategy": "FLEX_START"}), id="a scarce machine, FLEX_START"
        ),
        pytest.param(
            job(pool(B200), scheduling={"strategy": "LOW_COST"}), id="a scarce machine, old name of SPOT"
        ),
        pytest.param(
            job(pool({**H200, "reservation_affinity": {"reservation_affinity_type": "ANY_RESERVATION"}})),
            id="a scarce machine from a reservation",
        ),
        pytest.param(
            job(pool({**H200, "reservation_affinity": {"reservation_affinity_type": "NO_RESERVATION"}})),
            id="a scarce machine without a reservation, on purpose",
        ),
        pytest.param(
            job(pool(H200), persistent_resource_id="gpus"), id="a scarce machine that already exists"
        ),
        pytest.param(job({}, pool(H200, 0)), id="a scarce machine in a skipped pool"),
        pytest.param(
            job(pool(), pool(H200, 0), network=NETWORK), id="a network, and a machine without peering skipped"
        ),
        pytest.param(
            job(pool(gpus("a3-highgpu-8g", "NVIDIA_H100_80GB", 8)), network=NETWORK), id="a network and H100"
        ),
    ],
)
def test_scarce_machines_and_networks_that_go_together(document: Document) -> None:
    rules = {problem.rule for problem in of_document(document)}
    assert not rules & {"scarce-machine", "network-accelerator"}


def test_a_job_that_is_private_on_a_persistent_resource_that_is_not() -> None:
    spec = decode(CustomJobSpec, {"display_name": "digits", POOLS: [], "network": NETWORK}).draft
    (problem,) = persistent_resource_problems(spec, PersistentResource(resource_pools=()))
    assert problem.rule == "persistent-resource-network"
    assert problem.message == f"'{NETWORK}', but the persistent resource has no network. Leave it out"
