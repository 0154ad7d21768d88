"""Worker pools and jobs for tests: a few by name, and hypothesis strategies for the rest."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from vertex_training.specs.custom_job import CustomJobSpec, Scheduling
from vertex_training.topology import accelerators
from vertex_training.topology.pools import (
    ContainerSpec,
    DiskSpec,
    EnvVar,
    MachineSpec,
    PythonPackageSpec,
    WorkerPoolSpec,
)

REDUCTION_SERVER = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
EXECUTOR = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
EMPTY = WorkerPoolSpec()


def pool(
    replicas: int = 1, machine: str = "n1-standard-4", image: str = "repo/trainer:1", **other
) -> WorkerPoolSpec:
    """A pool with a container; `gpus` gives it that many NVIDIA_TESLA_T4, `env` is a dictionary."""
    gpus, env = other.pop("gpus", 0), other.pop("env", {})
    container = ContainerSpec(
        image_uri=image,
        args=tuple(other.pop("args", ())),
        env=tuple(EnvVar(name=name, value=value) for name, value in env.items()),
    )
    return WorkerPoolSpec(
        machine_spec=MachineSpec(
            machine_type=machine,
            accelerator_type="NVIDIA_TESLA_T4" if gpus else None,
            accelerator_count=gpus,
        ),
        replica_count=replicas,
        container_spec=container,
        **other,
    )


def package_pool(replicas: int = 1, **other) -> WorkerPoolSpec:
    """A pool with a Python package."""
    task = PythonPackageSpec(
        executor_image_uri=EXECUTOR,
        package_uris=("gs://staging/trainer-0.1.tar.gz",),
        python_module="trainer.task",
        args=("--epochs=20",),
    )
    return replace(pool(replicas), container_spec=None, python_package_spec=replace(task, **other))


def job(*pools: WorkerPoolSpec, **other) -> CustomJobSpec:
    """A job named "digits" with these pools, a chief alone where there are none."""
    return CustomJobSpec(display_name="digits", worker_pool_specs=pools or (pool(),), **other)


text = st.text(max_size=8)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
env = st.lists(st.builds(EnvVar, name=names, value=text), max_size=3, unique_by=lambda v: v.name).map(tuple)
texts = st.lists(text, max_size=3).map(tuple)
containers = st.builds(
    ContainerSpec,
    image_uri=st.sampled_from(["repo/a:1", "repo/b@sha256:" + "0" * 64, REDUCTION_SERVER]),
    command=texts,
    args=texts,
    env=env,
)
packages = st.builds(
    PythonPackageSpec,
    executor_image_uri=st.sampled_from([EXECUTOR, "repo/own:1"]),
    package_uris=st.lists(st.sampled_from(["gs://b/p-1.tar.gz", "gs://b/q.whl"]), max_size=2).map(tuple),
    python_module=st.sampled_from(["trainer", "trainer.task"]),
    args=texts,
    env=env,
)
machines = st.builds(
    MachineSpec,
    machine_type=st.sampled_from(["n1-standard-4", "n1-highmem-96", "a3-ultragpu-8g", ""]),
    accelerator_type=st.sampled_from([None, accelerators.UNSPECIFIED, "", "NVIDIA_L4", "NVIDIA_TESLA_T4"]),
    accelerator_count=st.integers(-1, 8),
)
disks = st.builds(
    DiskSpec,
    boot_disk_type=st.sampled_from(["pd-ssd", "pd-standard", ""]),
    boot_disk_size_gb=st.sampled_from([0, 50, 100, 200]),
)
any_pools = st.builds(
    WorkerPoolSpec,
    machine_spec=st.none() | machines,
    replica_count=st.integers(-1, 4),
    disk_spec=st.none() | disks,
    container_spec=st.none() | containers,
    python_package_spec=st.none() | packages,
)
"""Pools of every kind, right and wrong."""

pool_lists = st.lists(any_pools, max_size=4).map(tuple)

task_pools = st.one_of(
    st.builds(
        pool, st.integers(1, 3), image=st.sampled_from(["repo/a:1", REDUCTION_SERVER]), env=st.just({})
    ),
    st.builds(package_pool, st.integers(1, 3)),
    st.just(EMPTY),
)
topologies = st.builds(
    lambda chief, others: (replace(chief, replica_count=1), *others),
    st.builds(pool) | st.builds(package_pool),
    st.lists(task_pools, max_size=3),
)
"""Pools that make a job: one chief, then anything."""

schedulings = st.builds(
    Scheduling,
    timeout=st.sampled_from([None, "", "0s", "3600s", "3600.000s", "3600.5s", "1h"]),
    restart_job_on_worker_restart=st.booleans(),
    disable_retries=st.booleans(),
)
jobs = st.builds(
    CustomJobSpec,
    display_name=text,
    worker_pool_specs=pool_lists,
    scheduling=st.none() | schedulings,
    service_account=st.sampled_from([None, "", "trainer@example.iam.gserviceaccount.com"]),
    base_output_directory=st.sampled_from(
        [None, "", "gs://bucket", "gs://bucket/out", "gs://bucket/out//", "x"]
    ),
    labels=st.dictionaries(text, text, max_size=3),
)
"""Jobs of every kind, right and wrong."""
