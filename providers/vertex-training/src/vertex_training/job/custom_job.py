"""The custom job: its spec, normal form, JSON and hash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from vertex_training.catalog import api
from vertex_training.fields import wire
from vertex_training.fields.effects import CHANGES, next_run, replaces
from vertex_training.job.job_spec import EncryptionSpec, JobSpec, Named, hash_of, normalise

__all__ = ["CustomJobSpec", "flat", "from_wire", "normalise", "output_directory", "spec_hash", "to_wire"]


@dataclass(frozen=True, kw_only=True)
class CustomJobSpec(JobSpec, Named):
    """A custom job, with the fields of the API's `jobSpec` next to the job's own."""

    SERVER_OWNED: ClassVar[frozenset[str]] = api.OUTPUT_ONLY["CustomJob"]

    encryption_spec: EncryptionSpec | None = field(
        default=None, metadata={"absent_if_empty": True, CHANGES: replaces("the key of {noun}")}
    )
    """Customer-managed key that encrypts the job's resources."""
    labels: Mapping[str, str] = field(
        default_factory=dict, metadata={CHANGES: next_run("the labels of {noun}")}
    )
    """Labels of the job. A change applies to the next run."""


OF_JOB = ("labels", "encryptionSpec")
"""The fields of a `CustomJob` other than its display name and its `jobSpec`."""


def to_wire(spec: CustomJobSpec) -> dict[str, Any]:
    """Convert the job to the API's JSON, a `CustomJob`."""
    fields = wire.to_json(spec)
    outer = {key: fields.pop(key) for key in OF_JOB if key in fields}
    return {"displayName": fields.pop("displayName"), "jobSpec": fields, **outer}


def from_wire(job: Mapping[str, Any]) -> CustomJobSpec:
    """Read a `CustomJob` in the API's JSON; output fields are ignored.

    Raises ValueError if it is not a custom job.
    """
    return wire.from_json(CustomJobSpec, flat(job))


def output_directory(job: Mapping[str, Any]) -> str | None:
    """Return where a `CustomJob` in the API's JSON writes, gs://BUCKET/PREFIX/; None without a directory."""
    return normalise(from_wire(job)).base_output_directory


def flat(job: Mapping[str, Any]) -> dict[str, Any]:
    """Move the fields of `jobSpec` next to the job's own."""
    nested = next((key for key in ("jobSpec", "job_spec") if isinstance(job.get(key), Mapping)), None)
    if nested is None:
        return dict(job)
    return {**{key: value for key, value in job.items() if key != nested}, **job[nested]}


def spec_hash(spec: CustomJobSpec) -> str:
    """Return "v1-" and 16 hex digits, equal for specs with an equal normal form.

    The text is short enough for a label. Hash the spec as it is declared: with `base_output_directory` None
    if the run chooses it, and without the labels that a run adds.
    """
    return hash_of(normalise(spec), to_wire)
