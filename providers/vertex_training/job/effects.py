"""What a change of each field of what runs does to the resource that runs it: part of each kind's table.

None of the kinds has a method that changes it (Vertex AI API, `JobService`, `PipelineService`), so every
field replaces the resource.
"""

from __future__ import annotations

from vertex_training.fields.effects import Effect, FieldEffect, FieldTable

SERVICE = FieldEffect(effect=Effect.SERVER, reason="only the service sets it")


def replaces(what: str, when: str = "once it exists") -> FieldEffect:
    """The effect of what cannot change, such as "the labels of a job"."""
    return FieldEffect(effect=Effect.REPLACE, reason=f"{what} cannot change {when}")


def job_spec_effects(prefix: str = "", *, noun: str = "a job") -> FieldTable:
    """The entries of a `JobSpec` that stands at `prefix`, "trial_job_spec." or "", of a resource that is
    called `noun` in the reasons."""
    pools = replaces("worker pools", f"once {noun} exists")
    whole = replaces(noun)
    network = replaces(f"the network of {noun}")
    table = {
        "worker_pool_specs[].machine_spec.machine_type": pools,
        "worker_pool_specs[].machine_spec.accelerator_type": pools,
        "worker_pool_specs[].machine_spec.accelerator_count": pools,
        "worker_pool_specs[].machine_spec.gpu_partition_size": pools,
        "worker_pool_specs[].machine_spec.tpu_topology": pools,
        "worker_pool_specs[].machine_spec.reservation_affinity.reservation_affinity_type": pools,
        "worker_pool_specs[].machine_spec.reservation_affinity.key": pools,
        "worker_pool_specs[].machine_spec.reservation_affinity.values": pools,
        "worker_pool_specs[].replica_count": pools,
        "worker_pool_specs[].nfs_mounts[].server": pools,
        "worker_pool_specs[].nfs_mounts[].path": pools,
        "worker_pool_specs[].nfs_mounts[].mount_point": pools,
        "worker_pool_specs[].lustre_mounts[].instance_ip": pools,
        "worker_pool_specs[].lustre_mounts[].volume_handle": pools,
        "worker_pool_specs[].lustre_mounts[].filesystem": pools,
        "worker_pool_specs[].lustre_mounts[].mount_point": pools,
        "worker_pool_specs[].disk_spec.boot_disk_type": pools,
        "worker_pool_specs[].disk_spec.boot_disk_size_gb": pools,
        "worker_pool_specs[].container_spec.image_uri": pools,
        "worker_pool_specs[].container_spec.command": pools,
        "worker_pool_specs[].container_spec.args": pools,
        "worker_pool_specs[].container_spec.env[].name": pools,
        "worker_pool_specs[].container_spec.env[].value": pools,
        "worker_pool_specs[].python_package_spec.executor_image_uri": pools,
        "worker_pool_specs[].python_package_spec.package_uris": pools,
        "worker_pool_specs[].python_package_spec.python_module": pools,
        "worker_pool_specs[].python_package_spec.args": pools,
        "worker_pool_specs[].python_package_spec.env[].name": pools,
        "worker_pool_specs[].python_package_spec.env[].value": pools,
        "scheduling.timeout": whole,
        "scheduling.restart_job_on_worker_restart": whole,
        "scheduling.strategy": whole,
        "scheduling.disable_retries": whole,
        "scheduling.max_wait_duration": whole,
        "service_account": whole,
        "network": network,
        "reserved_ip_ranges": network,
        "psc_interface_config.network_attachment": network,
        "psc_interface_config.dns_peering_configs[].domain": network,
        "psc_interface_config.dns_peering_configs[].target_project": network,
        "psc_interface_config.dns_peering_configs[].target_network": network,
        "base_output_directory": whole,
        "persistent_resource_id": whole,
        "protected_artifact_location_id": whole,
        "tensorboard": whole,
        "enable_web_access": whole,
        "enable_dashboard_access": whole,
        "experiment": whole,
        "experiment_run": whole,
        "models": whole,
    }
    return {f"{prefix}{path}": effect for path, effect in table.items()}
