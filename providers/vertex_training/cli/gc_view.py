"""What `gc` prints: a table of each kind, a summary, or JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vertex_training.cli.gc_findings import Finding, JobFinding, ObjectFinding
from vertex_training.cli.output import Cell, Output
from vertex_training.cli.status_view import moment
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.lifecycle.orphans import KnownStack, Verdict

_ORDER = {Verdict.ORPHAN: 0, Verdict.KEPT: 1, Verdict.UNPROVEN: 2}


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was found, and what was done. `chosen`: names of what --yes deletes; `project`: the Pulumi project
    that the jobs were narrowed to."""

    endpoint: Endpoint
    project: str | None
    backends: tuple[str, ...]
    stacks: tuple[KnownStack, ...]
    findings: tuple[Finding, ...]
    chosen: frozenset[str]
    asked_to_delete: bool

    @property
    def unknown(self) -> list[Finding]:
        """What no stack knows, orphans first."""
        unknown = [one for one in self.findings if one.judgement.verdict is not Verdict.KNOWN]
        return sorted(unknown, key=lambda one: _ORDER[one.judgement.verdict])


def show(report: Report, output: Output) -> None:
    """Print it."""
    if output.as_json:
        output.document(_document(report))
        return
    jobs = [one for one in report.unknown if isinstance(one, JobFinding)]
    staged = [one for one in report.unknown if isinstance(one, ObjectFinding)]
    if jobs:
        output.table(
            ("JOB", "NAME", "STATE", "CREATED", "OF", "IS", "BECAUSE"), map_rows(jobs), state_column=2
        )
    if jobs and staged:
        output.line()
    if staged:
        output.table(("STAGED OBJECT", "BYTES", "IS", "BECAUSE"), map_rows(staged))
    _summary(report, output)


def map_rows(findings: Iterable[Finding]) -> list[tuple[Cell, ...]]:
    """A row each; what became of a thing stands instead of why it was to be deleted."""
    rows: list[tuple[Cell, ...]] = []
    for one in findings:
        outcome = one.outcome.words if one.outcome else one.judgement.reason
        last = (one.judgement.verdict.value, outcome)
        if isinstance(one, JobFinding):
            record = one.record
            of = "/".join(one.owner.values())
            rows.append(
                (record.job_id, record.display_name, record.state.word, moment(record.create_time), of, *last)
            )
        else:
            rows.append((one.record.uri, str(one.record.size), *last))
    return rows


def _summary(report: Report, output: Output) -> None:
    known = len(report.findings) - len(report.unknown)
    where = f"{_count(len(_existing(report)), 'stack')} in {', '.join(report.backends)}"
    of = f" of project {report.project}" if report.project else ""
    if not report.unknown:
        output.note(f"Nothing{of} is left over; {known} known to {where} ({report.endpoint}).")
        return
    parts = [
        _count(number, "orphan") if verdict is Verdict.ORPHAN else f"{number} {verdict.value}"
        for verdict in _ORDER
        if (number := sum(one.judgement.verdict is verdict for one in report.unknown))
    ]
    output.note(f"{', '.join(parts)}; {known} known to {where} ({report.endpoint}).")
    outcomes = [one.outcome for one in report.findings if one.outcome]
    if outcomes:
        deleted, failed = sum(one.deleted for one in outcomes), sum(one.failed for one in outcomes)
        alone = len(outcomes) - deleted - failed
        output.note(
            f"Deleted {deleted}"
            + (f", left alone {alone}" if alone else "")
            + (f", failed {failed}: run the same command again" if failed else "")
            + "."
        )
    elif report.chosen:
        output.note(f"Nothing was deleted. With --yes {_count(len(report.chosen), 'thing')} would be.")
    elif report.asked_to_delete:
        output.note("Nothing was deleted: nothing is proven to be an orphan.")
    if any(one.judgement.verdict is Verdict.UNPROVEN and not one.outcome for one in report.unknown):
        output.note(
            "Unproven may be known to a stack of a backend that was not named. Name that with --backend, or "
            "the job itself: `vertex-training gc --yes JOB`."
        )


def _document(report: Report) -> dict[str, Any]:
    stacks = _existing(report)
    return {
        "endpoint": {
            "kind": report.endpoint.kind,
            "project": report.endpoint.project,
            "location": report.endpoint.location,
        },
        "pulumiProject": report.project,
        "backends": [
            {
                "url": url,
                "stacks": [
                    {"name": stack.name.reference, "history": stack.has_history}
                    for stack in stacks
                    if stack.name.backend == url
                ],
            }
            for url in report.backends
        ],
        "jobs": [_job(one, report) for one in report.unknown if isinstance(one, JobFinding)],
        "objects": [_object(one, report) for one in report.unknown if isinstance(one, ObjectFinding)],
        "known": len(report.findings) - len(report.unknown),
    }


def _job(one: JobFinding, report: Report) -> dict[str, Any]:
    return {
        "id": one.record.job_id,
        "name": one.record.name,
        "displayName": one.record.display_name,
        "state": one.record.state_name,
        "createTime": one.record.create_time,
        "pulumi": one.owner,
        **_judged(one, report),
    }


def _object(one: ObjectFinding, report: Report) -> dict[str, Any]:
    return {"uri": one.record.uri, "size": one.record.size, **_judged(one, report)}


def _judged(one: Finding, report: Report) -> dict[str, Any]:
    return {
        "is": one.judgement.verdict.value,
        "because": one.judgement.reason,
        "chosen": one.name in report.chosen,
        "deleted": bool(one.outcome and one.outcome.deleted),
        "outcome": one.outcome.words if one.outcome else None,
    }


def _existing(report: Report) -> list[KnownStack]:
    return [stack for stack in report.stacks if stack.now is not None]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
