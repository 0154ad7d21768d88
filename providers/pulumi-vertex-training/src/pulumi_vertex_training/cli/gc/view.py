"""The answer of `gc`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cli.gc.candidates import KnownStack, Status
from pulumi_vertex_training.cli.gc.findings import (
    Finding,
    JobFinding,
    LineageFinding,
    ObjectFinding,
    PersistentFinding,
)
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.views.jobs.status import moment
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import FAILED
from vertex_training.command_line.output import Cell, Output
from vertex_training.fields.document import json_of
from vertex_training.fields.labels import owner_of
from vertex_training.findings.words import counted

_ORDER = {Status.ORPHAN: 0, Status.KEPT: 1, Status.UNPROVEN: 2}


@dataclass(frozen=True, kw_only=True)
class Report(Answer):
    """Findings and outcomes of one `gc`: a table for each kind and a summary.

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

    @property
    def stacks_now(self) -> list[KnownStack]:
        """The stacks that exist."""
        return [stack for stack in self.stacks if stack.now is not None]

    @property
    def exit_code(self) -> int:
        """1 if something that should be deleted still exists."""
        return FAILED if any(one.outcome and one.outcome.failed for one in self.findings) else 0

    def document(self) -> dict[str, Any]:
        def entries(kind: type[Finding], entry: Callable[[Any], dict[str, Any]]) -> list[dict[str, Any]]:
            return [
                {
                    **entry(one),
                    "is": one.decision.status.value,
                    "because": one.decision.reason,
                    "chosen": one.name in self.chosen,
                    "deleted": bool(one.outcome and one.outcome.deleted),
                    "outcome": one.outcome.words if one.outcome else None,
                }
                for one in self.unknown
                if isinstance(one, kind)
            ]

        stacks = [(one.name.backend, one.name.reference, one.has_history) for one in self.stacks_now]
        return {
            "endpoint": json_of(self.endpoint, "kind project location"),
            "pulumiProject": self.project,
            "backends": [
                {
                    "url": url,
                    "stacks": [{"name": name, "history": past} for of, name, past in stacks if of == url],
                }
                for url in self.backends
            ],
            "jobs": entries(JobFinding, _job),
            "resources": entries(PersistentFinding, _persistent),
            "objects": entries(ObjectFinding, lambda one: json_of(one.record, "uri size")),
            "checkpoints": entries(LineageFinding, lambda one: json_of(one.record, "uri size")),
            "known": len(self.findings) - len(self.unknown),
        }

    def show(self, output: Output) -> None:
        tables = [
            (headings, rows)
            for headings, kind in _TABLES
            if (rows := [_row(one) for one in self.unknown if isinstance(one, kind)])
        ]
        for number, (headings, rows) in enumerate(tables):
            if number:
                output.gap()
            output.table(headings, rows)
        _summary(self, output)


_TABLES: Sequence[tuple[Sequence[str], type[Finding]]] = (
    (("JOB", "NAME", "STATE", "CREATED", "OF", "IS", "BECAUSE"), JobFinding),
    (("RESOURCE", "KIND", "STATE", "CREATED", "OF", "IS", "BECAUSE"), PersistentFinding),
    (("STAGED OBJECT", "BYTES", "IS", "BECAUSE"), ObjectFinding),
    (("CHECKPOINTS", "BYTES", "IS", "BECAUSE"), LineageFinding),
)


def _row(one: Finding) -> tuple[Cell, ...]:
    """Return the row of a finding. The outcome, if there is one, replaces the reason."""
    last = (one.decision.status.value, one.outcome.words if one.outcome else one.decision.reason)
    if isinstance(one, (ObjectFinding, LineageFinding)):
        return (one.record.uri, str(one.record.size), *last)
    then = (moment(one.record.create_time), "/".join(owner_of(one.record.labels).values()), *last)
    if isinstance(one, JobFinding):
        return (one.record.job_id, one.record.display_name, one.record.state.word, *then)
    return (one.record.id, one.kind.noun, one.record.state or "-", *then)


def _summary(report: Report, output: Output) -> None:
    known = len(report.findings) - len(report.unknown)
    where = f"{counted(len(report.stacks_now), 'stack')} in {', '.join(report.backends)}"
    of = f" of project {report.project}" if report.project else ""
    if not report.unknown:
        output.note(f"No orphans{of}; {known} known to {where} ({report.endpoint}).")
        return
    parts = [
        counted(number, "orphan") if status is Status.ORPHAN else f"{number} {status.value}"
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
        output.note(f"Nothing was deleted. --yes deletes {counted(len(report.chosen), 'resource')}.")
    elif report.asked_to_delete:
        output.note("Nothing was deleted: no resource is a proven orphan.")
    if any(one.decision.status is Status.UNPROVEN and not one.outcome for one in report.unknown):
        output.note(
            "Unproven: a stack of another backend may have it. Name that backend with --backend URL, or "
            "delete the resource by name: `vertex-training gc --yes NAME`."
        )


def _job(one: JobFinding) -> dict[str, Any]:
    record = one.record
    return {
        "id": record.job_id,
        "state": record.state_name,
        "pulumi": owner_of(record.labels),
        **json_of(record, "name display_name create_time"),
    }


def _persistent(one: PersistentFinding) -> dict[str, Any]:
    record = one.record
    return {
        "kind": one.kind.noun,
        "state": record.state or None,
        "pulumi": owner_of(record.labels),
        **json_of(record, "id name display_name create_time"),
    }
