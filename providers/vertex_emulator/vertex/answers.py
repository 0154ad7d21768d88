"""The operations that methods of Vertex AI return, with their error codes and messages."""

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
"""google.rpc.Code of an operation that was cancelled."""


class Answers:
    """Makes operations: done at once, or begun and finished later."""

    def __init__(self, operations: Operations, clock: Clock) -> None:
        self.operations = operations
        self._clock = clock

    def done(self, parent: str, response: Any, metadata: Any) -> Message:
        """An operation below a resource or a place, `parent`, that is done. `metadata` has
        `generic_metadata`, which is filled in.

        What makes or reads a resource has its operation below it: projects/P/locations/L/datasets/ID/
        operations/N (Vertex AI documentation, "Long-running operations"); a deletion's is below the place.
        """
        operation = self._new(parent, metadata)
        _succeed(operation, response)
        self.operations.add(operation)
        answer: Message = operation
        return answer

    def deleted(self, place: Place) -> Message:
        """The operation of a deletion that is done."""
        return self.done(
            str(place),
            descriptors.message("google.protobuf.Empty"),
            descriptors.message(f"{V1}.DeleteOperationMetadata"),
        )

    def begin(self, parent: str, metadata: Any, *, cancel: Callable[[str], None] | None = None) -> Message:
        """An operation that takes its time, below a resource or a place, `parent`. `cancel` gets its name
        when somebody cancels it.
        """
        operation = self._new(parent, metadata)
        self.operations.add(operation)
        if cancel is not None:
            self.operations.on_cancel(operation.name, lambda: cancel(operation.name))
        answer: Message = operation
        return answer

    def finish(self, name: str, response: Any) -> None:
        """An operation that was begun has succeeded."""

        def end(operation: Any) -> None:
            self._touch(operation)
            _succeed(operation, response)

        self.operations.change(name, end)

    def fail(self, name: str, code: int, message: str) -> None:
        """An operation that was begun has failed; `code` is one of google.rpc.Code."""

        def end(operation: Any) -> None:
            self._touch(operation)
            operation.done = True
            operation.error.code = code
            operation.error.message = message

        self.operations.change(name, end)

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
    """The error about a resource that is not there."""
    return RpcError("NOT_FOUND", f"The {collection.noun} does not exist: {name}.")


def already_exists(collection: Collection, name: str) -> RpcError:
    """The error about an id that is taken."""
    return RpcError("ALREADY_EXISTS", f"The {collection.noun} {name} already exists.")


def cannot_cancel(collection: Collection, name: str, state: str) -> RpcError:
    """The error about cancelling what has ended, in the service's words."""
    return RpcError(
        "FAILED_PRECONDITION", f'The {collection.noun} "{name}" is in state {state} and cannot be canceled.'
    )


def cannot_delete(collection: Collection, name: str, state: str) -> RpcError:
    """The error about deleting what has not ended."""
    return RpcError(
        "FAILED_PRECONDITION",
        f'The {collection.noun} "{name}" is in state {state} and cannot be deleted. Cancel it and wait until '
        "it has ended.",
    )
