"""The declared custom job: its spec, and what the program adds to it; decoded, checked and given its hash."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pulumi_vertex_training.emulator_support import emulator_problems
from pulumi_vertex_training.names import object_prefix
from pulumi_vertex_training.settings import project_problems
from vertex_training.specs import custom_job
from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.specs.custom_job_reading import decode_job
from vertex_training.specs.custom_job_rules import validate
from vertex_training.specs.decode import UNKNOWN, Decoded, Unknown, decode
from vertex_training.specs.labels import mark_value
from vertex_training.specs.reduction import fill_in
from vertex_training.specs.region_of_bucket import bucket_region_problems
from vertex_training.topology.options import CheckOptions
from vertex_training.topology.problems import Problem

SPEC_FIELDS = tuple(item.name for item in dataclasses.fields(CustomJobSpec))
HASHED = (*SPEC_FIELDS, "staging_bucket")
"""What `declaration_hash` covers: a change of these is a new run."""


@dataclass(frozen=True, kw_only=True)
class CustomJobInputs(CustomJobSpec):
    """A custom job's inputs in Pulumi's state: the spec's fields, and these.

    `run`: the key of the run, from the resource's `Run`. `staging_bucket`: where a run's output goes when no
    `base_output_directory` is declared. `spec_hash`: of what was declared, filled in by check. `marks`: the
    project, stack and resource name of the declaration, for people. `framework` and the two switches are for
    `CheckOptions`. Marks and options never take part in a diff. `rerun`, `protect_running` and `on_delete`
    are updated in place. `adopt` and `taking_over` are looked at when the resource is new, and never again.
    """

    endpoint: str
    project: str
    location: str
    run: str
    staging_bucket: str | None = None
    staging_bucket_location: str | None = None
    spec_hash: str | None = None
    marks: Mapping[str, str] = field(default_factory=dict)
    framework: str | None = None
    allow_unknown_types: bool = False
    allow_legacy_types: bool = False
    rerun: Literal["on_change", "on_failure", "always", "never"] = "on_change"
    protect_running: bool = False
    on_delete: Literal["delete", "cancel"] = "delete"
    adopt: str | None = None
    taking_over: str | None = None


RECORD = {"rerun": "on_change", "protect_running": False, "on_delete": "delete"}
"""Inputs that the job itself knows nothing of, with what their absence in a state means."""


def decode_inputs(props: Mapping[str, Any]) -> Decoded[CustomJobInputs]:
    """The inputs in normal form, with every problem that can be told without asking anybody."""
    options = _options(props)
    return decode_job(
        CustomJobInputs,
        props,
        options=options,
        location=_location(props),
        check=lambda inputs: [
            *validate(inputs, options=options, has_output=bool(inputs.staging_bucket)),
            *_place_problems(inputs),
            *(emulator_problems(spec_of(inputs)) if inputs.endpoint == "emulator" else ()),
        ],
    )


def read_inputs(props: Mapping[str, Any]) -> Decoded[CustomJobInputs]:
    """As `decode_inputs`, for what was checked before: no rule is looked at again."""
    return decode_job(CustomJobInputs, props, location=_location(props), check=lambda _: ())


def reduction_arithmetic(props: Mapping[str, Any]) -> str:
    """How the number of reduction servers that were asked for as "auto" comes about; "" where none were."""
    sizing = fill_in(props, location=_location(props)).sizing
    return " ".join(sizing.arithmetic) if sizing else ""


def _location(props: Mapping[str, Any]) -> str | Unknown | None:
    location = props.get("location")
    return location if isinstance(location, (str, Unknown)) else None


def _options(props: Mapping[str, Any]) -> CheckOptions:
    """What the checks are told, as far as it can be read; `decode` reports what cannot."""
    location, framework = _location(props), props.get("framework")
    return CheckOptions(
        location=location if isinstance(location, str) else None,
        framework=framework if isinstance(framework, str) else None,
        allow_unknown_types=props.get("allow_unknown_types") is True,
        allow_legacy_types=props.get("allow_legacy_types") is True,
    )


def _place_problems(inputs: CustomJobInputs) -> list[Problem]:
    """Rules that need more than the spec: where its output goes, and from which region."""
    problems = []
    if not inputs.location:
        problems.append(
            Problem(
                path="location",
                message="is not given; a training job runs in one region. Set it here, or run "
                "`pulumi config set vertex-training:location us-central1`.",
            )
        )
    problems += project_problems(inputs.project)
    problems += bucket_region_problems(
        inputs.staging_bucket, bucket_location=inputs.staging_bucket_location, location=inputs.location
    )
    return problems


def is_refused(declaration: Mapping[str, Any]) -> bool:
    """Whether the job's check will refuse the declaration, which has no run yet."""
    return decode_inputs({**declaration, "run": ""}).spec is None


def declaration_hash(declaration: Mapping[str, Any]) -> str | Unknown:
    """The hash of what was declared, by which a new run is told from an old one; `UNKNOWN` while it is not.

    It covers the spec in normal form and the staging bucket, not the directory that each run gets below it.
    What does not decode gets a hash of its plain form: check refuses it with the reasons.
    """
    hashed = {name: declaration[name] for name in HASHED if name in declaration}
    filled = fill_in(hashed, location=_location(declaration)).value
    decoded = decode(CustomJobSpec, {name: filled[name] for name in SPEC_FIELDS if name in filled})
    if decoded.unknown or hashed.get("staging_bucket") is UNKNOWN:
        return UNKNOWN
    if decoded.spec is None:
        plain = json.dumps(hashed, sort_keys=True, default=str)
        return "v1-" + hashlib.sha256(plain.encode()).hexdigest()[:16]
    return declared_hash(decoded.spec, declaration.get("staging_bucket"))


def declared_hash(spec: CustomJobSpec, staging_bucket: str | None) -> str:
    """As `declaration_hash`, of a declaration that is decoded; `base_output_directory` is None unless
    declared."""
    if spec.base_output_directory is None and staging_bucket:
        spec = dataclasses.replace(spec, base_output_directory=f"gs://{staging_bucket}/")
    return custom_job.spec_hash(spec)


def spec_of(inputs: CustomJobInputs) -> CustomJobSpec:
    """What the service is asked for: the inputs without what is ours."""
    return CustomJobSpec(**{name: getattr(inputs, name) for name in SPEC_FIELDS})


def run_directory(inputs: CustomJobInputs) -> str | None:
    """The directory of this run in the staging bucket, for a job that declares none; None without one."""
    if not inputs.staging_bucket:
        return None
    return f"gs://{inputs.staging_bucket}/{object_prefix(inputs.marks.get('resource', 'job'))}/{inputs.run}/"


def another_directory(inputs: CustomJobInputs) -> str | None:
    """As `run_directory`, for a job that may not be the first of its run; no two calls give the same."""
    directory = run_directory(inputs)
    return directory and f"{directory[:-1]}-{secrets.token_hex(2)}/"


def follows_run(inputs: CustomJobInputs) -> bool:
    """Whether the output directory is the run's own: not declared, or one of the two above."""
    directory, declared = run_directory(inputs), inputs.base_output_directory
    return directory is not None and (declared is None or declared.startswith(directory[:-1]))


def mark_labels(marks: Mapping[str, str]) -> dict[str, str]:
    """Labels that tell a person where a job came from; never used to find it."""
    return {f"pulumi-{name}": mark_value(value) for name, value in marks.items()}
