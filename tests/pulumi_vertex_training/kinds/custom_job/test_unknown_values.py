"""An unknown value breaks no rule: hiding a value of a job never adds a finding."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pulumi_vertex_training.kinds.custom_job.kind import decode_job
from support.properties import examples
from vertex_training.fields.decode import UNKNOWN
from vertex_training.findings.options import CheckOptions
from vertex_training.job.custom_job import CustomJobSpec

TRAINER = "us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-11:latest"
REDUCTION_SERVER = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
RESERVED = {
    "key": "compute.googleapis.com/reservation-name",
    "values": ["projects/p/zones/us-central1-a/reservations/r"],
}
MACHINES: list[dict[str, Any]] = [
    {"machine_type": "n1-standard-4"},
    {"machine_type": "n1-highmem-96", "accelerator_type": "NVIDIA_TESLA_V100", "accelerator_count": 8},
    {"machine_type": "n1-standard-8", "accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 8},
    {"machine_type": "n1-standard-16", "accelerator_type": "NVIDIA_TESLA_K80", "accelerator_count": 2},
    {
        "machine_type": "a3-ultragpu-8g",
        "accelerator_type": "NVIDIA_H200_141GB",
        "accelerator_count": 8,
        "reservation_affinity": {"reservation_affinity_type": "SPECIFIC_RESERVATION", **RESERVED},
    },
    {"machine_type": "a4x-highgpu-4g", "accelerator_type": "NVIDIA_GB200", "accelerator_count": 4},
    {"machine_type": "ct5lp-hightpu-4t", "tpu_topology": "4x4"},
    {"machine_type": "cloud-tpu", "accelerator_type": "TPU_V3", "accelerator_count": 32},
    {"machine_type": "bogus-1"},
]
TASKS: list[dict[str, Any]] = [
    {"container_spec": {"image_uri": TRAINER, "env": [{"name": "TF_CONFIG", "value": "y"}]}},
    {"container_spec": {"image_uri": REDUCTION_SERVER}},
    {
        "python_package_spec": {
            "executor_image_uri": TRAINER,
            "package_uris": ["gs://b/x.tgz"],
            "python_module": "a.b",
        }
    },
]
SHARES = [{"server": "1.1.1.1", "path": path, "mount_point": "d"} for path in ("/x", "y")]

pools = st.fixed_dictionaries(
    {"machine_spec": st.sampled_from(MACHINES), "replica_count": st.sampled_from([0, 1, 2, 5])},
    optional={
        "disk_spec": st.just({"boot_disk_type": "hyperdisk-balanced", "boot_disk_size_gb": 200}),
        "nfs_mounts": st.just(SHARES),
    },
).flatmap(lambda pool: st.sampled_from(TASKS).map(lambda task: {**pool, **task}))
jobs = st.fixed_dictionaries(
    {
        "display_name": st.just("j"),
        "worker_pool_specs": st.lists(pools | st.just({}) | st.just({"replica_count": "auto"}), max_size=4),
    },
    optional={
        "scheduling": st.sampled_from(
            [
                {"strategy": "SPOT"},
                {"strategy": "FLEX_START", "max_wait_duration": "10s", "timeout": "700000s"},
                {"max_wait_duration": "10s"},
                {"restart_job_on_worker_restart": True, "disable_retries": True},
            ]
        ),
        "network": st.just("projects/123/global/networks/n"),
        "reserved_ip_ranges": st.just(["x"]),
        "service_account": st.just("a@p.iam.gserviceaccount.com"),
        "base_output_directory": st.just("gs://bucket/x"),
        "tensorboard": st.just("projects/p/locations/l/tensorboards/1"),
        "experiment": st.just("e"),
        "experiment_run": st.just("r"),
        "encryption_spec": st.just({"kms_key_name": "projects/p/locations/l/keyRings/r/cryptoKeys/k"}),
        "protected_artifact_location_id": st.just("us-central1"),
    },
)
options = st.builds(
    CheckOptions,
    location=st.sampled_from([None, "us-central1", "us-west4"]),
    framework=st.sampled_from(
        [None, "MultiWorkerMirroredStrategy", "ParameterServerStrategy", "MirroredStrategy", "pytorch"]
    ),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def hidden(job: dict[str, Any], place: tuple[Any, ...]) -> dict[str, Any]:
    copied: Any = deepcopy(job)
    below = copied
    for key in place[:-1]:
        below = below[key]
    below[place[-1]] = UNKNOWN
    return copied


def rules(job: dict[str, Any], checks: CheckOptions) -> set[tuple[str, str]]:
    """Return rules and levels, not paths: with the first of two culprits hidden, the second is named."""
    problems = decode_job(CustomJobSpec, job, options=checks).problems
    return {(problem.rule or problem.message, problem.level) for problem in problems}


def equal(machine: dict[str, Any], *counts: int, **more: Any) -> dict[str, Any]:
    pools = [{"machine_spec": machine, "replica_count": count, **TASKS[2]} for count in counts]
    return {"display_name": "j", "worker_pool_specs": pools, **more}


REDUCED = equal(MACHINES[1], 1, 4)
REDUCED["worker_pool_specs"].append(
    {"machine_spec": {"machine_type": "n1-highcpu-16"}, "replica_count": 16, **TASKS[1]}
)


@settings(max_examples=examples(200))
@example(REDUCED, CheckOptions(framework="MultiWorkerMirroredStrategy", location="us-central1"))
@example(REDUCED, CheckOptions(framework="ParameterServerStrategy"))
@example(
    equal(MACHINES[4], 1, 2, scheduling={"strategy": "FLEX_START"}), CheckOptions(location="us-central1")
)
@example(equal(MACHINES[6], 1, scheduling={"strategy": "SPOT"}), CheckOptions())
@given(jobs, options)
def test_hiding_a_value_adds_no_finding(job: dict[str, Any], checks: CheckOptions) -> None:
    full = rules(job, checks)
    for place in places(job):
        assert rules(hidden(job, place), checks) <= full, place
