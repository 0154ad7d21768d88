"""The findings of a preflight for a terminal, a pipe and Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_vertex_training.preflight.finding import LEVELS, Finding, Level
from pulumi_vertex_training.preflight.report import Report
from pulumi_vertex_training.preflight.scope import Scope
from pulumi_vertex_training.views import markdown as marks
from pulumi_vertex_training.views.output import Output, Style

_STYLES: dict[Level, Style] = {"ok": "green", "unknown": "dim", "warning": "yellow", "error": "red"}
_WIDTH = 9
"""The width of the column of levels."""
_NOUNS: dict[Level, tuple[str, str]] = {
    "error": ("1 error", "{} errors"),
    "warning": ("1 warning", "{} warnings"),
    "unknown": ("1 unknown", "{} unknown"),
    "ok": ("1 passed", "{} passed"),
}


def show(report: Report, output: Output) -> None:
    """Print the findings of each place, errors first, each with its remedy."""
    output.paragraph(_title(report), style="bold")
    for scope, findings in report.places:
        output.section(_place(scope))
        for finding in _ordered(findings):
            output.labelled(finding.level, _sentence(finding), width=_WIDTH, style=_STYLES[finding.level])
            if finding.remedy:
                # Not wrapped, so that a command can be copied.
                output.line((f"{' ' * _WIDTH}{finding.remedy}", "dim"))


def markdown(report: Report) -> str:
    """Return the findings as Markdown, for a comment of a pull request."""
    lines = [f"### {marks.escaped(_title(report))}"]
    for scope, findings in report.places:
        rows = [
            (
                finding.level,
                marks.escaped(_sentence(finding)),
                marks.code(finding.remedy, longest=400) if finding.remedy else "",
            )
            for finding in _ordered(findings)
        ]
        lines += ["", f"**{marks.escaped(_place(scope))}**", ""]
        lines += marks.table(("Result", "Finding", "Remedy"), rows)
    return "\n".join(lines)


def _title(report: Report) -> str:
    return f"Preflight of {report.title}: {summary_of(report)}."


def summary_of(report: Report) -> str:
    """Return the number of findings by level, as a part of a sentence."""
    if not report.places:
        return "it submits no job"
    return ", ".join(
        _NOUNS[level][0] if count == 1 else _NOUNS[level][1].format(count)
        for level, count in report.counts.items()
        if count
    )


def _place(scope: Scope) -> str:
    where = "the emulator" if scope.is_emulator else "Google Cloud"
    return f"Project {scope.project}, {scope.location}, {where}"


def _ordered(findings: tuple[Finding, ...]) -> Iterator[Finding]:
    for level in LEVELS:
        yield from (finding for finding in findings if finding.level == level)


def _sentence(finding: Finding) -> str:
    at = ", ".join(part for part in (finding.resource, finding.path) if part)
    return f"{finding.about}: {finding.message}{f' ({at})' if at and finding.level != 'ok' else ''}."
