"""The tuning job: its spec, normal form, JSON and hash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from vertex_training.specs import wire
from vertex_training.specs.job_spec import Named, hash_of
from vertex_training.specs.networking import EncryptionSpec
from vertex_training.specs.tuning import TuningSpec, normalise

__all__ = [
    "HyperparameterTuningJobSpec",
    "from_wire",
    "normalise",
    "output_directory",
    "spec_hash",
    "to_wire",
]


@dataclass(frozen=True, kw_only=True)
class HyperparameterTuningJobSpec(TuningSpec, Named):
    """A tuning job (Vertex AI API, `HyperparameterTuningJob`)."""

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset(
        {
            "name",
            "trials",
            "state",
            "create_time",
            "start_time",
            "end_time",
            "update_time",
            "error",
            "satisfies_pzs",
            "satisfies_pzi",
        }
    )

    encryption_spec: EncryptionSpec | None = field(default=None, metadata={"absent_if_empty": True})
    labels: Mapping[str, str] = field(default_factory=dict)


def to_wire(spec: HyperparameterTuningJobSpec) -> dict[str, Any]:
    """The job as the API's JSON, a `HyperparameterTuningJob`."""
    return wire.to_json(spec)


def from_wire(job: Mapping[str, Any]) -> HyperparameterTuningJobSpec:
    """The spec of a `HyperparameterTuningJob` in the API's JSON; what only the service sets is passed over.

    Raises ValueError for what is no tuning job.
    """
    return wire.from_json(HyperparameterTuningJobSpec, job)


def output_directory(job: Mapping[str, Any]) -> str | None:
    """Below which the trials of a `HyperparameterTuningJob` in the API's JSON write, gs://BUCKET/PREFIX/;
    None where it names no directory."""
    return normalise(from_wire(job)).trial_job_spec.base_output_directory


def spec_hash(spec: HyperparameterTuningJobSpec) -> str:
    """ "v1-" and 16 hex digits: equal for specs with an equal normal form, short enough for a label.

    Hash the spec as it is declared: without an output directory where the run chooses it, without the labels
    that a run adds.
    """
    return hash_of(normalise(spec), to_wire)
