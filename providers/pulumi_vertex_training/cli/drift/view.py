"""The drift as a table for a terminal, plain lines for a pipe, Markdown for an issue, and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cli.drift.drift import (
    REFRESH,
    Drift,
    Progress,
    Report,
    command,
    drift_document,
    repair_of_all,
)
from pulumi_vertex_training.cli.plan.plan import shown
from pulumi_vertex_training.cli.plan.view import of_resource
from pulumi_vertex_training.views.markdown import code, escaped, message
from pulumi_vertex_training.views.output import Cell, Output, Style
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


def document(report: Report, place: Place) -> dict[str, Any]:
    """Return the drift as JSON."""
    return {
        "project": report.project,
        "stack": report.stack,
        "counts": report.counts,
        "repair": place.repair_of_all(report) or None,
        "changes": [drift_document(drift, place.repair(drift)) for drift in report.drifts],
        "progress": [
            {"urn": one.urn, "type": one.type, "name": one.name, "old": one.old, "new": one.new}
            for one in report.progress
        ],
        "unread": list(report.unread),
        "findings": [
            {"severity": one.severity, "resource": one.resource, "message": one.message}
            for one in report.findings
            if one.severity != "error"
        ],
        "errors": [{"resource": one.resource, "message": one.message} for one in report.errors],
    }


def show(report: Report, place: Place, output: Output) -> None:
    """Print the drift for people: each difference, then the commands."""
    output.paragraph(f"{_title(report)}: {_summary(report)}.", style="bold")
    if report.drifts:
        output.line()
        output.table(["DRIFT", "RESOURCE", "TYPE", "DIFFERENCE"], list(_rows(report)))
        output.section("To repair")
        for names, repair, because in _repairs(report, place):
            output.paragraph(f"{names}:", indent=2)
            # A command is not wrapped, so that it can be copied.
            output.line(f"    {repair}")
            for reason in because:
                output.paragraph(f"({reason})", indent=4)
    for sentence in _progress(report.progress):
        output.line()
        output.paragraph(sentence)
    styles: dict[str, Style] = {"error": "red", "warning": "yellow"}
    for severity, style in styles.items():
        for finding in report.findings:
            if finding.severity == severity:
                output.paragraph(f"{severity}: {of_resource(finding.resource, finding.message)}", style=style)


def _rows(report: Report) -> Iterator[list[Cell]]:
    for drift in report.drifts:
        words = drift.words
        yield [
            f"{_SIGNS[drift.effect]} {drift.effect}",
            drift.name,
            drift.type,
            words[0] if words else "",
        ]
        for more in words[1:]:
            yield ["", "", "", more]


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


def markdown(report: Report, place: Place) -> str:
    """Return the drift for an issue or a comment."""
    lines = [f"### {escaped(_title(report))}", "", f"{_summary(report)}."]
    if report.drifts:
        lines += ["", "| Drift | Resource | Type | Difference |", "| --- | --- | --- | --- |"]
        for drift in report.drifts:
            words = "<br>".join(map(escaped, drift.words))
            lines.append(f"| {drift.effect} | {code(drift.name)} | {drift.type} | {words} |")
        lines += ["", "| To repair | Run |", "| --- | --- |"]
        for names, repair, because in _repairs(report, place):
            words = "<br>".join(map(escaped, (names, *because)))
            lines.append(f"| {words} | {code(repair, longest=4_000)} |")
    for drift in report.drifts:
        if fields := _fields(drift):
            lines += ["", f"<details><summary>{escaped(drift.name)}, field by field</summary>", ""]
            lines += ["| Field | Recorded | Live |", "| --- | --- | --- |"]
            lines += [f"| {code(path)} | {escaped(old)} | {escaped(new)} |" for path, old, new in fields]
            lines += ["", "</details>"]
    for sentence in _progress(report.progress):
        lines += ["", message(sentence)]
    findings = [one for one in report.findings if one.severity in ("error", "warning")]
    if findings:
        lines += [""]
        lines += [
            f"- **{one.severity}**: {message(of_resource(one.resource, one.message))}" for one in findings
        ]
    return "\n".join(lines)


def _fields(drift: Drift) -> list[tuple[str, str, str]]:
    if drift.difference is not None:
        compared = (*drift.difference.pool_fields, *drift.difference.fields)
        return [(one.path, shown(one.old), shown(one.new)) for one in compared]
    return [(one.path, shown(one.old), shown(one.new)) for one in drift.values]


def _title(report: Report) -> str:
    return f"Drift of {report.project}, stack {report.stack}" if report.stack else "Drift"


def _summary(report: Report) -> str:
    if not report.drifts and not report.unread and not report.errors:
        return f"none, {report.unchanged} unchanged"
    counts = {**report.counts, "none": 0}
    found = [f"{count} {_VERBS[effect]}" for effect, count in counts.items() if count]
    return ", ".join([*found, f"{report.unchanged} unchanged"])
