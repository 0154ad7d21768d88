"""The long-running operations of Vertex AI methods, and the errors that all kinds of resources share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import RpcError
from vertex_emulator.rpc.operations import Operations
from vertex_emulator.vertex.names import new_id
from vertex_emulator.vertex.records import Collection

_NAMES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
NUMBERS = {name: number for number, name in enumerate(_NAMES)}


V1 = "google.cloud.aiplatform.v1"
CANCELLED = 1
"""google.rpc.Code of a cancelled operation."""


class ResourceOperations:
    """The operations of resources: done at once, or finished later."""

    def __init__(self, stored: Operations, clock: Clock) -> None:
        self.stored = stored
        self._clock = clock

    def done(self, parent: str, response: Any, metadata: Any) -> Message:
        """Record and return an operation that is done, below `parent`: a resource or a location.

        The `generic_metadata` of `metadata` is filled in. Creating or reading a resource has its operation
        below the resource, projects/P/locations/L/datasets/ID/operations/N (Vertex AI documentation,
        "Long-running operations"). A deletion has it below the location.
        """
        operation = self._new(parent, metadata)
        _succeed(operation, response)
        self.stored.add(operation)
        answer: Message = operation
        return answer

    def deleted(self, place: Place) -> Message:
        """Record and return the operation of a finished deletion."""
        return self.done(
            str(place),
            descriptors.message("google.protobuf.Empty"),
            descriptors.message(f"{V1}.DeleteOperationMetadata"),
        )

    def begin(self, parent: str, metadata: Any, *, cancel: Callable[[str], None] | None = None) -> Message:
        """Record and return a running operation below `parent`: a resource or a location.

        `cancel` is called with the operation's name if it is cancelled.
        """
        operation = self._new(parent, metadata)
        self.stored.add(operation)
        if cancel is not None:
            self.stored.on_cancel(operation.name, lambda: cancel(operation.name))
        answer: Message = operation
        return answer

    def finish(self, name: str, response: Any) -> None:
        """Record that an operation has succeeded."""

        def end(operation: Any) -> None:
            self._touch(operation)
            _succeed(operation, response)

        self.stored.change(name, end)

    def fail(self, name: str, code: int, message: str) -> None:
        """Record that an operation has failed; `code` is a google.rpc.Code."""

        def end(operation: Any) -> None:
            self._touch(operation)
            operation.done = True
            operation.error.code = code
            operation.error.message = message

        self.stored.change(name, end)

    def _new(self, parent: str, metadata: Any) -> Any:
        operation = descriptors.message("google.longrunning.Operation")
        operation.name = f"{parent}/operations/{new_id()}"
        now = times.now(self._clock)
        for moment in (metadata.generic_metadata.create_time, metadata.generic_metadata.update_time):
            moment.FromJsonString(now)
        operation.metadata.Pack(metadata)
        return operation

    def _touch(self, operation: Any) -> None:
        kind = operation.metadata.type_url.rpartition("/")[2]
        metadata = descriptors.message(kind)
        operation.metadata.Unpack(metadata)
        metadata.generic_metadata.update_time.FromJsonString(times.now(self._clock))
        operation.metadata.Pack(metadata)


def _succeed(operation: Any, response: Any) -> None:
    operation.done = True
    operation.response.Pack(response)


def not_found(collection: Collection, name: str) -> RpcError:
    """Return the error for a missing resource."""
    return RpcError("NOT_FOUND", f"The {collection.noun} does not exist: {name}.")


def already_exists(collection: Collection, name: str) -> RpcError:
    """Return the error for an ID that is in use."""
    return RpcError("ALREADY_EXISTS", f"The {collection.noun} {name} already exists.")


def cannot_cancel(collection: Collection, name: str, state: str) -> RpcError:
    """Return the error for cancelling a resource that has ended, in the service's words."""
    return RpcError(
        "FAILED_PRECONDITION", f'The {collection.noun} "{name}" is in state {state} and cannot be canceled.'
    )


def cannot_delete(collection: Collection, name: str, state: str) -> RpcError:
    """Return the error for deleting a live resource."""
    return RpcError(
        "FAILED_PRECONDITION",
        f'The {collection.noun} "{name}" is in state {state} and cannot be deleted. Cancel it and wait until '
        "it has ended.",
    )
