"""The job of a schedule where a program declares it in the schedule itself: one of three templates.

A program in Python hands over a job that it declares beside the schedule. A program with the package cannot:
a resource has no access to the declaration of another one.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pulumi_vertex_training.core.provider import is_unknown
from pulumi_vertex_training.core.running.declaration import declared_in
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from pulumi_vertex_training.kinds.training_pipeline.spec import TrainingPipelineSpec
from vertex_training.fields.decode import UNKNOWN, encode
from vertex_training.fields.values import describe
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import nearest, one_of
from vertex_training.job.custom_job import CustomJobSpec


@dataclass(frozen=True, kw_only=True)
class JobTemplate:
    """A job that a schedule submits. It has no options of a resource, such as `rerun`: each run is new."""

    display_name: str = ""
    """Name for people, up to 128 characters. Default: the resource's name."""
    location: str | None = None
    """Region of the runs. Default: the location of the schedule."""
    staging_bucket: str | None = None
    """Bucket for the output directory, which is the same for each run."""
    framework: str | None = None
    """Framework of the training code, such as `pytorch`, for checks and the commands of replicas."""
    stall_timeout: float | None = None
    """Seconds after which a replica that stops reporting ends its run (docs/guides/frameworks/hangs.md)."""
    allow_unknown_types: bool = False
    """Report machine and accelerator types that this version does not know as a warning."""
    allow_legacy_types: bool = False
    """Accept types that Google has retired, such as NVIDIA_TESLA_K80."""


@dataclass(frozen=True, kw_only=True)
class CustomJobTemplate(JobTemplate, CustomJobSpec):
    """A custom job that a schedule submits."""


@dataclass(frozen=True, kw_only=True)
class HyperparameterTuningJobTemplate(JobTemplate, HyperparameterTuningJobSpec):
    """A tuning job that a schedule submits."""


@dataclass(frozen=True, kw_only=True)
class TrainingPipelineTemplate(JobTemplate, TrainingPipelineSpec):
    """A training pipeline that a schedule submits."""


@dataclass(frozen=True, kw_only=True)
class Templates:
    """The inputs of which one has the job."""

    custom_job: CustomJobTemplate | None = None
    """Custom job to submit. Give this or one of the other two kinds."""
    hyperparameter_tuning_job: HyperparameterTuningJobTemplate | None = None
    """Tuning job to submit."""
    training_pipeline: TrainingPipelineTemplate | None = None
    """Training pipeline to submit."""


COLLECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "custom_job": "customJobs",
        "hyperparameter_tuning_job": "hyperparameterTuningJobs",
        "training_pipeline": "trainingPipelines",
    }
)
"""The collection of the jobs of each template."""

_FIELDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        name: frozenset(item.name for item in dataclasses.fields(cls))
        for name, cls in (
            ("custom_job", CustomJobTemplate),
            ("hyperparameter_tuning_job", HyperparameterTuningJobTemplate),
            ("training_pipeline", TrainingPipelineTemplate),
        )
    }
)
OF_JOB = frozenset({"job", "collection", "parent", "request"})
"""The inputs of a schedule that follow from its job."""


def given_in(inputs: Mapping[str, Any]) -> str:
    """Return the name of the template in the inputs of a schedule, "" without one."""
    return next((name for name in COLLECTIONS if inputs.get(name) is not None), "")


def problems(inputs: Mapping[str, Any]) -> Sequence[Problem]:
    """Return the errors of templates that no job has: none or two of them, and fields of other resources."""
    given = [name for name in COLLECTIONS if inputs.get(name) is not None]
    if not given:
        message = f"is missing. A schedule runs one job: give {one_of(list(COLLECTIONS))}"
        return [Problem(path="custom_job", message=message)]
    if len(given) > 1:
        message = f"is given beside {given[0]}. A schedule runs one job: remove one of them"
        return [Problem(path=name, message=message) for name in given[1:]]
    [name] = given
    template = inputs[name]
    if template is UNKNOWN:
        return []
    if not isinstance(template, Mapping):
        message = f"is {describe(template)}, but must be an object with the fields of a job"
        return [Problem(path=name, message=message)]
    return [
        Problem(path=f"{name}.{field}", message=_no_field(field, name))
        for field in template
        if field not in _FIELDS[name]
    ]


def _no_field(field: str, name: str) -> str:
    guess = nearest(field, _FIELDS[name]) or "leave it out"
    return f"is no field of the job of a schedule, which is a new job each time; {guess}"


def as_job(inputs: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the inputs of a schedule with the job of its template as a program in Python hands it over."""
    template = inputs[name]
    known = template if isinstance(template, Mapping) else {}
    place = {field: inputs.get(field) for field in ("endpoint", "project", "location")}
    place["location"] = known.get("location") or place["location"]
    parent = [place["project"], place["location"]]
    return {
        **{field: value for field, value in inputs.items() if field not in COLLECTIONS},
        "job": str((inputs.get("marks") or {}).get("resource", "job")),
        "collection": COLLECTIONS[name],
        "parent": UNKNOWN if is_unknown(parent) else f"projects/{parent[0]}/locations/{parent[1]}",
        "request": UNKNOWN if template is UNKNOWN else {"declaration": {**known, **place}},
    }


def imported(spec: Mapping[str, Any], *, location: str) -> dict[str, Any]:
    """Return the template by the fields of a live schedule at `location`.

    Raises ValueError if its request cannot be read.
    """
    name = next(name for name, collection in COLLECTIONS.items() if collection == spec["collection"])
    declared = declared_in(spec["collection"])
    job = declared.spec.from_wire(json.loads(spec["request"]))
    of_runs = str(spec["parent"]).rpartition("/")[2]
    return {name: {**encode(job), **({} if of_runs == location else {"location": of_runs})}}
