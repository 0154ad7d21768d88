"""`explain` for people: what the job is, its pools and tasks, what is wrong, what its replicas see."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence

from vertex_training.cli import environment_view
from vertex_training.cli.explain_slices import machines_of
from vertex_training.cli.explanation import Explanation, has_tasks, source_of
from vertex_training.cli.output import Cell, Output, visible
from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.specs.decode import encode
from vertex_training.topology.catalog import machines
from vertex_training.topology.changes import NOT_KNOWN
from vertex_training.topology.normal import default_disk
from vertex_training.topology.pools import ContainerSpec, PythonPackageSpec, WorkerPoolSpec
from vertex_training.topology.problems import Problem
from vertex_training.topology.roles import MAX_POOLS, role_of
from vertex_training.topology.words import all_of

_STYLES = {"error": "red", "warning": "yellow"}
_MOST_FINDINGS = 100


def show(explained: Explanation, output: Output, *, command: str | None) -> None:
    """The whole page. With errors these are its end, where they are seen, and no environment is shown.

    `command` explains the same again, for the hint at the end; None where it cannot be given.
    """
    output.paragraph(heading(explained), style="bold")
    spec = explained.spec
    if spec is not None and not all(pool.is_empty for pool in spec.worker_pool_specs):
        output.line()
        _show_pools(spec.worker_pool_specs, output)
        _show_tasks(spec.worker_pool_specs, output)
        _show_job(spec, output)
    if explained.errors:
        _show_sizing(explained, output)
        show_findings(explained.problems, output)
        return
    show_findings(explained.problems, output)
    _show_sizing(explained, output)
    environment_view.show(explained, output, command=command)


def _show_sizing(explained: Explanation, output: Output) -> None:
    if explained.sizing is None:
        return
    output.section("Reduction servers")
    for sentence in explained.sizing.arithmetic:
        output.paragraph(sentence, indent=2)
    declared = explained.declared_reduction_servers
    if declared is not None and explained.document.sizing is None:
        output.paragraph(f"The job declares {declared}.", indent=2)


def heading(explained: Explanation) -> str:
    """ "A distributed job of 4 replicas: chief 1 x n1-standard-4, workers 3 x n1-standard-8." """
    spec = explained.spec
    if spec is None:
        return "This is no job."
    pools = [(i, pool) for i, pool in enumerate(spec.worker_pool_specs) if not pool.is_empty]
    replicas = sum(pool.replica_count for _, pool in pools)
    if not pools:
        return "A job without replicas."
    kind = "A job of one replica" if replicas == 1 else f"A distributed job of {replicas} replicas"
    if explained.document.form == "training_input":
        kind = f"A training input of AI Platform; on Vertex AI {kind[0].lower()}{kind[1:]}"
    parts = [f"{_role(i, pool)} {_replicas(pool)}" for i, pool in pools]
    bare = "" if has_tasks(spec) else " It has no tasks, so they are not checked."
    return f"{kind}: {', '.join(parts)}.{bare}"


def show_findings(problems: Sequence[Problem], output: Output) -> None:
    """Errors before warnings, each with its document; on a line of its own in a pipe."""
    if not problems:
        return
    counts = [(level, sum(problem.level == level for problem in problems)) for level in _STYLES]
    output.section(all_of([f"{n} {level}{'s' if n > 1 else ''}" for level, n in counts if n]))
    for level, style in _STYLES.items():
        of_level = [problem for problem in problems if problem.level == level]
        for problem in of_level[:_MOST_FINDINGS]:
            source = source_of(problem)
            if not output.terminal:
                output.line(f"{level}: {sentence(problem)}" + (f" ({source})" if source else ""))
                continue
            output.line(
                f"{output.paint(level, style)} {output.paint(visible(problem.path), 'bold')}".rstrip()
            )
            output.paragraph(problem.message, indent=2)
            if source:
                output.paragraph(source, indent=2, style="dim")
        if len(of_level) > _MOST_FINDINGS:
            output.line(f"... and {len(of_level) - _MOST_FINDINGS} more; --json has all")


def sentence(problem: Problem) -> str:
    """A finding in one line."""
    return visible(str(problem))


def _show_pools(pools: Sequence[WorkerPoolSpec], output: Output) -> None:
    present = [(i, pool) for i, pool in enumerate(pools) if not pool.is_empty]
    with_accelerators = any(_accelerators(pool) for _, pool in present)
    rows: list[list[Cell]] = []
    for i, pool in present:
        row: list[Cell] = [
            str(i),
            _role(i, pool),
            (_machines(pool), _equipment(pool)),
        ]
        if with_accelerators:
            row.append(_accelerators(pool))
        rows.append([*row, _disk(pool)])
    accelerators = ["ACCELERATORS"] if with_accelerators else []
    output.table(["#", "ROLE", "MACHINES", *accelerators, "BOOT DISK"], rows)


def _show_tasks(pools: Sequence[WorkerPoolSpec], output: Output) -> None:
    """Every task once, with the pools that have it."""
    tasks: list[tuple[list[str], ContainerSpec | PythonPackageSpec]] = []
    for i, pool in enumerate(pools):
        if pool.is_empty or pool.task is None:
            continue
        same = next((roles for roles, task in tasks if task == pool.task), None)
        if same is None:
            tasks.append(([_role(i, pool)], pool.task))
        else:
            same.append(_role(i, pool))
    for roles, task in tasks:
        title = all_of(roles)
        output.section(
            f"{title[0].upper()}{title[1:]} run{'s' if roles in (['chief'], ['evaluator']) else ''}"
        )
        output.pairs(list(_task(task)))


def _task(task: ContainerSpec | PythonPackageSpec) -> Iterator[tuple[str, str]]:
    if isinstance(task, ContainerSpec):
        yield "container", _known(task.image_uri)
        if task.command:
            yield "command", shlex.join(task.command)
    else:
        yield "module", _known(task.python_module)
        yield "packages", " ".join(task.package_uris)
        yield "in", _known(task.executor_image_uri)
    if task.args:
        yield "arguments", shlex.join(task.args)
    if task.env:
        yield "variables", ", ".join(variable.name for variable in task.env)


def _show_job(spec: CustomJobSpec, output: Output) -> None:
    """Every field of the job that is set, beside its pools."""
    fields = {key: value for key, value in encode(spec).items() if key != "worker_pool_specs" and value}
    if fields:
        output.section("The job")
        output.pairs(list(_flat(fields)))


def _flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, str):
        yield path, _known(value)
    else:
        yield path, json.dumps(value, ensure_ascii=False)


def _role(position: int, pool: WorkerPoolSpec) -> str:
    if position >= MAX_POOLS:
        return "no role"
    return role_of(position, pool).in_words(pool.replica_count)


def _replicas(pool: WorkerPoolSpec) -> str:
    if machines_of(pool) == 1:
        return f"{pool.replica_count} x {_size(pool)}"
    return f"{_slices(pool)} ({_accelerators(pool)}, {_known(pool.machine_type)})"


def _machines(pool: WorkerPoolSpec) -> str:
    if machines_of(pool) == 1:
        return f"{pool.replica_count} x {_known(pool.machine_type)}"
    return f"{_slices(pool)}, each {_known(pool.machine_type)}"


def _slices(pool: WorkerPoolSpec) -> str:
    """Of a TPU slice of several machines: "1 replica on 4 machines"."""
    one = pool.replica_count == 1
    return f"{pool.replica_count} replica{'' if one else 's'} on {machines_of(pool)} machines" + (
        "" if one else " each"
    )


def _size(pool: WorkerPoolSpec) -> str:
    accelerators, each = _accelerators(pool), " each" if pool.replica_count > 1 else ""
    return _known(pool.machine_type) + (f" with {accelerators}{each}" if accelerators else "")


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
    return f"{machine.accelerator_count} x {_known(machine.accelerator_type or '?')}{partition}"


def _disk(pool: WorkerPoolSpec) -> str:
    disk = pool.disk_spec or default_disk(pool.machine_type)
    return f"{_known(disk.boot_disk_type)} {disk.boot_disk_size_gb} GB"


def _known(text: str) -> str:
    """Beside errors a spec has placeholders."""
    return "?" if text in ("", NOT_KNOWN) else text


def some_of(names: Sequence[str], *, most: int = 6) -> str:
    """The names, only the first and the last of many."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} ... {names[-1]} ({len(names)} in all)"


def assignments(variables: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Lines that a shell reads, one for each variable."""
    for name, value in variables:
        yield f"{name}={_quoted(value)}"


def _quoted(value: str) -> str:
    """For a shell; control characters, which a terminal would obey, in the shell's $'...' form."""
    if visible(value) == value:
        return shlex.quote(value)
    escaped = "".join(
        {"\\": "\\\\", "'": "\\'"}.get(c, c if visible(c) == c else f"\\U{ord(c):08x}") for c in value
    )
    return f"$'{escaped}'"
