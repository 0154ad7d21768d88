"""Jobs in the steps of a preview: their declarations, the differences, and the worker pools on both sides."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.core.state.hidden_input import HIDDEN_INPUT
from pulumi_vertex_training.costs.declared import cost_of_decoded, cost_of_inputs, unknown_cost
from pulumi_vertex_training.costs.reports import HIDDEN
from pulumi_vertex_training.costs.words import NOT_SHOWN
from pulumi_vertex_training.engine_values import ENGINES_UNKNOWN
from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource, normalise
from pulumi_vertex_training.runs.policies.run_status import (
    ENDED,
    RERUN_CHANGES,
    Change,
    LookupResult,
    change_of,
    last_run,
)
from vertex_training.cost.cost import Cost
from vertex_training.cost.prices import PriceTable
from vertex_training.fields.decode import UNKNOWN, Decoded, decode
from vertex_training.fields.schema import child
from vertex_training.job.checkpoints import folder_of_all_runs
from vertex_training.job.difference import JobDifference
from vertex_training.job.job_kind import JobKind
from vertex_training.job.job_spec import parts
from vertex_training.policy.subject import paths_of
from vertex_training.topology.difference import PoolChange, compare, tail
from vertex_training.topology.pools import EMPTY_POOL, WorkerPoolSpec
from vertex_training.topology.roles import MAX_POOLS, role_of

_POOLS = "worker_pool_specs"
_DECIDING = (_POOLS, "scheduling", "trial_job_spec", "custom_task", "tuning_task")
"""The inputs of jobs of all kinds that decide about the cost."""
_SHAPE = ("replica_count", "machine_spec", "disk_spec")
"""The fields of a pool that decide about its replicas and their machines."""


@dataclass(frozen=True, kw_only=True)
class RecordedJob:
    """A job that a deployment will stop, as the state has it.

    `name` is its full name, `replicas` the number of replicas of its declaration. `is_protected` is true if
    `protect_running` keeps it from being deleted. `continues_from` is the folder of checkpoints from which
    the job that replaces it continues, "" if that one begins at the start.
    """

    name: str
    endpoint: str
    project: str
    location: str
    replicas: int
    is_protected: bool = False
    continues_from: str = ""


@dataclass(frozen=True, kw_only=True)
class Topology:
    """The worker pools of a job before and after; `of` says which replicas they are, "" for all of the job.

    A pool that stays as it is has `change` "unchanged".
    """

    changes: tuple[PoolChange, ...]
    of: str = ""

    @property
    def reshaped(self) -> tuple[PoolChange, ...]:
        """The changes of the pools that get other replicas or machines, not only another task."""
        return tuple(
            change
            for change in self.changes
            if any(tail(field).startswith(_SHAPE) or not tail(field) for field in change.fields)
        )


def job_kind_of(token: str) -> JobKind[Any] | None:
    """Return the kind of job of a type token, or None for any other resource."""
    resource = registry.resource_of(token)
    entry = next((one for one in registry.RUNNABLE if resource in one.resources), None)
    return entry.part("kind", "KIND", JobKind) if entry else None


def job_difference(
    kind: JobKind[Any], old: Mapping[str, Any], new: Mapping[str, Any]
) -> JobDifference | None:
    """Return the difference of two declarations of a job, or None if one of them cannot be read.

    An input that is a secret as a whole is not compared.
    """
    was, will = _both(kind, old, new)
    if was.draft is None or will.draft is None:
        return None
    return kind.compare(was.draft, will.draft, unknown=will.unknown)


def topologies(kind: JobKind[Any], old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Topology, ...]:
    """Return the worker pools of each job in a declaration; `old` or `new` is empty for one side only.

    Pools that cannot be read, such as those with a secret number of replicas, are left out.
    """
    was, will = _both(kind, old, new)
    before, after = _pools(kind, was), _pools(kind, will)
    return tuple(_topologies(before, after, will.unknown))


def job_cost(kind: JobKind[Any], inputs: Mapping[str, Any], table: PriceTable) -> Cost | None:
    """Return the cost of a job by its inputs; None without any, or if they cannot be read.

    What is a secret, and decides about the cost, leaves it open.
    """
    if not inputs:
        return None
    secret = next((name for name in _DECIDING if inputs.get(name) == HIDDEN), None)
    if secret is not None:
        return unknown_cost(secret, NOT_SHOWN)
    known = {name: without_texts(value) for name, value in inputs.items() if value != HIDDEN}
    return _with_secrets(cost_of_inputs(kind, known, table=table), inputs)


def machines_cost(inputs: Mapping[str, Any], table: PriceTable) -> Cost | None:
    """Return the cost of a persistent resource by its inputs, as `job_cost` does."""
    pools = inputs.get("resource_pools")
    if pools is None:
        return None
    if pools == HIDDEN:
        return unknown_cost("resource_pools", NOT_SHOWN)
    read = decode(PersistentResource, {"resource_pools": without_texts(pools)})
    decoded = read.then(normalise, lambda _: ())
    region = without_texts(inputs.get("location"))
    return _with_secrets(cost_of_decoded(decoded, region=region, table=table), inputs)


def _with_secrets(cost: Cost | None, inputs: Mapping[str, Any]) -> Cost | None:
    """Return a cost whose gaps that are secrets say so."""
    if cost is None:
        return None
    secret = set(paths_of(inputs, lambda value: value == HIDDEN))
    gaps = (replace(gap, why=NOT_SHOWN) if gap.path in secret else gap for gap in cost.unknown)
    return replace(cost, unknown=tuple(gaps))


def has_ended(state: Mapping[str, Any]) -> bool:
    """Return whether a state has its job as ended. A job that the state has as live may have ended since."""
    recorded = (state.get("outputs") or {}).get("state")
    return last_run(recorded, LookupResult.NO_ANSWER) in ENDED if isinstance(recorded, str) else False


def recorded_job(
    kind: JobKind[Any], state: Mapping[str, Any], declared: Mapping[str, Any]
) -> RecordedJob | None:
    """Return the job of a state, or None if it has ended, or if no service ever gave its name.

    `declared` are the inputs of the job that replaces it; empty if none does.
    """
    name, inputs = str(state.get("id")), state.get("inputs") or {}
    if not registry.is_runnable(name) or has_ended(state):
        return None
    spec = _read(kind, inputs).draft
    pools = [pool for _, part in parts(spec) for pool in part.worker_pool_specs] if spec is not None else []
    place = {field: str(inputs.get(field) or "") for field in ("endpoint", "project", "location")}
    return RecordedJob(
        name=name,
        replicas=sum(pool.replica_count for pool in pools),
        is_protected=not declared and inputs.get("protect_running") is True,
        continues_from=folder_of_all_runs(declared.get("resume"), _read(kind, declared).draft),
        **place,
    )


def run_reason(kind: JobKind[Any], step: Mapping[str, Any]) -> str:
    """Return why the job of a replacement runs again, "" if neither its spec nor its run_token changes.

    The engine hides the hash of a spec that has a secret in it, but reports the inputs that replace the job.
    """
    old, new = ((step.get(side) or {}).get("inputs") or {} for side in ("oldState", "newState"))
    recorded, declared = _spec_hash(old), _spec_hash(new)
    hashed = {*(item.name for item in fields(kind.spec)), "staging_bucket"}
    if HIDDEN in (recorded, declared) and hashed.intersection(step.get("replaceReasons") or ()):
        return Change.SPEC.value
    change = change_of(
        recorded=(recorded, old.get("run_token")),
        declared=(None if declared == ENGINES_UNKNOWN else declared, new.get("run_token")),
    )
    return change.value if change in RERUN_CHANGES else ""


def _spec_hash(inputs: Mapping[str, Any]) -> str:
    """Return the hash of the spec in a job's inputs, or the engine's text for one that it does not show."""
    hidden = inputs.get(HIDDEN_INPUT)
    return str(hidden.get("spec_hash") if isinstance(hidden, Mapping) else hidden)


def _both(
    kind: JobKind[Any], old: Mapping[str, Any], new: Mapping[str, Any]
) -> tuple[Decoded[Any], Decoded[Any]]:
    """Read both sides without the inputs that are a secret on either."""
    secret = {name for side in (old, new) for name, value in side.items() if value == HIDDEN}
    was, will = (
        _read(kind, {name: value for name, value in side.items() if name not in secret})
        for side in (old, new)
    )
    return was, will


def _read(kind: JobKind[Any], inputs: Mapping[str, Any]) -> Decoded[Any]:
    names = [item.name for item in fields(kind.spec)]
    return decode(kind.spec, {name: _known(inputs[name]) for name in names if name in inputs})


def without_texts(value: object, *, texts: Collection[str] = (ENGINES_UNKNOWN, HIDDEN)) -> Any:
    """Replace the engine's texts for unknown values and secrets by the marker of this package."""
    if isinstance(value, Mapping):
        return {key: without_texts(item, texts=texts) for key, item in value.items()}
    if isinstance(value, list):
        return [without_texts(item, texts=texts) for item in value]
    return UNKNOWN if value in texts else value


def _known(value: object) -> Any:
    return without_texts(value, texts=(ENGINES_UNKNOWN,))


def _pools(kind: JobKind[Any], decoded: Decoded[Any]) -> dict[str, tuple[WorkerPoolSpec, ...]]:
    """Return the pools by the path of their list."""
    if decoded.draft is None:
        return {}
    found = {
        child(path, _POOLS): part.worker_pool_specs
        for path, part in parts(kind.normalise(decoded.draft))
        if len(part.worker_pool_specs) <= MAX_POOLS
    }
    counts = [path for path in decoded.damaged if path.endswith((_POOLS, "]", "replica_count"))]
    return {path: pools for path, pools in found.items() if not any(one.startswith(path) for one in counts)}


def _topologies(
    before: Mapping[str, tuple[WorkerPoolSpec, ...]],
    after: Mapping[str, tuple[WorkerPoolSpec, ...]],
    unknown: frozenset[str],
) -> Iterator[Topology]:
    for path in dict.fromkeys((*before, *after)):
        old, new = before.get(path, ()), after.get(path, ())
        changes = compare(old, new, path=path, unknown=unknown) or list(_unchanged(new))
        if any(not (change.old.is_empty and change.new.is_empty) for change in changes):
            yield Topology(changes=tuple(changes), of="each trial" if "trial" in path else "")


def _unchanged(pools: tuple[WorkerPoolSpec, ...]) -> Iterator[PoolChange]:
    for index, pool in enumerate(pools):
        if pool != EMPTY_POOL:
            yield PoolChange(index=index, role=role_of(index, pool), change="unchanged", old=pool, new=pool)
