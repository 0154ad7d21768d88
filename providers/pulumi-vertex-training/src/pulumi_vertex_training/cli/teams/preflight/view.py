"""The answer of `preflight`, and its words, which `plan` shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.preflight.finding import LEVELS, Finding, Level
from pulumi_vertex_training.preflight.report import Report
from pulumi_vertex_training.preflight.scope import Scope
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import FAILED
from vertex_training.command_line.output import Output

_NOUNS: dict[Level, tuple[str, str]] = {
    "error": ("1 error", "{} errors"),
    "warning": ("1 warning", "{} warnings"),
    "unknown": ("1 unknown", "{} unknown"),
    "ok": ("1 passed", "{} passed"),
}


@dataclass(frozen=True, kw_only=True)
class PreflightAnswer(Answer):
    """The findings of each place, errors first, each with its remedy."""

    report: Report

    @property
    def exit_code(self) -> int:
        return FAILED if self.report.failed else 0

    def document(self) -> dict[str, Any]:
        return self.report.document()

    def show(self, output: Output) -> None:
        output.title(f"Preflight of {self.report.title}", summary_of(self.report))
        for scope, findings in self.report.places:
            output.section(_place(scope))
            output.results([(one.level, _sentence(one), one.remedy) for one in _ordered(findings)])


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
