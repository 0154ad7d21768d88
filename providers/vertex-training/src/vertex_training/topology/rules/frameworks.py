"""The demands of a framework, or of a TensorFlow strategy, on the worker pools.

`topology.presets` has what a framework chooses for them.

Sources: TensorFlow's guide "Distributed training with TensorFlow"; the codelab "Distributed training on
Vertex AI" (equal GPUs on every machine); the behaviour of the frameworks when run with such a cluster.
Without a declared framework only one finding remains, as a warning: accelerators that differ between chief
and workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from vertex_training.catalog.machines import is_tpu, machine
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Level, Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import counted, nearest, shown
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.roles import CHIEF, EVALUATORS, SERVERS, WORKERS, Role, role_of

Servers = Literal["needed", "possible", "impossible"]


@dataclass(frozen=True, kw_only=True)
class Framework:
    """A framework, and the worker pools that it can use.

    `lockstep`: chief and workers compute each step together, so their accelerators should be equal.
    `several_machines`: it can train on more than one. `workers_needed`: the chief alone trains nothing.
    `tpu`: it trains on TPUs only. `strict`: pools that do not match are errors, as for TensorFlow's
    strategies; for other frameworks they are warnings, since a program may know better. `preset` is the
    name of its preset (`topology.presets`).
    """

    name: str
    lockstep: bool
    parameter_servers: Servers = "impossible"
    reduction_servers: bool = False
    several_machines: bool = True
    workers_needed: bool = False
    tpu: bool = False
    strict: bool = False
    aliases: tuple[str, ...] = ()
    preset: str = "tensorflow"


FRAMEWORKS: Mapping[str, Framework] = MappingProxyType(
    {
        each.name: each
        for each in (
            Framework(name="MirroredStrategy", lockstep=True, several_machines=False, strict=True),
            Framework(name="MultiWorkerMirroredStrategy", lockstep=True, reduction_servers=True, strict=True),
            Framework(
                name="ParameterServerStrategy",
                lockstep=False,
                parameter_servers="needed",
                workers_needed=True,
                strict=True,
            ),
            Framework(name="TPUStrategy", lockstep=True, several_machines=False, tpu=True, strict=True),
            Framework(
                name="tensorflow", lockstep=False, parameter_servers="possible", reduction_servers=True
            ),
            Framework(
                name="pytorch", lockstep=True, reduction_servers=True, aliases=("torch",), preset="pytorch"
            ),
            Framework(name="torchrun", lockstep=True, reduction_servers=True, preset="pytorch"),
            Framework(name="horovod", lockstep=True, reduction_servers=True, preset="horovod"),
            Framework(name="jax", lockstep=True, reduction_servers=True, preset="jax"),
            Framework(
                name="mxnet",
                lockstep=False,
                parameter_servers="needed",
                reduction_servers=True,
                workers_needed=True,
                preset="mxnet",
            ),
            Framework(name="xgboost", lockstep=False, preset="xgboost"),
            Framework(name="lightgbm", lockstep=False, preset="lightgbm"),
            Framework(name="adanet", lockstep=False, parameter_servers="possible", preset="adanet"),
        )
    }
)
"""TensorFlow's strategies by class name, other frameworks in lower case."""

_CODELAB = 'Google codelab, "Distributed training on Vertex AI", part 6'
_GUIDE = 'TensorFlow guide, "Distributed training with TensorFlow"'
_SERVERS = 'TensorFlow guide, "Distributed training with TensorFlow"; MXNet, "Distributed Training in MXNet"'

UNKNOWN = Rule(
    name="framework-unknown",
    says="a declared framework is one that the rules know",
    source="ours: a misspelt one would check nothing",
)
EQUAL_ACCELERATORS = Rule(
    name="equal-accelerators",
    says="chief and workers of a data-parallel job have the same accelerators",
    source=_CODELAB,
    level="warning",
)
PARAMETER_SERVERS_NEEDED = Rule(
    name="parameter-servers-needed",
    says="a framework that keeps its variables on parameter servers has parameter servers",
    source=_SERVERS,
)
WORKERS_NEEDED = Rule(
    name="workers-needed", says="a framework whose chief only coordinates has workers", source=_SERVERS
)
TPU_NEEDED = Rule(name="tpu-needed", says="TPUStrategy, and no other strategy, is for TPUs", source=_GUIDE)
PARAMETER_SERVERS_UNUSED = Rule(
    name="parameter-servers-unused",
    says="a framework that reduces gradients between its workers has no use for parameter servers",
    source="ours: the program has no part for them; MultiWorkerMirroredStrategy was observed to wait "
    "forever for a `ps` in TF_CONFIG",
)
REDUCTION_SERVERS_UNUSED = Rule(
    name="reduction-servers-unused",
    says="reduction servers need a framework that reduces gradients with NCCL",
    source='Vertex AI documentation, "Distributed training", section "Reduction Server"',
)
EVALUATORS_UNUSED = Rule(
    name="evaluators-unused",
    says="a declared framework has at most one evaluator",
    source='Vertex AI documentation, "Distributed training"',
)
ONE_MACHINE = Rule(name="one-machine", says="some strategies train on one machine only", source=_GUIDE)


def framework_problems(
    pools: Sequence[WorkerPoolSpec], path: str, options: CheckOptions
) -> Iterator[Problem]:
    """Yield every finding about the declared framework; at most four pools, in normal form."""
    framework = None
    if options.framework is not None:
        framework = named(options.framework)
        if framework is None:
            hint = (
                nearest(options.framework, FRAMEWORKS) if options.framework else "name one or leave it out."
            )
            what = f"{shown(options.framework)} is not a known framework" if options.framework else "is empty"
            yield UNKNOWN.broken(
                "framework",
                f"{what}; {f'{hint} ' if hint else ''}"
                f"{'T' if hint else 't'}he frameworks are {', '.join(FRAMEWORKS)}",
            )
    yield from _accelerator_problems(pools, path, framework)
    if framework is not None:
        yield from _fitting_problems(pools, path, framework)


def named(name: str) -> Framework | None:
    """Return the framework with this name in any case, with or without "tf.distribute.", or None."""
    short = name.rpartition(".")[2].casefold()
    candidates = (each for each in FRAMEWORKS.values() if short in (each.name.casefold(), *each.aliases))
    return next(candidates, None)


def _level(framework: Framework) -> Level:
    return "error" if framework.strict else "warning"


def _accelerator_problems(
    pools: Sequence[WorkerPoolSpec], path: str, framework: Framework | None
) -> Iterator[Problem]:
    if len(pools) <= WORKERS or pools[CHIEF].is_empty or pools[WORKERS].is_empty:
        return
    if framework is not None and not framework.lockstep:
        return
    chief, workers = (_equipment(pools[position]) for position in (CHIEF, WORKERS))
    if chief == workers:
        return
    fields = ("machine_spec.accelerator_type", "machine_spec.accelerator_count", "replica_count")
    who = (
        "data-parallel training such as MultiWorkerMirroredStrategy" if framework is None else framework.name
    )
    yield EQUAL_ACCELERATORS.broken(
        f"{path}[{WORKERS}].machine_spec.accelerator_count",
        f"the workers have {workers}{' each' if _number(pools[WORKERS]) else ''}, the chief has {chief}; "
        f"{who} needs the same kind and number on every machine: make them equal",
        rests_on=tuple(f"{path}[{i}].{field}" for i in (CHIEF, WORKERS) for field in fields),
        level=_level(framework)
        if framework and _number(pools[CHIEF]) != _number(pools[WORKERS])
        else "warning",
    )


def _fitting_problems(pools: Sequence[WorkerPoolSpec], path: str, framework: Framework) -> Iterator[Problem]:
    workers, servers, evaluators = (_count(pools, i) for i in (WORKERS, SERVERS, EVALUATORS))
    name = framework.name
    if workers and not framework.several_machines:
        yield ONE_MACHINE.broken(
            f"{path}[{WORKERS}].replica_count",
            f"{counted(workers, 'worker')}, but {name} trains on one machine only, so each replica "
            "would train its own model; leave the pool out"
            + (", or declare MultiWorkerMirroredStrategy" if name == "MirroredStrategy" else ""),
            level=_level(framework),
        )
    if not workers and framework.workers_needed:
        yield WORKERS_NEEDED.broken(
            f"{path}[{WORKERS}]",
            f"the chief of {name} only coordinates, but the second worker pool has no workers; give it "
            f"replicas, or declare another {_kind(framework)}",
            rests_on=(path, f"{path}[{WORKERS}].replica_count"),
            level=_level(framework),
        )
    if framework.strict and pools and pools[CHIEF].machine_type:
        yield from _tpu_problems(pools[CHIEF].machine_type, path, framework)
    role = role_of(SERVERS, pools[SERVERS]) if servers else None
    below = f"{path}[{SERVERS}].replica_count"
    image = f"{path}[{SERVERS}].container_spec.image_uri"
    if role is None and framework.parameter_servers == "needed":
        yield PARAMETER_SERVERS_NEEDED.broken(
            f"{path}[{SERVERS}]",
            f"{name} keeps its variables on parameter servers, but the third worker pool "
            f"has none; give it replicas, or declare another {_kind(framework)}",
            rests_on=(path, f"{path}[{SERVERS}].replica_count", image),
            level=_level(framework),
        )
    if role is Role.PARAMETER_SERVER and framework.parameter_servers == "impossible":
        yield PARAMETER_SERVERS_UNUSED.broken(
            below,
            f"{counted(servers, 'parameter server')}, which {name} does not use and may wait for "
            "forever; leave the pool out"
            + (", or give it the image of the reduction server" if framework.reduction_servers else ""),
            rests_on=(below, image),
            level=_level(framework),
        )
    if role is Role.REDUCTION_SERVER and not framework.reduction_servers:
        needed = framework.parameter_servers == "needed"
        yield REDUCTION_SERVERS_UNUSED.broken(
            below,
            f"{counted(servers, 'reduction server')}, which {name} cannot use: they speed up gradients that "
            "NCCL reduces between GPUs; "
            + ("make them parameter servers with your own image" if needed else "leave the pool out"),
            rests_on=(below, image),
            level=_level(framework),
        )
    if evaluators > 1:
        yield EVALUATORS_UNUSED.broken(
            f"{path}[{EVALUATORS}].replica_count",
            f"{evaluators} evaluators, but {name} can use at most one, since they all do the same work; "
            "set it to 1",
            level=_level(framework),
        )


def _kind(framework: Framework) -> str:
    return "strategy" if framework.strict else "framework"


def _tpu_problems(machine_type: str, path: str, framework: Framework) -> Iterator[Problem]:
    if machine(machine_type) is None or is_tpu(machine_type) == framework.tpu:
        return
    below = f"{path}[{CHIEF}].machine_spec.machine_type"
    what = f"{machine_type} is {'a' if is_tpu(machine_type) else 'no'} TPU"
    remedy = "use a TPU machine" if framework.tpu else "declare TPUStrategy, or use another machine"
    yield TPU_NEEDED.broken(
        below, f"{what}, and {framework.name} is {'' if framework.tpu else 'not '}for TPUs; {remedy}"
    )


def _count(pools: Sequence[WorkerPoolSpec], position: int) -> int:
    return max(0, pools[position].replica_count) if position < len(pools) else 0


def _number(pool: WorkerPoolSpec) -> int:
    machine = pool.machine_spec
    return 0 if machine is None or machine.accelerator_type is None else max(0, machine.accelerator_count)


def _equipment(pool: WorkerPoolSpec) -> str:
    machine = pool.machine_spec
    if machine is None or not _number(pool):
        return "no accelerators"
    return f"{machine.accelerator_count} x {machine.accelerator_type}"
