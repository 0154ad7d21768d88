"""The jobs of one declaration that no state has: a deployment was killed after it submitted them."""

from __future__ import annotations

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.state import running_stack
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL, RunKey, parse
from pulumi_vertex_training.runs.submission import is_later, without
from vertex_training.fields.labels import KEY_LABEL


def replaced_run(gateway: RunGateway, endpoint: Endpoint, urn: str, key: str) -> RunKey | None:
    """Return the run that `pulumi up --replace` replaces, None without one.

    The engine calls neither `diff` nor `delete` before the `create` if it creates first, or if an earlier
    command had deleted the job and was killed. `key` is the resource's: without one, or without a job
    of it, the state is not asked.
    """
    if not _may_have_jobs(key) or not gateway.list_by_label(endpoint, {KEY_LABEL: key}):
        return None
    run = running_stack.ask(urn).recorded.get(urn)
    return parse(run) if run else None


def begun_without_key(gateway: RunGateway, endpoint: Endpoint, urn: str) -> list[JobRecord]:
    """Return the jobs of pending creations that had no key: `--target` deployed before the stack had one."""
    state = running_stack.ask(urn)
    found = [
        job
        for identity in sorted(state.begun.get(urn, ()))
        for job in gateway.list_by_label(endpoint, {DECLARATION_LABEL: identity})
    ]
    return [job for job in without(found, OPERATION.all_made()) if job.name not in state.ids]


def left_behind(
    gateway: RunGateway, endpoint: Endpoint, urn: str, recorded: RunKey | None, key: str
) -> list[JobRecord]:
    """Return the jobs of a declaration that were left behind.

    `recorded` is the run that the state has, None without one; `key` the resource's, by which its jobs
    are found that no state has. With a recorded run, all later ones of its identity were left behind, and the
    live ones of other identities: a repeated `--replace` draws a new one.
    """
    released = OPERATION.released() | OPERATION.all_made()
    later: list[JobRecord] = []
    if recorded is not None:
        found = gateway.list_by_label(endpoint, {DECLARATION_LABEL: recorded.identity})
        later = [job for job in without(found, released) if is_later(job, recorded)]
    if not _may_have_jobs(key):
        return later
    others = without(gateway.list_by_label(endpoint, {KEY_LABEL: key}), released)
    if recorded is not None:
        own = recorded.identity
        others = [job for job in others if not job.state.is_terminal and _identity(job) != own]
    if not others:
        return later
    state = running_stack.ask(urn)
    begun = state.begun.get(urn, frozenset())

    def is_left(job: JobRecord) -> bool:
        if job.name in state.ids or _identity(job) in state.identities:
            return False
        return _identity(job) in begun or not job.state.is_terminal

    return [*later, *filter(is_left, others)]


def _may_have_jobs(key: str) -> bool:
    """Return whether there can be jobs of the key: this deployment has not made the stack's key."""
    return bool(key) and not OPERATION.made(key.partition("-")[0])


def _identity(job: JobRecord) -> str:
    return job.labels.get(DECLARATION_LABEL, "")
