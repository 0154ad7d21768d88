"""Worker pools and jobs for tests: a few by name, and hypothesis strategies for the rest."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from vertex_training.catalog import accelerators, enumerations
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.job_spec import (
    STRATEGIES,
    DnsPeeringConfig,
    EncryptionSpec,
    PscInterfaceConfig,
    Scheduling,
)
from vertex_training.topology.pools import (
    ContainerSpec,
    DiskSpec,
    EnvVar,
    LustreMount,
    MachineSpec,
    NfsMount,
    PythonPackageSpec,
    ReservationAffinity,
    WorkerPoolSpec,
)

REDUCTION_SERVER = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
EXECUTOR = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
EMPTY = WorkerPoolSpec()


def pool(
    replicas: int = 1, machine: str = "n1-standard-4", image: str = "repo/trainer:1", **other
) -> WorkerPoolSpec:
    """Return a pool with a container; `gpus` is a number of NVIDIA_TESLA_T4, `env` a dictionary."""
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
    """Return a pool with a Python package."""
    task = PythonPackageSpec(
        executor_image_uri=EXECUTOR,
        package_uris=("gs://staging/trainer-0.1.tar.gz",),
        python_module="trainer.task",
        args=("--epochs=20",),
    )
    return replace(pool(replicas), container_spec=None, python_package_spec=replace(task, **other))


def job(*pools: WorkerPoolSpec, **other) -> CustomJobSpec:
    """Return a job named "digits" with these pools; without any, it has a chief alone."""
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
affinities = st.builds(
    ReservationAffinity,
    reservation_affinity_type=st.sampled_from(
        [*enumerations.RESERVATION_NAMES, enumerations.RESERVATION_UNSPECIFIED, "", "x"]
    ),
    key=st.sampled_from([None, "", "compute.googleapis.com/reservation-name"]),
    values=st.lists(st.sampled_from(["projects/p/zones/z/reservations/r", "r"]), max_size=2).map(tuple),
)
machines = st.builds(
    MachineSpec,
    machine_type=st.sampled_from(["n1-standard-4", "n1-highmem-96", "a3-ultragpu-8g", ""]),
    accelerator_type=st.sampled_from([None, accelerators.UNSPECIFIED, "", "NVIDIA_L4", "NVIDIA_TESLA_T4"]),
    accelerator_count=st.integers(-1, 8),
    gpu_partition_size=st.sampled_from([None, "", "1g.10gb"]),
    tpu_topology=st.sampled_from([None, "", "2x2", "4x4"]),
    reservation_affinity=st.none() | affinities,
)
disks = st.builds(
    DiskSpec,
    boot_disk_type=st.sampled_from(["pd-ssd", "pd-standard", ""]),
    boot_disk_size_gb=st.sampled_from([0, 50, 100, 200]),
)
shares = st.builds(NfsMount, server=text, path=st.sampled_from(["/data", "data", ""]), mount_point=text)
lustres = st.builds(LustreMount, instance_ip=text, volume_handle=text, filesystem=text, mount_point=text)
any_pools = st.builds(
    WorkerPoolSpec,
    machine_spec=st.none() | machines,
    replica_count=st.integers(-1, 4),
    disk_spec=st.none() | disks,
    nfs_mounts=st.lists(shares, max_size=2).map(tuple),
    lustre_mounts=st.lists(lustres, max_size=1).map(tuple),
    container_spec=st.none() | containers,
    python_package_spec=st.none() | packages,
)
"""Worker pools of any kind, valid and invalid."""

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
"""Pools of a valid job: a chief first, then any others."""

schedulings = st.builds(
    Scheduling,
    timeout=st.sampled_from([None, "", "0s", "3600s", "3600.000s", "3600.5s", "1h"]),
    restart_job_on_worker_restart=st.booleans(),
    strategy=st.sampled_from([None, "", "x", *STRATEGIES]),
    disable_retries=st.booleans(),
    max_wait_duration=st.sampled_from([None, "", "0s", "86400s", "86400.0s", "1d"]),
)
interfaces = st.builds(
    PscInterfaceConfig,
    network_attachment=st.sampled_from([None, "", "projects/p/regions/r/networkAttachments/a"]),
    dns_peering_configs=st.lists(
        st.builds(DnsPeeringConfig, domain=text, target_project=text, target_network=text), max_size=2
    ).map(tuple),
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
    network=st.sampled_from([None, "", "projects/1/global/networks/n", "projects/p/global/networks/n", "n"]),
    reserved_ip_ranges=texts,
    psc_interface_config=st.none() | interfaces,
    persistent_resource_id=st.sampled_from([None, "", "pool-1", "projects/p/x"]),
    protected_artifact_location_id=st.sampled_from([None, "", "us-central1"]),
    tensorboard=st.sampled_from([None, "", "projects/1/locations/us-central1/tensorboards/2", "x"]),
    enable_web_access=st.booleans(),
    enable_dashboard_access=st.booleans(),
    experiment=st.sampled_from([None, "", "e"]),
    experiment_run=st.sampled_from([None, "", "r"]),
    models=texts,
    encryption_spec=st.none() | st.builds(EncryptionSpec, kms_key_name=text),
)
"""Jobs of any kind, valid and invalid."""


words = st.text(min_size=1, max_size=8)
some_words = st.lists(words, max_size=3).map(tuple)
whole_pools = st.builds(
    WorkerPoolSpec,
    machine_spec=st.builds(
        MachineSpec,
        machine_type=words,
        accelerator_type=st.none() | st.sampled_from(accelerators.NAMES),
        accelerator_count=st.integers(0, 8),
        gpu_partition_size=st.none() | words,
        tpu_topology=st.none() | words,
        reservation_affinity=st.none()
        | st.builds(
            ReservationAffinity,
            reservation_affinity_type=st.sampled_from(enumerations.RESERVATION_NAMES),
            key=st.none() | words,
            values=some_words,
        ),
    ),
    replica_count=st.integers(1, 4),
    disk_spec=st.none() | st.builds(DiskSpec, boot_disk_type=words, boot_disk_size_gb=st.integers(1, 9)),
    nfs_mounts=st.lists(st.builds(NfsMount, server=words, path=words, mount_point=words)).map(tuple),
    lustre_mounts=st.lists(
        st.builds(LustreMount, instance_ip=words, volume_handle=words, filesystem=words, mount_point=words)
    ).map(tuple),
    container_spec=containers,
)
whole_jobs = st.builds(
    CustomJobSpec,
    display_name=words,
    worker_pool_specs=st.lists(whole_pools, min_size=1, max_size=4).map(tuple),
    scheduling=st.none()
    | st.builds(
        Scheduling,
        timeout=st.none() | st.sampled_from(["60s", "3600.5s"]),
        restart_job_on_worker_restart=st.booleans(),
        strategy=st.none() | st.sampled_from(["SPOT", "FLEX_START"]),
        disable_retries=st.booleans(),
        max_wait_duration=st.none() | st.sampled_from(["0s", "60s"]),
    ),
    service_account=st.none() | words,
    network=st.none() | words,
    reserved_ip_ranges=some_words,
    psc_interface_config=st.none()
    | st.builds(
        PscInterfaceConfig,
        network_attachment=words,
        dns_peering_configs=st.lists(
            st.builds(DnsPeeringConfig, domain=words, target_project=words, target_network=words), max_size=2
        ).map(tuple),
    ),
    base_output_directory=st.none() | st.just("gs://bucket/out/"),
    persistent_resource_id=st.none() | words,
    protected_artifact_location_id=st.none() | words,
    tensorboard=st.none() | words,
    enable_web_access=st.booleans(),
    enable_dashboard_access=st.booleans(),
    experiment=st.none() | words,
    experiment_run=st.none() | words,
    models=some_words,
    encryption_spec=st.none() | st.builds(EncryptionSpec, kms_key_name=words),
    labels=st.dictionaries(words, text, max_size=3),
)
"""Jobs with all fields of the API, of the right types, though not always valid."""
