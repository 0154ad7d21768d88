"""The base of every provider: what a kind of resource does when an engine calls.

A host calls it by `carry_out`. Errors leave as one clean sentence, without secrets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.core.call import Call, Checked, Created, Difference, Found, Imported, Values
from pulumi_vertex_training.core.engine import EngineGoneError
from pulumi_vertex_training.core.secret_masking import KEY, SECRETS
from pulumi_vertex_training.core.settings import SettingsError
from pulumi_vertex_training.core.waiting import Readiness
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.printed_commands import runnable
from pulumi_vertex_training.runs.adoption import AdoptionError
from pulumi_vertex_training.runs.deletion import ProtectedError, StillRunningError
from vertex_emulator import LauncherError
from vertex_training.fields.decode import UNKNOWN, encode
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import visible_lines

R = TypeVar("R")

DRIFT = "drift"
"""The output with the differences that a refresh found and that no deployment changes back, as sentences."""

_EXPECTED = (
    CloudError,
    LauncherError,
    AdoptionError,
    PackagingError,
    ProtectedError,
    StillRunningError,
    EngineGoneError,
    SettingsError,
)


class Failure(Exception):  # noqa: N818  the engine shows the class's name before the message
    """An error whose message is shown to the user unchanged."""


# Shown as "Failure: ..." instead of with this module's path before it.
Failure.__module__ = "builtins"


class Provider:
    """The methods of one kind of resource. Stateless: what an operation has to keep is in `Call.context`.

    `names` are the inputs that tell its resources apart, beside the name in their marks. A resource whose
    fields are only replaced needs no `update`, and one that is never looked up no `read`. `readiness` is for
    resources that take time to start. For the inputs `empty_if_null`, null is an output
    without a value, and not a missing input.
    """

    names: ClassVar[Sequence[str]] = ()
    empty_if_null: ClassVar[Sequence[str]] = ()
    readiness: ClassVar[Readiness | None] = None

    def stand_in(self, props: Values) -> str:
        """Return what stands in for a resource's URN where a host has none: its kind and names."""
        marks = props.get("marks")
        named = [marks.get("resource") if isinstance(marks, Mapping) else None, *map(props.get, self.names)]
        return " ".join(map(str, [type(self).__name__, *named]))

    def defaults(self, resource: str) -> Values:  # noqa: ARG002
        """Return the inputs that follow from the name of a resource, unless a program gives them."""
        return {}

    def check(self, call: Call) -> Checked:
        """Return the inputs as the state keeps them, or every reason to refuse them."""
        return Checked(inputs=call.inputs)

    def diff(self, call: Call) -> Difference:
        """Return what the declared inputs change."""
        raise NotImplementedError

    def create(self, call: Call) -> Created:
        """Create or adopt the resource."""
        raise NotImplementedError

    def update(self, call: Call) -> Values:
        """Change the resource in place. Return its outputs."""
        raise NotImplementedError

    def read(self, call: Call) -> Found | None:
        """Return what the service has of the resource, None if it is certain that it has none."""
        return Found(outputs=call.outputs)

    def delete(self, call: Call) -> None:
        """Delete the resource."""

    def meaning(self, inputs: Values) -> object:
        """Return a value that is the same for inputs which mean the same."""
        checked = self.check(Call(inputs=inputs))
        return checked.inputs, checked.problems

    def imported(self, call: Call) -> Imported | None:
        """Return the inputs of the existing resource `call.id`, by the service alone; None without one.

        `call.inputs` have its place and the marks of the declaration. Raises AdoptionError for a resource of
        another declaration.
        """
        raise NotImplementedError


def carry_out(method: Callable[[Call], R], call: Call) -> R:
    """Return the answer of a provider's method. Raise an expected error as one line, and mask secrets.

    Commands in an error fit the user's shell. The chain of causes is dropped; neither printed lines nor
    errors show a secret. The paths of secrets are left out of the values that the method gets.
    """
    values = [call.inputs, call.old_inputs, call.outputs]
    inputs, old_inputs, outputs = ({k: v for k, v in each.items() if k != KEY} for each in values)
    with SECRETS.of_call(values):
        try:
            return method(dataclasses.replace(call, inputs=inputs, old_inputs=old_inputs, outputs=outputs))
        except (*_EXPECTED, Failure) as error:
            text = runnable(SECRETS.masked(str(error)), stack=call.stack)
            raise Failure(visible_lines(text)) from None


def refusals(problems: Sequence[Problem], call: Call, *, spelt: Callable[[str], str] = str) -> list[str]:
    """Return the errors among the findings of a check, as lines for the user, without secrets.

    Each line begins with its path, which has no secret, as `spelt` writes it.
    """
    with SECRETS.of_call([call.inputs, call.old_inputs]):
        masked = (
            dataclasses.replace(one, path=spelt(one.path), message=SECRETS.masked(one.message))
            for one in problems
            if one.level == "error"
        )
        return [visible_lines(runnable(str(one), stack=call.stack)) for one in masked]


def is_unknown(value: object) -> bool:
    """Return whether the value, or anything inside it, is not known yet."""
    if value is UNKNOWN:
        return True
    if isinstance(value, Mapping):
        return any(is_unknown(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(is_unknown(item) for item in value)
    return False


def warnings(resource: str, problems: Sequence[Problem]) -> list[str]:
    """Return the warnings among the problems, as lines for the user."""
    return [
        f"warning: {resource}: {problem.path}: {problem.message}"
        for problem in problems
        if problem.level == "warning"
    ]


def complete(spec: object, *, unknown: Collection[str] = ()) -> dict[str, Any]:
    """Return the spec's plain values as the state keeps them, with its defaults made explicit.

    A default that changes in a later version then shows as a change, instead of silently changing the
    resource.
    """
    plain = encode(spec, unknown=unknown)
    defaults = {
        item.name: getattr(spec, item.name)
        for item in dataclasses.fields(spec)  # type: ignore[arg-type]
        if item.name not in plain and isinstance(getattr(spec, item.name), (str, int))
    }
    return {**plain, **defaults}
