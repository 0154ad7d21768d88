"""Find jobs, persistent resources, models and staged objects with our labels, and decide their status."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pulumi_vertex_training.cli.gc.candidates import (
    Decision,
    KnownStack,
    Status,
    decide_job,
    decide_object,
    decide_persistent,
)
from pulumi_vertex_training.cli.gc.checkpoints import Lineage, decide_lineage, lineages
from pulumi_vertex_training.cli.gc.stack_state import StagingFolder, strings
from pulumi_vertex_training.cli.gc.sweep import Outcome
from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.objects import ObjectRecord
from pulumi_vertex_training.kinds.staged.spec import HASH_DIGITS
from pulumi_vertex_training.runs.gateway import gateway_of, gateways
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.persistent import PersistentKind, PersistentRecord, persistent_kinds
from pulumi_vertex_training.views.jobs.lookup import newest_first
from vertex_training.fields.labels import ownership_label_value

_ADDRESS = re.compile(r"gs://([^/]+)/(.+)", re.DOTALL)


@dataclass(kw_only=True)
class BaseFinding:
    """Base of the findings. `outcome` is the result of the deletion, None if none was tried."""

    decision: Decision
    outcome: Outcome | None = None


@dataclass(kw_only=True)
class _RecordFinding(BaseFinding):
    """Base of the findings with a full name."""

    record: JobRecord | PersistentRecord

    @property
    def name(self) -> str:
        return self.record.name

    def names(self, endpoint: Endpoint) -> tuple[str, ...]:
        """Return the id, and the full names with the project's number and with its id."""
        *_, collection, id_ = self.name.split("/")
        return (id_, self.name, f"{endpoint.parent}/{collection}/{id_}")


@dataclass(kw_only=True)
class JobFinding(_RecordFinding):
    """A job of any kind."""

    record: JobRecord

    @property
    def label(self) -> str:
        return f"job {self.record.job_id} ({self.record.display_name})"


@dataclass(kw_only=True)
class PersistentFinding(_RecordFinding):
    """A persistent resource or a model."""

    record: PersistentRecord

    @property
    def kind(self) -> PersistentKind:
        return persistent_kinds()[self.record.collection]

    @property
    def label(self) -> str:
        return f"{self.kind.noun} {self.record.id}"


@dataclass(kw_only=True)
class _AddressFinding(BaseFinding):
    """Base of the findings with a gs:// address."""

    record: ObjectRecord | Lineage

    @property
    def name(self) -> str:
        return self.record.uri

    label = name

    def names(self, _: Endpoint) -> tuple[str, ...]:
        return tuple(dict.fromkeys([self.name, self.name.rstrip("/")]))


@dataclass(kw_only=True)
class ObjectFinding(_AddressFinding):
    """A staged object."""

    record: ObjectRecord


@dataclass(kw_only=True)
class LineageFinding(_AddressFinding):
    """The checkpoints of a lineage."""

    record: Lineage


Finding = JobFinding | PersistentFinding | ObjectFinding | LineageFinding


def labelled_jobs(endpoint: Endpoint, project: str | None) -> list[JobRecord]:
    """Return the jobs with our run label, newest first; with `project` only those of the Pulumi project.

    Jobs that another of them runs are left out: no document says whether the service copies labels to them.
    """
    found = [one for gateway in gateways() for one in gateway.list_labelled(endpoint, RUN_LABEL)]
    inner_names = {inner.name for one in found for inner in gateway_of(one.name).inner(one)}
    records = newest_first(one for one in found if one.name not in inner_names)
    return [one for one in records if _is_of(project, one.labels)]


def labelled_persistent(endpoint: Endpoint, project: str | None) -> list[PersistentRecord]:
    """Return the persistent resources and models with our ownership labels, filtered and sorted as jobs."""
    found = [
        one
        for kind in persistent_kinds().values()
        for one in kind.marked(endpoint)
        if _is_of(project, one.labels)
    ]
    return sorted(found, key=lambda one: one.create_time or "", reverse=True)


def _is_of(project: str | None, labels: Mapping[str, str]) -> bool:
    return project is None or labels.get("pulumi-project") == ownership_label_value(project)


def job_findings(records: Sequence[JobRecord], stacks: Sequence[KnownStack]) -> list[JobFinding]:
    """Return a finding for each job."""
    return [JobFinding(record=record, decision=decide_job(record, stacks)) for record in records]


def persistent_findings(
    records: Sequence[PersistentRecord], stacks: Sequence[KnownStack], endpoint: Endpoint
) -> Iterator[PersistentFinding]:
    """Yield a finding for each record.

    A record that no stack has by name is read again in full, for example with every version of a model.
    """
    for record in records:
        decision = decide_persistent(record, stacks, endpoint)
        if decision.status is not Status.KNOWN:
            try:
                record = persistent_kinds()[record.collection].get(endpoint, record.name)
            except NotFound:
                continue
            decision = decide_persistent(record, stacks, endpoint)
        yield PersistentFinding(record=record, decision=decision)


def object_findings(
    endpoint: Endpoint, stacks: Sequence[KnownStack], *, named: Sequence[str]
) -> Iterator[ObjectFinding]:
    """Yield findings for objects in the staging folders of the stacks, or only for those in `named`."""
    if named and not any(word.startswith("gs://") for word in named):
        return
    read = live_text(endpoint)
    records = _by_address(endpoint, named) if named else _staged(endpoint, stacks)
    for record in records:
        decision = decide_object(record.uri, record.metadata, stacks, read_by_live_jobs=read)
        if decision is not None:
            yield ObjectFinding(record=record, decision=decision)


def lineage_findings(endpoint: Endpoint, stacks: Sequence[KnownStack]) -> Iterator[LineageFinding]:
    """Yield a finding for each lineage of checkpoints in the folders where stacks have some."""
    found = list(lineages(endpoint, stacks))
    jobs = text_of_jobs(endpoint) if found else ""
    for one in found:
        yield LineageFinding(record=one, decision=decide_lineage(one.uri, stacks, read_by_jobs=jobs))


def text_of_jobs(endpoint: Endpoint) -> str:
    """Return every string in the specs of live jobs, and of ended ones with our run label."""
    ended = (job for gateway in gateways() for job in gateway.list_labelled(endpoint, RUN_LABEL))
    return "\n".join([live_text(endpoint), *(text for job in ended for text in strings(job.wire))])


def live_text(endpoint: Endpoint) -> str:
    """Return every string in the specs of the endpoint's live jobs, whoever submitted them."""
    live = (job for gateway in gateways() for job in gateway.list_live(endpoint))
    return "\n".join(text for job in live for text in strings(job.wire))


def _staged(endpoint: Endpoint, stacks: Sequence[KnownStack]) -> Iterator[ObjectRecord]:
    for folder in sorted(_staging_folders(endpoint, stacks)):
        prefix = f"{folder.prefix}/" if folder.prefix else ""
        by_content = re.compile(re.escape(prefix) + rf"[0-9a-f]{{{HASH_DIGITS}}}/[^/]+")
        try:
            for record in objects.list_objects(endpoint, folder.bucket, prefix=prefix):
                if by_content.fullmatch(record.name):
                    yield record
        except NotFound:
            continue


def _staging_folders(endpoint: Endpoint, stacks: Sequence[KnownStack]) -> set[StagingFolder]:
    states = [state for stack in stacks for state in (stack.now, stack.past) if state]
    return {
        folder
        for state in states
        for folder in state.staging_folders
        if (folder.endpoint, folder.project) == (endpoint.kind, endpoint.project)
    }


def _by_address(endpoint: Endpoint, named: Sequence[str]) -> Iterator[ObjectRecord]:
    for word in dict.fromkeys(named):
        if match := _ADDRESS.fullmatch(word):
            record = objects.find(endpoint, match[1], match[2])
            if record is not None:
                yield record
