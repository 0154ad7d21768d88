"""A capacity ladder: what a job tries in turn until there are machines for it.

Each rung changes the strategy or the machine of the job, and says how long to wait for machines. The rungs
are not part of the job's spec: which one a run takes is decided when it is submitted
(docs/architecture/decisions/0017-capacity-ladder.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vertex_training.catalog.machines import is_tpu
from vertex_training.fields import durations
from vertex_training.findings.words import duration
from vertex_training.job.job_spec import (
    OLD_STRATEGIES,
    STRATEGY_BY_NUMBER,
    EncryptionSpec,
    Job,
    JobSpec,
    PscInterfaceConfig,
    Scheduling,
    normalise,
)
from vertex_training.topology.normal import default_disk
from vertex_training.topology.pools import MachineSpec, WorkerPoolSpec

FLEX_START = "FLEX_START"


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One rung of a capacity ladder: what a run changes in the job, and how long it waits for machines."""

    strategy: str | None = field(default=None, metadata={"convert": STRATEGY_BY_NUMBER})
    """Strategy of this rung: STANDARD, SPOT or FLEX_START. Default: the job's own."""
    machine_spec: MachineSpec | None = field(default=None, metadata={"absent_if_empty": True})
    """Machine of this rung, with its accelerators and its reservation. It replaces the machine of each worker
    pool that has accelerators, or of all pools if none has any. Default: the job's own.
    """
    wait_for: str | None = field(default=None, metadata={"convert": durations.seconds_text})
    """Longest wait for machines, such as "1800s"; then the next rung is tried. With FLEX_START the service
    itself ends the wait. With SPOT and STANDARD it is counted while `pulumi up` waits. Default: until the
    service reports a lack of machines.
    """
    location: str | None = None
    """Region of this rung. A rung in another region needs a bucket there, and its own TensorBoard, key and
    network attachment if the job has one. Default: the job's own.
    """
    staging_bucket: str | None = None
    """Bucket, or its name, for the output of runs on this rung, in the region of the rung."""
    base_output_directory: str | None = None
    """The gs:// directory for the output of runs on this rung, instead of a `staging_bucket`."""
    tensorboard: str | None = None
    """TensorBoard for the logs of runs on this rung, in the region of the rung."""
    encryption_spec: EncryptionSpec | None = field(default=None, metadata={"absent_if_empty": True})
    """Customer-managed key of runs on this rung, in the region of the rung."""
    psc_interface_config: PscInterfaceConfig | None = field(default=None, metadata={"absent_if_empty": True})
    """Private Service Connect interface of runs on this rung, in the region of the rung."""


@dataclass(frozen=True, kw_only=True)
class OnLadder:
    """The inputs of a job with a capacity ladder. They are recorded in place: no hash covers them."""

    capacity: tuple[Rung, ...] = ()
    """Capacity ladder: strategies, machines and regions that the job tries in turn until there are machines
    (docs/guides/programs/capacity.md).
    """
    capacity_limit: int = 2
    """How often in a row later deployments climb the ladder again after no rung had machines."""
    locations: tuple[str, ...] = ()
    """The other locations in which a job of the declaration may be, filled in by check."""


OF_A_PLACE = (
    *("location", "staging_bucket", "base_output_directory"),
    *("tensorboard", "encryption_spec", "psc_interface_config"),
)
"""The fields of a rung that it needs in another location, named as the job's own."""


def on_rung(spec: Job, rung: Rung) -> Job:
    """Return the spec of a run on a rung, in normal form."""
    own = {name: getattr(rung, name) for name in OF_A_PLACE if hasattr(spec, name)}
    return normalise(
        replace(
            spec,
            **{name: value for name, value in own.items() if value is not None},
            scheduling=_scheduling(spec.scheduling or Scheduling(), rung),
            worker_pool_specs=_pools(spec.worker_pool_specs, rung.machine_spec),
        )
    )


def _scheduling(declared: Scheduling, rung: Rung) -> Scheduling:
    strategy = rung.strategy or declared.strategy
    if strategy == FLEX_START:
        return replace(
            declared, strategy=strategy, max_wait_duration=rung.wait_for or declared.max_wait_duration
        )
    kept = declared.max_wait_duration if strategy == declared.strategy else None
    return replace(declared, strategy=strategy, max_wait_duration=kept)


def _pools(pools: Sequence[WorkerPoolSpec], machine: MachineSpec | None) -> tuple[WorkerPoolSpec, ...]:
    if machine is None:
        return tuple(pools)
    has_accelerators = any(map(_has_accelerators, pools))

    def changed(pool: WorkerPoolSpec) -> WorkerPoolSpec:
        if pool.is_empty or (has_accelerators and not _has_accelerators(pool)):
            return pool
        # A disk that the machine decided about is decided about again.
        is_default = pool.disk_spec == default_disk(pool.machine_type)
        return replace(pool, machine_spec=machine, disk_spec=None if is_default else pool.disk_spec)

    return tuple(map(changed, pools))


def _has_accelerators(pool: WorkerPoolSpec) -> bool:
    machine = pool.machine_spec
    return machine is not None and bool(machine.accelerator_count or is_tpu(machine.machine_type))


def strategy_of(spec: JobSpec) -> str:
    """Return the strategy by which a job gets its machines."""
    given = spec.scheduling.strategy if spec.scheduling else None
    return OLD_STRATEGIES.get(given or "", given) or "STANDARD"


def key_of(spec: Job, rung: Rung, spec_hash: Callable[[Any], str], *, location: str) -> str:
    """Return 8 hex digits for what a rung makes of a job in a location; the wait takes no part."""
    made = on_rung(spec, rung)
    scheduling = made.scheduling and replace(made.scheduling, max_wait_duration=None)
    text = f"{rung.location or location} {spec_hash(replace(made, scheduling=scheduling))}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def locations_of(inputs: object) -> tuple[str, ...]:
    """Return all locations in which a job of the declaration may be, the declared one first."""
    own = str(getattr(inputs, "location", ""))
    if not isinstance(inputs, OnLadder):
        return (own,)
    rungs = (rung.location for rung in inputs.capacity if rung.location)
    return tuple(dict.fromkeys([own, *rungs, *inputs.locations]))


def seconds_of(rung: Rung) -> float | None:
    """Return the longest wait in seconds, None without one or with one that cannot be read."""
    text = rung.wait_for
    return None if not text or durations.problem_with(text) else float(text.removesuffix("s"))


def described(spec: JobSpec, rung: Rung) -> str:
    """Return a rung in words: "SPOT, g2-standard-8 with 1 x NVIDIA_L4, waits for 30 min"."""
    made = on_rung(spec, rung)
    machine = main_machine(made) and (rung.machine_spec or main_machine(made))
    parts = [strategy_of(made), machine_in_words(machine) if machine else ""]
    if rung.location:
        parts.append(f"in {rung.location}")
    if (seconds := seconds_of(rung)) is not None:
        parts.append(f"waits for {duration(seconds)}")
    return ", ".join(filter(None, parts))


def main_machine(spec: JobSpec) -> MachineSpec | None:
    """Return the machine of the first worker pool with accelerators, or of the first pool."""
    machines = [pool.machine_spec for pool in spec.worker_pool_specs if pool.machine_spec]
    return next((one for one in machines if one.accelerator_count), machines[0] if machines else None)


def machine_in_words(machine: MachineSpec) -> str:
    """Return a machine in words, such as "g2-standard-8 with 1 x NVIDIA_L4, reserved"."""
    count = (
        f" with {machine.accelerator_count} x {machine.accelerator_type}" if machine.accelerator_type else ""
    )
    return f"{machine.machine_type}{count}{' on a reservation' if machine.reservation_affinity else ''}"
