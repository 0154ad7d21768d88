"""The answer of `drift`: each difference and the commands that repair it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cli.teams.drift.drift import (
    REFRESH,
    Drift,
    Progress,
    Report,
    command,
    drift_document,
    repair_of_all,
)
from pulumi_vertex_training.cli.teams.plan.plan import shown
from pulumi_vertex_training.cli.teams.plan.view import findings_document, show_findings
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import BAD_INPUT, FAILED
from vertex_training.command_line.output import Code, Output
from vertex_training.fields.document import json_of
from vertex_training.findings.words import counted

_SIGNS = {"changed": "~", "cancelled": "!", "deleted": "-"}
_VERBS = {"changed": "changed", "cancelled": "cancelled", "deleted": "deleted", "unread": "not read"}


@dataclass(frozen=True, kw_only=True)
class Place:
    """The stack and the folder as the command names them, for the commands that it prints."""

    stack: str | None = None
    folder: str | None = None

    def command(self, *arguments: str) -> str:
        return command(arguments, stack=self.stack, folder=self.folder)

    def repair(self, drift: Drift) -> str:
        return self.command(*drift.repair)

    def repair_of_all(self, report: Report) -> str:
        """Return the one command for every repair, "" if nothing can be repaired."""
        arguments = repair_of_all(report.drifts)
        return self.command(*arguments) if arguments else ""


@dataclass(frozen=True, kw_only=True)
class DriftAnswer(Answer):
    """The drift of a stack, and how to repair it. `fails_on_drift` is --exit-code."""

    report: Report
    place: Place
    fails_on_drift: bool = False

    @property
    def exit_code(self) -> int:
        """2 if a resource was not read, 1 with --exit-code for any drift."""
        if self.report.errors or self.report.unread:
            return BAD_INPUT
        return FAILED if self.report.drifts and self.fails_on_drift else 0

    def document(self) -> dict[str, Any]:
        report, place = self.report, self.place
        return {
            **json_of(report, "project stack counts progress unread"),
            "repair": place.repair_of_all(report) or None,
            "changes": [drift_document(drift, place.repair(drift)) for drift in report.drifts],
            **findings_document(report.findings),
        }

    def show(self, output: Output) -> None:
        report = self.report
        output.title(_title(report), _summary(report))
        if report.drifts:
            output.gap()
            output.table(
                ("DRIFT", "RESOURCE", "TYPE", "DIFFERENCE"),
                [
                    (output.signed(_SIGNS[one.effect], one.effect), Code(one.name), one.type, list(one.words))
                    for one in report.drifts
                ],
            )
            output.commands("To repair", _repairs(report, self.place))
        for drift in report.drifts:
            if fields := _fields(drift):
                output.details(f"{drift.name}, field by field", ("FIELD", "RECORDED", "LIVE"), fields)
        for sentence in _progress(report.progress):
            output.gap()
            output.paragraph(sentence)
        show_findings(report.findings, output)


def _repairs(report: Report, place: Place) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return each command with the names of the resources that it repairs, and the reasons for it.

    Those for all resources are the last ones.
    """
    found: dict[str, list[Drift]] = {}
    for drift in report.drifts:
        if drift.repair != REFRESH:
            found.setdefault(place.repair(drift), []).append(drift)
    rows = [(_names(drifts), repair, _reasons(drifts)) for repair, drifts in found.items()]
    if len(rows) > 1:
        rows.append(("all of these", place.repair_of_all(report), ()))
    kept = [drift for drift in report.drifts if drift.repair == REFRESH]
    accept = f"{_names(kept)}, or to accept everything as it is" if kept else "to accept everything as it is"
    return [*rows, (accept, place.command(*REFRESH), _reasons(kept))]


def _names(drifts: Iterable[Drift]) -> str:
    return ", ".join(drift.name for drift in drifts)


def _reasons(drifts: Iterable[Drift]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(drift.because for drift in drifts if drift.because))


def _progress(moved: tuple[Progress, ...]) -> Iterator[str]:
    if moved:
        jobs = ", ".join(f"{one.name} ({one.old or 'new'} -> {one.new})" for one in moved)
        itself = "itself" if len(moved) == 1 else "themselves"
        yield f"{counted(len(moved), 'job')} moved on by {itself}: {jobs}."


def _fields(drift: Drift) -> list[tuple[str, str, str]]:
    of_job = drift.difference
    compared = drift.values if of_job is None else (*of_job.pool_fields, *of_job.fields)
    return [(Code(one.path), shown(one.old), shown(one.new)) for one in compared]


def _title(report: Report) -> str:
    return f"Drift of {report.project}, stack {report.stack}" if report.stack else "Drift"


def _summary(report: Report) -> str:
    if not report.drifts and not report.unread and not report.errors:
        return f"none, {report.unchanged} unchanged"
    counts = {**report.counts, "none": 0}
    found = [f"{count} {_VERBS[effect]}" for effect, count in counts.items() if count]
    return ", ".join([*found, f"{report.unchanged} unchanged"])
