"""Remarks on each value of a training input that means something else on Vertex AI.

A remark is an error if Vertex AI has no equivalent of the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import tables
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import (
    PREFIX,
    ROLES,
    SCALE_TIER_PATH,
    TrainingInput,
    chief_name,
    config_of,
    count_of,
    has_package,
    has_task,
    replicas_of,
    tier_of,
    type_of,
)
from vertex_training.fields.schema import camel_case
from vertex_training.findings.problems import Level, Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, one_of, shown
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.roles import is_distributed, role_of

_MACHINES = 'AI Platform documentation, "Machine types"'
_INPUT = "AI Platform Training API v1, TrainingInput"
_IMAGES = 'Vertex AI documentation, "Prebuilt containers for training"'
_TF_CONFIG = 'AI Platform documentation, "TF_CONFIG and distributed training", chief versus master'

_MACHINES_OF_ROLES = (
    SCALE_TIER_PATH,
    *(f"{PREFIX}.{role}_type" for role in ("master", *ROLES)),
    *(f"{PREFIX}.{role}_count" for role in ROLES),
)


def _rule(name: str, says: str, source: str, level: Level = "warning") -> Rule:
    return Rule(name=f"legacy-{name}", says=says, source=source, level=level)


TIER = _rule("tier-machines", "a scale tier is a fixed cluster", _MACHINES)
MACHINE = _rule("machine", "a machine name of AI Platform is a machine type of Vertex AI", _MACHINES)
TPU = _rule(
    "tpu",
    "the TPU is the chief's machine, not a separate worker",
    'Vertex AI documentation, "Training with TPU accelerators"',
)
COMMAND = _rule(
    "command-not-inherited",
    "a role takes the master's image, not its command and arguments",
    "AI Platform Training API v1, ReplicaConfig.containerCommand",
)
NO_TASK = _rule(
    "no-task",
    "an input without a task is checked, except for the task",
    "ours: the flags of the command can give the task instead of the --config file",
)
RUNTIME_IMAGE = _rule("runtime-image", "a runtime version is a prebuilt image", _IMAGES)
RUNTIME = _rule(
    "runtime-version",
    "there is a prebuilt image for the runtime version",
    f"{_INPUT}.runtimeVersion",
    "error",
)
PYTHON = _rule("python-version", "the prebuilt images have Python 3.7", _IMAGES)
JOB_DIR = _rule("job-dir", "Vertex AI does not pass --job-dir to the program", f"{_INPUT}.jobDir")
MAX_WAIT = _rule("max-wait-time", "only FLEX_START waits for a limited time", "Vertex AI API, Scheduling")
PRIORITY = _rule("priority", "jobs have no priority", "Vertex AI API, Scheduling")
TPU_VERSION = _rule("tpu-tf-version", "the image decides the TensorFlow version of a TPU", "Vertex AI API")
CHIEF_FIELD = _rule("chief-in-tf-config", "TF_CONFIG always has a chief, never a master", _TF_CONFIG)
TUNING = _rule("hyperparameters", "trials belong to a tuning job", "Vertex AI API, HyperparameterTuningJob")


def remarks(
    job: TrainingInput, *, pools: Sequence[WorkerPoolSpec], images: Sequence[tables.TrainingImage]
) -> tuple[Problem, ...]:
    """Return the remarks on an input that was converted to these pools and prebuilt images."""
    found = [
        *_machine_remarks(job, pools),
        *_task_remarks(job),
        *_runtime_remarks(job, pools, images),
        *_other_remarks(job, pools),
    ]
    return tuple(found)


def _machine_remarks(job: TrainingInput, pools: Sequence[WorkerPoolSpec]) -> Iterator[Problem]:
    tier = tier_of(job)
    if tier in tables.TIERS:
        used = [
            f"{role_of(position, pool).in_words(pool.replica_count)} {_pool_in_words(pool)}"
            for position, pool in enumerate(pools)
            if not pool.is_empty
        ]
        name = job.scale_tier or f"is missing, which is {tier} and"
        yield TIER.broken(
            SCALE_TIER_PATH,
            f"{name} becomes {all_of(used)}; to choose others, write CUSTOM with {all_of(_to_choose(pools))}",
        )
    roles = ("master", *ROLES) if tier == tables.CUSTOM else ()
    for role in roles:
        name = type_of(job, role) or ""
        legacy = tables.MACHINES.get(name)
        if legacy is None or count_of(job, role) == 0 or name == tables.CLOUD_TPU:
            continue
        more = ""
        if legacy.ran_on:
            more = f"; AI Platform ran it on {legacy.ran_on}, which does not train on Vertex AI"
        elif legacy.accelerator_type:
            more = (
                f"; to choose another GPU, write {camel_case(f'{role}_type')} {legacy.machine_type} with "
                f"{camel_case(f'{role}_config.accelerator_config')}"
            )
        yield MACHINE.broken(f"{PREFIX}.{role}_type", f"{name} becomes {_legacy_in_words(legacy)}{more}")
    if _worker(job) == (tables.CLOUD_TPU, 1):
        yield TPU.broken(
            f"{PREFIX}.{'worker_type' if tier == tables.CUSTOM else 'scale_tier'}",
            "the TPU becomes the machine of the chief, and the master's own machine is dropped: on Vertex AI "
            "the program runs on the TPU machine itself. Check how the program finds its TPU",
        )


def _worker(job: TrainingInput) -> tuple[str | None, int]:
    tier = tables.TIERS.get(tier_of(job))
    return tier.worker if tier else (type_of(job, "worker"), count_of(job, "worker"))


def _task_remarks(job: TrainingInput) -> Iterator[Problem]:
    if not has_task(job):
        yield NO_TASK.broken(
            PREFIX,
            "has no task, so tasks are not checked; give masterConfig.imageUri, or packageUris, "
            "pythonModule and runtimeVersion",
        )
    master = config_of(job, "master")
    command = [f for f in ("container_command", "container_args") if getattr(master, f)]
    if not command or not master.image_uri:
        return
    for role in ROLES:
        config = config_of(job, role)
        inherits = not (config.image_uri or config.container_command or config.container_args)
        if inherits and replicas_of(job, role):
            fields = all_of([camel_case(f) for f in command])
            yield COMMAND.broken(
                f"{PREFIX}.{role}_config",
                f"takes the master's image but not its {fields}: these replicas run the image's own entry "
                f"point. Repeat {fields} in {camel_case(f'{role}_config')} to run the same command as the "
                "master",
                rests_on=(
                    f"{PREFIX}.{role}_config.container_command",
                    f"{PREFIX}.{role}_config.container_args",
                    f"{PREFIX}.master_config",
                    f"{PREFIX}.{role}_count",
                ),
            )


def _runtime_remarks(
    job: TrainingInput, pools: Sequence[WorkerPoolSpec], images: Sequence[tables.TrainingImage]
) -> Iterator[Problem]:
    if not has_package(job) or job.has_container:
        return
    path, version = f"{PREFIX}.runtime_version", job.runtime_version
    if version and version not in tables.RUNTIME_VERSIONS:
        yield RUNTIME.broken(
            path,
            f"{shown(version)} is not a runtime version of AI Platform; {_version_hint(version)}, or give "
            "worker pools with pythonPackageSpec and a prebuilt image of Vertex AI",
        )
    elif version and any(_runs_package_on_tpu(pool) for pool in pools) and version.startswith("1."):
        yield RUNTIME.broken(
            path,
            f"{version} has TensorFlow 1, and Google has no prebuilt image with TensorFlow 1 for TPUs; use "
            "runtime version 2.1 or later, or your own container",
        )
    elif version and images:
        uris = list(dict.fromkeys(image.uri for image in images))
        other = next((image.version for image in images if image.version != version), None)
        change = f", with TensorFlow {other}, the nearest version" if other else ""
        yield RUNTIME_IMAGE.broken(
            path,
            f"{version} becomes {all_of(uris)}{change}; for scikit-learn or XGBoost use the prebuilt image "
            "of that framework in pythonPackageSpec",
            rests_on=(path, *_MACHINES_OF_ROLES),
        )
    yield from _python_remarks(job)


def _version_hint(version: str) -> str:
    """Suggest the nearest runtime version, or the last one for a newer version or one without a number."""
    last, nearest = tables.RUNTIME_VERSIONS[-1], tables.nearest_runtime(version)
    return f"the last one was {last}: use that" if nearest in (None, last) else f"use the nearest, {nearest}"


def _runs_package_on_tpu(pool: WorkerPoolSpec) -> bool:
    kind = pool.machine_spec.accelerator_type if pool.machine_spec else None
    return pool.python_package_spec is not None and (kind or "").startswith("TPU")


def _python_remarks(job: TrainingInput) -> Iterator[Problem]:
    path, version = f"{PREFIX}.python_version", job.python_version
    if not version or version == tables.IMAGE_PYTHON:
        return
    if version not in tables.PYTHON_VERSIONS:
        yield PYTHON.broken(
            path,
            f"{shown(version)} is not a Python version of AI Platform, which had "
            f"{one_of(tables.PYTHON_VERSIONS)}; leave it out, the prebuilt images have {tables.IMAGE_PYTHON}",
            level="error",
        )
    elif version.startswith("2"):
        yield PYTHON.broken(
            path,
            f"{version} is gone: the prebuilt images have Python {tables.IMAGE_PYTHON}. Port the program, "
            "or run it in your own container",
            level="error",
        )
    else:
        yield PYTHON.broken(
            path, f"{version} becomes {tables.IMAGE_PYTHON}, the Python of the prebuilt images"
        )


def _other_remarks(job: TrainingInput, pools: Sequence[WorkerPoolSpec]) -> Iterator[Problem]:
    arguments = (*job.args, *config_of(job, "master").container_args)
    if job.job_dir and not any(arg.split("=")[0] in ("--job-dir", "--job_dir") for arg in arguments):
        yield JOB_DIR.broken(
            f"{PREFIX}.job_dir",
            f"AI Platform passed --job-dir {job.job_dir} to the program, but Vertex AI does not; read the "
            "variable AIP_MODEL_DIR in the program, or add --job-dir to its arguments",
        )
    scheduling = job.scheduling
    if scheduling and scheduling.max_wait_time:
        yield MAX_WAIT.broken(
            f"{PREFIX}.scheduling.max_wait_time",
            f"{scheduling.max_wait_time} is left out: a job waits until machines are free. Only the "
            "strategy FLEX_START has a limit, scheduling.maxWaitDuration",
        )
    if scheduling and scheduling.priority:
        yield PRIORITY.broken(
            f"{PREFIX}.scheduling.priority",
            f"{scheduling.priority} is left out: jobs of Vertex AI have no priority",
        )
    for role in ("master", *ROLES):
        version = config_of(job, role).tpu_tf_version
        if version:
            yield TPU_VERSION.broken(
                f"{PREFIX}.{role}_config.tpu_tf_version",
                f"{version} is left out: the TPU machine runs the image itself, so use an image with that "
                "version of TensorFlow for TPUs",
            )
    if job.hyperparameters is not None:
        yield TUNING.broken(
            f"{PREFIX}.hyperparameters",
            "is left out: this is the job of one trial. For the tuning job, declare "
            'vt.HyperparameterTuningJob("tune", **vt.tuning_from_training_input(document)), which has this '
            "job in trial_job_spec and the parameters in study_spec",
        )
    yield from _chief_remarks(job, pools)


def _chief_remarks(job: TrainingInput, pools: Sequence[WorkerPoolSpec]) -> Iterator[Problem]:
    path = f"{PREFIX}.use_chief_in_tf_config"
    if job.use_chief_in_tf_config:
        yield CHIEF_FIELD.broken(path, "true is left out: Vertex AI always uses chief in TF_CONFIG")
    elif has_task(job) and is_distributed(pools) and chief_name(job) == "master":
        version = f"{PREFIX}.runtime_version"
        why = "is not set, so AI Platform" if job.has_container else f"{job.runtime_version}"
        yield CHIEF_FIELD.broken(
            path if job.has_container else version,
            f"{why} called the first replica master in TF_CONFIG; Vertex AI calls it chief. Change a "
            "program that looks for master",
            rests_on=(path, version, *_MACHINES_OF_ROLES),
        )


def _pool_in_words(pool: WorkerPoolSpec) -> str:
    machine = pool.machine_spec
    if machine is None:
        return f"{pool.replica_count} machines"
    with_accelerators = (
        f" with {machine.accelerator_count} x {machine.accelerator_type}" if machine.accelerator_type else ""
    )
    return f"{pool.replica_count} x {machine.machine_type}{with_accelerators}"


def _legacy_in_words(machine: tables.LegacyMachine) -> str:
    with_accelerators = (
        f" with {machine.accelerator_count} x {machine.accelerator_type}" if machine.accelerator_type else ""
    )
    return f"{machine.machine_type}{with_accelerators}"


def _to_choose(pools: Sequence[WorkerPoolSpec]) -> list[str]:
    """Return the fields of the tier CUSTOM that make such pools."""
    fields = []
    for role, pool in zip(("master", *ROLES), pools, strict=True):
        if pool.is_empty:
            continue
        fields += [f"{role}_type"] + ([f"{role}_count"] if role != "master" else [])
        if pool.machine_spec and pool.machine_spec.accelerator_type:
            fields.append(f"{role}_config.accelerator_config")
    return [camel_case(field) for field in fields]
