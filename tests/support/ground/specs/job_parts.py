"""Findings about all parts of a spec whose kind exists only in tests."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.job_spec import parts
from vertex_training.job.rules.job_spec import job_spec_problems


def problems_of_parts(
    spec: object, *, options: CheckOptions = DEFAULT_OPTIONS, has_output: bool = False
) -> Iterator[Problem]:
    """Yield the findings of `job_spec_problems` for each part, with their paths in `spec`."""
    for path, part in parts(spec):
        yield from job_spec_problems(part, path, options=options, has_output=has_output)
