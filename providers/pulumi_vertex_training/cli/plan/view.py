"""The plan as tables for a terminal, plain lines for a pipe, and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.plan import checks
from pulumi_vertex_training.cli.plan.checks import CheckResult
from pulumi_vertex_training.cli.plan.live import LiveJob
from pulumi_vertex_training.cli.plan.plan import Change, Plan, change_document
from pulumi_vertex_training.views.output import Cell, Output, Style
from pulumi_vertex_training.views.pools_view import pool_in_words
from vertex_training.findings.words import all_of, counted

_SIGNS = {"create": "+", "update": "~", "replace": "+-", "delete": "-", "import": "=", "read": ">"}
_SEVERITIES: dict[str, Style] = {"error": "red", "warning": "yellow", "unknown": "yellow", "info": ""}
_STYLES = {"create": "green", "update": "yellow", "replace": "yellow", "delete": "red"}
_VERBS = {
    "create": "to create",
    "update": "to update",
    "replace": "to replace",
    "delete": "to delete",
    "import": "to import",
    "read": "to read",
    "none": "unchanged",
}

_JOBS = frozenset(name for entry in registry.RUNNABLE for name in entry.resources)


def document(plan: Plan, live: Mapping[str, LiveJob], results: Sequence[CheckResult] = ()) -> dict[str, Any]:
    """Return the plan as JSON.

    `live` are the live jobs to be stopped, by URN, `results` those of the checks.
    """
    return {
        "project": plan.project,
        "stack": plan.stack,
        "counts": plan.counts,
        "changes": [
            {
                **change_document(change),
                "liveJob": live[change.urn].document() if change.urn in live else None,
            }
            for change in plan.changes
        ],
        "findings": [
            {"severity": one.severity, "resource": one.resource, "message": one.message}
            for one in plan.findings
            if one.severity != "error"
        ],
        "errors": [{"resource": one.resource, "message": one.message} for one in plan.errors],
        "failed": list(checks.failed(results)),
        **checks.document(results),
    }


def show(
    plan: Plan, live: Mapping[str, LiveJob], output: Output, results: Sequence[CheckResult] = ()
) -> None:
    """Print the plan for people: the jobs that will be stopped, each change, and the checks."""
    now = datetime.now(timezone.utc)
    output.paragraph(f"{title_of(plan)}: {summary_of(plan)}.", style="bold")
    for change in plan.changes:
        if (job := live.get(change.urn)) is not None:
            output.paragraph(f"! {job.sentence(change.name, now)}", style="yellow")
    if plan.changes:
        output.line()
        rows = list(_rows(plan, results))
        output.table(["EFFECT", "RESOURCE", "TYPE", "CHANGE"], rows)
    for severity in ("error", "warning"):
        for finding in plan.findings:
            if finding.severity == severity:
                output.paragraph(
                    f"{severity}: {of_resource(finding.resource, finding.message)}",
                    style=_SEVERITIES[severity],
                )
    for result in results:
        _show_check(result, output)
    if failed := checks.failed(results):
        output.line()
        output.paragraph(f"Failed: {all_of(failed)} (exit code {checks.exit_code(results)}).", style="red")


def _show_check(result: CheckResult, output: Output) -> None:
    """Print what a check has found: one line if nothing failed and it has no findings."""
    output.section(f"{result.name.capitalize()}{' failed' if result.failed else ''}")
    if result.summary:
        output.paragraph(f"{result.summary}.")
    for finding in result.findings:
        output.paragraph(f"{finding.severity}: {finding.sentence}", style=_SEVERITIES[finding.severity])
        for figure in finding.figures:
            output.paragraph(figure, indent=4)


def _rows(plan: Plan, results: Sequence[CheckResult]) -> Iterator[list[Cell]]:
    for change in plan.changes:
        words = [*words_of(change), *checks.words_about(change.urn, results)]
        yield [
            f"{_SIGNS[change.effect]} {change.effect}",
            change.name,
            change.type,
            words[0] if words else "",
        ]
        for more in words[1:]:
            yield ["", "", "", more]


def words_of(change: Change) -> list[str]:
    """Return the change in words: why a job runs again, and the differences, or the pools of a new job."""
    reason = [f"runs again: {change.reason}"] if change.reason else []
    return [*reason, *(change.changes or (_pools(change) if change.effect in ("create", "delete") else ()))]


def _pools(change: Change) -> Iterator[str]:
    if change.has_secret and not change.topologies and change.type in _JOBS:
        yield "its worker pools are a secret"
    for topology in change.topologies:
        sides = [(one.index, one.new if change.effect == "create" else one.old) for one in topology.changes]
        words = ", ".join(pool_in_words(index, pool) for index, pool in sides if not pool.is_empty)
        yield f"{topology.of}: {words}" if topology.of else words


def title_of(plan: Plan) -> str:
    """Return the heading of a plan."""
    return f"Plan of {plan.project}, stack {plan.stack}" if plan.stack else "Plan"


def summary_of(plan: Plan) -> str:
    """Return the number of resources by effect, as a part of a sentence."""
    if plan.errors:
        count = len(plan.errors)
        return f"it cannot be deployed: {counted(count, 'error')}"
    if not plan.changes:
        return f"no changes, {plan.unchanged} unchanged"
    return ", ".join(f"{count} {_VERBS[effect]}" for effect, count in plan.counts.items() if count)


def of_resource(name: str, message: str) -> str:
    """Return a message that begins with the name of its resource."""
    return f"{name}: {message}" if name and not message.startswith(f"{name}:") else message
