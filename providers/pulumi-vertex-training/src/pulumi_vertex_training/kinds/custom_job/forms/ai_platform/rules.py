"""The rules of AI Platform itself for a training input.

Source: AI Platform Training API v1, `TrainingInput` and `ReplicaConfig`; the checks of
`gcloud ai-platform jobs submit training`. The converted job is checked by the rules of Vertex AI.
"""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import tables
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import (
    PREFIX,
    ROLES,
    SCALE_TIER_PATH,
    AcceleratorConfig,
    ReplicaConfig,
    TrainingInput,
    config_of,
    count_of,
    has_package,
    has_task,
    replicas_of,
    sized_fields,
    tier_of,
    type_of,
)
from vertex_training.catalog import machines
from vertex_training.fields.schema import camel_case
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, nearest, one_of, shown

_INPUT = "AI Platform Training API v1, TrainingInput"
_CONFIG = "AI Platform Training API v1, ReplicaConfig"

SCALE_TIER = Rule(
    name="legacy-scale-tier",
    says=f"a scale tier is {one_of((*tables.TIERS, tables.CUSTOM))}",
    source=f"{_INPUT}.scaleTier",
)
ONLY_CUSTOM = Rule(
    name="legacy-only-custom",
    says="types, counts and accelerators belong to the scale tier CUSTOM",
    source=f"{_INPUT}.workerCount",
)
MEANS_CUSTOM = Rule(
    name="legacy-means-custom",
    says="types and counts without a scale tier are read as CUSTOM",
    source='AI Platform documentation, "Distributed training with containers": its command names no tier',
    level="warning",
)
MASTER_TYPE = Rule(
    name="legacy-master-type", says="CUSTOM needs the type of the master", source=f"{_INPUT}.masterType"
)
TYPE_FOR_COUNT = Rule(
    name="legacy-type-for-count", says="a role with a count above 0 has a type", source=f"{_INPUT}.workerType"
)
NO_REPLICAS = Rule(
    name="legacy-no-replicas",
    says="a type or a config does nothing while its count is 0",
    source=f"{_INPUT}.workerCount",
    level="warning",
)
OWN_ACCELERATORS = Rule(
    name="legacy-own-accelerators",
    says="an accelerator config goes with Compute Engine machine types and cloud_tpu",
    source=f"{_INPUT}.masterConfig",
)
MACHINE_NAME = Rule(
    name="legacy-machine-name",
    says="a machine is named as Compute Engine or AI Platform name it",
    source=f"{_INPUT}.masterType",
)
MASTER_IMAGE = Rule(
    name="legacy-master-image",
    says="images of other roles go with an image of the master",
    source=f"{_INPUT}.masterConfig",
)
IMAGE_OR_PACKAGE = Rule(
    name="legacy-image-or-package",
    says="a job has a container image or a package on a runtime version",
    source="gcloud ai-platform jobs submit training, --master-image-uri",
)
PACKAGE_PARTS = Rule(
    name="legacy-package-parts",
    says="a package job has packageUris, pythonModule and runtimeVersion",
    source=_INPUT,
)
ARGS_TWICE = Rule(
    name="legacy-args-twice",
    says="args and containerCommand or containerArgs exclude each other",
    source=f"{_CONFIG}.containerArgs",
)
COMMAND_WITHOUT_IMAGE = Rule(
    name="legacy-command-without-image",
    says="containerCommand and containerArgs need a container image",
    source=f"{_CONFIG}.containerCommand",
)


def training_input_problems(job: TrainingInput) -> Iterator[Problem]:
    """Yield every finding about an input by itself, with paths below `training_input`."""
    yield from _tier_problems(job)
    for role in ("master", *ROLES):
        yield from _machine_problems(job, role)
    yield from _task_problems(job)
    yield from _args_problems(job)
    for role in ("master", *ROLES):
        yield from _command_problems(job, role)


def _tier_problems(job: TrainingInput) -> Iterator[Problem]:
    tier, path, given = tier_of(job), SCALE_TIER_PATH, sized_fields(job)
    if tier != tables.CUSTOM and tier not in tables.TIERS:
        choices = (*tables.TIERS, tables.CUSTOM)
        hint = nearest(tier, choices) or f"use {one_of(choices)}"
        yield SCALE_TIER.broken(path, f"{shown(tier)} is not a scale tier; {hint}")
        return
    if tier != tables.CUSTOM:
        given += [
            f"{role}_config.accelerator_config"
            for role in ("master", *ROLES)
            if config_of(job, role).accelerator_config
        ]
        why = "whose machines are fixed" if job.scale_tier else "the tier of a job that names none"
        for field in given:
            yield ONLY_CUSTOM.broken(
                f"{PREFIX}.{field}",
                f"{_value(job, field)} does not go with scaleTier {tier}, {why}; leave it out, or "
                f"write scaleTier CUSTOM{_custom_needs(job, field)}",
                rests_on=(f"{PREFIX}.{field}", path),
            )
        return
    if not job.scale_tier:
        yield MEANS_CUSTOM.broken(
            path,
            f"is missing; {all_of([camel_case(field) for field in given])} "
            f"{'is' if len(given) == 1 else 'are'} read as with scaleTier CUSTOM. Write CUSTOM",
        )
    if not type_of(job, "master"):
        yield MASTER_TYPE.broken(
            f"{PREFIX}.master_type",
            "is missing; with scaleTier CUSTOM the master needs a machine type, for example n1-standard-4",
        )
    for role in ROLES:
        count, kind = count_of(job, role), type_of(job, role)
        if count > 0 and not kind:
            yield TYPE_FOR_COUNT.broken(
                f"{PREFIX}.{role}_type",
                f"is missing while {camel_case(f'{role}_count')} is {count}; give the machine type",
                rests_on=(f"{PREFIX}.{role}_type", f"{PREFIX}.{role}_count"),
            )
        unused = "type" if kind else "config" if config_of(job, role) != ReplicaConfig() else None
        if count == 0 and unused:
            yield NO_REPLICAS.broken(
                f"{PREFIX}.{role}_{unused}",
                f"does nothing, because {camel_case(f'{role}_count')} is 0; give the count, or leave it out",
                rests_on=(f"{PREFIX}.{role}_{unused}", f"{PREFIX}.{role}_count"),
            )


def _custom_needs(job: TrainingInput, field: str) -> str:
    """Name the missing fields that CUSTOM needs for a field: " with masterType and workerType", or ""."""
    role = next((role for role in ROLES if field.startswith(role)), None)
    needed = ("master_type", *((f"{role}_type", f"{role}_count") if role else ()))
    missing = [camel_case(name) for name in needed if not getattr(job, name)]
    return f" with {all_of(missing)}" if missing else ""


def _value(job: TrainingInput, field: str) -> str:
    """Describe the value of a field for a sentence."""
    value: object = job
    for name in field.split("."):
        value = getattr(value, name)
    if isinstance(value, AcceleratorConfig):
        return f"{value.count} x {value.type}"
    if isinstance(value, tuple):
        return all_of([shown(value[0]), *([f"{len(value) - 1} more"] if value[1:] else [])])
    return shown(value) if isinstance(value, str) else str(value)


def _machine_problems(job: TrainingInput, role: str) -> Iterator[Problem]:
    if tier_of(job) != tables.CUSTOM:
        return
    name, config = type_of(job, role) or "", config_of(job, role)
    if name in tables.MACHINES and name != tables.CLOUD_TPU and config.accelerator_config:
        machine = tables.MACHINES[name]
        yield OWN_ACCELERATORS.broken(
            f"{PREFIX}.{role}_config.accelerator_config",
            f"does not go with {name}, whose accelerators are fixed; leave it out, or write "
            f"{camel_case(f'{role}_type')} {machine.machine_type}",
            rests_on=(f"{PREFIX}.{role}_config.accelerator_config", f"{PREFIX}.{role}_type"),
        )
    if name and "-" not in name and name not in tables.MACHINES:
        yield MACHINE_NAME.broken(
            f"{PREFIX}.{role}_type", f"{shown(name)} is not a machine type; {_machine_hint(name)}"
        )


def _machine_hint(name: str) -> str:
    """Suggest a machine: a Compute Engine type if only its dashes are wrong, or else the nearest name."""
    dashed = name.lower().replace("_", "-")
    if dashed in machines.MACHINES:
        return f"did you mean {dashed}?"
    return nearest(name, tables.MACHINES) or "write a Compute Engine type, for example n1-standard-4"


def _task_problems(job: TrainingInput) -> Iterator[Problem]:
    image = config_of(job, "master").image_uri
    image_path = f"{PREFIX}.master_config.image_uri"
    if image:
        for field in ("package_uris", "python_module", "runtime_version"):
            if getattr(job, field):
                yield IMAGE_OR_PACKAGE.broken(
                    f"{PREFIX}.{field}",
                    f"{_value(job, field)} is given together with masterConfig.imageUri; a job runs a "
                    "container, or a package on a runtime version. Keep one of them",
                    rests_on=(f"{PREFIX}.{field}", image_path),
                )
        return
    others = [role for role in ROLES if config_of(job, role).image_uri]
    if has_package(job):
        for field, example in (("python_module", "trainer.task"), ("runtime_version", "2.11")):
            if not getattr(job, field):
                yield PACKAGE_PARTS.broken(
                    f"{PREFIX}.{field}",
                    f"is missing; a package needs {camel_case(field)}, for example {example!r}",
                )
    elif others:
        yield MASTER_IMAGE.broken(
            image_path,
            f"is missing while {camel_case(f'{others[0]}_config')}.imageUri is given; the master needs an "
            "image, which roles without an image use, too",
            rests_on=(image_path, f"{PREFIX}.{others[0]}_config.image_uri"),
        )


def _args_problems(job: TrainingInput) -> Iterator[Problem]:
    own = [
        f"{role}_config.{field}"
        for role in ("master", *ROLES)
        for field in ("container_command", "container_args")
        if getattr(config_of(job, role), field)
    ]
    if job.args and own:
        yield ARGS_TWICE.broken(
            f"{PREFIX}.args",
            f"is given together with {all_of([camel_case(field) for field in own])}; AI Platform accepts "
            f"only one of them. Every replica gets args: move them to {all_of(_every_container_args(job))}",
            rests_on=(f"{PREFIX}.args", *(f"{PREFIX}.{field}" for field in own)),
        )


def _command_problems(job: TrainingInput, role: str) -> Iterator[Problem]:
    config = config_of(job, role)
    has_image = config.image_uri or config_of(job, "master").image_uri
    for field in ("container_command", "container_args"):
        path = f"{PREFIX}.{role}_config.{field}"
        if not getattr(config, field):
            continue
        if not has_image and has_task(job):
            yield COMMAND_WITHOUT_IMAGE.broken(
                path,
                "is given without a container image; give masterConfig.imageUri, or leave it out",
                rests_on=(path, f"{PREFIX}.master_config.image_uri", f"{PREFIX}.{role}_config.image_uri"),
            )


def _every_container_args(job: TrainingInput) -> list[str]:
    """Return the `containerArgs` field of each role that has replicas."""
    used = [role for role in ("master", *ROLES) if replicas_of(job, role) > 0]
    return [camel_case(f"{role}_config.container_args") for role in used]
