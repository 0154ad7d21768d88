"""What the emulator does with each field that a custom job can set, as data.

Every field is accepted and answered as it was sent. One that has no effect here, and that a program or a
person could rely on, has a line in the log of the service (`unlike_the_service`).
"""

from __future__ import annotations

CARRIED_OUT = frozenset(
    {
        "display_name",
        "labels",
        "job_spec.worker_pool_specs",
        "job_spec.worker_pool_specs.container_spec",
        "job_spec.worker_pool_specs.python_package_spec",
        "job_spec.worker_pool_specs.replica_count",
        "job_spec.worker_pool_specs.machine_spec",
        "job_spec.worker_pool_specs.machine_spec.machine_type",
        "job_spec.worker_pool_specs.machine_spec.accelerator_type",
        "job_spec.worker_pool_specs.machine_spec.accelerator_count",
        "job_spec.worker_pool_specs.disk_spec",
        "job_spec.worker_pool_specs.nfs_mounts",
        "job_spec.worker_pool_specs.lustre_mounts",
        "job_spec.scheduling",
        "job_spec.base_output_directory",
        "job_spec.persistent_resource_id",
    }
)
"""What has its effect, the whole message where its fields are not named. Of machines, disks and accelerators
that is what quotas count, and what the log of each replica says."""

LINES = frozenset(
    {
        "encryption_spec",
        "job_spec.service_account",
        "job_spec.network",
        "job_spec.reserved_ip_ranges",
        "job_spec.psc_interface_config",
        "job_spec.protected_artifact_location_id",
        "job_spec.tensorboard",
        "job_spec.enable_web_access",
        "job_spec.enable_dashboard_access",
        "job_spec.experiment",
        "job_spec.experiment_run",
        "job_spec.models",
        "job_spec.worker_pool_specs.machine_spec.gpu_partition_size",
        "job_spec.worker_pool_specs.machine_spec.tpu_topology",
        "job_spec.worker_pool_specs.machine_spec.reservation_affinity",
    }
)
"""What is accepted, and has a line in the service's log that says what is not done."""
