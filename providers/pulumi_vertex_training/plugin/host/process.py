"""The provider process and its engine: which process this is, whether the engine runs, what is printed."""

from __future__ import annotations

import os
import socket
import sys
import threading

from pulumi_vertex_training.plugin.host import cancellation, host_threads
from pulumi_vertex_training.plugin.secret_masking import SECRETS
from pulumi_vertex_training.printed_commands import runnable
from pulumi_vertex_training.timeouts import Timeouts
from vertex_training.findings.words import visible_lines

_ENGINE_CHECK_SECONDS = 2.0
_ENGINE_CHECK_FAILURES = 3

_watching = threading.Lock()


class EngineGoneError(RuntimeError):
    """The deployment that made this call was killed; nothing more is submitted for it."""


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


def engine_is_alive(address: str | None, timeouts: Timeouts) -> bool:
    """Return whether the engine still accepts connections; True without an engine."""
    if address is None:
        return True
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=timeouts.engine):
            return True
    except OSError:
        return False


def require_engine(timeouts: Timeouts) -> None:
    """Raise EngineGoneError if the engine is gone: it was killed, and this process was not."""
    if not engine_is_alive(engine_address(), timeouts):
        raise EngineGoneError("the deployment was killed before the job was submitted; nothing was submitted")


def say(message: str) -> None:
    """Print a line below the stack's diagnostics, without secrets; in previews too.

    The engine passes the process's output on.
    """
    sys.stdout.write(visible_lines(runnable(SECRETS.masked(message))) + "\n")
    sys.stdout.flush()


def say_on(urn: str, message: str, timeouts: Timeouts, *, passing: bool = False) -> None:
    """Print a line on the row of the resource `urn`, without secrets; like `say` if there is no such row.

    A line that is `passing` shows progress: it is not repeated at the end.
    """
    address = engine_address() if urn and is_plugin_process() else None
    if address is None:
        say(message)
        return
    import grpc
    from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

    text = visible_lines(runnable(SECRETS.masked(message)))
    request = engine_pb2.LogRequest(severity=engine_pb2.INFO, message=text, urn=urn, ephemeral=passing)
    try:
        with grpc.insecure_channel(address) as channel:
            engine_pb2_grpc.EngineStub(channel).Log(request, timeout=timeouts.engine_log)
    except grpc.RpcError:
        say(message)


def leave_with_engine(timeouts: Timeouts) -> None:
    """End the provider process soon after its engine: after a SIGKILL of `pulumi` nothing else would.

    Only the first call has an effect, and only in a process that an engine started.
    """
    if engine_address() is not None and _watching.acquire(blocking=False):
        threading.Thread(target=_leave_with_engine, args=[timeouts], name="engine-watch", daemon=True).start()


def _leave_with_engine(timeouts: Timeouts) -> None:
    pause, failures = threading.Event(), 0
    while failures < _ENGINE_CHECK_FAILURES:
        pause.wait(_ENGINE_CHECK_SECONDS)
        failures = 0 if engine_is_alive(engine_address(), timeouts) else failures + 1
    os._exit(1)


if is_plugin_process():
    # Only the last line of an error is for the user, not the call stack.
    sys.tracebacklimit = 0
    cancellation.listen()
    host_threads.widen()
