"""Compare two documents of one kind, by the fields that both of them give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pulumi_vertex_training.documents.document import Document
from pulumi_vertex_training.kinds.custom_job.kind import KIND as CUSTOM_JOB
from pulumi_vertex_training.views.explained import has_tasks, is_bare
from vertex_training.fields.effects import Effect
from vertex_training.fields.origins import Origins, written_path
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.difference import JobDifference
from vertex_training.job.job_kind import JobKind
from vertex_training.topology.changes import FieldChange
from vertex_training.topology.pools import EMPTY_POOL, WorkerPoolSpec


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A difference, and the fields that were not compared because one document does not give them.

    `tasks` says whether the tasks of worker pools were compared, and `job_fields` the fields of a custom job
    besides its pools. `unsaid` are other fields of the kind that were not compared.
    """

    kind: JobKind[Any]
    difference: JobDifference
    tasks: bool = True
    job_fields: bool = True
    unsaid: tuple[str, ...] = ()


def compare(old: Document[Any], new: Document[Any]) -> Comparison:
    """Compare two documents of one kind, in any form and without errors.

    A field that one document leaves to the submitter is not compared, nor a region that only one has. Values
    that the service has filled in are ignored. Raises ValueError for a document without a spec, or for two
    kinds.
    """
    if old.spec is None or new.spec is None or old.kind is not new.kind:
        raise ValueError("only two readable documents of one kind can be compared")
    kind, before, after = old.kind, old.spec, new.spec
    if old.answered and not new.answered:
        before = kind.as_declared(after, before)
    elif new.answered and not old.answered:
        after = kind.as_declared(before, after)
    if kind is CUSTOM_JOB:
        found = _compare_jobs(before, after)
    else:
        unsaid = old.unsaid ^ new.unsaid
        before = replace(before, **{name: getattr(after, name) for name in unsaid})
        found = Comparison(kind=kind, difference=kind.compare(before, after), unsaid=tuple(sorted(unsaid)))
    difference = _with_locations(found, old.location, new.location)
    return replace(found, difference=_as_written(difference, new.origins if old.origins else {}))


def _compare_jobs(before: CustomJobSpec, after: CustomJobSpec) -> Comparison:
    """Compare two custom jobs.

    If one has no tasks, as is usual for roles, tasks are not compared. If one has only pools, only pools are
    compared. Display names are compared if both have one.
    """
    tasks = has_tasks(before) == has_tasks(after)
    if not tasks:
        before, after = _with_tasks_of(before, after), _with_tasks_of(after, before)
    job_fields = is_bare(before) == is_bare(after)
    if not job_fields:
        before = replace(after, worker_pool_specs=before.worker_pool_specs)
    elif not (before.display_name and after.display_name):
        before = replace(before, display_name=after.display_name)
    difference = CUSTOM_JOB.compare(before, after)
    return Comparison(kind=CUSTOM_JOB, difference=difference, tasks=tasks, job_fields=job_fields)


def _with_locations(found: Comparison, old: str | None, new: str | None) -> JobDifference:
    """Add the difference of the regions, if both are known."""
    difference = found.difference
    if not old or not new or old == new:
        return difference
    kept = difference.reasons if difference.effect is Effect.REPLACE else ()
    one = found.kind.it.replace("the", "a", 1)
    return replace(
        difference,
        effect=Effect.REPLACE,
        reasons=(*kept, f"{one} runs in the region it was created in"),
        fields=(FieldChange(path="location", old=old, new=new), *difference.fields),
    )


def _as_written(difference: JobDifference, origins: Origins) -> JobDifference:
    """Replace paths of the spec by those of the document, where they differ."""
    if not origins:
        return difference

    def written(changes: Iterable[FieldChange]) -> tuple[FieldChange, ...]:
        return tuple(replace(change, path=written_path(change.path, origins)) for change in changes)

    return replace(
        difference,
        pools=tuple(replace(pool, fields=written(pool.fields)) for pool in difference.pools),
        fields=written(difference.fields),
        names={written_path(path, origins): name for path, name in difference.names.items()},
    )


def _with_tasks_of(spec: CustomJobSpec, other: CustomJobSpec) -> CustomJobSpec:
    """Return the spec with missing tasks taken from the other's pool at the same position."""
    pools: list[WorkerPoolSpec] = []
    for i, pool in enumerate(spec.worker_pool_specs):
        there = other.worker_pool_specs[i] if i < len(other.worker_pool_specs) else EMPTY_POOL
        if pool.is_empty or pool.task is not None:
            pools.append(pool)
        else:
            pools.append(
                replace(
                    pool,
                    container_spec=there.container_spec,
                    python_package_spec=there.python_package_spec,
                )
            )
    return replace(spec, worker_pool_specs=tuple(pools))
