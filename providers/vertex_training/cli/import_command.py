"""`import`: the Python that declares, and adopts, what exists."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from vertex_training.cli import job_lookup, target
from vertex_training.cli.failure import CommandError
from vertex_training.cli.output import Output
from vertex_training.cloud import custom_jobs, training_pipelines, tuning_jobs
from vertex_training.cloud.gateways import gateway_of
from vertex_training.lifecycle.identity import RUN_LABEL
from vertex_training.specs import custom_job_kind, hyperparameter_tuning_job_kind, training_pipeline_kind
from vertex_training.specs.declaration_source import Origin, declaration, declared_form
from vertex_training.specs.running import SpecKind

_SPECS: Mapping[str, SpecKind[Any]] = MappingProxyType(
    {
        custom_jobs.GATEWAY.collection: custom_job_kind.CUSTOM_JOB,
        tuning_jobs.GATEWAY.collection: hyperparameter_tuning_job_kind.TUNING_JOB,
        training_pipelines.GATEWAY.collection: training_pipeline_kind.KIND,
    }
)


def import_job(options: argparse.Namespace, output: Output) -> None:
    """The command `import`. Changes nothing, neither the job nor any stack."""
    endpoint = target.resolve(target.of_options(options))
    record = job_lookup.find(endpoint, options.job)
    kind = _SPECS[record.collection]
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
