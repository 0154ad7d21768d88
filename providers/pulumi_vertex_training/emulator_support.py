"""What of a job the emulator cannot do: said in the preview, before the job that runs is given up for it."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_training.emulator.jobs.supported_fields import unsupported_fields
from vertex_training.specs.custom_job import CustomJobSpec, normalise
from vertex_training.topology.problems import Problem
from vertex_training.topology.rules import Rule

SUPPORTED = Rule(
    name="emulator-support",
    says="a job on the emulator has what the emulator can do",
    source="ours: the emulator refuses the rest by name",
)


def emulator_problems(spec: CustomJobSpec) -> Iterator[Problem]:
    """A finding for every field that the emulator would refuse. Images are found, or not, when the job is
    created: this program may push them."""
    normal = normalise(spec)
    for path, value in unsupported_fields(normal):
        shown = f"{value}: " if isinstance(value, (str, int)) else ""
        yield SUPPORTED.broken(
            path,
            f"{shown}the emulator does not support this; leave it out of local runs (vt.on_google() tells "
            "them apart), or run the job on Google Cloud",
        )
