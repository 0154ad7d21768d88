"""What of a job the emulator cannot do: said in the preview, before the job that runs is given up for it."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_training.emulator.jobs.supported_fields import unsupported_fields
from vertex_training.specs.job_spec import JobSpec, normalise, parts
from vertex_training.specs.job_spec_rules import below
from vertex_training.topology.problems import Problem
from vertex_training.topology.rules import Rule

SUPPORTED = Rule(
    name="emulator-support",
    says="a job on the emulator has what the emulator can do",
    source="ours: the emulator refuses the rest by name",
)


def emulator_problems(spec: object) -> Iterator[Problem]:
    """A finding for every field of what runs that the emulator would refuse. Images are found, or not, when
    the job is created: this program may push them."""
    for path, part in parts(spec):
        yield from below(_part_problems(part), path)


def _part_problems(part: JobSpec) -> Iterator[Problem]:
    for path, value in unsupported_fields(normalise(part)):
        shown = f"{value}: " if isinstance(value, (str, int)) else ""
        yield SUPPORTED.broken(
            path,
            f"{shown}the emulator does not support this; leave it out of local runs (vt.on_google() tells "
            "them apart), or run the job on Google Cloud",
        )
