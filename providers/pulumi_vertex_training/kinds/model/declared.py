"""A model as Pulumi declares it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model import kind as registered_model
from pulumi_vertex_training.kinds.model.gateway import ModelRecord
from pulumi_vertex_training.kinds.model.kind import RegisteredModelSpec
from pulumi_vertex_training.plugin.crud import CrudKind
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem

OUTPUTS = ("name", "version_id", "create_time", "update_time")


@dataclass(frozen=True, kw_only=True)
class ModelInputs(RegisteredModelSpec):
    """A model's inputs in Pulumi's state. `marks` say whose it is, `adopt` names a version to take over; they
    never take part in a diff."""

    endpoint: str
    project: str
    location: str
    marks: Mapping[str, str] = field(default_factory=dict)
    adopt: str | None = None


def _problems(inputs: ModelInputs, options: CheckOptions) -> Iterator[Problem]:
    yield from registered_model.validate(inputs, options=options)
    if inputs.adopt is not None and not re.fullmatch(r"[^@]+(@[^@]+)?", inputs.adopt):
        yield Problem(
            path="adopt",
            message=f"{inputs.adopt!r} names no version; write MODEL@VERSION, such as digits@3",
        )


def _outputs(record: ModelRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "version_id": record.version,
        "create_time": create_time(record),
        "update_time": record.wire.get("versionUpdateTime") or record.wire.get("updateTime"),
    }


def create_time(record: ModelRecord) -> str | None:
    return record.wire.get("versionCreateTime") or record.wire.get("createTime")


def _lives(record: ModelRecord, inputs: ModelInputs) -> RegisteredModelSpec:
    """What the service has; which version is the default is not for one of them to take back."""
    spec = registered_model.from_wire(record.wire, DECLARED.spec_of(inputs))
    return replace(spec, is_default_version=inputs.is_default_version)


DECLARED: CrudKind[ModelInputs, RegisteredModelSpec, ModelRecord] = CrudKind(
    noun="model",
    spec=RegisteredModelSpec,
    inputs=ModelInputs,
    outputs=OUTPUTS,
    label=lambda inputs: inputs.display_name,
    normalise=registered_model.normalise,
    problems=_problems,
    get=models.get,
    lives=_lives,
    outputs_of=_outputs,
)
