"""The stall timeout of a job: a variable of each task, which `vertex_cluster.report` reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from vertex_training.catalog.prebuilt_images import prebuilt_image
from vertex_training.fields.raw_values import get, key_of, with_fields
from vertex_training.fields.values import UNKNOWN, Unknown
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.job.job_spec import JobSpec
from vertex_training.topology.pools import ContainerSpec, PythonPackageSpec, WorkerPoolSpec
from vertex_training.topology.presets.launchers import launched_by
from vertex_training.topology.roles import SERVERS, is_reduction_server_image
from vertex_training.topology.rules.frameworks import named

STALL_VARIABLE = "VERTEX_CLUSTER_STALL_TIMEOUT"
"""Read by `vertex_cluster.report`."""

EXIT_SECONDS = 30.0
"""Seconds between the stacks of a silent process and its exit (`vertex_cluster.watchdog`)."""

_PATH = "worker_pool_specs"
_TASKS = ("container_spec", "python_package_spec")

STALL_TIMEOUT = Rule(
    name="stall-timeout",
    says="the stall timeout is a number of seconds, 1 or more",
    source="ours: vertex_cluster.report reads it",
)
STALL_AFTER_NCCL = Rule(
    name="stall-after-nccl",
    says="the stall timeout ends a process before NCCL's watchdog in PyTorch aborts it, since the service "
    "retries a job that aborts",
    source="PyTorch, ProcessGroupNCCL, TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC; Vertex AI documentation, "
    '"Understand the custom training service"',
    level="warning",
)

_HEARTBEAT, _MONITORING = "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "TORCH_NCCL_ENABLE_MONITORING"
_HEARTBEAT_SECONDS = 480.0
"""The default of the first. The second, "0" or "false", switches the watchdog off."""


def argument_problems(seconds: object) -> Iterator[Problem]:
    """Yield a finding unless the argument `stall_timeout` of a job is valid, None, or not known yet."""
    if seconds is not None and not isinstance(seconds, Unknown) and not _is_valid(seconds):
        yield STALL_TIMEOUT.broken(
            "stall_timeout", f"is {shown(str(seconds))}; give a number of seconds, 1 or more, such as 600"
        )


def _is_valid(seconds: object) -> bool:
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    return number and 1 <= float(str(seconds)) < math.inf


def with_stall_timeout(value: Mapping[Any, Any], seconds: object) -> Mapping[Any, Any]:
    """Set the variable in each task of a mapping with `worker_pool_specs` that does not set it. Never raises.

    Reduction servers run a program of Google, and get none.
    """
    key = key_of(value, _PATH)
    pools = value.get(key)
    known = _is_valid(seconds)
    if not isinstance(pools, (list, tuple)) or not (known or isinstance(seconds, Unknown)):
        return value
    variable = {"name": STALL_VARIABLE, "value": f"{float(str(seconds)):.15g}" if known else UNKNOWN}
    return {**value, key: [_with_variable(pool, position, variable) for position, pool in enumerate(pools)]}


def _with_variable(pool: object, position: int, variable: Mapping[str, object]) -> Any:
    if not isinstance(pool, Mapping):
        return pool
    for name in _TASKS:
        task, env = get(pool, name), get(get(pool, name), "env")
        listed = [] if env is None else env
        image = get(task, "image_uri")
        if (
            isinstance(task, Mapping)
            and isinstance(listed, (list, tuple))
            and all(get(one, "name") != STALL_VARIABLE for one in listed)
            and not (position == SERVERS and isinstance(image, str) and is_reduction_server_image(image))
        ):
            pool = with_fields(pool, **{name: with_fields(task, env=[*listed, variable])})
    return pool


def stall_timeout_problems(spec: JobSpec, options: CheckOptions) -> Iterator[Problem]:
    """Yield the findings about the variable in the tasks of a job."""
    for position, pool in enumerate(spec.worker_pool_specs):
        task = pool.task
        if task is None or pool.is_empty:
            continue
        name = "container_spec" if pool.container_spec else "python_package_spec"
        for i, variable in enumerate(task.env):
            if variable.name != STALL_VARIABLE or "$(" in variable.value:
                continue
            path = f"{_PATH}[{position}].{name}.env[{i}].value"
            seconds = _number(variable.value)
            if not _is_valid(seconds):
                yield STALL_TIMEOUT.broken(
                    path,
                    f"{shown(variable.value)} is no time after which a silent replica ends; write a number "
                    "of seconds, 1 or more",
                )
            elif (aborts := _nccl_seconds(task)) and _uses_nccl(pool, task, options):
                yield from _nccl_problems(path, float(str(seconds)), aborts)


def _nccl_problems(path: str, seconds: float, aborts: float) -> Iterator[Problem]:
    if seconds + EXIT_SECONDS > aborts:
        yield STALL_AFTER_NCCL.broken(
            path,
            f"PyTorch aborts a process whose NCCL hangs after {aborts:g} seconds, and the service retries "
            f"the job, before the stall timeout of {seconds:g} ends it. Set at most "
            f"{aborts - EXIT_SECONDS:g}, or {_HEARTBEAT} to {seconds + EXIT_SECONDS:g} or more",
            rests_on=(path, f"{path.rpartition('[')[0]}"),
        )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _nccl_seconds(task: ContainerSpec | PythonPackageSpec) -> float:
    """Return the seconds after which NCCL's watchdog aborts a process of the task; 0 if it is off."""
    env = {variable.name: variable.value for variable in task.env}
    if env.get(_MONITORING, "").strip().lower() in ("0", "false"):
        return 0.0
    return _number(env.get(_HEARTBEAT, "")) or _HEARTBEAT_SECONDS


def _uses_nccl(pool: WorkerPoolSpec, task: ContainerSpec | PythonPackageSpec, options: CheckOptions) -> bool:
    """Return whether a pool has GPUs and its program is known to be one of PyTorch."""
    machine = pool.machine_spec
    if machine is None or not (machine.accelerator_type or "").startswith("NVIDIA"):
        return False
    framework = named(options.framework) if options.framework else None
    words = (*getattr(task, "command", ()), *task.args)
    image = prebuilt_image(getattr(task, "image_uri", "") or getattr(task, "executor_image_uri", ""))
    return (
        (framework is not None and framework.preset == "pytorch")
        or launched_by(getattr(task, "command", ())) == "pytorch"
        or (image is not None and image.framework == "pytorch")
        or any(word in ("torchrun", "torch.distributed.run") for word in words)
    )
