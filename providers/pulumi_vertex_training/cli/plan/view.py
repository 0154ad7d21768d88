"""The plan as tables for a terminal, plain lines for a pipe, Markdown for a review, and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from pulumi_vertex_training.cli.plan.plan import Change, Plan, change_document, shown
from pulumi_vertex_training.runs.live_jobs import counted, duration
from pulumi_vertex_training.views.output import Cell, Output
from vertex_training.fields import timestamps

_SIGNS = {"create": "+", "update": "~", "replace": "+-", "delete": "-", "import": "=", "read": ">"}
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


@dataclass(frozen=True, kw_only=True)
class LiveJob:
    """A job that has not ended and that the deployment will stop.

    `since` is the time at which it started, or was created (RFC 3339). `runs_again` is true if another job
    replaces it. `trouble` is why its state is not known.
    """

    job: str
    state: str
    replicas: int
    since: str = ""
    runs_again: bool = False
    trouble: str = ""

    def sentence(self, name: str, now: datetime) -> str:
        """Return what the deployment does to the job: "train is RUNNING (5 replicas, 2 h 10 min): ..."."""
        count = counted(self.replicas, "replica")
        if self.trouble:
            return f"{name}: whether its job runs is not known ({count}): {self.trouble}"
        age = duration((now - timestamps.parse(self.since)).total_seconds()) if self.since else ""
        details = ", ".join(part for part in (count, age) if part)
        again = " and run it again" if self.runs_again else ""
        return f"{name} is {self.state} ({details}): up will cancel it{again}"


def document(plan: Plan, live: Mapping[str, LiveJob]) -> dict[str, Any]:
    """Return the plan as JSON; `live` are the live jobs to be stopped, by URN."""
    return {
        "project": plan.project,
        "stack": plan.stack,
        "counts": plan.counts,
        "changes": [
            {**change_document(change), "liveJob": _live_document(live.get(change.urn))}
            for change in plan.changes
        ],
        "findings": [
            {"severity": one.severity, "resource": one.resource, "message": one.message}
            for one in plan.findings
            if one.severity != "error"
        ],
        "errors": [{"resource": one.resource, "message": one.message} for one in plan.errors],
    }


def _live_document(job: LiveJob | None) -> dict[str, Any] | None:
    if job is None:
        return None
    return {
        "job": job.job,
        "state": job.state,
        "replicas": job.replicas,
        "since": job.since or None,
        "runsAgain": job.runs_again,
        "trouble": job.trouble or None,
    }


def show(plan: Plan, live: Mapping[str, LiveJob], output: Output) -> None:
    """Print the plan for people: first the jobs that will be stopped, then each change."""
    now = datetime.now(timezone.utc)
    output.paragraph(f"{_title(plan)}: {_summary(plan)}.", style="bold")
    for change in plan.changes:
        if (job := live.get(change.urn)) is not None:
            output.paragraph(f"! {job.sentence(change.name, now)}", style="yellow")
    if plan.changes:
        output.line()
        rows = list(_rows(plan))
        output.table(["EFFECT", "RESOURCE", "TYPE", "CHANGE"], rows)
    for severity, style in (("error", "red"), ("warning", "yellow")):
        for finding in plan.findings:
            if finding.severity == severity:
                output.paragraph(f"{severity}: {of_resource(finding.resource, finding.message)}", style=style)


def _rows(plan: Plan) -> Iterator[list[Cell]]:
    for change in plan.changes:
        words = _words(change)
        yield [
            f"{_SIGNS[change.effect]} {change.effect}",
            change.name,
            change.type,
            words[0] if words else "",
        ]
        for more in words[1:]:
            yield ["", "", "", more]


def _words(change: Change) -> list[str]:
    reason = [f"runs again: {change.reason}"] if change.reason else []
    return [*reason, *change.changes]


def markdown(plan: Plan, live: Mapping[str, LiveJob]) -> str:
    """Return the plan for a pull request's comment."""
    now = datetime.now(timezone.utc)
    lines = [f"### {_title(plan)}", "", f"{_summary(plan)}."]
    warned = [
        job.sentence(f"`{change.name}`", now)
        for change in plan.changes
        if (job := live.get(change.urn)) is not None
    ]
    if warned:
        lines += ["", "> [!WARNING]", *(f"> {sentence}." for sentence in warned)]
    if plan.changes:
        lines += ["", "| Effect | Resource | Type | Change |", "| --- | --- | --- | --- |"]
        for change in plan.changes:
            words = "<br>".join(map(escaped, _words(change)))
            lines.append(f"| {change.effect} | `{change.name}` | {change.type} | {words} |")
    for change in plan.changes:
        if fields := _fields(change):
            lines += ["", f"<details><summary>{change.name}, field by field</summary>", ""]
            lines += ["| Field | Old | New |", "| --- | --- | --- |"]
            lines += [f"| `{path}` | {escaped(old)} | {escaped(new)} |" for path, old, new in fields]
            lines += ["", "</details>"]
    findings = [one for one in plan.findings if one.severity in ("error", "warning")]
    if findings:
        lines += [""]
        lines += [
            f"- **{one.severity}**: {escaped(of_resource(one.resource, one.message))}" for one in findings
        ]
    return "\n".join(lines)


def _fields(change: Change) -> list[tuple[str, str, str]]:
    if change.difference is not None:
        compared = (*change.difference.pool_fields, *change.difference.fields)
        return [(one.path, shown(one.old), shown(one.new)) for one in compared]
    return [(one.path, shown(one.old), shown(one.new)) for one in change.values]


def _title(plan: Plan) -> str:
    return f"Plan of {plan.project}, stack {plan.stack}" if plan.stack else "Plan"


def _summary(plan: Plan) -> str:
    if plan.errors:
        count = len(plan.errors)
        return f"it cannot be deployed: {count} error{'s' if count != 1 else ''}"
    if not plan.changes:
        return f"no changes, {plan.unchanged} unchanged"
    return ", ".join(f"{count} {_VERBS[effect]}" for effect, count in plan.counts.items() if count)


def of_resource(name: str, message: str) -> str:
    """Return a message that begins with the name of its resource."""
    return f"{name}: {message}" if name and not message.startswith(f"{name}:") else message


def escaped(text: str) -> str:
    """Return a text for a cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
