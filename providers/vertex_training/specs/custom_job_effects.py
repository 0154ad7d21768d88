"""What a change of each field does to a custom job that exists: the field table of its kind.

A job has no update method (Vertex AI API, `JobService`), so every field of its spec replaces it.
"""

from __future__ import annotations

from types import MappingProxyType

from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.specs.effects import Effect, FieldEffect, FieldTable

_POOLS = FieldEffect(effect=Effect.REPLACE, reason="worker pools cannot change once a job exists")
_JOB = FieldEffect(effect=Effect.REPLACE, reason="a job cannot change once it exists")
_NETWORK = FieldEffect(effect=Effect.REPLACE, reason="the network of a job cannot change once it exists")
_KEY = FieldEffect(effect=Effect.REPLACE, reason="the key of a job cannot change once it exists")
_LABELS = FieldEffect(effect=Effect.REPLACE, reason="the labels of a job cannot change once it exists")
_SERVICE = FieldEffect(effect=Effect.SERVER, reason="only the service sets it")

EFFECTS: FieldTable = MappingProxyType(
    {
        "display_name": _JOB,
        "worker_pool_specs[].machine_spec.machine_type": _POOLS,
        "worker_pool_specs[].machine_spec.accelerator_type": _POOLS,
        "worker_pool_specs[].machine_spec.accelerator_count": _POOLS,
        "worker_pool_specs[].machine_spec.gpu_partition_size": _POOLS,
        "worker_pool_specs[].machine_spec.tpu_topology": _POOLS,
        "worker_pool_specs[].machine_spec.reservation_affinity.reservation_affinity_type": _POOLS,
        "worker_pool_specs[].machine_spec.reservation_affinity.key": _POOLS,
        "worker_pool_specs[].machine_spec.reservation_affinity.values": _POOLS,
        "worker_pool_specs[].replica_count": _POOLS,
        "worker_pool_specs[].nfs_mounts[].server": _POOLS,
        "worker_pool_specs[].nfs_mounts[].path": _POOLS,
        "worker_pool_specs[].nfs_mounts[].mount_point": _POOLS,
        "worker_pool_specs[].lustre_mounts[].instance_ip": _POOLS,
        "worker_pool_specs[].lustre_mounts[].volume_handle": _POOLS,
        "worker_pool_specs[].lustre_mounts[].filesystem": _POOLS,
        "worker_pool_specs[].lustre_mounts[].mount_point": _POOLS,
        "worker_pool_specs[].disk_spec.boot_disk_type": _POOLS,
        "worker_pool_specs[].disk_spec.boot_disk_size_gb": _POOLS,
        "worker_pool_specs[].container_spec.image_uri": _POOLS,
        "worker_pool_specs[].container_spec.command": _POOLS,
        "worker_pool_specs[].container_spec.args": _POOLS,
        "worker_pool_specs[].container_spec.env[].name": _POOLS,
        "worker_pool_specs[].container_spec.env[].value": _POOLS,
        "worker_pool_specs[].python_package_spec.executor_image_uri": _POOLS,
        "worker_pool_specs[].python_package_spec.package_uris": _POOLS,
        "worker_pool_specs[].python_package_spec.python_module": _POOLS,
        "worker_pool_specs[].python_package_spec.args": _POOLS,
        "worker_pool_specs[].python_package_spec.env[].name": _POOLS,
        "worker_pool_specs[].python_package_spec.env[].value": _POOLS,
        "scheduling.timeout": _JOB,
        "scheduling.restart_job_on_worker_restart": _JOB,
        "scheduling.strategy": _JOB,
        "scheduling.disable_retries": _JOB,
        "scheduling.max_wait_duration": _JOB,
        "service_account": _JOB,
        "network": _NETWORK,
        "reserved_ip_ranges": _NETWORK,
        "psc_interface_config.network_attachment": _NETWORK,
        "psc_interface_config.dns_peering_configs[].domain": _NETWORK,
        "psc_interface_config.dns_peering_configs[].target_project": _NETWORK,
        "psc_interface_config.dns_peering_configs[].target_network": _NETWORK,
        "base_output_directory": _JOB,
        "persistent_resource_id": _JOB,
        "protected_artifact_location_id": _JOB,
        "tensorboard": _JOB,
        "enable_web_access": _JOB,
        "enable_dashboard_access": _JOB,
        "experiment": _JOB,
        "experiment_run": _JOB,
        "models": _JOB,
        "encryption_spec.kms_key_name": _KEY,
        "labels": _LABELS,
        **dict.fromkeys(sorted(CustomJobSpec.SERVER_OWNED), _SERVICE),
    }
)
