"""`import`: the Python that declares, and adopts, what exists."""

from __future__ import annotations

import argparse
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli import target
from pulumi_vertex_training.cli.jobs import lookup as job_lookup
from pulumi_vertex_training.cli.jobs.declaration_source import Origin, declaration, declared_form
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.views.failure import CommandError
from pulumi_vertex_training.views.output import Output
from vertex_training.job.job_kind import JobKind


def import_job(options: argparse.Namespace, output: Output) -> None:
    """The command `import`. Changes nothing, neither the job nor any stack."""
    endpoint = target.resolve(target.of_options(options))
    record = job_lookup.find(endpoint, options.job)
    kind: JobKind[Any] = registry.runnable(record.collection).part("kind", "KIND", JobKind)
    try:
        spec = kind.from_wire(record.wire)
    except ValueError as error:
        raise CommandError(f"{kind.noun} {record.job_id} cannot be declared: {error}.", path="JOB") from error
    origin = Origin(
        job=f"{endpoint.parent}/{record.collection}/{record.job_id}",
        project=None if endpoint.project.isdigit() else endpoint.project,
        location=endpoint.location,
        run=record.labels.get(RUN_LABEL),
        resource=gateway_of(record.name).message,
    )
    python = declaration(kind, spec, origin)
    if output.as_json:
        declared = kind.to_wire(declared_form(kind, spec))
        output.document({"resource": record.name, "python": python, "spec": declared})
    else:
        output.line(python.rstrip("\n"))
