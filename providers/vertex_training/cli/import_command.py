"""`import`: the Python that declares, and adopts, a job that exists."""

from __future__ import annotations

import argparse

from vertex_training.cli import job_lookup, target
from vertex_training.cli.output import Output
from vertex_training.lifecycle.identity import RUN_LABEL
from vertex_training.specs.custom_job import from_wire, to_wire
from vertex_training.specs.custom_job_source import Origin, declaration, declared_form


def import_job(options: argparse.Namespace, output: Output) -> None:
    """The command `import`. Changes nothing, neither the job nor any stack."""
    endpoint = target.resolve(target.of_options(options))
    record = job_lookup.find(endpoint, options.job)
    spec = from_wire(record.wire)
    origin = Origin(
        job=f"{endpoint.parent}/customJobs/{record.job_id}",
        project=None if endpoint.project.isdigit() else endpoint.project,
        location=endpoint.location,
        run=record.labels.get(RUN_LABEL),
    )
    python = declaration(spec, origin)
    if output.as_json:
        output.document({"resource": record.name, "python": python, "spec": to_wire(declared_form(spec))})
    else:
        output.line(python.rstrip("\n"))
