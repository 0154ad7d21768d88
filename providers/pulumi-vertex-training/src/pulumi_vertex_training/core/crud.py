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
from pulumi_vertex_training.cloud.errors import AlreadyExists, NotFound, Unavailable
from pulumi_vertex_training.core.call import Call, Checked, Found, Imported
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.identity import conflicts
from pulumi_vertex_training.core.identity.conflicts import Identity
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import DRIFT, Provider, complete, warnings
from pulumi_vertex_training.core.running.declaration import check_options, ownership_labels
from pulumi_vertex_training.core.settings import TARGET_FIELDS, project_problems
from pulumi_vertex_training.runs.adoption import AdoptionError
from vertex_training.fields.decode import Decoded, decode
from vertex_training.fields.labels import KEY_LABEL, key_label
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import all_of
from vertex_training.topology.changes import field_changes

_OWNER = {"pulumi-resource": "resource", "pulumi-stack": "stack", "pulumi-project": "project"}


def require_equal(what: str, live: object, declared: object) -> None:
    """Check that two specs of one class are equal. Raises AdoptionError with every difference."""
    changes = tuple(field_changes(live, declared))
    if changes:
        differences = "; ".join(f"{one.path}: {_value(one.old)} -> {_value(one.new)}" for one in changes)
        raise AdoptionError(
            f"{what} is not adopted, because it differs from the declaration (live -> declared): "
            f"{differences}. Declare it as it is, run `pulumi up`, and make your changes afterwards."
        )


def without_labels(names: Sequence[str]) -> str:
    """Return how a resource loses the labels of these names."""
    return f"remove the labels {all_of(names)} from it"


def labels_of(call: Call) -> dict[str, str]:
    """Return the labels that a resource of the declaration in the call may have."""
    return {**ownership_labels(call.inputs["marks"]), **key_label(call.key)}


def require_no_other_owner(
    what: str,
    labels: Mapping[str, str],
    ours: Mapping[str, str],
    *,
    remedy: Callable[[Sequence[str]], str] = without_labels,
) -> None:
    """Check that no other declaration's labels are on a resource. Raises AdoptionError.

    `ours` are the labels that it may have. `remedy` returns how the labels of these names are removed.
    """
    compared = [*_OWNER, *([KEY_LABEL] if KEY_LABEL in ours else [])]
    others = [key for key in compared if key in labels and labels[key] != ours.get(key)]
    if others:
        owner = all_of([f"{_OWNER[key]} {labels[key]}" for key in _OWNER if key in labels])
        raise AdoptionError(
            f"{what} belongs to {owner or 'another declaration'}, which may still change or delete it. If "
            f"that stack is gone for good, {remedy(others)}, and try again."
        )


def _value(value: object) -> str:
    return "none" if value is None or value == () else repr(value)


Inputs = TypeVar("Inputs")
Spec = TypeVar("Spec")
Record = TypeVar("Record")


def _nothing(_: object) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True)
class CrudKind(Generic[Inputs, Spec, Record]):
    """A kind of CRUD resource as Pulumi declares it.

    `spec` is sent to the service; `inputs`, a subclass, has what the state keeps besides, such as `project`.
    `label` is what the user calls one. `derived` are inputs that check fills in. `outputs` are not inputs;
    `outputs_of` returns those that the service reports. `get` reads the resource by its id; `live_spec`
    returns the spec of the answer, as far as the declaration decides it, and `imported` the inputs of a
    resource without a declaration.
    """

    noun: str
    spec: type[Spec]
    inputs: type[Inputs]
    outputs: tuple[str, ...]
    label: Callable[[Inputs], str]
    normalise: Callable[[Inputs], Inputs]
    problems: Callable[[Inputs, CheckOptions], Iterable[Problem]]
    get: Callable[[Endpoint, str], Record]
    live_spec: Callable[[Record, Inputs], Spec]
    imported: Callable[[Record], Mapping[str, Any]]
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
        prepared = self.prepared(call)
        missing, decoded = self.missing(prepared), self.declared.decode(prepared)
        identity = None if decoded.draft is None else self.identity(decoded.draft, call.key)
        same: Sequence[Problem] = ()
        if identity is not None and not {identity.field, *TARGET_FIELDS} & {
            *decoded.unknown,
            *decoded.damaged,
        }:
            same = list(conflicts.problems(identity, call))
        if missing or same or decoded.spec is None:
            return Checked(problems=[*missing, *decoded.problems, *same])
        problems = [*decoded.problems, *self.conflicts(decoded.spec, decoded.unknown)]
        for line in warnings(f"{self.declared.noun} {self.declared.label(decoded.spec)}", problems):
            OPERATION.print_once(line)
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

    def imported(self, call: Call) -> Imported | None:
        declared = self.declared
        try:
            record = declared.get(endpoint_of(call.inputs), call.id)
        except NotFound:
            return None
        what = f"{declared.noun} {call.id.rpartition('/')[2]}"
        require_no_other_owner(what, record.labels, labels_of(call), remedy=self.remedy_for_owner(record))
        return Imported(id=self.id_of(record, call.id), inputs={**call.inputs, **declared.imported(record)})

    def create_once(
        self,
        call: Call,
        inputs: Any,
        name: str,
        *,
        create: Callable[[], object],
        abandoned: Callable[[], Record | None],
        adopt: Callable[[Record], None],
    ) -> None:
        """Create the resource, or adopt what an interrupted deployment of it created under its name.

        `abandoned` returns the record of such a resource if nobody uses it, else None; `adopt` turns it into
        the declared one.
        """
        title = f"{self.declared.noun} {self.declared.label(inputs)}"
        with creation_notes.noted(self, call.inputs, name, key=call.key, title=title, is_exclusive=True):
            try:
                create()
            except (AlreadyExists, Unavailable) as error:
                found = abandoned()
                if found is None:
                    identity = self.identity(inputs, call.key)
                    raise (conflicts.explained(error, identity) if identity else error) from error
                adopt(found)
        deletion_notes.forget(name)

    def existing(self, endpoint: Endpoint, inputs: Any, name: str) -> Any:
        """Return the record of a resource to adopt. Raises AdoptionError, also for somebody else's."""
        what = f"{self.declared.noun} {self.declared.label(inputs)}"
        try:
            found = self.declared.get(endpoint, name)
        except NotFound as error:
            raise AdoptionError(
                f"there is no {what} to adopt ({endpoint}). Correct its name, or leave adopt out to create "
                "it."
            ) from error
        require_no_other_owner(what, found.labels, ownership_labels(inputs.marks))
        require_equal(what, self.declared.live_spec(found, inputs), self.declared.spec_of(inputs))
        return found

    def remove_interrupted(self, endpoint: Endpoint, id_: str, key: str) -> bool:
        """Delete what an interrupted creation made, as `creations.Remover` has it."""
        raise NotImplementedError

    def remedy_for_owner(self, record: Any) -> Callable[[Sequence[str]], str]:  # noqa: ARG002
        """Return a function that returns how a resource loses the labels of these names."""
        return without_labels

    def id_of(self, record: Any, asked: str) -> str:  # noqa: ARG002
        """Return the id that the state has for a record which was found by the id `asked`."""
        return asked

    def prepared(self, call: Call) -> dict[str, Any]:
        """Return the inputs of a check, with those filled in that follow from others."""
        return call.inputs

    def missing(self, prepared: Mapping[str, Any]) -> Sequence[Problem]:  # noqa: ARG002
        """Return errors of prepared inputs that their normal form does not show."""
        return ()

    def identity(self, inputs: Any, key: str) -> Identity | None:  # noqa: ARG002
        """Return what only one resource can have, or None for a resource that shares its id.

        `key` is the resource's.
        """
        return None

    def conflicts(self, inputs: Any, unknown: Collection[str]) -> Iterable[Problem]:  # noqa: ARG002
        """Return warnings of conflicts with other resources of this program."""
        return ()

    def drift(self, record: Any, inputs: Any) -> list[str]:  # noqa: ARG002
        """Describe what differs from the declaration although no deployment changes it back."""
        return []
