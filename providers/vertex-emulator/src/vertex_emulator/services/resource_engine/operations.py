"""The long-running operations of Vertex AI methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from google.rpc import code_pb2  # type: ignore[import-untyped]

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.operations import Operations
from vertex_emulator.services.resource_engine.names import new_id

NUMBERS: Mapping[str, int] = dict(code_pb2.Code.items())
"""The number of each canonical code (google.rpc.Code)."""


V1 = "google.cloud.aiplatform.v1"
CANCELLED = 1
"""google.rpc.Code of a cancelled operation."""


class ResourceOperations:
    """The operations of resources: done at once, or finished later."""

    def __init__(self, stored: Operations, clock: Clock) -> None:
        self.stored = stored
        self._clock = clock

    def done(self, parent: str, response: DynamicMessage, metadata: DynamicMessage) -> DynamicMessage:
        """Record and return an operation that is done, below `parent`: a resource or a location.

        The `generic_metadata` of `metadata` is filled in. Creating or reading a resource has its operation
        below the resource, projects/P/locations/L/datasets/ID/operations/N (Vertex AI documentation,
        "Long-running operations"). A deletion has it below the location.
        """
        operation = self._new(parent, metadata)
        _succeed(operation, response)
        self.stored.add(operation)
        return operation

    def begin(
        self, parent: str, metadata: DynamicMessage, *, cancel: Callable[[str], None] | None = None
    ) -> DynamicMessage:
        """Record and return a running operation below `parent`: a resource or a location.

        `cancel` is called with the operation's name if it is cancelled.
        """
        operation = self._new(parent, metadata)
        self.stored.add(operation)
        if cancel is not None:
            self.stored.on_cancel(operation.name, lambda: cancel(operation.name))
        return operation

    def finish(self, name: str, response: DynamicMessage) -> None:
        """Record that an operation has succeeded."""

        def end(operation: DynamicMessage) -> None:
            self._touch(operation)
            _succeed(operation, response)

        self.stored.change(name, end)

    def fail(self, name: str, code: int, message: str) -> None:
        """Record that an operation has failed; `code` is a google.rpc.Code."""

        def end(operation: DynamicMessage) -> None:
            self._touch(operation)
            operation.done = True
            operation.error.code = code
            operation.error.message = message

        self.stored.change(name, end)

    def _new(self, parent: str, metadata: DynamicMessage) -> DynamicMessage:
        operation = descriptors.message("google.longrunning.Operation")
        operation.name = f"{parent}/operations/{new_id()}"
        now = times.now(self._clock)
        for moment in (metadata.generic_metadata.create_time, metadata.generic_metadata.update_time):
            moment.FromJsonString(now)
        operation.metadata.Pack(metadata)
        return operation

    def _touch(self, operation: DynamicMessage) -> None:
        kind = operation.metadata.type_url.rpartition("/")[2]
        metadata = descriptors.message(kind)
        operation.metadata.Unpack(metadata)
        metadata.generic_metadata.update_time.FromJsonString(times.now(self._clock))
        operation.metadata.Pack(metadata)


def _succeed(operation: DynamicMessage, response: DynamicMessage) -> None:
    operation.done = True
    operation.response.Pack(response)
