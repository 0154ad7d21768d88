"""The process of a dynamic provider: which process this is, its engine, and its end after the engine's."""

from __future__ import annotations

import sys

from pulumi_vertex_training.core import engine
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.secret_masking import SECRETS
from pulumi_vertex_training.dynamic import cancellation, threads
from pulumi_vertex_training.printed_commands import runnable
from vertex_training.findings.words import visible_lines


def is_plugin_process() -> bool:
    """Return whether this is the engine's provider process, not a Pulumi program, a test or a shell."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name in ("pulumi.dynamic", "pulumi.dynamic.__main__")


def engine_address() -> str | None:
    """Return `host:port` of the engine, or None: the provider's last argument, or a program's `--engine`."""
    if is_plugin_process():
        last = sys.argv[-1]
        return last if ":" in last else None
    arguments = sys.orig_argv
    if "--engine" in arguments[:-1]:
        return arguments[arguments.index("--engine") + 1]
    return None


class DynamicHost:
    """The host of dynamic providers, as the core sees it."""

    @property
    def engine(self) -> str | None:
        return engine_address()

    def report(self, urn: str, message: str, *, passing: bool) -> None:
        """Print a line on the row of the resource `urn`; like `print_line` if there is no such row."""
        address = engine_address() if urn and is_plugin_process() else None
        if address is None:
            engine.print_line(message)
            return
        import grpc
        from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

        text = visible_lines(runnable(SECRETS.masked(message)))
        request = engine_pb2.LogRequest(severity=engine_pb2.INFO, message=text, urn=urn, ephemeral=passing)
        timeouts = OPERATION.settings.timeouts
        try:
            with grpc.insecure_channel(address) as channel:
                engine_pb2_grpc.EngineStub(channel).Log(request, timeout=timeouts.engine_log)
        except grpc.RpcError:
            engine.print_line(message)


def expect_wait() -> None:
    """Let calls beside one that may wait have threads of their own.

    A check or a diff does without: the engine makes one at a time, and each new thread costs time.
    """
    if is_plugin_process():
        threads.widen()


if is_plugin_process():
    from pulumi_vertex_training.dynamic import detailed_diff  # a program needs no provider

    # Only the last line of an error is for the user, not the call stack.
    sys.tracebacklimit = 0
    cancellation.listen()
    detailed_diff.take_over()
