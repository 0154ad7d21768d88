"""`gc`: list and delete what carries our marks and no stack knows any more."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from pulumi_vertex_training.cli import target
from pulumi_vertex_training.cli.gc import pulumi_backends
from pulumi_vertex_training.cli.gc import view as gc_view
from pulumi_vertex_training.cli.gc.candidates import (
    Judgement,
    KnownStack,
    Verdict,
    judge_job,
    judge_lasting,
    judge_object,
)
from pulumi_vertex_training.cli.gc.findings import (
    Finding,
    JobFinding,
    LastingFinding,
    ObjectFinding,
    judged_jobs,
    judged_lasting,
    judged_objects,
    live_text,
    marked_jobs,
    marked_lasting,
)
from pulumi_vertex_training.cli.gc.stack_memory import StackName
from pulumi_vertex_training.cli.gc.sweep import (
    AT_ONCE,
    Fresh,
    Outcome,
    delete_job,
    delete_lasting,
    delete_object,
)
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.objects import ObjectRecord
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.lasting import Lasting
from pulumi_vertex_training.views.failure import FAILED, CommandError, InputError, did_you_mean
from pulumi_vertex_training.views.output import Output
from vertex_training.fields.labels import ownership_label_value


def collect(options: argparse.Namespace, output: Output) -> int:
    """The command `gc`. Exit code 1 when something that was to be deleted is still there."""
    endpoint = target.resolve(target.of_options(options))
    project = options.pulumi_project or pulumi_backends.project_here(Path.cwd())
    urls = pulumi_backends.backend_urls(options.backend)
    of = None if options.things else project
    # Before the stacks: what is listed was in its stack's state, as a run or as begun, before it was made.
    jobs, lasting = marked_jobs(endpoint, of), marked_lasting(endpoint, of)
    stacks = _stacks(urls, jobs, lasting, endpoint)
    findings: list[Finding] = [
        *judged_jobs(jobs, stacks),
        *judged_lasting(lasting, stacks, endpoint),
        *judged_objects(endpoint, stacks, named=options.things),
    ]
    if options.things:
        findings = _named(options.things, findings, endpoint)
    chosen = [one for one in findings if one.judgement.verdict is Verdict.ORPHAN or options.things]
    if options.yes and chosen:
        again = Fresh(lambda: _again(urls, stacks, endpoint))
        _delete(chosen, endpoint, again, named=bool(options.things), output=output)
    report = gc_view.Report(
        endpoint=endpoint,
        project=of,
        stacks=tuple(stacks),
        backends=tuple(urls),
        findings=tuple(findings),
        chosen=frozenset(one.name for one in chosen),
        asked_to_delete=options.yes,
    )
    gc_view.show(report, output)
    return FAILED if any(one.outcome and one.outcome.failed for one in findings) else 0


def _stacks(
    urls: Sequence[str], jobs: Sequence[JobRecord], lasting: Sequence[Lasting], endpoint: Endpoint
) -> list[KnownStack]:
    """The stacks with their past, which may be read only of those that labels of unknown things name."""
    read = {url: pulumi_backends.read_stacks(url) for url in urls}
    now = [stack for stacks in read.values() for stack in stacks]
    judged = [(job.labels, judge_job(job, now)) for job in jobs]
    judged += [(one.labels, judge_lasting(one, now, endpoint)) for one in lasting]
    owners = {
        (labels.get("pulumi-project"), labels.get("pulumi-stack"))
        for labels, judgement in judged
        if judgement.verdict is not Verdict.KNOWN
    }

    def wanted(name: StackName) -> bool:
        return (ownership_label_value(name.project), ownership_label_value(name.stack)) in owners

    return [
        stack for url, stacks in read.items() for stack in pulumi_backends.with_history(stacks, url, wanted)
    ]


Reading = tuple[list[KnownStack], str]


def _again(urls: Sequence[str], before: Sequence[KnownStack], endpoint: Endpoint) -> Reading:
    """The stacks as they are now, with the past that was read before, and what live jobs read."""
    pasts = {stack.name: stack for stack in before}
    now = [
        replace(stack, past=pasts[stack.name].past, has_history=True) if stack.name in pasts else stack
        for url in urls
        for stack in pulumi_backends.read_stacks(url)
    ]
    gone = [replace(stack, now=None) for stack in before if stack.name not in {one.name for one in now}]
    return [*now, *gone], live_text(endpoint)


def _delete(
    chosen: Sequence[Finding], endpoint: Endpoint, again: Fresh[Reading], *, named: bool, output: Output
) -> None:
    def one(finding: Finding) -> None:
        try:
            finding.outcome = _delete_one(finding, endpoint, again, named=named, output=output)
        except CommandError as error:  # a state that can no longer be read
            finding.outcome = Outcome(words=str(error), failed=True)
        output.note(f"{finding.label}: {finding.outcome.words}")

    # The rest after the jobs, which may run on a resource, or have read an object.
    for kind in (JobFinding, LastingFinding, ObjectFinding):
        with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            list(pool.map(one, [finding for finding in chosen if isinstance(finding, kind)]))


def _delete_one(
    finding: Finding, endpoint: Endpoint, again: Fresh[Reading], *, named: bool, output: Output
) -> Outcome:
    def refusal_of(judge: Callable[[Reading], Judgement | None]) -> str:
        judgement = judge(again.get())
        if judgement is None:
            return "it no longer carries our mark"
        if judgement.verdict is Verdict.KNOWN or not (named or judgement.verdict is Verdict.ORPHAN):
            return judgement.reason
        return ""

    if isinstance(finding, JobFinding):

        def job_refusal(record: JobRecord) -> str:
            if record.labels.get(RUN_LABEL) != finding.record.labels[RUN_LABEL]:
                return "it no longer carries our mark"
            return refusal_of(lambda reading: judge_job(record, reading[0]))

        return delete_job(
            gateway_of(finding.record.name),
            endpoint,
            finding.record.name,
            refusal=job_refusal,
            tell=lambda words: output.note(f"{finding.label}: {words}"),
        )

    if isinstance(finding, LastingFinding):

        def lasting_refusal(record: Lasting) -> str:
            before = finding.record
            if (record.marks, record.create_time) != (before.marks, before.create_time):
                return "it is another one now"
            return refusal_of(lambda reading: judge_lasting(record, reading[0], endpoint))

        return delete_lasting(
            finding.kind,
            endpoint,
            finding.record.name,
            refusal=lasting_refusal,
            tell=lambda words: output.note(f"{finding.label}: {words}"),
        )

    def object_refusal(record: ObjectRecord) -> str:
        return refusal_of(
            lambda reading: judge_object(
                record.uri, record.metadata, reading[0], read_by_live_jobs=reading[1]
            )
        )

    return delete_object(endpoint, finding.record.bucket, finding.record.name, refusal=object_refusal)


def _named(words: Sequence[str], findings: Sequence[Finding], endpoint: Endpoint) -> list[Finding]:
    """The findings that were named. Raises InputError for a word that names none, or one that is in use."""
    chosen: list[Finding] = []
    # Of numbers the nearest one is another thing.
    chosen_by_people = [
        name for one in findings for name in one.names(endpoint) if not name.rpartition("/")[2].isdigit()
    ]
    for word in dict.fromkeys(words):
        found = [one for one in findings if word in one.names(endpoint)]
        if not found:
            raise InputError(
                f"{word!r} is no job, persistent resource, model or staged object that carries the marks of "
                f"this project ({endpoint}); gc deletes nothing else. Give an id or full name, or a gs:// "
                f"address; `vertex-training gc` lists them.{did_you_mean(word, chosen_by_people)}",
                path="NAME",
            )
        if len(found) > 1:
            raise InputError(
                f"{word!r} is the id of {' and of '.join(one.name for one in found)}. Give the full name.",
                path="NAME",
            )
        if found[0].judgement.verdict is Verdict.KNOWN:
            raise InputError(
                f"{found[0].label} is in use: {found[0].judgement.reason}. Destroy it there.", path="NAME"
            )
        chosen += found
    return chosen
