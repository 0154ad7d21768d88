"""The runs whose images and packages are promoted: the last one of each job of a stack, or a named one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pulumi_vertex_training.cli.gc.stack_state import strings
from pulumi_vertex_training.cli.teams.promote.stacks import Resource, Stack
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.runs.command_arguments import of_job
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.views.jobs.lookup import all_jobs
from pulumi_vertex_training.views.jobs.resources import histories
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.fields.labels import ownership_label_value
from vertex_training.findings.words import did_you_mean

_LISTED = 8


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A run of a stack, RESOURCE/NUMBER as `vertex-training runs` counts, with its job and the endpoint."""

    run: str
    record: JobRecord
    endpoint: Endpoint

    @property
    def resource(self) -> str:
        return self.run.rpartition("/")[0]

    @property
    def as_argument(self) -> str:
        """The job in a command that can be pasted."""
        return of_job(self.endpoint, self.record.name)

    @property
    def has_succeeded(self) -> bool:
        return self.record.state is JobState.JOB_STATE_SUCCEEDED

    @property
    def text(self) -> str:
        """Every text of the job's specification, one a line."""
        return "\n".join(strings(self.record.wire))


def last_runs(stack: Stack, to: str) -> list[Tried]:
    """Return the last run of each job in a stack's state.

    Raises CommandError, with every fault, if the state has no job, or one has not succeeded.
    """
    jobs = [one for one in stack.resources if one.is_job]
    if not jobs:
        raise CommandError(
            f"stack {stack.name} has no job, so nothing has been tried there. Deploy it with "
            f"`pulumi up --stack {stack.name}`, and promote when its job has succeeded.",
            path="--from",
        )
    found, faults = [], []
    for job in jobs:
        try:
            endpoint = stack.endpoint_of(job)
            record = gateway_of(job.id).get(endpoint, job.id)
        except KeyError:
            faults.append(f"{job.name}: {job.id!r} in the state is not the name of a job")
            continue
        except NotFound:
            faults.append(
                f"{job.name}: its job {job.id} was deleted, so nothing shows whether it succeeded. Run it "
                f"again with `pulumi up --refresh --stack {stack.name}`, or name another run with --run"
            )
            continue
        one = Tried(run=f"{job.name}/{_number(record)}", record=record, endpoint=endpoint)
        found.append(one)
        if not one.has_succeeded:
            faults.append(_not_succeeded(one, stack, to))
    if faults:
        raise CommandError(f"Nothing can be promoted from stack {stack.name}. {'. '.join(faults)}.")
    return found


def named_run(stack: Stack, text: str, to: str) -> Tried:
    """Return the run of a stack by RESOURCE/NUMBER, number, id or full name of its job.

    Raises InputError if none or several match, and CommandError if it has not succeeded.
    """
    known = list(_known_runs(stack))
    found = [
        one
        for one in known
        if text in (one.run, one.run.rpartition("/")[2], one.record.job_id, one.record.name)
    ]
    if len(found) > 1:
        raise InputError(
            f"{text!r} is the number of {len(found)} runs of stack {stack.name}: {_listed(found)}. Name one "
            "of them.",
            path="--run",
        )
    if not found:
        exist = f"It has: {_listed(known)}." if known else "No job of it is recorded."
        hint = did_you_mean(text, [one.run for one in known])
        raise InputError(f"stack {stack.name} has no run {text!r}.{hint} {exist}", path="--run")
    if not found[0].has_succeeded:
        raise CommandError(
            f"Nothing can be promoted from stack {stack.name}. {_not_succeeded(found[0], stack, to)}.",
            path="--run",
        )
    return found[0]


def _known_runs(stack: Stack) -> Iterator[Tried]:
    """Yield the runs of a stack, newest first, wherever its jobs are or its configuration says."""
    places: dict[tuple[str, str, str], Endpoint] = {}
    jobs: list[Resource | None] = [one for one in stack.resources if one.is_job]
    for job in jobs or [None]:
        endpoint = stack.endpoint_of(job)
        places[endpoint.kind, endpoint.project, endpoint.location] = endpoint
    owner = (ownership_label_value(stack.project), ownership_label_value(stack.short))
    for endpoint in places.values():
        owned = [one for one in all_jobs(endpoint) if RUN_LABEL in one.labels]
        for history in histories(owned):
            if (history.resource.project, history.resource.stack) == owner:
                numbers = history.numbers()
                for record in history.records:
                    run = f"{history.resource.name}/{numbers[record.name]}"
                    yield Tried(run=run, record=record, endpoint=endpoint)


def _not_succeeded(one: Tried, stack: Stack, to: str) -> str:
    state = one.record.state
    sentence = f"{one.resource}: run {one.run} (job {one.record.job_id}) is {state.word}, not SUCCEEDED"
    if not state.is_terminal:
        return f"{sentence}. Wait until it has ended: `vertex-training logs {one.as_argument} --follow`"
    earlier = next((run for run in _earlier(one, stack) if run.has_succeeded), None)
    other = (
        f", or promote run {earlier.run}: `vertex-training promote --from {stack.name} --to {to} --run "
        f"{earlier.run}`"
        if earlier is not None
        else ""
    )
    return (
        f"{sentence}. `vertex-training status {one.as_argument}` shows why. Correct it and run "
        f"`pulumi up --stack {stack.name}`{other}"
    )


def _earlier(one: Tried, stack: Stack) -> Iterator[Tried]:
    """Yield the runs of the same resource, newest first."""
    yield from (run for run in _known_runs(stack) if run.resource == one.resource)


def _number(record: JobRecord) -> str:
    return record.labels.get(RUN_LABEL, "").rpartition("-")[2] or record.job_id


def _listed(runs: list[Tried]) -> str:
    shown = [f"{one.run} ({one.record.state.word})" for one in runs[:_LISTED]]
    more = [f"and {len(runs) - _LISTED} more"] if len(runs) > _LISTED else []
    return ", ".join([*shown, *more])
