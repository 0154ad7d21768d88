"""The stack's key: a random id in the state, recorded before anything else is created; and its provider.

Every resource carries a key that is made of it. So the next deployment finds what a killed one created, and
never takes what another stack created, not even one whose names are the same.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping

from pulumi_vertex_training import configuration_keys
from pulumi_vertex_training.core.call import Call, Checked, Created, Difference
from pulumi_vertex_training.core.interrupted import creation_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure, Provider
from pulumi_vertex_training.core.settings import Form
from pulumi_vertex_training.core.state import running_stack
from pulumi_vertex_training.core.state.running_stack import StateUnavailableError

_ID_LENGTH = 16


def new(of: str = "") -> str:
    """Return a key of a stack, with which nothing that exists can have been created.

    It is random, or follows from a text that nothing before had: several calls about one stack then have one.
    """
    text = hashlib.sha256(of.encode()).hexdigest() if of else uuid.uuid4().hex
    return text[:_ID_LENGTH]


_MOVES: Mapping[Form, str] = {
    "package": "vertex-training migrate-state --to package",
    "dynamic": "vertex-training migrate-state --to dynamic",
}


class OtherFormError(Failure):
    """The stack has resources of another form than the program, which would create them all again."""

    def __init__(self, wanted: Form) -> None:
        present: Form = "package" if wanted == "dynamic" else "dynamic"
        super().__init__(
            f"the resources of this stack have the form {present}, and this program has the form {wanted}: "
            "it would create all of them again, and delete the present ones. To move the stack, which keeps "
            f"its jobs, run `{_MOVES[wanted]}`. For a program in Python that "
            f"leaves the stack as it is, run `pulumi config set {configuration_keys.FORM.name} {present}`."
        )


class StackKeyProvider(Provider):
    """The provider of `StackKey`. It has no inputs; its output is `key`. Nothing is created in a cloud."""

    def check(self, call: Call) -> Checked:
        """Refuse the first deployment of dynamic resources to a stack that has resources of the package."""
        if call.urn and not call.context.recorded:
            _require_dynamic(call.urn)
        return Checked(inputs=call.inputs)

    def diff(self, _call: Call) -> Difference:
        return Difference(changes=False)

    def create(self, _call: Call) -> Created:
        key = new()
        OPERATION.note_made(key)
        return Created(id=key, outputs={"key": key})

    def delete(self, call: Call) -> None:
        """Delete what interrupted deployments created and no state has: nothing else finds it any more."""
        creation_notes.remove_of_stack(call.id)


def _require_dynamic(urn: str) -> None:
    """Raise OtherFormError if the state of the stack can be read and has resources of the package."""
    try:
        found = running_stack.forms(urn)
    except StateUnavailableError:
        return
    if "package" in found:
        raise OtherFormError("dynamic")
