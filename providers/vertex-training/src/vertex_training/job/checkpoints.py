"""The folder of a job's checkpoints, which outlives a run: its name, and the variable that names it.

Runs that continue each other's training share a lineage, which is the key of the first of them. The folder
is outside of every run's output directory. No hash covers it and no declaration has it: a run gets the
variable when it is submitted, so a comparison with a live job leaves it out again (`without_variable`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from vertex_training.fields.uris import directory, parse_or_none
from vertex_training.findings.problems import Problem
from vertex_training.job.job_spec import JobSpec, map_parts, parts
from vertex_training.job.rules.bucket_names import bucket_name_faults
from vertex_training.topology.pools import EnvVar, WorkerPoolSpec

VARIABLE = "VERTEX_CLUSTER_CHECKPOINT_DIR"
"""The variable that `vertex_cluster.checkpoints` reads before `AIP_CHECKPOINT_DIR`."""

AFTER_INTERRUPTION, NEVER = "after_interruption", "never"
FOLDER = "checkpoints"
_LINEAGE = re.compile(rf"gs://[^/]+/(?:.+/)?{FOLDER}/([0-9a-f]{{16}}-[0-9]+)/", re.DOTALL)

Spec = TypeVar("Spec")


def lineage_folder(parent: str, lineage: str) -> str:
    """Return the folder of a lineage below gs://BUCKET/PREFIX/."""
    return f"{directory(parent)}{FOLDER}/{lineage}/"


def lineage_of(folder: str) -> str | None:
    """Return the lineage of a folder, None if `lineage_folder` did not make its name."""
    match = _LINEAGE.fullmatch(folder)
    return match[1] if match else None


def folder_of(spec: object, *, declared: object = None) -> str | None:
    """Return the folder that the first task of a spec names, None without one.

    Tasks in which `declared` has the variable are passed over.
    """
    own = dict(_declaring(declared))
    return next((value for path, value in _declaring(spec) if path not in own), None)


def folder_of_all_runs(resume: object, spec: object) -> str:
    """Return the folder that a declaration names for the checkpoints of all its runs, "" without one.

    `resume` is the option of the job. A task may name the folder itself, in the variable.
    """
    if isinstance(resume, str) and resume.startswith("gs://"):
        return directory(resume)
    return folder_of(spec) or ""


def with_variable(spec: Spec, folder: str) -> Spec:
    """Return the spec with the variable in each task that does not declare it.

    It comes first: others of the task may refer to it.
    """
    variable = EnvVar(name=VARIABLE, value=folder)
    return _map_env(spec, lambda _path, env: env if _declares(env) else (variable, *env))


def without_variable(spec: Spec, *, declared: object = None, folder: str | None = None) -> Spec:
    """Return a live spec without the variables that `with_variable` added.

    These are the values that name a lineage, or `folder`, in tasks in which `declared` has no such
    variable.
    """
    own = dict(_declaring(declared))

    def rest(path: str, env: tuple[EnvVar, ...]) -> tuple[EnvVar, ...]:
        def is_added(variable: EnvVar) -> bool:
            is_ours = lineage_of(variable.value) is not None or variable.value == folder
            return variable.name == VARIABLE and is_ours

        return env if path in own else tuple(variable for variable in env if not is_added(variable))

    return _map_env(spec, rest)


def _declares(env: tuple[EnvVar, ...]) -> bool:
    return any(variable.name == VARIABLE for variable in env)


def _declaring(spec: object) -> Iterator[tuple[str, str]]:
    """Yield the path of each pool whose task has the variable, and its value."""
    for path, part in parts(spec):
        for position, pool in enumerate(part.worker_pool_specs):
            for variable in pool.task.env if pool.task else ():
                if variable.name == VARIABLE:
                    yield f"{path}[{position}]", variable.value


def _map_env(spec: Spec, change: Callable[[str, tuple[EnvVar, ...]], tuple[EnvVar, ...]]) -> Spec:
    """Return the spec with the variables of each task changed; `change` gets the path of the part's pool."""

    def changed(path: str, pool: WorkerPoolSpec) -> WorkerPoolSpec:
        if pool.is_empty:
            return pool
        tasks = {
            name: replace(task, env=env)
            for name in ("container_spec", "python_package_spec")
            if (task := getattr(pool, name)) and (env := change(path, task.env)) != task.env
        }
        return replace(pool, **tasks) if tasks else pool

    def of_part(path: str, part: JobSpec) -> JobSpec:
        pools = tuple(
            changed(f"{path}[{position}]", pool) for position, pool in enumerate(part.worker_pool_specs)
        )
        return part if pools == part.worker_pool_specs else replace(part, worker_pool_specs=pools)

    return map_parts(spec, of_part)


def is_tuning(spec: object) -> bool:
    """Return whether the jobs of a spec are trials."""
    return any(path.endswith("trial_job_spec") for path, _ in parts(spec))


def resume_problems(spec: object, resume: str | None, *, staging_bucket: str | None) -> Iterator[Problem]:
    """Yield the problems of `resume`."""
    path = "resume"
    if resume in (None, NEVER):
        return
    if is_tuning(spec):
        yield Problem(
            path=path,
            message=f"{resume!r} is not possible with a tuning job: trial 3 of another run has other "
            "parameters. A trial that is restarted within its job finds its checkpoints in "
            "AIP_CHECKPOINT_DIR. Leave resume out.",
        )
    elif resume == AFTER_INTERRUPTION:
        if not staging_bucket:
            yield Problem(
                path=path,
                message=f"{resume!r} needs a bucket for the checkpoints. Set staging_bucket, or resume to a "
                "gs:// folder.",
                rests_on=(path, "staging_bucket"),
            )
    elif (address := parse_or_none(resume or "")) is None or not address.name.strip("/"):
        yield Problem(
            path=path,
            message=f'{resume!r} is not possible. Set it to "{AFTER_INTERRUPTION}", "{NEVER}", or a folder, '
            "gs://BUCKET/FOLDER/.",
        )
    else:
        for fault in bucket_name_faults(address.bucket):
            yield Problem(path=path, message=fault)
