"""The rules of a machine, its accelerators and its boot disk, against the tables in `catalog`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from vertex_training.catalog import accelerators
from vertex_training.catalog.machines import (
    BOOT_DISK_TYPES,
    MACHINES,
    MachineType,
    is_tpu,
    machine,
    machines_with,
    series,
)
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, one_of, or_newer, shown
from vertex_training.topology.pools import DiskSpec, MachineSpec
from vertex_training.topology.rules.reservations import reservation_problems

_COMPUTE = 'Vertex AI documentation, "Configure compute resources for serverless training"'

MACHINE_TYPE = Rule(
    name="machine-type",
    says="the machine type is one of those for training",
    source=_COMPUTE + ", Machine types",
)
ACCELERATOR_TYPE = Rule(
    name="accelerator-type",
    says="the accelerator is in the list of the API",
    source="Vertex AI API, enum AcceleratorType",
)
ACCELERATOR_RETIRED = Rule(
    name="accelerator-retired",
    says="the accelerator has not been retired",
    source="Vertex AI API, enum AcceleratorType; the service rejects it by name",
)
ACCELERATOR_ENDING = Rule(
    name="accelerator-ending",
    says="an accelerator is used before its support ends",
    source=_COMPUTE + ", GPUs",
    level="warning",
)
ACCELERATOR_BOTH = Rule(
    name="accelerator-both",
    says="accelerator type and count are given together",
    source="an error text of the service",
)
ACCELERATOR_NEGATIVE = Rule(
    name="accelerator-negative",
    says="an accelerator count is 0 or more",
    source="ours: the SDK for Python ignores such a count, which hides a mistake",
)
ACCELERATOR_MACHINE = Rule(
    name="accelerator-machine",
    says="the machine can have the accelerator",
    source=_COMPUTE + ", table of valid numbers of GPUs",
)
ACCELERATOR_COUNT = Rule(
    name="accelerator-count",
    says="the machine can have that many accelerators",
    source=_COMPUTE + ", table of valid numbers of GPUs",
)
ACCELERATOR_NEEDED = Rule(
    name="accelerator-needed",
    says="a machine with built-in accelerators declares them",
    source=_COMPUTE + ", machine types with an asterisk",
)
TPU_TOPOLOGY = Rule(
    name="tpu-topology",
    says="newer TPUs, and no other machines, have a topology from their table",
    source=_COMPUTE + ", TPUs",
)
TPU_ACCELERATOR = Rule(
    name="tpu-accelerator",
    says="a TPU that is requested by topology has no accelerator type or count",
    source=_COMPUTE + ", TPUs",
)
GPU_PARTITION = Rule(
    name="gpu-partition",
    says="only a machine with GPUs has a partition size",
    source="Vertex AI API, MachineSpec.gpu_partition_size",
)

_SHAPE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")


def machine_problems(spec: MachineSpec, path: str, options: CheckOptions) -> Iterator[Problem]:
    """Yield every finding about a machine; for an unknown one, only what holds for any machine."""
    known = machine(spec.machine_type)
    if known is None:
        yield _unknown_machine(spec.machine_type, f"{path}.machine_type", options)
    if known is not None and known.tpu_topologies:
        yield from _topology_machine_problems(spec, known, path, options)
    else:
        yield from _accelerator_problems(spec, known, path, options)
        yield from _stray_topology_problems(spec, known, path)
    if spec.gpu_partition_size and not accelerators.is_gpu(spec.accelerator_type or ""):
        below = f"{path}.gpu_partition_size"
        yield GPU_PARTITION.broken(
            below,
            f"{shown(spec.gpu_partition_size)} needs a GPU to divide; leave it out, or give "
            "accelerator_type and accelerator_count",
            rests_on=(below, f"{path}.accelerator_type"),
        )
    yield from reservation_problems(spec, path, options)


def _unknown_machine(name: str, path: str, options: CheckOptions) -> Problem:
    if not _SHAPE.fullmatch(name) and not any(other.startswith(f"{name}-") for other in MACHINES):
        hint = nearest(name, MACHINES) or "one is written like n1-standard-4"
        return MACHINE_TYPE.broken(path, f"{shown(name)} is not a machine type; {hint}")
    hint = _machine_hint(name) if options.allow_unknown_types else or_newer(_machine_hint(name))
    return MACHINE_TYPE.broken(
        path, f"{shown(name)} is not a machine type for training; {hint}", level=options.level_of_unknown
    )


def _machine_hint(name: str) -> str:
    """Suggest another name: the adjacent sizes of a known series, or else similar names."""
    longer = [other for other in MACHINES if other.startswith(f"{name}-")]
    if 0 < len(longer) <= 6:
        return f"did you mean {one_of(longer)}?"
    kind, _, size = name.rpartition("-")
    sizes = sorted(
        (each.vcpus, other) for other, each in MACHINES.items() if other.rpartition("-")[0] == kind
    )
    if size.isdecimal() and sizes and len(size) < 6:
        smaller = [other for vcpus, other in sizes if vcpus < int(size)][-1:]
        larger = [other for vcpus, other in sizes if vcpus > int(size)][:1]
        if not smaller:
            return f"the smallest {kind} for training is {larger[0]}"
        if not larger:
            return f"the largest {kind} for training is {smaller[0]}"
        return f"did you mean {one_of(smaller + larger)}?"
    every = ", ".join(dict.fromkeys(series(other) for other in MACHINES))
    return nearest(name, MACHINES) or f"the series for training are {every}"


def _accelerator_problems(
    spec: MachineSpec, known: MachineType | None, path: str, options: CheckOptions
) -> Iterator[Problem]:
    kind, count = _accelerator(spec), spec.accelerator_count
    both = (f"{path}.accelerator_type", f"{path}.accelerator_count")
    everything = (f"{path}.machine_type", *both)
    if kind is not None and kind not in accelerators.NAMES:
        hint = _accelerator_hint(kind, known)
        hint = hint if options.allow_unknown_types else or_newer(hint)
        yield ACCELERATOR_TYPE.broken(
            both[0],
            f"{shown(kind)} is not an accelerator of Vertex AI; {hint}",
            level=options.level_of_unknown,
        )
    if kind is not None and kind in accelerators.END_OF_SUPPORT:
        yield ACCELERATOR_ENDING.broken(
            both[0],
            f"Google's support of {kind} ends on {accelerators.END_OF_SUPPORT[kind]}; plan for another "
            "accelerator",
        )
    if count < 0:
        yield ACCELERATOR_NEGATIVE.broken(
            both[1], f"{count} accelerators; give a whole number of 1 or more, or none"
        )
    elif kind is not None and count == 0:
        yield ACCELERATOR_BOTH.broken(
            both[1],
            f"is missing or 0 while accelerator_type is {shown(kind)}; {_both(known)}",
            rests_on=both,
        )
    elif kind is None and count > 0:
        yield ACCELERATOR_BOTH.broken(
            both[0],
            f"is missing while accelerator_count is {count}; {_both(known)}",
            rests_on=both,
        )
    elif kind is None and known is not None and known.accelerator_required:
        yield ACCELERATOR_NEEDED.broken(
            both[0], f"is missing; {_what_it_has(known)}, and both have to be given", rests_on=everything
        )
    if kind in accelerators.RETIRED and not options.allow_legacy_types:
        yield ACCELERATOR_RETIRED.broken(
            both[0],
            f"{kind} is retired: the service rejects it on every machine. {_instead(known)}",
        )
    elif kind in accelerators.NAMES and known is not None:
        yield from _matrix_problems(spec, kind, known, path, options)


def _both(known: MachineType | None) -> str:
    """Suggest the remedy if only one of accelerator type and count is given."""
    if known is not None and known.accelerator_required:
        return f"give both, {_what_it_has(known)}"
    if known is not None and not known.accelerators:
        return "leave out accelerator_type and accelerator_count, since the machine has no accelerators"
    return "give both accelerator_type and accelerator_count, or none"


def _instead(known: MachineType | None) -> str:
    """Suggest a replacement for a retired accelerator."""
    if known is not None and not known.accelerators:
        return f"Leave it out, {_what_it_has(known)}"
    if known is not None and "NVIDIA_TESLA_T4" not in known.accelerators:
        return f"Use another, {_what_it_has(known)}"
    counts = f" ({_in_words(known.accelerators['NVIDIA_TESLA_T4'])})" if known else ""
    return f"Use NVIDIA_TESLA_T4{counts}, or set allow_legacy_types for a declaration that is kept as it was"


def _matrix_problems(
    spec: MachineSpec, kind: str, known: MachineType, path: str, options: CheckOptions
) -> Iterator[Problem]:
    """Check a known accelerator and its count against the table of the known machine."""
    rests_on = tuple(f"{path}.{name}" for name in ("machine_type", "accelerator_type", "accelerator_count"))
    retired = accelerators.RETIRED.get(kind) if series(known.name) == "n1" else None
    counts = known.accelerators.get(kind, retired)
    if counts is None:
        yield ACCELERATOR_MACHINE.broken(
            f"{path}.accelerator_type",
            f"{kind} cannot be used on {known.name}: {_what_it_has(known)}; {_where_it_is(kind, known)}",
            rests_on=rests_on[:2],
            level=options.level_of_unknown,
        )
    elif spec.accelerator_count > 0 and spec.accelerator_count not in counts:
        if spec.gpu_partition_size and spec.accelerator_count == 1:
            return  # the API's own comment asks for 1 together with a partition size
        next_one = next((each for each in counts if each > spec.accelerator_count), counts[-1])
        yield ACCELERATOR_COUNT.broken(
            f"{path}.accelerator_count",
            f"{spec.accelerator_count} x {kind} is not allowed on {known.name}, which can have "
            f"{_in_words(counts)}; set it to {next_one}",
            rests_on=rests_on,
            level=options.level_of_unknown,
        )


def _accelerator(spec: MachineSpec) -> str | None:
    return None if spec.accelerator_type in ("", accelerators.UNSPECIFIED) else spec.accelerator_type


def _accelerator_hint(name: str, known: MachineType | None) -> str:
    """Suggest another name of an accelerator.

    The first match wins: another spelling of the same model, similar names of the machine's own accelerators,
    names that contain the given one (such as 80GB), similar names, all names.
    """
    if kind := accelerators.meant(name):
        if known is None or kind in (*known.accelerators, *accelerators.RETIRED):
            return f"did you mean {kind}?"
        where = _where_it_is(kind, known)
        return f"did you mean {kind}? {where[:1].upper()}{where[1:]}"
    if known is not None and (hint := nearest(name, known.accelerators, count=1)):
        return hint
    parts = [each for each in accelerators.NAMES if len(name) > 1 and name.upper() in each]
    if 0 < len(parts) <= 3:
        return f"did you mean {one_of(parts)}?"
    return nearest(name, accelerators.NAMES) or f"the accelerators are {', '.join(accelerators.NAMES)}"


def _what_it_has(known: MachineType) -> str:
    if not known.accelerators:
        return "the machine has a TPU" if known.tpu_topologies else "the machine has no accelerators"
    if not known.accelerator_required:
        return f"the machine can have {one_of(known.accelerators)}"
    each = [
        f"{counts[0]} x {name}" if len(counts) == 1 else f"{name} ({_in_words(counts)})"
        for name, counts in known.accelerators.items()
    ]
    return f"{known.name} comes with {one_of(each)}"


def _where_it_is(kind: str, known: MachineType) -> str:
    if kind in accelerators.INSTEAD:
        return accelerators.INSTEAD[kind]
    having = machines_with(kind)
    if not having:
        return "only N1 machines had it"
    closest = min(having, key=lambda each: abs(each.vcpus - known.vcpus))
    return f"a machine that has {kind} is {closest.name}"


def _in_words(counts: Sequence[int]) -> str:
    if len(counts) > 8:
        return f"{counts[0]}, or a multiple of {counts[1]} up to {counts[-1]}"
    return one_of([str(count) for count in counts])


def _topology_machine_problems(
    spec: MachineSpec, known: MachineType, path: str, options: CheckOptions
) -> Iterator[Problem]:
    kind, below = _accelerator(spec), f"{path}.tpu_topology"
    rests_on = (f"{path}.machine_type", below)
    if not spec.tpu_topology:
        yield TPU_TOPOLOGY.broken(
            below, f"is missing; {known.name} needs one: {one_of(known.tpu_topologies)}", rests_on=rests_on
        )
    elif spec.tpu_topology not in known.tpu_topologies:
        yield TPU_TOPOLOGY.broken(
            below,
            f"{shown(spec.tpu_topology)} is not a topology of {known.name}; use "
            f"{one_of(known.tpu_topologies)}",
            rests_on=rests_on,
            level=options.level_of_unknown,
        )
    if kind is not None or spec.accelerator_count != 0:
        field = "accelerator_count" if kind is None else "accelerator_type"
        given = spec.accelerator_count if kind is None else shown(kind)
        yield TPU_ACCELERATOR.broken(
            f"{path}.{field}",
            f"{given} is not allowed with {known.name}, whose tpu_topology decides how many TPUs it has; "
            "leave accelerator_type and accelerator_count out",
            rests_on=(f"{path}.machine_type", f"{path}.{field}"),
        )


def _stray_topology_problems(spec: MachineSpec, known: MachineType | None, path: str) -> Iterator[Problem]:
    """Check for a topology on a machine that has none; unknown machines with TPUs are skipped."""
    if not spec.tpu_topology or (known is None and is_tpu(spec.machine_type)):
        return
    below = f"{path}.tpu_topology"
    remedy = "leave it out, or choose a machine type such as ct5lp-hightpu-4t"
    if known is not None and is_tpu(known.name):
        remedy = "accelerator_type and accelerator_count say which TPU it is"
    elif known is None:
        return
    yield TPU_TOPOLOGY.broken(
        below,
        f"{shown(spec.tpu_topology)} is not allowed on {known.name}, which has no topology; {remedy}",
        rests_on=(f"{path}.machine_type", below),
    )


BOOT_DISK_SIZES_GB = range(100, 64001)

DISK_TYPE = Rule(
    name="disk-type", says="the boot disk is of a known type", source=_COMPUTE + ", Boot disk options"
)
DISK_MACHINE = Rule(
    name="disk-machine",
    says="the machine can have that type of boot disk",
    source='Compute Engine documentation, "About Google Cloud Hyperdisk", Machine type support',
)
DISK_SIZE = Rule(
    name="disk-size", says="the boot disk has 100 to 64000 GB", source=_COMPUTE + ", Boot disk options"
)


def disk_problems(disk: DiskSpec, machine_type: str, path: str, options: CheckOptions) -> Iterator[Problem]:
    """Yield every finding about the boot disk of a machine; with the type "" the service chooses."""
    below, known = f"{path}.boot_disk_type", machine(machine_type)
    if disk.boot_disk_type and disk.boot_disk_type not in BOOT_DISK_TYPES:
        yield DISK_TYPE.broken(
            below,
            f"{shown(disk.boot_disk_type)} is not a type of boot disk; use {one_of(BOOT_DISK_TYPES)}",
            level=options.level_of_unknown,
        )
    elif disk.boot_disk_type and known and disk.boot_disk_type not in known.boot_disk_types:
        machine_path = f"{path.rpartition('.')[0]}.machine_spec.machine_type"
        yield DISK_MACHINE.broken(
            below,
            f"{disk.boot_disk_type} cannot be used on {machine_type}; use {one_of(known.boot_disk_types)}",
            rests_on=(below, machine_path),
            level=options.level_of_unknown,
        )
    if disk.boot_disk_size_gb not in BOOT_DISK_SIZES_GB:
        low, high = BOOT_DISK_SIZES_GB[0], BOOT_DISK_SIZES_GB[-1]
        yield DISK_SIZE.broken(
            f"{path}.boot_disk_size_gb",
            f"{disk.boot_disk_size_gb} GB is not allowed; a boot disk has {low} to {high} GB",
        )
