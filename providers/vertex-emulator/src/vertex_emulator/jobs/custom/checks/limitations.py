"""The effect of each field of a custom job on the emulator: one table, and the log lines made from it.

Every field is accepted and returned as it was sent. A field that has no effect here, and that a program or a
person could rely on, gets a line in the job's log. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vertex_emulator.replicas.sandbox.mounts.file_shares import FOLDER, Share
from vertex_training.job.custom_job import CustomJobSpec

_JOB = "job_spec."
_MACHINE = "job_spec.worker_pool_specs.machine_spec."

FIELDS: Mapping[str, str | None] = {
    "display_name": None,
    "labels": None,
    "encryption_spec": "nothing is encrypted with {0.kms_key_name}.",
    "job_spec.worker_pool_specs": None,
    "job_spec.worker_pool_specs.container_spec": None,
    "job_spec.worker_pool_specs.python_package_spec": None,
    "job_spec.worker_pool_specs.replica_count": None,
    "job_spec.worker_pool_specs.disk_spec": None,
    "job_spec.worker_pool_specs.nfs_mounts": None,
    "job_spec.worker_pool_specs.lustre_mounts": None,
    "job_spec.worker_pool_specs.machine_spec": None,
    "job_spec.worker_pool_specs.machine_spec.machine_type": None,
    "job_spec.worker_pool_specs.machine_spec.accelerator_type": None,
    "job_spec.worker_pool_specs.machine_spec.accelerator_count": None,
    "job_spec.worker_pool_specs.machine_spec.gpu_partition_size": (
        "this machine has no GPU to divide into {0}."
    ),
    "job_spec.worker_pool_specs.machine_spec.tpu_topology": (
        "the emulator has no TPU slice {0}; each replica is one process on the CPU."
    ),
    "job_spec.worker_pool_specs.machine_spec.reservation_affinity": (
        "no reservation is used; {0.reservation_affinity_type} is ignored."
    ),
    "job_spec.scheduling": None,
    "job_spec.base_output_directory": None,
    "job_spec.persistent_resource_id": None,
    "job_spec.service_account": (
        "the replicas have no credentials for {0}; they run as the user who runs the emulator."
    ),
    "job_spec.network": "the replicas are not in {0}; the emulator has no peered networks.",
    "job_spec.reserved_ip_ranges": "no address is taken from {0}.",
    "job_spec.psc_interface_config": (
        "the emulator has no Private Service Connect interface and no DNS peering."
    ),
    "job_spec.protected_artifact_location_id": "the output of the job stays on this machine, not in {0}.",
    "job_spec.tensorboard": (
        "the scalars of the event files in AIP_TENSORBOARD_LOG_DIR are added to {0}, if it exists on the "
        "emulator; other summaries stay in the files."
    ),
    "job_spec.experiment": (
        "no context {0} is created or changed; the replicas get its name in AIP_EXPERIMENT_NAME."
    ),
    "job_spec.experiment_run": (
        "no run {0} is recorded; the replicas get its name in AIP_EXPERIMENT_RUN_NAME."
    ),
    "job_spec.enable_web_access": "the emulator has no interactive shell, so webAccessUris is empty.",
    "job_spec.enable_dashboard_access": "the emulator has no dashboard, so webAccessUris is empty.",
    "job_spec.models": "the emulator ignores {0}.",
}
"""Each field that a request can set: None if it has its effect, else the log line about the missing effect.

`{0}` is the value. A message without entries for its fields is meant as a whole. Machines, disks and
accelerators have the effect that quotas count them and that the log of each replica names them. The line of a
file share (`nfs_mounts`, `lustre_mounts`) names the folder of its files.
"""


def lines(spec: CustomJobSpec, shares: Sequence[Share], data_dir: Path) -> tuple[str, ...]:
    """Return one log line for each field that has no effect, or another one, on the emulator.

    `shares` are the file shares of the job.
    """
    limitations = [*_of_the_job(spec), *_of_machines(spec), *(_of_share(each, data_dir) for each in shares)]
    return tuple(f"Emulator: {each}" for each in dict.fromkeys(limitations))


def _of_the_job(spec: CustomJobSpec) -> Iterator[str]:
    for path, text in FIELDS.items():
        if text is not None and not path.startswith(_MACHINE):
            yield from _line(spec, path.removeprefix(_JOB), text)


def _of_machines(spec: CustomJobSpec) -> Iterator[str]:
    for pool in spec.worker_pool_specs:
        if pool.machine_spec is None or pool.is_empty:
            continue
        for path, text in FIELDS.items():
            if text is not None and path.startswith(_MACHINE):
                yield from _line(pool.machine_spec, path.removeprefix(_MACHINE), text)


def _line(message: object, field: str, text: str) -> Iterator[str]:
    value: Any = getattr(message, field)
    if value:
        yield f"{field}: {text.format(', '.join(value) if isinstance(value, tuple) else value)}"


def _of_share(share: Share, data_dir: Path) -> str:
    return (
        f"{share.kind}_mounts: /{share.at} is {data_dir / FOLDER / share.folder} on this machine, instead "
        f"of {share.source}. To give files to jobs, put them into that folder."
    )
