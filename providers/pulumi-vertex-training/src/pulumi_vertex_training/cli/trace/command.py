"""`trace`: show where a model came from, and what a part went into."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cli.trace.search import Found, TracedRun, search
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.runs.identity import parse
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.jobs import lookup as job_lookup
from pulumi_vertex_training.views.jobs.status import moment
from pulumi_vertex_training.views.lineage import facts
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.output import Output
from vertex_training.fields.document import json_of
from vertex_training.fields.resource_names import resource_id
from vertex_training.findings.words import counted

_SHOWN = 3
_DIGITS = 12
_HEADINGS = ("RUN", "CREATED", "STATE", "COMMIT", "MODELS")


@dataclass(frozen=True, kw_only=True)
class Trace(Answer):
    """The runs that made or used a thing."""

    endpoint: Endpoint
    found: Found

    def document(self) -> dict[str, Any]:
        return {
            "endpoint": job_lookup.endpoint_json(self.endpoint),
            "subject": json_of(self.found.subject),
            "runs": [
                {
                    "run": one.lineage.run,
                    "relation": one.relation,
                    "job": one.record.name if one.record else None,
                    "state": one.record.state.word if one.record else None,
                    "models": list(one.models),
                    "lineage": json_of(one.lineage),
                }
                for one in self.found.runs
            ],
            "withoutLineage": list(self.found.without),
        }

    def show(self, output: Output) -> None:
        subject, runs = self.found.subject, self.found.runs
        name = resource_id(subject.name) if subject.kind == "model" else subject.name
        output.title(f"{subject.kind} {name} ({self.endpoint})", self._summary())
        in_full = [one for one in runs if one.relation == "made" or subject.kind == "run"]
        for one in in_full:
            output.gap()
            output.paragraph(f"{_name(one)}: {_state(one)}", style="bold")
            output.pairs(list(_facts(one)))
        if others := [one for one in runs if one not in in_full]:
            output.gap()
            output.table(_HEADINGS, list(map(_row, others)))
        if len(in_full) > 1:
            output.note("These runs share an output directory, so any of them may have written the files.")
        if without := self.found.without:
            listed = ", ".join(map(resource_id, without[:_SHOWN]))
            more = f" and {len(without) - _SHOWN} more" if len(without) > _SHOWN else ""
            output.note(
                f"{counted(len(without), 'job')} of stacks cannot be traced without a lineage: {listed}{more}"
            )

    def _summary(self) -> str:
        runs = self.found.runs
        if self.found.subject.kind == "model":
            return "the run that wrote its files" if runs else "no run with a lineage wrote its files"
        if not runs:
            return "no run with a lineage wrote or used it"
        models = len({name for one in runs for name in one.models})
        return f"{counted(len(runs), 'run')}, {counted(models, 'model version')}"


def trace(options: argparse.Namespace, _: Output) -> Answer:
    """Run the command `trace`. Raises InputError for a model that does not exist."""
    endpoint = target.resolve(target.of_options(options))
    return Trace(endpoint=endpoint, found=search(endpoint, options.what))


def _name(one: TracedRun) -> str:
    lineage = one.lineage
    owner = "/".join(filter(None, [lineage.program, lineage.stack, lineage.resource]))
    return f"Run {parse(lineage.run).generation} of {owner}"


def _state(one: TracedRun) -> str:
    return one.record.state.word if one.record else "its job has no record any more"


def _row(one: TracedRun) -> list[str]:
    commit = one.lineage.commit
    return [
        _name(one),
        moment(one.record.create_time) if one.record else "",
        one.record.state.word if one.record else "no record",
        f"{commit.id[:_DIGITS]}{' (changed)' if commit.is_dirty else ''}" if commit else "",
        ", ".join(map(resource_id, one.models)),
    ]


def _facts(one: TracedRun) -> Iterator[tuple[str, str]]:
    for model in one.models:
        yield "model", resource_id(model)
    yield "run", one.lineage.run
    if one.record is not None:
        yield "job", one.record.job_id
    yield from facts(one.lineage)
