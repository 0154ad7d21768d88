"""The conversion of a training input of legacy AI Platform to a custom job.

`docs/coming-from/ai-platform.md` has the table of all fields. A field that means something else afterwards is
a warning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import tables
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.remarks import remarks
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.rules import (
    ONLY_CUSTOM,
    SCALE_TIER,
    training_input_problems,
)
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import (
    PREFIX,
    ROLES,
    SCALE_TIER_PATH,
    AcceleratorConfig,
    DiskConfig,
    LegacyJob,
    ReplicaConfig,
    TrainingInput,
    config_of,
    count_of,
    has_package,
    has_task,
    tier_of,
    type_of,
)
from vertex_training.catalog import accelerators
from vertex_training.fields.schema import Origins
from vertex_training.findings.problems import Problem, errors, is_within, known
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.job_spec import EncryptionSpec, Scheduling
from vertex_training.topology import roles
from vertex_training.topology.pools import (
    EMPTY_POOL,
    ContainerSpec,
    DiskSpec,
    MachineSpec,
    PythonPackageSpec,
    WorkerPoolSpec,
)

POSITIONS: Mapping[str, int] = {
    "master": roles.CHIEF,
    "worker": roles.WORKERS,
    "parameter_server": roles.SERVERS,
    "evaluator": roles.EVALUATORS,
}

SIZES = frozenset(
    {f"{PREFIX}.{role}_type" for role in ("master", *ROLES)} | {f"{PREFIX}.{role}_count" for role in ROLES}
)
"""The fields whose meaning depends on the scale tier."""

_WHOLE = re.compile(r"worker_pool_specs(\[\d+\](\.replica_count)?)?")


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """A job of AI Platform as a custom job.

    `origins` maps the API's paths to the fields of the job. `invalid` holds the fields with an error, whose
    converted values are not checked again. `damaged` holds the paths of `spec` with placeholders and guesses
    for fields that could not be read.
    """

    spec: CustomJobSpec
    problems: tuple[Problem, ...]
    origins: Origins
    invalid: frozenset[str]
    damaged: frozenset[str]
    with_tasks: bool


@dataclass(frozen=True, kw_only=True)
class RoleConfig:
    """One role of the cluster, with the names of the fields that declare it."""

    role: str
    machine: str | None
    count: int
    config: ReplicaConfig
    machine_field: str
    accelerators_field: str
    count_field: str
    accelerator_config: AcceleratorConfig | None = None


def convert(
    job: LegacyJob, *, location: str | None = None, unread: Collection[str] = frozenset()
) -> Conversion:
    """Convert a job of AI Platform into a custom job; its id, or "", becomes the display name.

    `location` is the job's region, for the prebuilt images. `unread` holds the fields of the job that could
    not be read: no finding depends on them. Never raises; errors are in `problems`.
    """
    given = job.training_input
    parts = _folded(_parts(given))
    images = [_image(given, part, location) for part in parts]
    found = tuple(training_input_problems(given))
    gaps = frozenset(unread)
    if SCALE_TIER_PATH in gaps or any(problem.rule == SCALE_TIER.name for problem in found):
        gaps |= SIZES
    pools = [_pool(given, part, image) for part, image in zip(parts, images, strict=True)]
    spec = CustomJobSpec(
        display_name=job.job_id or "",
        worker_pool_specs=tuple(pools),
        scheduling=_scheduling(given),
        service_account=given.service_account or None,
        network=given.network or None,
        base_output_directory=given.job_dir or None,
        enable_web_access=given.enable_web_access,
        encryption_spec=_encryption(given),
        labels=job.labels,
    )
    conversion_remarks = remarks(given, pools=pools, images=[image for image in images if image])
    problems = known((*found, *conversion_remarks), gaps)
    invalid = {problem.path for problem in errors((*found, *conversion_remarks))}
    origins = _origins(parts, has_region=location is not None and location == given.region)
    contested = frozenset(problem.path for problem in problems if problem.rule == ONLY_CUSTOM.name)
    return Conversion(
        spec=spec,
        problems=problems,
        origins=origins,
        invalid=gaps | invalid,
        damaged=_paths_from(gaps, origins) | _counts_of(gaps | contested),
        with_tasks=has_task(given),
    )


def _parts(job: TrainingInput) -> list[RoleConfig]:
    """Return every role in the order of the pools, sized by the scale tier."""
    tier = tables.TIERS.get(tier_of(job))
    if tier is not None:
        sizes = {"master": (tier.master, 1), "worker": tier.worker, "parameter_server": tier.parameter_server}
        return [
            RoleConfig(
                role=role,
                machine=sizes.get(role, ("standard", 0))[0],
                count=sizes.get(role, ("standard", 0))[1],
                config=config_of(job, role),
                machine_field="scale_tier",
                accelerators_field="scale_tier",
                count_field="scale_tier",
            )
            for role in POSITIONS
        ]
    return [
        RoleConfig(
            role=role,
            machine=type_of(job, role),
            count=count_of(job, role),
            config=config_of(job, role),
            machine_field=f"{role}_type",
            accelerators_field=f"{role}_config.accelerator_config",
            count_field=f"{role}_count" if role != "master" else "master_type",
            accelerator_config=config_of(job, role).accelerator_config,
        )
        for role in POSITIONS
    ]


def _folded(parts: list[RoleConfig]) -> list[RoleConfig]:
    """Make a TPU worker the chief's machine: on Vertex AI a TPU job has one pool."""
    master, worker, *others = parts
    if worker.machine != tables.CLOUD_TPU or worker.count != 1:
        return parts
    chief = replace(worker, role=master.role, config=master.config)
    return [chief, replace(worker, count=0), *others]


def _pool(job: TrainingInput, part: RoleConfig, image: tables.TrainingImage | None) -> WorkerPoolSpec:
    if part.count == 0:
        return EMPTY_POOL
    pool = WorkerPoolSpec(
        machine_spec=_machine(part), replica_count=part.count, disk_spec=_disk(part.config.disk_config)
    )
    container = part.config.image_uri or config_of(job, "master").image_uri
    if container:
        args = part.config.container_args or job.args
        return replace(
            pool,
            container_spec=ContainerSpec(
                image_uri=container, command=part.config.container_command, args=args
            ),
        )
    if has_package(job):
        return replace(
            pool,
            python_package_spec=PythonPackageSpec(
                executor_image_uri=image.uri if image else "",
                package_uris=job.package_uris,
                python_module=job.python_module or "",
                args=job.args,
            ),
        )
    return pool


def _disk(disk: DiskConfig | None) -> DiskSpec | None:
    if disk is None:
        return None
    return DiskSpec(boot_disk_type=disk.boot_disk_type or "", boot_disk_size_gb=disk.boot_disk_size_gb)


def _machine(part: RoleConfig) -> MachineSpec | None:
    if part.machine is None:
        return None
    kind, count = _accelerators(part)
    legacy = tables.MACHINES.get(part.machine)
    machine_type = legacy.machine_type if legacy else part.machine
    return MachineSpec(machine_type=machine_type, accelerator_type=kind, accelerator_count=count)


def _accelerators(part: RoleConfig) -> tuple[str | None, int]:
    legacy, config = tables.MACHINES.get(part.machine or ""), part.accelerator_config
    if legacy and (part.machine != tables.CLOUD_TPU or config is None):
        return legacy.accelerator_type, legacy.accelerator_count
    if config is None:
        return None, 0
    kind = config.type if config.type != accelerators.UNSPECIFIED else None
    return tables.ACCELERATORS.get(kind or "", kind), config.count


def _image(job: TrainingInput, part: RoleConfig, location: str | None) -> tables.TrainingImage | None:
    """Return the prebuilt image of a role that runs a package, or None."""
    if not part.count or not has_package(job) or part.config.image_uri or job.has_container:
        return None
    return tables.training_image(
        job.runtime_version or "", accelerator_type=_accelerators(part)[0], location=location
    )


def _scheduling(job: TrainingInput) -> Scheduling | None:
    timeout = job.scheduling and job.scheduling.max_running_time
    return Scheduling(timeout=timeout) if timeout else None


def _encryption(job: TrainingInput) -> EncryptionSpec | None:
    key = job.encryption_config and job.encryption_config.kms_key_name
    return EncryptionSpec(kms_key_name=key) if key else None


def _origins(parts: Sequence[RoleConfig], *, has_region: bool) -> dict[str, str]:
    fields = {
        "worker_pool_specs": "",
        "scheduling": "scheduling",
        "scheduling.timeout": "scheduling.max_running_time",
        "service_account": "service_account",
        "network": "network",
        "base_output_directory": "job_dir",
        "enable_web_access": "enable_web_access",
        "encryption_spec": "encryption_config",
    }
    if has_region:
        fields["location"] = "region"
    for part in parts:
        fields.update(_pool_origins(part))
    origins = {path: f"{PREFIX}.{name}" if name else PREFIX for path, name in fields.items()}
    return {**origins, "display_name": "job_id"}


def _pool_origins(part: RoleConfig) -> Iterator[tuple[str, str]]:
    pool, config = f"worker_pool_specs[{POSITIONS[part.role]}]", f"{part.role}_config"
    yield pool, part.machine_field
    yield f"{pool}.replica_count", part.count_field
    yield f"{pool}.machine_spec", part.machine_field
    yield f"{pool}.machine_spec.machine_type", part.machine_field
    fixed = _fixed_accelerators(part)
    yield (
        f"{pool}.machine_spec.accelerator_type",
        part.machine_field if fixed else f"{part.accelerators_field}.type",
    )
    yield (
        f"{pool}.machine_spec.accelerator_count",
        part.machine_field if fixed else f"{part.accelerators_field}.count",
    )
    yield f"{pool}.disk_spec", f"{config}.disk_config"
    owner = config if part.config.image_uri else "master_config"
    yield f"{pool}.container_spec", f"{owner}.image_uri"
    yield f"{pool}.container_spec.image_uri", f"{owner}.image_uri"
    yield f"{pool}.container_spec.command", f"{config}.container_command"
    yield f"{pool}.container_spec.args", f"{config}.container_args" if part.config.container_args else "args"
    yield f"{pool}.python_package_spec", "package_uris"
    yield f"{pool}.python_package_spec.executor_image_uri", "runtime_version"
    yield f"{pool}.python_package_spec.package_uris", "package_uris"
    yield f"{pool}.python_package_spec.python_module", "python_module"
    yield f"{pool}.python_package_spec.args", "args"


def _paths_from(fields: Collection[str], origins: Origins) -> frozenset[str]:
    """Return the paths of a custom job that come from these fields, except whole pools and their counts."""
    exact = {path: at for path, at in origins.items() if not _WHOLE.fullmatch(path)}
    found = {path for path, at in exact.items() if any(is_within(at, field) for field in fields)}
    for field in fields:
        above = max((at for at in exact.values() if is_within(field, at)), key=len, default=None)
        found |= {path + field[len(at) :] for path, at in exact.items() if at == above}
    return frozenset(found)


def _counts_of(fields: Collection[str]) -> frozenset[str]:
    """Return the paths of the replica counts that these fields leave open."""
    if frozenset(fields) >= SIZES or PREFIX in fields:
        return frozenset({"worker_pool_specs"})
    counts = {f"{PREFIX}.{role}_count": position for role, position in POSITIONS.items()}
    return frozenset(
        f"worker_pool_specs[{counts[field]}].replica_count" for field in fields if field in counts
    )


def _fixed_accelerators(part: RoleConfig) -> bool:
    """Return whether the machine's name or the scale tier fixes the accelerators."""
    if part.machine_field == "scale_tier":
        return True
    return part.machine in tables.MACHINES and part.accelerator_config is None
