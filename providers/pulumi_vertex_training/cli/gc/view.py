"""Print the findings of `gc`: a table for each kind and a summary, or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cli.gc.candidates import KnownStack, Status
from pulumi_vertex_training.cli.gc.findings import Finding, JobFinding, ObjectFinding, PersistentFinding
from pulumi_vertex_training.cli.jobs.status import moment
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.views.output import Cell, Output
from vertex_training.fields.labels import owner_of

_ORDER = {Status.ORPHAN: 0, Status.KEPT: 1, Status.UNPROVEN: 2}


@dataclass(frozen=True, kw_only=True)
class Report:
    """Findings and outcomes of one `gc`.

    `chosen` are the names that --yes deletes. `project` is the Pulumi project that the listing was limited
    to; it does not limit objects.
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
        """Findings that no stack has, orphans first."""
        unknown = [one for one in self.findings if one.decision.status is not Status.KNOWN]
        return sorted(unknown, key=lambda one: _ORDER[one.decision.status])


def show(report: Report, output: Output) -> None:
    """Print the report as tables, or as JSON."""
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
    (("RESOURCE", "KIND", "STATE", "CREATED", "OF", "IS", "BECAUSE"), PersistentFinding),
    (("STAGED OBJECT", "BYTES", "IS", "BECAUSE"), ObjectFinding),
)


def _row(one: Finding) -> tuple[Cell, ...]:
    """Return the row of a finding. The outcome, if there is one, replaces the reason."""
    last = (one.decision.status.value, one.outcome.words if one.outcome else one.decision.reason)
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
        output.note(f"No orphans{of}; {known} known to {where} ({report.endpoint}).")
        return
    parts = [
        _count(number, "orphan") if status is Status.ORPHAN else f"{number} {status.value}"
        for status in _ORDER
        if (number := sum(one.decision.status is status for one in report.unknown))
    ]
    output.note(f"{', '.join(parts)}; {known} known to {where} ({report.endpoint}).")
    outcomes = [one.outcome for one in report.findings if one.outcome]
    if outcomes:
        deleted, failed = sum(one.deleted for one in outcomes), sum(one.failed for one in outcomes)
        skipped = len(outcomes) - deleted - failed
        output.note(
            f"Deleted {deleted}"
            + (f", skipped {skipped}" if skipped else "")
            + (f", failed {failed}: run the same command again" if failed else "")
            + "."
        )
    elif report.chosen:
        output.note(f"Nothing was deleted. --yes deletes {_count(len(report.chosen), 'resource')}.")
    elif report.asked_to_delete:
        output.note("Nothing was deleted: no resource is a proven orphan.")
    if any(one.decision.status is Status.UNPROVEN and not one.outcome for one in report.unknown):
        output.note(
            "Unproven: a stack of another backend may have it. Name that backend with --backend URL, or "
            "delete the resource by name: `vertex-training gc --yes NAME`."
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
        "resources": [
            _persistent(one, report) for one in report.unknown if isinstance(one, PersistentFinding)
        ],
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
        **_decision_json(one, report),
    }


def _persistent(one: PersistentFinding, report: Report) -> dict[str, Any]:
    return {
        "id": one.record.id,
        "kind": one.kind.noun,
        "name": one.record.name,
        "displayName": one.record.display_name,
        "state": one.record.state or None,
        "createTime": one.record.create_time,
        "pulumi": owner_of(one.record.labels),
        **_decision_json(one, report),
    }


def _object(one: ObjectFinding, report: Report) -> dict[str, Any]:
    return {"uri": one.record.uri, "size": one.record.size, **_decision_json(one, report)}


def _decision_json(one: Finding, report: Report) -> dict[str, Any]:
    return {
        "is": one.decision.status.value,
        "because": one.decision.reason,
        "chosen": one.name in report.chosen,
        "deleted": bool(one.outcome and one.outcome.deleted),
        "outcome": one.outcome.words if one.outcome else None,
    }


def _existing(report: Report) -> list[KnownStack]:
    return [stack for stack in report.stacks if stack.now is not None]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
