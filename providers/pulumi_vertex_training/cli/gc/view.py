"""What `gc` prints: a table of each kind, a summary, or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cli.gc.candidates import KnownStack, Verdict
from pulumi_vertex_training.cli.gc.findings import Finding, JobFinding, LastingFinding, ObjectFinding
from pulumi_vertex_training.cli.jobs.status import moment
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.views.output import Cell, Output
from vertex_training.fields.labels import owner_of

_ORDER = {Verdict.ORPHAN: 0, Verdict.KEPT: 1, Verdict.UNPROVEN: 2}


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was found, and what was done. `chosen`: names of what --yes deletes; `project`: the Pulumi project
    that all but the objects were narrowed to.
    """

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
    tables = [
        (headings, rows)
        for headings, kind in _TABLES
        if (rows := [_row(one) for one in report.unknown if isinstance(one, kind)])
    ]
    for number, (headings, rows) in enumerate(tables):
        if number:
            output.line()
        output.table(headings, rows, state_column=headings.index("STATE") if "STATE" in headings else None)
    _summary(report, output)


_TABLES: Sequence[tuple[Sequence[str], type[Finding]]] = (
    (("JOB", "NAME", "STATE", "CREATED", "OF", "IS", "BECAUSE"), JobFinding),
    (("RESOURCE", "KIND", "STATE", "CREATED", "OF", "IS", "BECAUSE"), LastingFinding),
    (("STAGED OBJECT", "BYTES", "IS", "BECAUSE"), ObjectFinding),
)


def _row(one: Finding) -> tuple[Cell, ...]:
    """What became of a thing stands instead of why it was to be deleted."""
    last = (one.judgement.verdict.value, one.outcome.words if one.outcome else one.judgement.reason)
    if isinstance(one, ObjectFinding):
        return (one.record.uri, str(one.record.size), *last)
    then = (moment(one.record.create_time), "/".join(owner_of(one.record.labels).values()), *last)
    if isinstance(one, JobFinding):
        return (one.record.job_id, one.record.display_name, one.record.state.word, *then)
    return (one.record.id, one.kind.noun, one.record.state or "-", *then)


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
            "the thing itself: `vertex-training gc --yes NAME`."
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
        "resources": [_lasting(one, report) for one in report.unknown if isinstance(one, LastingFinding)],
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
        "pulumi": owner_of(one.record.labels),
        **_judged(one, report),
    }


def _lasting(one: LastingFinding, report: Report) -> dict[str, Any]:
    return {
        "id": one.record.id,
        "kind": one.kind.noun,
        "name": one.record.name,
        "displayName": one.record.display_name,
        "state": one.record.state or None,
        "createTime": one.record.create_time,
        "pulumi": owner_of(one.record.labels),
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
