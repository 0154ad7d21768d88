"""The rules of scheduling: timeouts, and the machines that each strategy allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vertex_training.catalog.machines import machine
from vertex_training.fields import durations
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, one_of, shown
from vertex_training.job.job_spec import OLD_STRATEGIES, STRATEGIES, STRATEGY_BY_NUMBER, JobSpec, Scheduling
from vertex_training.topology.normal import normal_pools
from vertex_training.topology.pools import MachineSpec, WorkerPoolSpec
from vertex_training.topology.roles import is_reduction_server_image
from vertex_training.topology.slices import machines_of

FLEX_START_ACCELERATORS = (
    "NVIDIA_L4",
    "NVIDIA_TESLA_A100",
    "NVIDIA_A100_80GB",
    "NVIDIA_H100_80GB",
    "NVIDIA_H100_MEGA_80GB",
    "NVIDIA_H200_141GB",
    "NVIDIA_B200",
)
FLEX_START_LONGEST = 7 * 24 * 3600
"""The longest running time of a job with FLEX_START, in seconds."""

_AVAILABILITY = 'Vertex AI documentation, "Schedule training jobs based on resource availability"'
_SCHEDULING = "Vertex AI API, Scheduling"

DURATION = Rule(name="duration", says="a duration is a positive number of seconds, 3600s", source=_SCHEDULING)
STRATEGY = Rule(
    name="strategy", says="a strategy is STANDARD, SPOT or FLEX_START", source=f"{_SCHEDULING}.strategy"
)
STRATEGY_RENAMED = Rule(
    name="strategy-renamed",
    says="ON_DEMAND and LOW_COST are the old names of STANDARD and SPOT",
    source=f"{_SCHEDULING}.strategy",
    level="warning",
)
RESTART_WITHOUT_RETRIES = Rule(
    name="restart-without-retries",
    says="disable_retries overrides restart_job_on_worker_restart",
    source=f"{_SCHEDULING}.disable_retries",
    level="warning",
)
WAIT_ONLY_FLEX_START = Rule(
    name="wait-only-flex-start",
    says="max_wait_duration belongs to FLEX_START",
    source=f"{_SCHEDULING}.max_wait_duration",
)
FLEX_START_ONE_MACHINE = Rule(
    name="flex-start-one-machine",
    says="with FLEX_START all worker pools have the same machine",
    source=_AVAILABILITY,
)
FLEX_START_ACCELERATOR = Rule(
    name="flex-start-accelerator",
    says="FLEX_START is for L4, A100, H100, H200 and B200 GPUs",
    source=_AVAILABILITY,
)
FLEX_START_TIMEOUT = Rule(
    name="flex-start-timeout", says="a job with FLEX_START runs for at most 7 days", source=_AVAILABILITY
)
CAPACITY = Rule(
    name="scarce-machine",
    says="machines that are seldom available are reserved, or requested with SPOT or FLEX_START",
    source='Vertex AI documentation, "Configure compute resources for serverless training", GPUs',
    level="warning",
)
SPOT_TPU_POD = Rule(
    name="spot-tpu-pod",
    says="SPOT does not work with TPU slices of several machines",
    source='Vertex AI documentation, "Use Spot VMs with training"',
)


def scheduling_problems(spec: JobSpec) -> Iterator[Problem]:
    """Yield every finding about a job's scheduling; `spec` need not be in normal form."""
    used = {
        f"worker_pool_specs[{position}]": pool
        for position, pool in enumerate(normal_pools(spec.worker_pool_specs))
        if not pool.is_empty
    }
    scheduling = spec.scheduling or Scheduling()
    if not spec.persistent_resource_id and scheduling.strategy not in ("SPOT", "LOW_COST", "FLEX_START"):
        yield from _capacity_problems(used)
    if spec.scheduling is None:
        return
    yield from _duration_problems(scheduling)
    if scheduling.disable_retries and scheduling.restart_job_on_worker_restart:
        yield RESTART_WITHOUT_RETRIES.broken(
            "scheduling.restart_job_on_worker_restart",
            "has no effect, because disable_retries is true; leave one of the two out",
            rests_on=("scheduling.restart_job_on_worker_restart", "scheduling.disable_retries"),
        )
    path, strategy = "scheduling.strategy", scheduling.strategy
    if new := OLD_STRATEGIES.get(strategy or ""):
        yield STRATEGY_RENAMED.broken(path, f"{strategy} is an old name; write {new}")
    elif strategy and strategy not in STRATEGIES:
        choices = STRATEGY_BY_NUMBER.names
        hint = nearest(strategy, choices) or f"use {one_of(choices)}"
        yield STRATEGY.broken(path, f"{shown(strategy)} is not a strategy; {hint}")
    elif durations.normal(scheduling.max_wait_duration or "0s") != "0s" and strategy != "FLEX_START":
        yield WAIT_ONLY_FLEX_START.broken(
            "scheduling.max_wait_duration",
            f"{scheduling.max_wait_duration} does not apply to {strategy or 'STANDARD'}; leave it out, or "
            "use strategy FLEX_START",
            rests_on=("scheduling.max_wait_duration", path),
        )
    if strategy == "FLEX_START":
        yield from _flex_start_problems(used)
    if strategy in ("SPOT", "LOW_COST"):
        yield from _spot_problems(used)


def _duration_problems(scheduling: Scheduling) -> Iterator[Problem]:
    if scheduling.timeout is not None and (fault := durations.problem_with(scheduling.timeout)):
        yield DURATION.broken("scheduling.timeout", fault)
    elif (
        scheduling.strategy == "FLEX_START"
        and scheduling.timeout is not None
        and float(scheduling.timeout[:-1]) > FLEX_START_LONGEST
    ):
        yield FLEX_START_TIMEOUT.broken(
            "scheduling.timeout",
            f"{scheduling.timeout} is more than 7 days, the longest that FLEX_START allows; give at most "
            f"{FLEX_START_LONGEST}s",
            rests_on=("scheduling.timeout", "scheduling.strategy"),
        )
    wait = scheduling.max_wait_duration
    # A wait of 0 seconds means: no limit.
    if wait and durations.normal(wait) != "0s" and (fault := durations.problem_with(wait)):
        yield DURATION.broken("scheduling.max_wait_duration", fault)


def _capacity_problems(used: dict[str, WorkerPoolSpec]) -> Iterator[Problem]:
    for path, pool in used.items():
        known = machine(pool.machine_type)
        if known is None or known.reservation != "recommended" or pool.machine_spec is None:
            continue
        if pool.machine_spec.reservation_affinity is None:
            below = f"{path}.machine_spec"
            yield CAPACITY.broken(
                f"{below}.machine_type",
                f"{known.name} is seldom available with strategy STANDARD and without a reservation; give "
                "reservation_affinity, or use strategy SPOT or FLEX_START",
                rests_on=(
                    f"{below}.machine_type",
                    f"{below}.reservation_affinity",
                    "scheduling.strategy",
                    "persistent_resource_id",
                ),
            )


def _flex_start_problems(used: dict[str, WorkerPoolSpec]) -> Iterator[Problem]:
    machines = [f"{path}.machine_spec" for path in used]
    first = next(iter(used), "")
    for path, pool in used.items():
        below = f"{path}.machine_spec"
        if pool.machine_spec != used[first].machine_spec:
            container = pool.container_spec
            reduces = container is not None and is_reduction_server_image(container.image_uri)
            servers = ", so it cannot have reduction servers" if reduces else ""
            yield FLEX_START_ONE_MACHINE.broken(
                below,
                f"{_in_words(pool.machine_spec)} differs from {_in_words(used[first].machine_spec)} in "
                f"{first}; FLEX_START needs the same machine in all worker pools{servers}. "
                f"{'Leave them out' if reduces else 'Make them equal'}, or use STANDARD or SPOT",
                rests_on=(*(f"{each}.*" for each in machines), "scheduling.strategy"),
            )
            if reduces:
                continue
        kind = pool.machine_spec.accelerator_type if pool.machine_spec else None
        if kind not in FLEX_START_ACCELERATORS:
            yield FLEX_START_ACCELERATOR.broken(
                f"{below}.accelerator_type",
                f"{kind or f'{pool.machine_type} without a GPU'} is not available with FLEX_START; use "
                f"{one_of(FLEX_START_ACCELERATORS)}, or strategy STANDARD or SPOT",
                rests_on=(
                    f"{below}.accelerator_type",
                    f"{path}.container_spec.image_uri",
                    "scheduling.strategy",
                ),
            )


def _spot_problems(used: dict[str, WorkerPoolSpec]) -> Iterator[Problem]:
    for path, pool in used.items():
        if pool.machine_spec is not None and _has_several_machines(pool.machine_spec):
            below = f"{path}.machine_spec"
            size = pool.machine_spec.tpu_topology or pool.machine_spec.accelerator_count
            yield SPOT_TPU_POD.broken(
                f"{below}.tpu_topology" if pool.machine_spec.tpu_topology else f"{below}.accelerator_count",
                f"{size} on {pool.machine_type} is a TPU slice of several machines, which SPOT cannot "
                "provide; use a slice of one machine, or STANDARD",
                rests_on=(f"{below}.*", "scheduling.strategy"),
            )


def _in_words(spec: MachineSpec | None) -> str:
    if spec is None:
        return "no machine"
    count = f" with {spec.accelerator_count} x {spec.accelerator_type}" if spec.accelerator_type else ""
    rest = replace(spec, machine_type="", accelerator_type=None, accelerator_count=0) != MachineSpec(
        machine_type=""
    )
    return f"{spec.machine_type}{count}" + (" and more" if rest else "")


def _has_several_machines(spec: MachineSpec) -> bool:
    """Return whether one replica is a TPU slice of more than one machine."""
    return machine(spec.machine_type) is not None and (machines_of(spec) or 1) > 1
