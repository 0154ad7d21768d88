"""The server of `pulumirpc.ResourceProvider`: the engine's requests, and the answers in its form.

It uses the generated messages alone: `pulumi.provider` has another `google.rpc.Status` than Google's clients.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import grpc
from google.protobuf import any_pb2, empty_pb2, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc
from pulumi.runtime.proto import provider_pb2 as messages

from pulumi_vertex_training import urns
from pulumi_vertex_training.configuration_keys import PROMOTED
from pulumi_vertex_training.core import engine
from pulumi_vertex_training.core.call import Call, Difference, PropertyChange
from pulumi_vertex_training.core.engine import CANCELLED
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.property_changes import text_of
from pulumi_vertex_training.core.provider import Failure, carry_out
from pulumi_vertex_training.package import host as host_module
from pulumi_vertex_training.package import launcher
from pulumi_vertex_training.package.host import EngineHost
from pulumi_vertex_training.package.wire import properties
from pulumi_vertex_training.package.wire.messages import in_package, schema_text
from pulumi_vertex_training.printed_commands import runnable
from pulumi_vertex_training.timeouts import ORDINARY, timeouts_of
from vertex_training import __version__

if TYPE_CHECKING:
    from pulumi_vertex_training.package.adapter import InitError, Request

Q = TypeVar("Q")
A = TypeVar("A")
Context: TypeAlias = grpc.ServicerContext
Method = Callable[[Any, Q, Context], A]
ResourceRequest: TypeAlias = (
    "messages.CheckRequest | messages.DiffRequest | messages.CreateRequest"
    " | messages.UpdateRequest | messages.ReadRequest | messages.DeleteRequest"
)


def _call(method: Method[Q, A]) -> Method[Q, A]:
    """Answer a request on the row of its resource, and errors as the engine reads them."""

    @functools.wraps(method)
    def call(self: Server, request: Q, context: Context) -> A:
        host_module.ROW.set(getattr(request, "urn", ""))
        try:
            return method(self, request, context)
        except Failure as error:
            context.abort(grpc.StatusCode.UNKNOWN, in_package(str(error)))
        except Exception as error:
            from pulumi_vertex_training.package.adapter import InitError  # imported only if needed

            if isinstance(error, InitError):
                context.set_trailing_metadata((("grpc-status-details-bin", _details(error)),))
                context.abort(grpc.StatusCode.UNKNOWN, in_package(str(error)))
            self.host.trace(traceback.format_exc())
            words = f"{type(error).__name__}: {error}; please report this"
            context.abort(grpc.StatusCode.INTERNAL, words)
        raise AssertionError("abort raises")

    return call


def _details(error: InitError) -> bytes:
    from google.rpc import status_pb2  # type: ignore[import-untyped]  # imported only if needed

    detail = any_pb2.Any()
    detail.Pack(
        messages.ErrorResourceInitFailed(
            id=error.id,
            properties=_struct(error.outputs),
            reasons=[in_package(str(error))],
            inputs=_struct(error.inputs),
        )
    )
    code = grpc.StatusCode.UNKNOWN.value[0]
    status = status_pb2.Status(code=code, message=in_package(str(error)), details=[detail])
    return bytes(status.SerializeToString())


class Server(provider_pb2_grpc.ResourceProviderServicer):
    """The provider of one provider resource: the engine starts a process for each."""

    def __init__(self, host: EngineHost, *, launcher: str = "") -> None:
        """Serve an engine. `launcher` is the version of the program that started this, "" if not known."""
        self.host = host
        self._launcher = launcher
        self._stack: str | None = None
        self._stack_key = ""
        self._is_new_key = False
        self._promotion: str | None = None
        self._reference = ""

    def Handshake(self, _request: object, _context: Context) -> messages.ProviderHandshakeResponse:
        return messages.ProviderHandshakeResponse(accept_secrets=True)

    def Attach(self, request: plugin_pb2.PluginAttach, _context: Context) -> empty_pb2.Empty:
        self.serve(request.address)
        return empty_pb2.Empty()

    def serve(self, address: str | None) -> None:
        """Take the engine at this address as the one to serve."""
        self.host = EngineHost(address)
        engine.leave_with(address, ORDINARY)
        sys.stdout = host_module.RowWriter(self.host)

    def GetPluginInfo(self, _request: object, _context: Context) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=__version__)

    def GetSchema(self, _request: object, _context: Context) -> messages.GetSchemaResponse:
        return messages.GetSchemaResponse(schema=schema_text())

    @_call
    def CheckConfig(self, request: messages.CheckRequest, _context: Context) -> messages.CheckResponse:
        from pulumi_vertex_training.package import configuration, stack_key  # imported only if needed

        olds, news = properties.read(request.olds), properties.read(request.news)
        self._stack = urns.parse(request.urn).stack or None
        if wrong := launcher.other_version(self._launcher, __version__):
            return messages.CheckResponse(inputs=request.news, failures=[messages.CheckFailure(reason=wrong)])
        timeouts = timeouts_of(os.environ)
        try:
            key, self._is_new_key = stack_key.chosen(request.urn, olds.values, timeouts)
        except Failure as error:
            return messages.CheckResponse(inputs=request.news, failures=self._failures([str(error)]))
        if found := list(configuration.problems(news.values)):
            return messages.CheckResponse(inputs=request.news, failures=self._failures(found))
        for warning in configuration.warnings(news.values, news.secrets, self._stack or ""):
            self.host.report("", runnable(f"warning: {warning}", stack=self._stack), passing=False)
        inputs = {**news.values, stack_key.INPUT: key}
        return messages.CheckResponse(inputs=properties.write(inputs, news.secrets))

    def DiffConfig(self, request: messages.DiffRequest, _context: Context) -> messages.DiffResponse:
        """Report a change, which replaces nothing: each resource records where it is."""
        changed = request.old_inputs != request.news
        kinds = messages.DiffResponse
        return kinds(changes=kinds.DIFF_SOME if changed else kinds.DIFF_NONE)

    @_call
    def Configure(self, request: messages.ConfigureRequest, _context: Context) -> messages.ConfigureResponse:
        from pulumi_vertex_training.package import configuration  # imported only if needed

        given = properties.read(request.args).values
        self._stack = urns.parse(request.urn).stack or None
        self._stack_key = str(given.get("stackKey") or "")
        self._promotion = configuration.getter(given)(PROMOTED.name)
        self._reference = f"{request.urn}::{request.id}" if request.urn else ""
        OPERATION.begin()
        if self._is_new_key:
            OPERATION.note_made(self._stack_key)
        carry_out(
            lambda _: OPERATION.configure(configuration.getter(given), self.host), Call(urn=request.urn)
        )
        return messages.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    @_call
    def Check(self, request: messages.CheckRequest, _context: Context) -> messages.CheckResponse:
        from pulumi_vertex_training.package import adapter

        inputs, reasons = adapter.check(
            self._request(
                request, inputs=request.news, old_inputs=request.olds, seed=bytes(request.randomSeed)
            )
        )
        return messages.CheckResponse(inputs=_struct(inputs), failures=self._failures(reasons))

    @_call
    def Diff(self, request: messages.DiffRequest, _context: Context) -> messages.DiffResponse:
        from pulumi_vertex_training.package import adapter

        found = adapter.diff(
            self._request(request, outputs=request.olds, old_inputs=request.old_inputs, inputs=request.news)
        )
        return _diff_response(found)

    @_call
    def Create(self, request: messages.CreateRequest, _context: Context) -> messages.CreateResponse:
        from pulumi_vertex_training.package import adapter

        call = self._request(request, inputs=request.properties, timeout=request.timeout)
        if request.preview:
            return messages.CreateResponse(properties=_struct(adapter.created_in_preview(call)))
        id_, outputs = adapter.create(call)
        return messages.CreateResponse(id=id_, properties=_struct(outputs))

    @_call
    def Update(self, request: messages.UpdateRequest, _context: Context) -> messages.UpdateResponse:
        from pulumi_vertex_training.package import adapter

        call = self._request(
            request,
            inputs=request.news,
            old_inputs=request.old_inputs,
            outputs=request.olds,
            timeout=request.timeout,
        )
        outputs = adapter.updated_in_preview(call) if request.preview else adapter.update(call)
        return messages.UpdateResponse(properties=_struct(outputs))

    @_call
    def Read(self, request: messages.ReadRequest, _context: Context) -> messages.ReadResponse:
        from pulumi_vertex_training.package import adapter

        call = self._request(request, outputs=request.properties, old_inputs=request.inputs)
        id_, outputs, inputs = adapter.read(call)
        return messages.ReadResponse(id=id_, properties=_struct(outputs), inputs=_struct(inputs))

    @_call
    def Delete(self, request: messages.DeleteRequest, _context: Context) -> empty_pb2.Empty:
        from pulumi_vertex_training.package import adapter

        adapter.delete(self._request(request, outputs=request.properties, timeout=request.timeout))
        return empty_pb2.Empty()

    @_call
    def Invoke(self, request: messages.InvokeRequest, _context: Context) -> messages.InvokeResponse:
        from pulumi_vertex_training.core.identity.resource_key import STACK_KEY_FUNCTION, STACK_KEY_RESULT
        from pulumi_vertex_training.package import functions

        if request.tok == STACK_KEY_FUNCTION:
            found: dict[str, Any] = {"return": properties.write({STACK_KEY_RESULT: self._stack_key})}
            return messages.InvokeResponse(**found)
        try:
            lookup = functions.lookup_of(request.tok)
        except KeyError:
            raise Failure(f"{request.tok} is no function of this package (version {__version__})") from None
        result, reasons = functions.invoke(lookup, properties.read(request.args))
        return messages.InvokeResponse(failures=self._failures(reasons), **{"return": _struct(result)})

    @_call
    def Construct(self, request: messages.ConstructRequest, _context: Context) -> messages.ConstructResponse:
        from pulumi_vertex_training.package import components

        return components.construct(request, self.host, self._reference)

    def Cancel(self, _request: object, _context: Context) -> empty_pb2.Empty:
        CANCELLED.set()
        return empty_pb2.Empty()

    def _failures(self, reasons: Sequence[str]) -> list[messages.CheckFailure]:
        """Return refusals, whose commands name the stack."""
        named = (runnable(reason, stack=self._stack) for reason in reasons)
        return [messages.CheckFailure(reason=in_package(reason)) for reason in named]

    def _request(
        self,
        request: ResourceRequest,
        *,
        seed: bytes = b"",
        timeout: float | None = None,
        **structs: struct_pb2.Struct,
    ) -> Request:
        from pulumi_vertex_training.package import adapter, kinds

        token = urns.parse(request.urn).type
        try:
            kind = kinds.kind_of(token)
        except KeyError:
            raise Failure(f"{token} is no resource of this package (version {__version__})") from None
        return adapter.Request(
            kind=kind,
            urn=request.urn,
            stack_key=self._stack_key,
            promotion=self._promotion,
            id=getattr(request, "id", ""),
            seed=seed,
            timeout=timeout,
            **{name: properties.read(struct) for name, struct in structs.items()},
        )


def _struct(props: properties.Properties) -> struct_pb2.Struct:
    return properties.write(props.values, props.secrets)


def _diff_response(found: Difference) -> messages.DiffResponse:
    kinds = messages.DiffResponse
    # With an empty map the engine would print all inputs.
    return kinds(
        changes=kinds.DIFF_SOME if found.changes else kinds.DIFF_NONE,
        replaces=found.replaces,
        deleteBeforeReplace=found.delete_before_replace,
        detailedDiff={text_of(each.path): _property_diff(each) for each in found.properties},
        hasDetailedDiff=bool(found.properties),
    )


def _property_diff(change: PropertyChange) -> messages.PropertyDiff:
    """Return a change of a declared input beside the output in the state."""
    name = f"{change.kind.upper()}{'_REPLACE' if change.replaces else ''}"
    return messages.PropertyDiff(kind=messages.PropertyDiff.Kind.Value(name), inputDiff=False)
