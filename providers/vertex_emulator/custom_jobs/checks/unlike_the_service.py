"""What the emulator does not do of a job: a line each, for the log of the service. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from vertex_emulator.custom_jobs.sandbox.file_shares import FOLDER, Share
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.pools import MachineSpec


def lines(spec: CustomJobSpec, shares: Sequence[Share], data_dir: Path) -> tuple[str, ...]:
    """One for each field that has no effect, or another one, on the emulator; `shares` are those of the
    job."""
    found = [*_of_the_job(spec), *_of_machines(spec), *(_of_share(each, data_dir) for each in shares)]
    return tuple(f"Emulator: {each}" for each in dict.fromkeys(found))


def _of_the_job(spec: CustomJobSpec) -> Iterator[str]:
    if spec.encryption_spec:
        yield f"encryption_spec: nothing is encrypted with {spec.encryption_spec.kms_key_name}."
    if spec.service_account:
        yield (
            f"service_account: the replicas have no credentials of {spec.service_account}; they run as the "
            "user who runs the emulator."
        )
    if spec.network:
        yield f"network: the replicas are not in {spec.network}; they have this machine's network."
    if spec.reserved_ip_ranges:
        ranges = ", ".join(spec.reserved_ip_ranges)
        yield f"reserved_ip_ranges: no address is taken from {ranges}; the replicas are at 127.0.0.1."
    if spec.psc_interface_config:
        yield (
            "psc_interface_config: there is no Private Service Connect interface and no DNS peering; the "
            "replicas have this machine's network and names."
        )
    if spec.protected_artifact_location_id:
        yield (
            "protected_artifact_location_id: what the job makes stays on this machine, not in "
            f"{spec.protected_artifact_location_id}."
        )
    yield from _of_records(spec)
    if spec.enable_web_access:
        yield "enable_web_access: there is no interactive shell, so webAccessUris stays empty."
    if spec.enable_dashboard_access:
        yield "enable_dashboard_access: there is no dashboard, so webAccessUris stays empty."
    if spec.models:
        yield f"models: nothing is done with {', '.join(spec.models)}."


def _of_records(spec: CustomJobSpec) -> Iterator[str]:
    if spec.tensorboard:
        yield (
            f"tensorboard: nothing is uploaded to {spec.tensorboard}; the event files stay in "
            "AIP_TENSORBOARD_LOG_DIR."
        )
    if spec.experiment:
        yield (
            f"experiment: no context {spec.experiment} is made or changed; the replicas get its name in "
            "AIP_EXPERIMENT_NAME."
        )
    if spec.experiment_run:
        yield (
            f"experiment_run: no run {spec.experiment_run} is recorded; the replicas get its name in "
            "AIP_EXPERIMENT_RUN_NAME."
        )


def _of_machines(spec: CustomJobSpec) -> Iterator[str]:
    for pool in spec.worker_pool_specs:
        if pool.machine_spec is not None and not pool.is_empty:
            yield from _of_machine(pool.machine_spec)


def _of_machine(machine: MachineSpec) -> Iterator[str]:
    if machine.gpu_partition_size:
        yield f"gpu_partition_size: there is no GPU that could be divided into {machine.gpu_partition_size}."
    if machine.tpu_topology:
        yield (
            f"tpu_topology: there is no TPU slice {machine.tpu_topology}; each replica is one process "
            "on the CPU."
        )
    if machine.reservation_affinity:
        yield (
            f"reservation_affinity: no reservation is used, whatever "
            f"{machine.reservation_affinity.reservation_affinity_type} says."
        )


def _of_share(share: Share, data_dir: Path) -> str:
    return (
        f"{share.kind}_mounts: /{share.at} is {data_dir / FOLDER / share.folder} of this machine, in place "
        f"of {share.source}. What jobs are to find there is to be put into that folder."
    )
