"""What carries our marks and nobody knows any more, and of what that can be proven.

The states at hand are those of the backends that were named. Somebody else's stacks, also ones with equal
names, are in other backends, and cannot be asked; so what is unknown here may be known there. Proven to be an
orphan is only what a stack that still exists is recorded to have had, and has no longer:

* A run's identity is random. That a stack's history has it means that this stack made it.
* A stack that was removed (`pulumi stack rm --force`) may have been moved to another backend before, with all
  it knows: that is how stacks are moved. So its jobs are not proven to be orphans.
* A staged object is named by its content, so two stacks may have the same one; the second marks it as shared.
* A job that was kept on purpose, by on_delete = cancel, is no orphan.
* Persistent resources and models have no random identity. Equal names are in other backends, too, and what
  was created when a state says may have been made elsewhere and taken over. So of these nothing is proven.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pulumi_vertex_training.cli.gc.stack_memory import Memory, Mention, StackName
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.kinds.staged.spec import MARK, SHARED
from pulumi_vertex_training.runs.identity import RUN_LABEL, identity_of
from pulumi_vertex_training.runs.lasting import Lasting
from vertex_training.fields.labels import owner_of


class Verdict(enum.Enum):
    """What is to become of a thing that carries our mark; only an ORPHAN is deleted without being named."""

    KNOWN = "known"
    ORPHAN = "orphan"
    KEPT = "kept"
    UNPROVEN = "unproven"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    verdict: Verdict
    reason: str


@dataclass(frozen=True, kw_only=True)
class KnownStack:
    """A stack of a backend that was named: its state, and what is recorded of its past.

    `now` is None for a stack that was removed. `has_history`: whether its past could be read at all.
    `is_deployed_now`: whether a deployment of it goes on; None where its backend does not tell.
    """

    name: StackName
    now: Memory | None
    past: Memory
    has_history: bool = True
    is_deployed_now: bool | None = None


def judge_job(record: JobRecord, stacks: Sequence[KnownStack]) -> Judgement:
    """Of a job that carries our run label."""
    run = record.labels[RUN_LABEL]
    identity, job_id = identity_of(run), record.name.rpartition("/")[2]
    for stack in stacks:
        if stack.now and (identity in stack.now.mentioned or job_id in stack.now.job_ids):
            return Judgement(verdict=Verdict.KNOWN, reason=f"stack {stack.name} knows it")
    for stack in stacks:
        # By its id where another declaration had taken it over.
        if stack.past.kept & {identity, job_id}:
            return Judgement(verdict=Verdict.KEPT, reason=f"on_delete was cancel in stack {stack.name}")
    made_by = [stack for stack in stacks if identity in stack.past.runs]
    return _by_past(made_by, stacks, f"run {run}")


def judge_lasting(record: Lasting, stacks: Sequence[KnownStack], endpoint: Endpoint) -> Judgement:
    """Of a persistent resource or a model that carries our marks.

    A creation that a killed deployment has begun stays in the state, also after `pulumi destroy`. While none
    goes on it says nothing.
    """

    def is_in(mentions: Collection[Mention]) -> bool:
        return any(one.may_be(record.name, endpoint) for one in mentions)

    living = [(stack, stack.now) for stack in stacks if stack.now]
    for stack, now in living:
        if is_in(now.mentions):
            return Judgement(verdict=Verdict.KNOWN, reason=f"stack {stack.name} knows it")
        if record.uploaded_by & now.job_ids:
            reason = f"stack {stack.name} knows a pipeline that uploaded it"
            return Judgement(verdict=Verdict.KNOWN, reason=reason)
        if stack.is_deployed_now and is_in(now.begun):
            reason = f"a deployment of stack {stack.name} makes it; if that was killed, run `pulumi cancel`"
            return Judgement(verdict=Verdict.KNOWN, reason=reason)
    for stack in stacks:
        if is_in(stack.past.retained):
            return Judgement(verdict=Verdict.KEPT, reason=f"retain_on_delete was set in stack {stack.name}")
        if record.uploaded_by & stack.past.kept:
            reason = f"on_delete was cancel in stack {stack.name}, for a pipeline that uploaded it"
            return Judgement(verdict=Verdict.KEPT, reason=reason)
    if record.is_going:
        return Judgement(verdict=Verdict.UNPROVEN, reason="it is being deleted already")
    remedy = record.obstacle or f"`vertex-training gc --yes {record.id}` deletes it"
    for stack, now in living:
        if is_in(now.begun):
            takes = "`pulumi up` there takes it over as long as it is declared"
            goes_on = ", unless a deployment of it goes on" if stack.is_deployed_now is None else ""
            reason = f"a killed deployment of stack {stack.name} began to make it{goes_on}; {takes}; {remedy}"
            return Judgement(verdict=Verdict.UNPROVEN, reason=reason)
    owner = "/".join(owner_of(record.labels).values())
    return Judgement(
        verdict=Verdict.UNPROVEN,
        reason=f"no stack here knows it; its labels say {owner}, but names prove nothing; {remedy}",
    )


def judge_object(
    uri: str, metadata: Mapping[str, str], stacks: Sequence[KnownStack], *, read_by_live_jobs: str
) -> Judgement | None:
    """Of an object in a place where objects are staged; None for one that does not carry our mark.

    `read_by_live_jobs`: everything that the specs of live jobs say.
    """
    if MARK not in metadata:
        return None
    # Its folder is its hash, and a job may name the folder instead of the object.
    folder = uri.removeprefix("gs://").rpartition("/")[0]
    for stack in stacks:
        if stack.now and folder in stack.now.text:
            return Judgement(verdict=Verdict.KNOWN, reason=f"stack {stack.name} knows it")
    if folder in read_by_live_jobs:
        return Judgement(verdict=Verdict.KNOWN, reason="a live job reads it")
    if SHARED in metadata:
        return Judgement(
            verdict=Verdict.UNPROVEN,
            reason="it was staged more than once, perhaps by a stack that is not here",
        )
    return _by_past([stack for stack in stacks if uri in stack.past.objects], stacks, "it")


def _by_past(made_by: Sequence[KnownStack], stacks: Sequence[KnownStack], thing: str) -> Judgement:
    for stack in made_by:
        if stack.now is not None:
            return Judgement(
                verdict=Verdict.ORPHAN, reason=f"stack {stack.name} had it, and has it no longer"
            )
    for stack in made_by:
        return Judgement(
            verdict=Verdict.UNPROVEN,
            reason=f"stack {stack.name} was removed with it, and may have been moved to another backend",
        )
    unread = sorted({stack.name.backend for stack in stacks if not stack.has_history})
    but = f", as far as can be told: the history of {', '.join(unread)} was not read" if unread else ""
    return Judgement(verdict=Verdict.UNPROVEN, reason=f"no stack here is known to have had {thing}{but}")
