"""`gc`: list and delete resources with our ownership labels that no stack has any longer."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.cli.gc import pulumi_backends
from pulumi_vertex_training.cli.gc.candidates import (
    Decision,
    KnownStack,
    Status,
    decide_job,
    decide_object,
    decide_persistent,
)
from pulumi_vertex_training.cli.gc.checkpoints import decide_lineage, delete_lineage
from pulumi_vertex_training.cli.gc.findings import (
    Finding,
    JobFinding,
    LineageFinding,
    ObjectFinding,
    PersistentFinding,
    job_findings,
    labelled_jobs,
    labelled_persistent,
    lineage_findings,
    live_text,
    object_findings,
    persistent_findings,
    text_of_jobs,
)
from pulumi_vertex_training.cli.gc.pulumi_backends import Pulumi
from pulumi_vertex_training.cli.gc.stack_state import StackName
from pulumi_vertex_training.cli.gc.sweep import (
    AT_ONCE,
    Outcome,
    SharedRead,
    delete_job,
    delete_object,
    delete_persistent,
)
from pulumi_vertex_training.cli.gc.view import Report
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.objects import ObjectRecord
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.persistent import PersistentRecord
from pulumi_vertex_training.views import target
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.command_line.output import Output
from vertex_training.fields.labels import ownership_label_value
from vertex_training.findings.words import did_you_mean


def collect(options: argparse.Namespace, output: Output) -> Answer:
    """Run the command `gc`."""
    endpoint = target.resolve(target.of_options(options))
    project = options.pulumi_project or pulumi_command.project_here(Path.cwd())
    run = functools.partial(pulumi_backends.pulumi, timeout=options.timeouts.pulumi)
    urls = pulumi_backends.backend_urls(options.backend, run)
    of = None if options.names else project
    # List before reading the stacks: a run or a pending creation is in the state before it is made.
    jobs, persistent = labelled_jobs(endpoint, of), labelled_persistent(endpoint, of)
    stacks = _stacks(urls, run, jobs, persistent, endpoint)
    findings: list[Finding] = [
        *job_findings(jobs, stacks),
        *persistent_findings(persistent, stacks, endpoint),
        *object_findings(endpoint, stacks, named=options.names),
        *lineage_findings(endpoint, stacks),
    ]
    if options.names:
        findings = _named(options.names, findings, endpoint)
    chosen = [one for one in findings if one.decision.status is Status.ORPHAN or options.names]
    if options.yes and chosen:
        again = SharedRead(lambda: _again(urls, run, stacks, endpoint))
        _delete(chosen, endpoint, again, named=bool(options.names), output=output)
    return Report(
        endpoint=endpoint,
        project=of,
        stacks=tuple(stacks),
        backends=tuple(urls),
        findings=tuple(findings),
        chosen=frozenset(one.name for one in chosen),
        asked_to_delete=options.yes,
    )


def _stacks(
    urls: Sequence[str],
    run: Pulumi,
    jobs: Sequence[JobRecord],
    persistent: Sequence[PersistentRecord],
    endpoint: Endpoint,
) -> list[KnownStack]:
    """Return the stacks with their past.

    If reading the past is expensive, only the stacks that unknown resources name in their labels are read.
    """
    read = {url: pulumi_backends.read_stacks(url, run) for url in urls}
    now = [stack for stacks in read.values() for stack in stacks]
    judged = [(job.labels, decide_job(job, now)) for job in jobs]
    judged += [(one.labels, decide_persistent(one, now, endpoint)) for one in persistent]
    owners = {
        (labels.get("pulumi-project"), labels.get("pulumi-stack"))
        for labels, decision in judged
        if decision.status is not Status.KNOWN
    }

    def wanted(name: StackName) -> bool:
        return (ownership_label_value(name.project), ownership_label_value(name.stack)) in owners

    return [
        stack
        for url, stacks in read.items()
        for stack in pulumi_backends.with_history(stacks, url, wanted, run)
    ]


Snapshot = tuple[list[KnownStack], str]
"""The stacks, and the text of the specs of live jobs."""
RefusalOf = Callable[[Callable[[Snapshot], Decision | None]], str]
"""Why a resource stays, by a decision about it; "" if it is deleted."""


def _again(urls: Sequence[str], run: Pulumi, before: Sequence[KnownStack], endpoint: Endpoint) -> Snapshot:
    """Read the stacks again, keep the past that was read before, and read the specs of live jobs."""
    pasts = {stack.name: stack for stack in before}
    now = [
        replace(stack, past=pasts[stack.name].past, has_history=True) if stack.name in pasts else stack
        for url in urls
        for stack in pulumi_backends.read_stacks(url, run)
    ]
    gone = [replace(stack, now=None) for stack in before if stack.name not in {one.name for one in now}]
    return [*now, *gone], live_text(endpoint)


def _delete(
    chosen: Sequence[Finding], endpoint: Endpoint, again: SharedRead[Snapshot], *, named: bool, output: Output
) -> None:
    def one(finding: Finding) -> None:
        try:
            finding.outcome = _delete_one(finding, endpoint, again, named=named, output=output)
        except CommandError as error:  # a state can no longer be read
            finding.outcome = Outcome(words=str(error), failed=True)
        output.note(f"{finding.label}: {finding.outcome.words}")

    # Jobs first: they may run on a persistent resource or read an object.
    for kind in (JobFinding, PersistentFinding, ObjectFinding, LineageFinding):
        call_each(one, [finding for finding in chosen if isinstance(finding, kind)], at_once=AT_ONCE)


def _delete_one(
    finding: Finding, endpoint: Endpoint, again: SharedRead[Snapshot], *, named: bool, output: Output
) -> Outcome:
    def refusal_of(decide: Callable[[Snapshot], Decision | None]) -> str:
        decision = decide(again.get())
        if decision is None:
            return "it no longer has its ownership label"
        if decision.status is Status.KNOWN or not (named or decision.status is Status.ORPHAN):
            return decision.reason
        return ""

    def report(words: str) -> None:
        output.note(f"{finding.label}: {words}")

    if isinstance(finding, JobFinding):
        return _delete_found_job(finding, endpoint, refusal_of, report)
    if isinstance(finding, PersistentFinding):
        return _delete_found_persistent(finding, endpoint, refusal_of, report)
    if isinstance(finding, LineageFinding):
        uri = finding.record.uri

        def lineage_refusal() -> str:
            jobs = text_of_jobs(endpoint)
            return refusal_of(lambda snapshot: decide_lineage(uri, snapshot[0], read_by_jobs=jobs))

        return delete_lineage(endpoint, uri, refusal=lineage_refusal)

    def object_refusal(record: ObjectRecord) -> str:
        return refusal_of(
            lambda snapshot: decide_object(
                record.uri, record.metadata, snapshot[0], read_by_live_jobs=snapshot[1]
            )
        )

    return delete_object(endpoint, finding.record.bucket, finding.record.name, refusal=object_refusal)


def _delete_found_job(
    finding: JobFinding, endpoint: Endpoint, refusal_of: RefusalOf, report: Callable[[str], None]
) -> Outcome:
    def refusal(record: JobRecord) -> str:
        if record.labels.get(RUN_LABEL) != finding.record.labels[RUN_LABEL]:
            return "it no longer has its ownership label"
        return refusal_of(lambda snapshot: decide_job(record, snapshot[0]))

    name = finding.record.name
    return delete_job(gateway_of(name), endpoint, name, refusal=refusal, report=report)


def _delete_found_persistent(
    finding: PersistentFinding, endpoint: Endpoint, refusal_of: RefusalOf, report: Callable[[str], None]
) -> Outcome:
    def refusal(record: PersistentRecord) -> str:
        before = finding.record
        if (record.marks, record.create_time) != (before.marks, before.create_time):
            return "another resource has its name now"
        return refusal_of(lambda snapshot: decide_persistent(record, snapshot[0], endpoint))

    return delete_persistent(finding.kind, endpoint, finding.record.name, refusal=refusal, report=report)


def _named(words: Sequence[str], findings: Sequence[Finding], endpoint: Endpoint) -> list[Finding]:
    """Return the findings that `words` name. Raises InputError for an unknown name or a known resource."""
    chosen: list[Finding] = []
    # The number nearest to a mistyped one is a different resource, so only names are suggested.
    suggestions = [
        name for one in findings for name in one.names(endpoint) if not name.rpartition("/")[2].isdigit()
    ]
    for word in dict.fromkeys(words):
        found = [one for one in findings if word in one.names(endpoint)]
        if not found:
            raise InputError(
                f"{word!r} is not a job, persistent resource, model or staged object with ownership labels, "
                f"or a folder of checkpoints ({endpoint}); gc deletes nothing else. Give an id, a full name "
                f"or a gs:// address; `vertex-training gc` lists them.{did_you_mean(word, suggestions)}",
                path="NAME",
            )
        if len(found) > 1:
            raise InputError(
                f"{word!r} is the id of both {' and '.join(one.name for one in found)}. Give the full name.",
                path="NAME",
            )
        if found[0].decision.status is Status.KNOWN:
            raise InputError(
                f"{found[0].label} is in use: {found[0].decision.reason}. Run `pulumi destroy` there.",
                path="NAME",
            )
        chosen += found
    return chosen
