"""The jobs of a preflight, their parts, and the quota that they ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass

from pulumi_vertex_training.runs.prerequisites import names_in
from vertex_training.catalog import quota_metrics
from vertex_training.catalog.machines import CLOUD_TPU, is_tpu, machine
from vertex_training.fields.schema import child
from vertex_training.findings.problems import is_within
from vertex_training.job.job_spec import JobSpec
from vertex_training.study.tuning import TuningSpec
from vertex_training.topology.pools import MachineSpec, WorkerPoolSpec

PREEMPTIBLE = frozenset({"SPOT", "FLEX_START"})
"""The strategies whose machines count towards the preemptible metrics."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A job that is about to be submitted.

    `name` is the resource's or file's, `collection` the service's name of its kind, such as "customJobs".
    `spec` is in normal form. `staging_bucket` gets the output of a job without a directory of its own.
    `unknown` are the paths of values that are not known yet, `passed_over` of values that may not be
    looked up, because the program itself makes them; any spelling will do. `made` are the names of what the
    same deployment makes. `replaces` is the full name, or the identity of the runs, of the job that ends for
    it, "" for none. `is_scheduled` is true for the job of a schedule, which the deployer does not submit, and
    which runs later; `name` is then the schedule's.
    """

    name: str
    collection: str
    spec: object = field(repr=False)
    staging_bucket: str = ""
    unknown: frozenset[str] = frozenset()
    passed_over: frozenset[str] = frozenset()
    made: frozenset[str] = field(default=frozenset(), repr=False)
    replaces: str = ""
    is_scheduled: bool = False

    def knows(self, path: str) -> bool:
        """Return whether the value at a path is known."""
        return not _overlaps(path, self.unknown)

    def hides(self, path: str) -> bool:
        """Return whether nothing of the value at a path is known, as for a secret."""
        return any(is_within(_folded(path), _folded(gap)) for gap in self.unknown)

    def looks_up(self, path: str, value: str) -> bool:
        """Return whether the value at a path is known, and exists before the deployment."""
        is_passed_over = _overlaps(path, self.passed_over) or not self.made.isdisjoint(names_in(path, value))
        return self.knows(path) and not is_passed_over

    def makes(self, name: str) -> bool:
        """Return whether the same deployment makes something, or may: a job can depend on anything."""
        return name in self.made or "" in self.passed_over

    @property
    def parts(self) -> tuple[Part, ...]:
        """The jobs that run: the job itself, or the trials of a tuning job."""
        return tuple(_parts(self, self.spec, "", 1))


@dataclass(frozen=True, kw_only=True)
class Part:
    """A job that a subject runs, with its path there, in as many `copies` at the same time."""

    subject: Subject
    path: str
    spec: JobSpec
    copies: int = 1

    def at(self, name: str) -> str:
        """Return the path of a field."""
        return child(self.path, name)

    @property
    def pools(self) -> Iterator[tuple[str, WorkerPoolSpec]]:
        """The worker pools that are not empty, with their paths."""
        for position, pool in enumerate(self.spec.worker_pool_specs):
            path = f"{self.at('worker_pool_specs')}[{position}]"
            if not pool.is_empty:
                yield path, pool


def _overlaps(path: str, gaps: Iterable[str]) -> bool:
    at = _folded(path)
    return any(is_within(at, gap) or is_within(gap, at) for gap in map(_folded, gaps))


def _folded(path: str) -> str:
    return path.replace("_", "").lower()


def _parts(subject: Subject, spec: object, path: str, copies: int) -> Iterator[Part]:
    if isinstance(spec, JobSpec):
        yield Part(subject=subject, path=path, spec=spec, copies=copies)
    elif is_dataclass(spec) and not isinstance(spec, type):
        if isinstance(spec, TuningSpec):
            copies *= max(1, spec.parallel_trial_count)
        for item in fields(spec):
            yield from _parts(subject, getattr(spec, item.name), child(path, item.name), copies)


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The quota that jobs ask for, by metric, and the paths of machines that could not be counted."""

    counts: Mapping[str, int] = field(default_factory=dict)
    uncounted: tuple[str, ...] = ()


def demand_of(parts: Iterable[Part]) -> Demand:
    """Return the quota that jobs take at the same time; none on a persistent resource, which has machines."""
    counts: Counter[str] = Counter()
    uncounted = []
    for part in parts:
        if part.spec.persistent_resource_id:
            continue
        pools = part.at("worker_pool_specs")
        if part.subject.hides(pools):
            uncounted.append(pools)
            continue
        strategy = part.spec.scheduling.strategy if part.spec.scheduling else None
        for path, pool in part.pools:
            here = f"{path}.machine_spec"
            needs = _of_machine(pool.machine_spec) if pool.machine_spec else None
            known = part.subject.knows(here) and part.subject.knows(f"{path}.replica_count")
            if needs is None or not known:
                uncounted.append(here)
                continue
            for metric, count in needs.items():
                name = quota_metrics.full_name(metric, preemptible=strategy in PREEMPTIBLE)
                counts[name] += count * pool.replica_count * part.copies
    return Demand(counts=dict(counts), uncounted=tuple(dict.fromkeys(uncounted)))


def _of_machine(spec: MachineSpec) -> Mapping[str, int] | None:
    """Return what one machine takes of each metric, or None if that is not known."""
    needs: dict[str, int] = {}
    if spec.accelerator_type and spec.accelerator_count:
        metric = quota_metrics.OF_ACCELERATORS.get(spec.accelerator_type)
        if metric is None:
            return None
        needs[metric] = spec.accelerator_count
    if spec.machine_type == CLOUD_TPU:
        return needs or None
    known = machine(spec.machine_type)
    if known is None or is_tpu(spec.machine_type):
        return None
    return {**needs, quota_metrics.of_vcpus(spec.machine_type): known.vcpus}
