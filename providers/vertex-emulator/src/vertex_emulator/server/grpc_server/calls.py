"""One gRPC call: its message, its function, and its error in Google's form."""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, cast

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.clock import now
from vertex_emulator.kernel.disk.disk_space import is_out_of_space
from vertex_emulator.kernel.disk.reserve import Reserve
from vertex_emulator.server.grpc_server.admission import Pool, RequestDeadlines
from vertex_emulator.server.grpc_server.connections import Connections
from vertex_emulator.server.http.auth import CALLER, Access, Authenticator
from vertex_emulator.server.http.connection import Faults, Gate, Intervention, no_space
from vertex_emulator.server.http.messages import Headers, HttpError, Response
from vertex_emulator.server.http.request_log import RequestLog
from vertex_emulator.server.permissions.gate import path_of_parameters
from vertex_emulator.server.proxy import allowed_hosts
from vertex_emulator.server.rpc import descriptors, payload
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import HTTP_STATUS, Binding, RpcError, Unary, WithHeaders
from vertex_emulator.server.rpc.refusals import refusal

log = logging.getLogger(__name__)

BETA = f"{descriptors.VERTEX_AI}beta1."
_STABLE = f"{descriptors.VERTEX_AI}."
_WAIT = f"{descriptors.OPERATIONS}.WaitOperation"
_WAIT_STEP = 1.0
"""Seconds between two looks whether the client of WaitOperation is still there."""
_PARAMETERS = "x-goog-request-params"
_DETAILS = "grpc-status-details-bin"
_REMEMBERED = 10_000
_GRPC: Mapping[str, grpc.StatusCode] = {code.name: code for code in grpc.StatusCode}


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The parts of the emulator that every call needs. `data_dir` is named where the disk is full.

    Calls that make space may use the `reserve` then. `host_of` returns the host of Google that a client at an
    address called, or None.
    """

    authenticator: Authenticator
    requests: RequestLog
    faults: Faults | None
    on_request: Callable[[], None]
    is_stopping: Callable[[], bool]
    data_dir: Path
    reserve: Reserve
    gate: Gate | None = None
    host_of: Callable[[str], str | None] = lambda _: None


def _read_mask(message: DynamicMessage) -> None:
    """Convert the paths of `update_mask` to the names of fields; some clients send the names in JSON."""
    if "update_mask" in message.DESCRIPTOR.fields_by_name and message.HasField("update_mask"):
        paths = message.update_mask.paths
        paths[:] = [_CAPITAL.sub(lambda match: f"_{match[0].lower()}", path) for path in paths]


_CAPITAL = re.compile("(?<=[a-z0-9])[A-Z](?=[a-z])")


class BetaOperations:
    """The names of recent operations that began in the beta version, whose clients expect its types."""

    def __init__(self) -> None:
        self._names: OrderedDict[str, None] = OrderedDict()

    def add(self, name: str) -> None:
        self._names[name] = None
        while len(self._names) > _REMEMBERED:
            self._names.popitem(last=False)

    def __contains__(self, name: object) -> bool:
        return name in self._names


@dataclass(frozen=True)
class Started:
    """A call that has arrived: the time, a counter of seconds, its metadata, and what its token allows."""

    time: str
    began: float
    headers: Headers
    access: Access = Access.NONE


@dataclass(frozen=True, kw_only=True)
class Method:
    """The facts that all kinds of calls share for one method.

    `name` is the full name in the stable version.
    """

    name: str
    request: type[DynamicMessage]
    surroundings: Surroundings

    @property
    def short_name(self) -> str:
        return ".".join(self.name.split(".")[-2:])

    def start(self, metadata: Iterable[tuple[str, str | bytes]]) -> Started | Refusal:
        """Return a call that has arrived, or its refusal if it has no token of this emulator."""
        headers = Headers([(key, value) for key, value in metadata if isinstance(value, str)])
        started = Started(now(), machine_clock.monotonic(), headers)
        try:
            access = self.surroundings.authenticator.check_token("/", headers)
        except HttpError as error:
            return Refusal(method=self, started=started, error=self.error_of(error))
        return replace(started, access=access)

    def admit(self, started: Started) -> Intervention | None:
        """Return the fault that is due. Raises `HttpError` for a call that must not be carried out."""
        around = self.surroundings
        CALLER.set(started.access)
        if around.is_stopping():
            raise HttpError(503, "", "The emulator is stopping. Repeat the call in a moment.")
        around.on_request()
        if around.gate is not None:
            around.gate.check(self.short_name, path_of_parameters(started.headers.get(_PARAMETERS, "")))
        return None if around.faults is None else around.faults.due(self.short_name)

    def parsed(self, data: bytes) -> DynamicMessage:
        """Return the message of a request. Raises `RpcError`, also for fields that are not known."""
        try:
            message = self.request.FromString(data)
        except DecodeError as error:
            name = self.request.DESCRIPTOR.full_name
            raise RpcError("INVALID_ARGUMENT", f"The request is not a {name}.") from error
        _read_mask(message)
        if unknown := payload.first(("", text) for text in unknown_fields(message)):
            raise RpcError("INVALID_ARGUMENT", "\n".join(text for _, text in unknown))
        return message

    def record(
        self, started: Started, *, error: RpcError | None, received: int, sent: int, fault: int | None
    ) -> None:
        """Write the call into the log of requests."""
        self.surroundings.requests.add(
            time=started.time,
            method="POST",
            target=f"/{self.name.rpartition('.')[0]}/{self.name.rpartition('.')[2]}",
            status=200 if error is None else HTTP_STATUS[error.code],
            milliseconds=(machine_clock.monotonic() - started.began) * 1000,
            received=received,
            sent=sent,
            client=started.headers.get("user-agent", "")[:200],
            call=self.short_name,
            fault=fault,
        )

    def error_of(self, error: Exception) -> RpcError:
        """Return the error of a call that an exception has ended."""
        if isinstance(error, RpcError):
            return error
        if isinstance(error, HttpError):
            return RpcError(error.reason if error.reason in _GRPC else "UNKNOWN", error.message)
        if isinstance(error, ConnectionError):
            return RpcError("UNAVAILABLE", "The connection was closed without an answer.")
        if is_out_of_space(error):
            log.error("No space left: %s: %s", self.name, error)
            return self.error_of(no_space(self.surroundings.data_dir))
        log.error("%s failed", self.name, exc_info=error)
        return RpcError(
            "INTERNAL",
            f"Internal error of the emulator: {type(error).__name__}. For details, see emulator.log in the "
            "data folder.",
        )


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """The error of a call that is refused by its metadata."""

    method: Method
    started: Started
    error: RpcError

    def __call__(self, _: object, context: grpc.ServicerContext) -> NoReturn:
        """End the call with the error, and record it."""
        self.method.record(self.started, error=self.error, received=0, sent=0, fault=None)
        abort(context, self.error)


@dataclass(frozen=True, kw_only=True)
class Call:
    """The handler of a method with one request and one answer.

    `is_beta` is true if the client called the beta version. gRPC runs the call in `experimental_thread_pool`.
    """

    method: Method
    started: Started
    binding: Binding
    is_beta: bool
    beta_operations: BetaOperations
    deadlines: RequestDeadlines
    connections: Connections
    experimental_thread_pool: Pool

    def __call__(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """Answer the serialized request."""
        method, started = self.method, self.started
        self.connections.shown(context.peer(), started.access)
        error: RpcError | None = None
        fault: int | None = None
        data = answer = b""
        try:
            data = self.deadlines.first(requests, context)
            intervention = method.admit(started)
            if intervention is None:
                answer = self._answer(data, started.headers, context)
            else:
                fault = intervention.number
                response = intervention.carry_out(
                    lambda: Response(200, self._answer(data, started.headers, context))
                )
                answer = response.body if isinstance(response.body, bytes) else b""
        except Exception as found:
            error = method.error_of(found)
        method.record(started, error=error, received=len(data), sent=len(answer), fault=fault)
        if error is not None:
            abort(context, error)
        return answer

    def _answer(self, data: bytes, headers: Headers, context: grpc.ServicerContext) -> bytes:
        message = self.method.parsed(data)
        if not self._makes_room:
            return self._called(message, headers, context)
        reserve = self.method.surroundings.reserve
        with reserve.spend():
            reserve.make_room()
            return self._called(message, headers, context)

    def _called(self, message: DynamicMessage, headers: Headers, context: grpc.ServicerContext) -> bytes:
        if isinstance(self.binding, WithHeaders):
            answer = self.binding.call(message, headers)
        elif self.method.name == _WAIT:
            answer = _waited(self.binding, message, context)
        else:
            answer = self.binding(message)
        return self._of_version(answer).SerializeToString()

    @property
    def _makes_room(self) -> bool:
        return self.method.name.rpartition(".")[2].startswith(("Delete", "BatchDelete", "Cancel"))

    def _of_version(self, answer: DynamicMessage) -> Message:
        """Name the types in an operation as the version does in which the operation began."""
        found: Message = answer
        if found.DESCRIPTOR.full_name != "google.longrunning.Operation":
            return found
        if self.is_beta:
            self.beta_operations.add(answer.name)
        elif answer.name not in self.beta_operations:
            return found
        for packed in (answer.metadata, answer.response):
            packed.type_url = packed.type_url.replace(f"/{_STABLE}", f"/{BETA}")
        return found


def unimplemented(name: str, host_of: Callable[[str], str | None]) -> Callable[..., NoReturn]:
    """Return a handler of any kind of call that names the method and its host, and answers UNIMPLEMENTED."""

    def refuse(_: object, context: grpc.ServicerContext) -> NoReturn:
        host = host_of(context.peer())
        if host is not None and (lacks := allowed_hosts.refusal(host)) is not None:
            abort(context, RpcError("UNIMPLEMENTED", f"{refusal(name)} {lacks}"))
        abort(context, RpcError("UNIMPLEMENTED", refusal(name, host=host)))

    return refuse


def unknown_fields(message: Message, path: str = "") -> Iterator[str]:
    """Yield a sentence for each field that is not in the emulator's definitions, such as one of the beta."""
    where = f" at '{path}'" if path else ""
    for unknown in cast("Iterable[Any]", UnknownFieldSet(message)):
        yield f"The emulator does not know field {unknown.field_number} of {message.DESCRIPTOR.name}{where}."
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        below = f"{path}.{field.name}" if path else field.name
        if field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type is not None:
                for key in value:
                    yield from unknown_fields(value[key], f"{below}[{key}]")
        elif field.is_repeated:
            for index, item in enumerate(value):
                yield from unknown_fields(item, f"{below}[{index}]")
        else:
            yield from unknown_fields(value, below)


def _waited(binding: Unary, request: DynamicMessage, context: grpc.ServicerContext) -> DynamicMessage:
    """Wait for an operation until the request's timeout, and no longer than the client does."""
    wanted = request.timeout.ToNanoseconds() / 1e9 if request.HasField("timeout") else None
    until = None if wanted is None else machine_clock.monotonic() + wanted
    while True:
        left = _WAIT_STEP if until is None else min(_WAIT_STEP, max(until - machine_clock.monotonic(), 0))
        request.timeout.FromNanoseconds(int(left * 1e9))
        answer = binding(request)
        if (
            answer.done
            or not context.is_active()
            or (until is not None and machine_clock.monotonic() >= until)
        ):
            return answer


def abort(context: grpc.ServicerContext, error: RpcError) -> NoReturn:
    """End a call with an error in Google's form."""
    code = _GRPC[error.code]
    details = []
    if error.violations:
        bad = error_details_pb2.BadRequest(
            field_violations=[
                error_details_pb2.BadRequest.FieldViolation(field=each.field, description=each.description)
                for each in error.violations
            ]
        )
        packed = any_pb2.Any()
        packed.Pack(bad)
        details.append(packed)
    status = status_pb2.Status(code=code.value[0], message=error.message, details=details)
    context.set_trailing_metadata(((_DETAILS, status.SerializeToString()),))
    context.abort(code, error.message)
    raise AssertionError("abort raises")
