"""Print the worker pools, tasks and fields of a job."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence

from pulumi_vertex_training.views.explained import has_tasks
from vertex_training.catalog import machines
from vertex_training.command_line.output import Cell, Output
from vertex_training.fields.decode import encode
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.words import all_of
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology import slices
from vertex_training.topology.normal import default_disk
from vertex_training.topology.pools import ContainerSpec, PythonPackageSpec, WorkerPoolSpec
from vertex_training.topology.presets.launchers import launched_by
from vertex_training.topology.roles import MAX_POOLS, role_of


def in_words(spec: CustomJobSpec | None) -> str:
    """Describe a job: "A distributed job of 4 replicas: chief 1 x n1-standard-4, workers 3 x n1-standard-8".

    Return "" for a job without replicas.
    """
    pools = [(i, pool) for i, pool in enumerate(spec.worker_pool_specs if spec else ()) if not pool.is_empty]
    if not pools:
        return ""
    replicas = sum(pool.replica_count for _, pool in pools)
    kind = "A job of one replica" if replicas == 1 else f"A distributed job of {replicas} replicas"
    return f"{kind}: {', '.join(pool_in_words(i, pool) for i, pool in pools)}"


def pool_in_words(position: int, pool: WorkerPoolSpec) -> str:
    """Describe a pool at a position: "workers 3 x n1-standard-8"."""
    return f"{role_in_words(position, pool)} {_replicas(pool)}"


def bare_in_words(spec: CustomJobSpec) -> str:
    """Return the sentence that a job has no tasks; "" for a job with tasks."""
    return "" if has_tasks(spec) else " It has no tasks, so they are not checked."


def show_job(spec: CustomJobSpec, output: Output, *, title: str, fields_title: str) -> None:
    """Print a whole job, or nothing if it has no replicas.

    `title` is the heading of its pools, "" for none.
    """
    if all(pool.is_empty for pool in spec.worker_pool_specs):
        return
    if title:
        output.section(title)
    else:
        output.line()
    _show_pools(spec.worker_pool_specs, output)
    _show_tasks(spec.worker_pool_specs, output)
    fields = {key: value for key, value in encode(spec).items() if key != "worker_pool_specs"}
    show_fields(fields, output, title=fields_title)


def _show_pools(pools: Sequence[WorkerPoolSpec], output: Output) -> None:
    present = [(i, pool) for i, pool in enumerate(pools) if not pool.is_empty]
    with_accelerators = any(_accelerators(pool) for _, pool in present)
    rows: list[list[Cell]] = []
    for i, pool in present:
        row: list[Cell] = [
            str(i),
            role_in_words(i, pool),
            (_machines(pool), _equipment(pool)),
        ]
        if with_accelerators:
            row.append(_accelerators(pool))
        rows.append([*row, _disk(pool)])
    accelerators = ["ACCELERATORS"] if with_accelerators else []
    output.table(["#", "ROLE", "MACHINES", *accelerators, "BOOT DISK"], rows)


def _show_tasks(pools: Sequence[WorkerPoolSpec], output: Output) -> None:
    """Print each distinct task once, with the pools that have it."""
    tasks: list[tuple[list[str], ContainerSpec | PythonPackageSpec]] = []
    for i, pool in enumerate(pools):
        if pool.is_empty or pool.task is None:
            continue
        same = next((roles for roles, task in tasks if task == pool.task), None)
        if same is None:
            tasks.append(([role_in_words(i, pool)], pool.task))
        else:
            same.append(role_in_words(i, pool))
    for roles, task in tasks:
        title = all_of(roles)
        output.section(
            f"{title[0].upper()}{title[1:]} run{'s' if roles in (['chief'], ['evaluator']) else ''}"
        )
        output.pairs(list(_task(task)))


def _task(task: ContainerSpec | PythonPackageSpec) -> Iterator[tuple[str, str]]:
    if isinstance(task, ContainerSpec):
        yield "container", known(task.image_uri)
        if task.command:
            yield "command", _command(task.command)
    else:
        yield "module", known(task.python_module)
        yield "packages", " ".join(task.package_uris)
        yield "in", known(task.executor_image_uri)
    if task.args:
        yield "arguments", shlex.join(task.args)
    if task.env:
        yield "variables", ", ".join(variable.name for variable in task.env)


def _command(words: Sequence[str]) -> str:
    """Return a command as a shell line; the text of a launcher is left out."""
    framework = launched_by(words)
    return shlex.join(words) if framework is None else f"{words[0]} {words[1]} (the launcher of {framework})"


def show_fields(fields: Mapping[str, object], output: Output, *, title: str) -> None:
    """Print fields and values in the API's spelling, without empty ones."""
    given = {key: value for key, value in fields.items() if value}
    if given:
        output.section(title)
        output.pairs(list(_flat(given)))


def _flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, str):
        yield path, known(value)
    else:
        yield path, json.dumps(value, ensure_ascii=False)


def role_in_words(position: int, pool: WorkerPoolSpec) -> str:
    """Name the role of a pool at a position, "no role" past the fourth."""
    if position >= MAX_POOLS:
        return "no role"
    return role_of(position, pool).in_words(pool.replica_count)


def _replicas(pool: WorkerPoolSpec) -> str:
    if machines_of(pool) == 1:
        return f"{pool.replica_count} x {_size(pool)}"
    return f"{_slices(pool)} ({_accelerators(pool)}, {known(pool.machine_type)})"


def _machines(pool: WorkerPoolSpec) -> str:
    if machines_of(pool) == 1:
        return f"{pool.replica_count} x {known(pool.machine_type)}"
    return f"{_slices(pool)}, each {known(pool.machine_type)}"


def _slices(pool: WorkerPoolSpec) -> str:
    """Describe a TPU slice of several machines: "1 replica on 4 machines"."""
    one = pool.replica_count == 1
    return f"{pool.replica_count} replica{'' if one else 's'} on {machines_of(pool)} machines" + (
        "" if one else " each"
    )


def machine_and_accelerators(pool: WorkerPoolSpec) -> tuple[str, str]:
    """Return the machine type of each replica, and its accelerators, such as "2 x NVIDIA_TESLA_T4", or ""."""
    accelerators, count = _accelerators(pool), machines_of(pool)
    return known(pool.machine_type), f"{accelerators} on {count} machines" if count > 1 else accelerators


def _size(pool: WorkerPoolSpec) -> str:
    accelerators, each = _accelerators(pool), " each" if pool.replica_count > 1 else ""
    return known(pool.machine_type) + (f" with {accelerators}{each}" if accelerators else "")


def _equipment(pool: WorkerPoolSpec) -> str:
    machine = machines.machine(pool.machine_type)
    return f"{machine.vcpus} vCPU, {machine.memory_gb:g} GB" if machine else ""


def _accelerators(pool: WorkerPoolSpec) -> str:
    machine = pool.machine_spec
    if machine is None:
        return ""
    if machine.tpu_topology:
        return f"TPU {machine.tpu_topology}"
    if machine.accelerator_type is None and not machine.accelerator_count:
        return ""
    partition = f", {machine.gpu_partition_size}" if machine.gpu_partition_size else ""
    return f"{machine.accelerator_count} x {known(machine.accelerator_type or '?')}{partition}"


def _disk(pool: WorkerPoolSpec) -> str:
    disk = pool.disk_spec or default_disk(pool.machine_type)
    return f"{known(disk.boot_disk_type)} {disk.boot_disk_size_gb} GB"


def known(text: str) -> str:
    """Return "?" for a placeholder, which a spec with errors has, else the text."""
    return "?" if text in ("", NOT_KNOWN) else text


def machines_of(pool: WorkerPoolSpec) -> int:
    """Return the number of machines of each replica; only a TPU slice of several hosts has more than 1."""
    return (slices.machines_of(pool.machine_spec) or 1) if pool.machine_spec else 1


def machines_of_slices(spec: CustomJobSpec | None) -> dict[int, int]:
    """Return the machines of each replica by the position of the pool, for pools with several."""
    pools = spec.worker_pool_specs if spec else ()
    counts = {i: machines_of(pool) for i, pool in enumerate(pools) if not pool.is_empty}
    return {i: count for i, count in counts.items() if count > 1}
