"""The answer of `plan`: the effect on each resource, the live jobs that will stop, and the checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cli.teams.plan import checks
from pulumi_vertex_training.cli.teams.plan.checks import CheckResult
from pulumi_vertex_training.cli.teams.plan.comment import comment
from pulumi_vertex_training.cli.teams.plan.live import LiveJob
from pulumi_vertex_training.cli.teams.plan.losses import Loss
from pulumi_vertex_training.cli.teams.plan.plan import Change, Plan, change_document
from pulumi_vertex_training.cli.teams.plan.view import (
    findings_document,
    show_findings,
    starts_of,
    summary_of,
    title_of,
    words_of,
)
from pulumi_vertex_training.views.markdown_output import MarkdownOutput
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import BAD_INPUT, FAILED
from vertex_training.command_line.output import Cell, Output
from vertex_training.fields.document import json_of
from vertex_training.findings.words import all_of

_SIGNS = {"create": "+", "update": "~", "replace": "+-", "delete": "-", "import": "=", "read": ">"}


@dataclass(frozen=True, kw_only=True)
class PlanAnswer(Answer):
    """A plan: the live jobs that will be stopped and the losses, by URN, each change, and the checks.

    `saved` is the file that it was to be written into. `fails_on_change` is --exit-code.
    """

    plan: Plan
    live: Mapping[str, LiveJob] = field(default_factory=dict)
    losses: Mapping[str, Loss] = field(default_factory=dict)
    results: Sequence[CheckResult] = ()
    saved: Path | None = None
    fails_on_change: bool = False

    @property
    def is_refused(self) -> bool:
        """True if the plan cannot be deployed."""
        return bool(self.plan.errors or checks.exit_code(self.results))

    @property
    def exit_code(self) -> int:
        """2 for errors, else the sum of the failed checks' codes, else 1 with --exit-code for a change."""
        if self.plan.errors:
            return BAD_INPUT
        return checks.exit_code(self.results) or (FAILED if self.plan.changes and self.fails_on_change else 0)

    def document(self) -> dict[str, Any]:
        plan = self.plan
        return {
            **json_of(plan, "project stack counts"),
            "changes": [
                {
                    **change_document(change),
                    "liveJob": live.document() if live else None,
                    "loss": loss.document() if loss else None,
                }
                for change in plan.changes
                for live, loss in [(self.live.get(change.urn), self.losses.get(change.urn))]
            ],
            **findings_document(plan.findings),
            "failed": list(checks.failed(self.results)),
            **checks.document(self.results),
        }

    def show(self, output: Output) -> None:
        if isinstance(output, MarkdownOutput):
            now = datetime.now(timezone.utc)
            output.text(comment(self.plan, self.live, now, self.results, losses=self.losses))
        else:
            self._show(output)
        if self.saved is not None:
            output.note(f"{self.saved} is {'not ' if self.is_refused else ''}written.")

    def _show(self, output: Output) -> None:
        plan = self.plan
        output.title(title_of(plan), summary_of(plan))
        if starts := starts_of(plan):
            output.paragraph(starts)
        for change in plan.changes:
            if (loss := self.losses.get(change.urn)) is not None:
                output.paragraph(f"! {loss.sentence()}", style="yellow")
            if (job := self.live.get(change.urn)) is not None:
                output.paragraph(f"! {job.sentence(change.name)}", style="yellow")
        if plan.changes:
            output.gap()
            output.table(("EFFECT", "RESOURCE", "TYPE", "CHANGE"), list(map(self._row, plan.changes)))
        show_findings(plan.findings, output)
        for result in self.results:
            output.section(f"{result.name.capitalize()}{' failed' if result.failed else ''}")
            if result.summary:
                output.paragraph(f"{result.summary}.")
            for one in result.findings:
                output.finding(one.severity, one.sentence)
                for figure in one.figures:
                    output.paragraph(figure, indent=4)
        if failed := checks.failed(self.results):
            output.gap()
            code = checks.exit_code(self.results)
            output.paragraph(f"Failed: {all_of(failed)} (exit code {code}).", style="red")

    def _row(self, change: Change) -> tuple[Cell, ...]:
        loss = self.losses.get(change.urn)
        lost = [loss.words] if loss else []
        words = [*lost, *words_of(change), *checks.words_about(change.urn, self.results)]
        return f"{_SIGNS[change.effect]} {change.effect}", change.name, change.type, words
