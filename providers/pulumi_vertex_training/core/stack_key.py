"""The provider of `StackKey`: a random id in the state, recorded before anything else is created.

Every resource carries a key that is made of it. So the next deployment finds what a killed one created, and
never takes what another stack created, not even one whose names are the same.
"""

from __future__ import annotations

import uuid

from pulumi_vertex_training.core.call import Call, Created, Difference
from pulumi_vertex_training.core.interrupted import begun_creations
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Provider

_ID_LENGTH = 16


class StackKeyProvider(Provider):
    """The provider of `StackKey`. It has no inputs; its output is `key`. Nothing is created in a cloud."""

    def diff(self, _call: Call) -> Difference:
        return Difference(changes=False)

    def create(self, _call: Call) -> Created:
        key = uuid.uuid4().hex[:_ID_LENGTH]
        OPERATION.note_made(key)
        return Created(id=key, outputs={"key": key})

    def delete(self, call: Call) -> None:
        """Delete what interrupted deployments created and no state has: nothing else finds it any more."""
        begun_creations.remove_of_stack(call.id)
