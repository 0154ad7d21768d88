"""Decide which resources with our ownership labels are orphans: no stack has them in its state any longer.

Only the states of the named backends can be read. Other people's stacks, even with equal names, may be in
other backends, so a resource that is unknown here may be known there. A resource is a proven orphan only if
a stack that still exists is recorded to have had it and has it no longer:

* The identity of a run is random. If a stack's history has it, this stack made the run.
* A removed stack (`pulumi stack rm --force`) may have been moved to another backend before, with its whole
  state: this is how stacks are moved. So its jobs are not proven orphans.
* A staged object is named by its content, so two stacks may have the same one. The second marks it as shared.
* A job whose creation a deployment has only begun is recorded by its run. It is known while the deployment
  runs. After a kill, the next deployment adopts it if it is still declared.
* A job that was kept on purpose, by on_delete = cancel, is not an orphan.
* Persistent resources and models have no random identity. Other backends may have equal names, and a resource
  that a state says it created may have been made elsewhere and adopted. So these are never proven orphans.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pulumi_vertex_training.cli.gc.stack_state import Mention, StackName, StateContents
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.objects import SHARED_KEY, STAGED_KEY
from pulumi_vertex_training.runs.identity import RUN_LABEL, identity_of
from pulumi_vertex_training.runs.persistent import PersistentRecord
from vertex_training.fields.labels import owner_of


class Status(enum.Enum):
    """Status of a resource with our ownership label. Only an ORPHAN is deleted without being named."""

    KNOWN = "known"
    ORPHAN = "orphan"
    KEPT = "kept"
    UNPROVEN = "unproven"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A status and the reason for it, in words for the user."""

    status: Status
    reason: str


@dataclass(frozen=True, kw_only=True)
class KnownStack:
    """A stack of a named backend, with its present state and its recorded past.

    `now` is None for a stack that was removed. `has_history` says whether the past could be read at all.
    `is_deployed_now` says whether a deployment is running, None if the backend does not report it.
    """

    name: StackName
    now: StateContents | None
    past: StateContents
    has_history: bool = True
    is_deployed_now: bool | None = None


def decide_job(record: JobRecord, stacks: Sequence[KnownStack]) -> Decision:
    """Decide the status of a job that has our run label."""
    run = record.labels[RUN_LABEL]
    identity, job_id = identity_of(run), record.name.rpartition("/")[2]
    for stack in stacks:
        if stack.now and (identity in stack.now.mentioned or job_id in stack.now.job_ids):
            return Decision(status=Status.KNOWN, reason=f"stack {stack.name} has it")
        if stack.now and stack.is_deployed_now and identity in stack.now.begun_runs:
            return _being_created(stack)
    for stack in stacks:
        # A job that another declaration had adopted is recorded by its id.
        if stack.past.kept & {identity, job_id}:
            return Decision(status=Status.KEPT, reason=f"on_delete was cancel in stack {stack.name}")
    for stack in stacks:
        if stack.now and identity in stack.now.begun_runs:
            return _began(stack, f"`vertex-training gc --yes {job_id}` deletes it")
    made_by = [stack for stack in stacks if identity in stack.past.runs]
    return _decide_by_history(made_by, stacks, f"run {run}")


def decide_persistent(record: PersistentRecord, stacks: Sequence[KnownStack], endpoint: Endpoint) -> Decision:
    """Decide the status of a persistent resource or a model that has our ownership labels.

    A creation that a killed deployment began stays in the state, even after `pulumi destroy`. It counts only
    while a deployment is running.
    """

    def is_in(mentions: Collection[Mention]) -> bool:
        return any(one.may_be(record.name, endpoint) for one in mentions)

    existing = [(stack, stack.now) for stack in stacks if stack.now]
    for stack, now in existing:
        if is_in(now.mentions):
            return Decision(status=Status.KNOWN, reason=f"stack {stack.name} has it")
        if record.uploaded_by & now.job_ids:
            reason = f"stack {stack.name} has a pipeline that uploaded it"
            return Decision(status=Status.KNOWN, reason=reason)
        if stack.is_deployed_now and is_in(now.begun):
            return _being_created(stack)
    for stack in stacks:
        if is_in(stack.past.retained):
            return Decision(status=Status.KEPT, reason=f"retain_on_delete was set in stack {stack.name}")
        if record.uploaded_by & stack.past.kept:
            reason = f"on_delete was cancel in stack {stack.name}, for a pipeline that uploaded it"
            return Decision(status=Status.KEPT, reason=reason)
        if is_in(stack.past.kept_models) or record.uploaded_by & stack.past.keeps_model:
            reason = f'stack {stack.name} had it, and on_delete="delete" was not set'
            return Decision(status=Status.KEPT, reason=reason)
    if record.is_going:
        return Decision(status=Status.UNPROVEN, reason="it is already being deleted")
    remedy = record.obstacle or f"`vertex-training gc --yes {record.id}` deletes it"
    for stack, now in existing:
        if is_in(now.begun):
            return _began(stack, remedy)
    owner = "/".join(owner_of(record.labels).values())
    return Decision(
        status=Status.UNPROVEN,
        reason=f"no stack here has it; its labels name {owner}, but labels alone are no proof; {remedy}",
    )


def _being_created(stack: KnownStack) -> Decision:
    reason = f"a deployment of stack {stack.name} is creating it; if it was killed, run `pulumi cancel`"
    return Decision(status=Status.KNOWN, reason=reason)


def _began(stack: KnownStack, remedy: str) -> Decision:
    unless = ", unless one is still running" if stack.is_deployed_now is None else ""
    reason = (
        f"a killed deployment of stack {stack.name} began to create it{unless}; if it is still declared, "
        f"`pulumi up` there adopts it; {remedy}"
    )
    return Decision(status=Status.UNPROVEN, reason=reason)


def decide_object(
    uri: str, metadata: Mapping[str, str], stacks: Sequence[KnownStack], *, read_by_live_jobs: str
) -> Decision | None:
    """Decide the status of an object in a staging folder, or return None if it does not have our mark.

    `read_by_live_jobs` is the text of the specs of all live jobs.
    """
    if STAGED_KEY not in metadata:
        return None
    # The folder is named by the object's hash, and a job may name the folder instead of the object.
    folder = uri.removeprefix("gs://").rpartition("/")[0]
    for stack in stacks:
        if stack.now and folder in stack.now.text:
            return Decision(status=Status.KNOWN, reason=f"stack {stack.name} has it")
    if folder in read_by_live_jobs:
        return Decision(status=Status.KNOWN, reason="a live job reads it")
    if SHARED_KEY in metadata:
        return Decision(
            status=Status.UNPROVEN,
            reason="it was staged more than once, perhaps by a stack of another backend",
        )
    return _decide_by_history([stack for stack in stacks if uri in stack.past.objects], stacks, "it")


def _decide_by_history(made_by: Sequence[KnownStack], stacks: Sequence[KnownStack], noun: str) -> Decision:
    for stack in made_by:
        if stack.now is not None:
            return Decision(status=Status.ORPHAN, reason=f"stack {stack.name} had it and no longer has it")
    for stack in made_by:
        return Decision(
            status=Status.UNPROVEN,
            reason=f"stack {stack.name} had it when the stack was removed, and the stack may have moved to "
            "another backend",
        )
    unread = sorted({stack.name.backend for stack in stacks if not stack.has_history})
    but = f"; the history of {', '.join(unread)} could not be read" if unread else ""
    return Decision(status=Status.UNPROVEN, reason=f"no stack here has {noun} in its history{but}")
