"""The cost of jobs by their recorded start and end: of one resource's runs, or of all jobs by a label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.prices.price_file import current_prices
from pulumi_vertex_training.costs import words
from pulumi_vertex_training.costs.spent import spent_by
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.monitoring import live_jobs
from pulumi_vertex_training.views.jobs import lookup as job_lookup
from pulumi_vertex_training.views.jobs.lookup import all_jobs, outer_jobs
from pulumi_vertex_training.views.target import location_hint
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import InputError
from vertex_training.command_line.output import Output
from vertex_training.cost.runs import Spent, total_spent
from vertex_training.cost.words import decimal
from vertex_training.fields.document import json_of
from vertex_training.findings.words import did_you_mean

_NONE = "(not set)"


@dataclass(frozen=True, kw_only=True)
class Group:
    """The jobs with one value of a label; `value` is None for those without it."""

    value: str | None
    jobs: int
    spent: Spent | None


def costs_of(endpoint: Endpoint, records: Sequence[JobRecord]) -> list[Spent | None]:
    """Return what each job has cost so far, None for one that has not run. The reads are in parallel."""
    table, now = current_prices(), live_jobs.now(endpoint, records)
    return call_each(lambda one: spent_by(endpoint.of(one.name), one, table=table, now=now), records)


def sum_of(costs: Iterable[Spent | None]) -> Spent | None:
    """Return the sum; None if no job has run."""
    known = [one for one in costs if one is not None]
    return total_spent(known) if known else None


def document(spent: Spent | None) -> dict[str, Any] | None:
    """Return a cost as JSON, see docs/reference/json.md."""
    if spent is None:
        return None
    gaps = [json_of(gap, "path what why") for gap in spent.unknown]
    return {**json_of(spent, "currency total known replica_hours"), "unknown": gaps}


@dataclass(frozen=True, kw_only=True)
class Spending(Answer):
    """The cost of all jobs by the value of a label."""

    endpoint: Endpoint
    label: str
    groups: Sequence[Group]
    whole: Spent | None

    def document(self) -> dict[str, Any]:
        return {
            "endpoint": job_lookup.endpoint_json(self.endpoint),
            "by": self.label,
            "groups": [{**json_of(one, "value jobs"), "cost": document(one.spent)} for one in self.groups],
            "cost": document(self.whole),
        }

    def show(self, output: Output) -> None:
        output.paragraph(f"Cost of all jobs by {self.label}{at_prices(self.endpoint)} ({self.endpoint})")
        output.gap()
        rows = [
            [
                _NONE if one.value is None else one.value,
                str(one.jobs),
                decimal(one.spent.replica_hours, places=1) if one.spent is not None else "",
                words.spent(one.spent),
            ]
            for one in self.groups
        ]
        output.table([self.label.upper(), "JOBS", "REPLICA HOURS", "COST"], rows)
        if self.whole is not None:
            output.gap()
            output.paragraph(f"All together: {words.spent(self.whole)}.")
            show_gaps(self.whole, output)


def by_label(endpoint: Endpoint, label: str) -> Spending:
    """Return what all jobs have cost by the value of a label. Raises InputError if no job has the label."""
    records = outer_jobs(all_jobs(endpoint))  # Trials, and the jobs of pipelines, are part of their owners.
    if not any(label in one.labels for one in records):
        raise _unknown(endpoint, label, records)
    costs = costs_of(endpoint, records)
    return Spending(
        endpoint=endpoint, label=label, groups=_groups(label, records, costs), whole=sum_of(costs)
    )


def show_gaps(spent: Spent, output: Output) -> None:
    """Print the parts without a known price."""
    if spent.unknown:
        output.paragraph(f"Without a known price: {words.gaps(spent.unknown)}.", style="yellow")


def at_prices(endpoint: Endpoint) -> str:
    """Return the words that jobs on the emulator cost nothing there."""
    return " at Google Cloud's prices" if endpoint.is_emulator else ""


def _groups(label: str, records: Sequence[JobRecord], costs: Sequence[Spent | None]) -> list[Group]:
    """Return the groups, the dearest first; jobs without the label are a group of their own."""
    by_value: dict[str | None, list[Spent | None]] = {}
    for record, spent in zip(records, costs, strict=True):
        by_value.setdefault(record.labels.get(label), []).append(spent)
    groups = [
        Group(value=value, jobs=len(several), spent=sum_of(several)) for value, several in by_value.items()
    ]
    return sorted(groups, key=lambda one: (-one.spent.known if one.spent else 0.0, one.value or ""))


def _unknown(endpoint: Endpoint, label: str, records: Sequence[JobRecord]) -> InputError:
    where = f"{endpoint.project}, {endpoint.location}"
    if not records:
        return InputError(f"There are no jobs in {where}.{location_hint(endpoint.location)}", path="--by")
    labels = sorted({name for one in records for name in one.labels})
    known = f"The labels are {', '.join(labels)}." if labels else "None of them has a label."
    return InputError(
        f"No job in {where} has the label {label!r}.{did_you_mean(label, labels)} {known}", path="--by"
    )
