"""The base of the providers of CRUD resources, and their option `adopt`. Jobs are different (`running`).

To be adopted, a resource has to equal its declaration, as a job has to: adopting changes nothing but our
labels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.core import conflicts
from pulumi_vertex_training.core.call import Call, Checked, Found
from pulumi_vertex_training.core.conflicts import Identity
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import DRIFT, Provider, complete, warnings
from pulumi_vertex_training.core.running.declaration import check_options
from pulumi_vertex_training.core.running.hidden_input import KEY_INPUT, ROW_INPUT
from pulumi_vertex_training.core.settings import TARGET_FIELDS, project_problems
from pulumi_vertex_training.runs.adoption import AdoptionError
from vertex_training.fields.decode import Decoded, decode
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import all_of
from vertex_training.topology.changes import FieldChange, field_changes

_OWNER = {"pulumi-resource": "resource", "pulumi-stack": "stack", "pulumi-project": "project"}


def require_equal(what: str, live: object, declared: object) -> None:
    """Check that two specs of one class are equal. Raises AdoptionError with every difference."""
    changes = field_changes(live, declared)
    if differences := "; ".join(map(_line, changes)):
        raise AdoptionError(
            f"{what} is not adopted, because it differs from the declaration (live -> declared): "
            f"{differences}. Declare it as it is, run `pulumi up`, and make your changes afterwards."
        )


def require_no_other_owner(what: str, labels: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Check that no other declaration's labels are on a resource. Raises AdoptionError."""
    others = {key: labels[key] for key in _OWNER if key in labels and labels[key] != ours.get(key)}
    if others:
        owner = all_of([f"{_OWNER[key]} {labels[key]}" for key in _OWNER if key in labels])
        raise AdoptionError(
            f"{what} belongs to {owner}, which may still change or delete it. If that stack is gone for "
            f"good, remove the labels {all_of(list(others))} from it, and run `pulumi up` again."
        )


def _line(change: FieldChange) -> str:
    return f"{change.path}: {_value(change.old)} -> {_value(change.new)}"


def _value(value: object) -> str:
    return "none" if value is None or value == () else repr(value)


Inputs = TypeVar("Inputs")
Spec = TypeVar("Spec")
Record = TypeVar("Record")


def _nothing(_: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True)
class CrudKind(Generic[Inputs, Spec, Record]):
    """A kind of CRUD resource as Pulumi declares it.

    `spec` is sent to the service; `inputs`, a subclass, has what the state keeps besides, such as `project`.
    `label` is what the user calls one, `operation_key` its name in the memory of the operation. `derived` are
    inputs that check fills in. `outputs` are not inputs; `outputs_of` returns those that the service reports.
    `get` reads the resource by its id; `live_spec` returns the spec of the answer, as far as the declaration
    decides it.
    """

    noun: str
    spec: type[Spec]
    inputs: type[Inputs]
    outputs: tuple[str, ...]
    label: Callable[[Inputs], str]
    operation_key: Callable[[Inputs], str]
    normalise: Callable[[Inputs], Inputs]
    problems: Callable[[Inputs, CheckOptions], Iterable[Problem]]
    get: Callable[[Endpoint, str], Record]
    live_spec: Callable[[Record, Inputs], Spec]
    derived_names: tuple[str, ...] = ()
    derived: Callable[[Mapping[str, Any]], Mapping[str, Any]] = _nothing
    outputs_of: Callable[[Record], Mapping[str, Any]] = _nothing

    @property
    def spec_fields(self) -> tuple[str, ...]:
        return tuple(item.name for item in dataclasses.fields(self.spec))  # type: ignore[arg-type]

    def decode(self, props: Mapping[str, Any]) -> Decoded[Inputs]:
        """Return inputs or recorded outputs in normal form, with every problem."""
        left_out = (*self.outputs, *self.derived_names)
        known = {name: value for name, value in props.items() if name not in left_out}
        options = check_options(props)
        return decode(self.inputs, known).then(
            self.normalise,
            lambda inputs: [
                *self.problems(inputs, options),
                *project_problems(inputs.project),  # type: ignore[attr-defined]
            ],
        )

    def read_inputs(self, props: Mapping[str, Any]) -> Inputs:
        """Return inputs that were checked before. Raises ValueError for inputs that no check accepts."""
        inputs = self.decode(props).draft
        if inputs is None:
            raise ValueError(f"the inputs of a {self.noun} cannot be read; please report this")
        return inputs

    def spec_of(self, inputs: Inputs) -> Spec:
        """Return the part of the inputs that is sent to the service."""
        return self.spec(**{name: getattr(inputs, name) for name in self.spec_fields})

    def canonical(self, props: Mapping[str, Any]) -> dict[str, Any]:
        """Return inputs or recorded outputs in one shape, including those that an older version recorded."""
        decoded = self.decode(props)
        return dict(props) if decoded.draft is None else complete(decoded.draft, unknown=decoded.unknown)


class CrudProvider(Provider):
    """The base of the providers: check and read, by the `declared` of a subclass.

    The import path of a subclass never changes.
    """

    declared: ClassVar[CrudKind[Any, Any, Any]]

    def check(self, call: Call) -> Checked:
        given, facts = conflicts.split(call.inputs)
        OPERATION.note_former_stack(call.old_inputs.get("marks"), given.get("marks"))
        prepared = self.prepared(call.old_inputs, given)
        missing, decoded = self.missing(prepared), self.declared.decode(prepared)
        if decoded.draft is not None:
            operation_key = self.declared.operation_key(decoded.draft)
            OPERATION.note_key(operation_key, facts.get(KEY_INPUT))
            OPERATION.note_row(operation_key, facts.get(ROW_INPUT))
        identity = None if decoded.draft is None else self.identity(decoded.draft)
        same: Sequence[Problem] = ()
        if identity is not None and not {identity.field, *TARGET_FIELDS} & {
            *decoded.unknown,
            *decoded.damaged,
        }:
            same = list(conflicts.problems(identity, facts, is_new=not call.old_inputs))
        if missing or same or decoded.spec is None:
            return Checked(problems=[*missing, *decoded.problems, *same])
        problems = [*decoded.problems, *self.conflicts(decoded.spec, decoded.unknown)]
        for line in warnings(f"{self.declared.noun} {self.declared.label(decoded.spec)}", problems):
            OPERATION.say_once(line)
        self.accepted(decoded.spec)
        inputs = complete(decoded.spec, unknown=decoded.unknown)
        return Checked(inputs={**inputs, **self.declared.derived(inputs)})

    def read(self, call: Call) -> Found | None:
        declared, raw = self.declared, call.outputs
        try:
            record = declared.get(endpoint_of(raw), call.id)
        except NotFound:
            return None
        inputs = declared.read_inputs(raw)
        kept = {name: value for name, value in raw.items() if name not in declared.spec_fields}
        now = {**kept, **complete(declared.live_spec(record, inputs))}
        recorded = {name: value for name, value in now.items() if name not in declared.outputs}
        outs = {**now, **declared.outputs_of(record)}
        if DRIFT in declared.outputs:
            outs[DRIFT] = self.drift(record, inputs)
        return Found(outputs=outs, inputs=recorded)

    def prepared(self, olds: dict[str, Any], news: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Return the inputs of a check, with those filled in that follow from others."""
        return news

    def missing(self, prepared: Mapping[str, Any]) -> Sequence[Problem]:  # noqa: ARG002
        """Return errors of prepared inputs that their normal form does not show."""
        return ()

    def accepted(self, inputs: Any) -> None:
        """Take note of inputs that a check accepts."""

    def identity(self, inputs: Any) -> Identity | None:  # noqa: ARG002
        """Return what only one resource can have, or None for a resource that shares its id."""
        return None

    def conflicts(self, inputs: Any, unknown: Collection[str]) -> Iterable[Problem]:  # noqa: ARG002
        """Return warnings of conflicts with other resources of this program."""
        return ()

    def drift(self, record: Any, inputs: Any) -> list[str]:  # noqa: ARG002
        """Describe what differs from the declaration although no deployment changes it back."""
        return []
