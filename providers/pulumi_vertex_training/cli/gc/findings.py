"""What `gc` finds: jobs, persistent resources, models and staged objects with our marks, each judged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pulumi_vertex_training.cli.gc.candidates import (
    Judgement,
    KnownStack,
    Verdict,
    judge_job,
    judge_lasting,
    judge_object,
)
from pulumi_vertex_training.cli.gc.stack_memory import StagingPlace, strings
from pulumi_vertex_training.cli.gc.sweep import Outcome
from pulumi_vertex_training.cli.jobs.lookup import newest_first
from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.objects import ObjectRecord
from pulumi_vertex_training.kinds.staged.spec import HASH_DIGITS
from pulumi_vertex_training.runs.gateway import gateway_of, gateways
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.lasting import Lasting, LastingKind, lasting_kinds
from vertex_training.fields.labels import ownership_label_value

_ADDRESS = re.compile(r"gs://([^/]+)/(.+)", re.DOTALL)


@dataclass(kw_only=True)
class Judged:
    """What was found; `outcome` is what became of it, None as long as nothing was to be done."""

    judgement: Judgement
    outcome: Outcome | None = None


@dataclass(kw_only=True)
class JobFinding(Judged):
    """A job of any kind."""

    record: JobRecord

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def label(self) -> str:
        return f"job {self.record.job_id} ({self.record.display_name})"

    def names(self, endpoint: Endpoint) -> tuple[str, ...]:
        """What a user may call it."""
        return _names(self.name, endpoint)


@dataclass(kw_only=True)
class LastingFinding(Judged):
    """A persistent resource or a model."""

    record: Lasting

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def kind(self) -> LastingKind:
        return lasting_kinds()[self.record.collection]

    @property
    def label(self) -> str:
        return f"{self.kind.noun} {self.record.id}"

    def names(self, endpoint: Endpoint) -> tuple[str, ...]:
        return _names(self.name, endpoint)


@dataclass(kw_only=True)
class ObjectFinding(Judged):
    """A staged object."""

    record: ObjectRecord

    @property
    def name(self) -> str:
        return self.record.uri

    @property
    def label(self) -> str:
        return self.record.uri

    def names(self, _: Endpoint) -> tuple[str, ...]:
        return (self.record.uri,)


Finding = JobFinding | LastingFinding | ObjectFinding


def _names(name: str, endpoint: Endpoint) -> tuple[str, ...]:
    """Its id, and its full name with the project's number or id."""
    *_, collection, id_ = name.split("/")
    return (id_, name, f"{endpoint.parent}/{collection}/{id_}")


def marked_jobs(endpoint: Endpoint, project: str | None) -> list[JobRecord]:
    """What carries our run label, of one Pulumi project where it is given, newest first.

    Not what another of them runs: no document says whether a service hands labels on.
    """
    found = [one for gateway in gateways() for one in gateway.list_labelled(endpoint, RUN_LABEL)]
    parts = {inner.name for one in found for inner in gateway_of(one.name).inner(one)}
    records = newest_first(one for one in found if one.name not in parts)
    return [one for one in records if _is_of(project, one.labels)]


def marked_lasting(endpoint: Endpoint, project: str | None) -> list[Lasting]:
    """The persistent resources and models that carry our marks, narrowed as jobs are, newest first."""
    found = [
        one
        for kind in lasting_kinds().values()
        for one in kind.marked(endpoint)
        if _is_of(project, one.labels)
    ]
    return sorted(found, key=lambda one: one.create_time or "", reverse=True)


def _is_of(project: str | None, labels: Mapping[str, str]) -> bool:
    return project is None or labels.get("pulumi-project") == ownership_label_value(project)


def judged_jobs(records: Sequence[JobRecord], stacks: Sequence[KnownStack]) -> list[JobFinding]:
    return [JobFinding(record=record, judgement=judge_job(record, stacks)) for record in records]


def judged_lasting(
    records: Sequence[Lasting], stacks: Sequence[KnownStack], endpoint: Endpoint
) -> Iterator[LastingFinding]:
    """Those that are unknown by their names are looked at with all that they are, such as every version of a
    model.
    """
    for record in records:
        judgement = judge_lasting(record, stacks, endpoint)
        if judgement.verdict is not Verdict.KNOWN:
            try:
                record = lasting_kinds()[record.collection].get(endpoint, record.name)
            except NotFound:
                continue
            judgement = judge_lasting(record, stacks, endpoint)
        yield LastingFinding(record=record, judgement=judgement)


def judged_objects(
    endpoint: Endpoint, stacks: Sequence[KnownStack], *, named: Sequence[str]
) -> Iterator[ObjectFinding]:
    """The objects with our mark where the stacks stage theirs, or have; with `named` only those."""
    if named and not any(word.startswith("gs://") for word in named):
        return
    read = live_text(endpoint)
    records = _by_address(endpoint, named) if named else _staged(endpoint, stacks)
    for record in records:
        judgement = judge_object(record.uri, record.metadata, stacks, read_by_live_jobs=read)
        if judgement is not None:
            yield ObjectFinding(record=record, judgement=judgement)


def live_text(endpoint: Endpoint) -> str:
    """Everything that the live jobs of the place say, whoever submitted them."""
    live = (job for gateway in gateways() for job in gateway.list_live(endpoint))
    return "\n".join(text for job in live for text in strings(job.wire))


def _staged(endpoint: Endpoint, stacks: Sequence[KnownStack]) -> Iterator[ObjectRecord]:
    for place in sorted(_places(endpoint, stacks)):
        prefix = f"{place.prefix}/" if place.prefix else ""
        by_content = re.compile(re.escape(prefix) + rf"[0-9a-f]{{{HASH_DIGITS}}}/[^/]+")
        try:
            for record in objects.list_objects(endpoint, place.bucket, prefix=prefix):
                if by_content.fullmatch(record.name):
                    yield record
        except NotFound:
            continue


def _places(endpoint: Endpoint, stacks: Sequence[KnownStack]) -> set[StagingPlace]:
    memories = [memory for stack in stacks for memory in (stack.now, stack.past) if memory]
    return {
        place
        for memory in memories
        for place in memory.places
        if (place.endpoint, place.project) == (endpoint.kind, endpoint.project)
    }


def _by_address(endpoint: Endpoint, named: Sequence[str]) -> Iterator[ObjectRecord]:
    for word in dict.fromkeys(named):
        if match := _ADDRESS.fullmatch(word):
            record = objects.find(endpoint, match[1], match[2])
            if record is not None:
                yield record
