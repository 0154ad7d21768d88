"""The spec of a tuning job, its normal form and its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from vertex_training.catalog import api
from vertex_training.fields import wire
from vertex_training.fields.effects import CHANGES, next_run, replaces
from vertex_training.job.job_spec import EncryptionSpec, Named
from vertex_training.study.tuning import TuningSpec, normalise

__all__ = ["HyperparameterTuningJobSpec", "from_wire", "normalise", "to_wire"]


@dataclass(frozen=True, kw_only=True)
class HyperparameterTuningJobSpec(TuningSpec, Named):
    """A tuning job (Vertex AI API, `HyperparameterTuningJob`)."""

    SERVER_OWNED: ClassVar[frozenset[str]] = api.OUTPUT_ONLY["HyperparameterTuningJob"]

    encryption_spec: EncryptionSpec | None = field(
        default=None, metadata={"absent_if_empty": True, CHANGES: replaces("the key of {noun}")}
    )
    """Customer-managed key that encrypts the resources of the tuning job and its trials."""
    labels: Mapping[str, str] = field(
        default_factory=dict, metadata={CHANGES: next_run("the labels of {noun}")}
    )
    """Labels of the tuning job. A change applies to the next run."""


def to_wire(spec: HyperparameterTuningJobSpec) -> dict[str, Any]:
    """Return the job in the API's JSON, a `HyperparameterTuningJob`."""
    return wire.to_json(spec)


def from_wire(job: Mapping[str, Any]) -> HyperparameterTuningJobSpec:
    """Return the spec of a `HyperparameterTuningJob` in the API's JSON, without fields of the service.

    Raises ValueError if `job` is not a tuning job.
    """
    return wire.from_json(HyperparameterTuningJobSpec, job)
