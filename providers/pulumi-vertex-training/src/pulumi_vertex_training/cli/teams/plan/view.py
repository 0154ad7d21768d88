"""The words of a plan, and the messages of an engine, which `drift` shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.teams.plan.plan import Change, Finding, Plan
from pulumi_vertex_training.views.pools_view import pool_in_words
from vertex_training.command_line.output import Output
from vertex_training.fields.document import json_of
from vertex_training.findings.words import counted

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


def starts_of(plan: Plan) -> str:
    """Return the jobs that the deployment runs, as a sentence; "" without changes, or with errors."""
    if plan.errors or not plan.changes:
        return ""
    jobs = [one for one in plan.changes if one.type in _JOBS and one.effect in ("create", "replace")]
    return f"It runs {', '.join(map(_started, jobs))}." if jobs else "It runs no job."


def _started(change: Change) -> str:
    """Return a job with the number of its replicas: "train (5 replicas)"."""
    counts = [
        (sum(one.new.replica_count for one in topology.changes), topology.of)
        for topology in change.topologies
    ]
    said = [counted(count, "replica") + (f" in {of}" if of else "") for count, of in counts]
    return f"{change.name} ({', '.join(said)})" if said else change.name


def of_resource(name: str, message: str) -> str:
    """Return a message that begins with the name of its resource."""
    return f"{name}: {message}" if name and not message.startswith(f"{name}:") else message


def findings_document(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the messages of an engine as JSON: errors of their own, and all others."""
    return {
        "findings": json_of([one for one in findings if one.severity != "error"]),
        "errors": [json_of(one, "resource message") for one in findings if one.severity == "error"],
    }


def show_findings(findings: Sequence[Finding], output: Output) -> None:
    """Print the errors of an engine, then its warnings."""
    for severity in ("error", "warning"):
        for one in findings:
            if one.severity == severity:
                output.finding(severity, of_resource(one.resource, one.message))
