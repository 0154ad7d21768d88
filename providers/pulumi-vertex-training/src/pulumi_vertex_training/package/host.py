"""The process of the plugin: the engine that it serves, whose log shows what the core prints."""

from __future__ import annotations

import contextvars
import io
import sys

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

from pulumi_vertex_training import urns
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.secret_masking import SECRETS
from pulumi_vertex_training.package.wire.messages import in_package
from pulumi_vertex_training.printed_commands import runnable
from vertex_training.findings.words import visible_lines

ROW: contextvars.ContextVar[str] = contextvars.ContextVar("row", default="")
"""The URN of the resource of the present call."""

_WARNING = "warning: "


class EngineHost:
    """The host of the package, as the core sees it: an engine at `host:port`, None without one."""

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._stub = None if address is None else engine_pb2_grpc.EngineStub(grpc.insecure_channel(address))

    @property
    def engine(self) -> str | None:
        return self._address

    def report(self, urn: str, message: str, *, passing: bool) -> None:
        """Print a line on the row of the resource `urn`, below the diagnostics of the stack without one."""
        text = runnable(SECRETS.masked(message), stack=urns.parse(urn).stack or None)
        self.log(in_package(visible_lines(text)), urn=urn, passing=passing)

    def log(self, text: str, *, urn: str = "", passing: bool = False) -> None:
        """Hand a line to the engine. One that begins with "warning: " is a warning."""
        is_warning = text.startswith(_WARNING)
        message = text.removeprefix(_WARNING)
        if urn:  # the row has the name already
            message = message.removeprefix(f"{urns.parse(urn).name}: ")
        self._send(
            engine_pb2.LogRequest(
                severity=engine_pb2.WARNING if is_warning else engine_pb2.INFO,
                message=message,
                urn=urn,
                ephemeral=passing and not is_warning,
            )
        )

    def trace(self, text: str) -> None:
        """Hand the call stack of an unexpected error to the engine, which shows it with `--debug`."""
        self._send(engine_pb2.LogRequest(severity=engine_pb2.DEBUG, message=SECRETS.masked(text)))

    def _send(self, request: engine_pb2.LogRequest) -> None:
        try:
            if self._stub is not None:
                self._stub.Log(request, timeout=OPERATION.settings.timeouts.engine_log)
                return
        except grpc.RpcError:
            pass
        sys.stderr.write(f"{request.message}\n")


class RowWriter(io.TextIOBase):
    """A standard output whose lines appear on the row of the resource of the present call.

    The engine shows nobody what a plugin prints.
    """

    def __init__(self, host: EngineHost) -> None:
        super().__init__()
        self._host = host

    def write(self, text: str) -> int:
        for line in text.splitlines():
            if line.strip():
                self._host.log(in_package(line), urn=ROW.get())
        return len(text)
