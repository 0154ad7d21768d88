"""What the provider process knows of itself: its configuration, its engine, and what it has done so far.

Dynamic providers are pickled into the state by reference and have no state of their own. One process serves
one engine operation of one stack (a preview, an update), so what an operation has to remember lives here, in
one object behind a lock.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from pulumi_vertex_training.plugin import settings as settings_module
from pulumi_vertex_training.plugin.secret_masking import SECRETS
from pulumi_vertex_training.plugin.settings import Settings

_ENGINE_CHECK_SECONDS = 2.0
_ENGINE_CHECK_FAILURES = 3

T = TypeVar("T")


class EngineGoneError(RuntimeError):
    """The deployment that asked for this call was killed; nothing more is submitted on its behalf."""


class Plugin:
    """The memory of one provider process. Safe for the four threads that serve it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._watching = False
        self.begin()

    def begin(self) -> None:
        """Forget the operation before. A process that serves a single operation needs no call."""
        self._settings: Settings | None = None
        self._checked: set[str] = set()
        self._issued: set[str] = set()
        self._released: set[str] = set()
        self._made: set[str] = set()
        self._told: set[str] = set()
        self._remembered: dict[str, Any] = {}
        self._kept: dict[str, Any] = {}

    def configure(self, get: Callable[[str], str | None]) -> None:
        """Take the stack's configuration; called by the engine before a provider's first call."""
        with self._lock:
            self._settings = settings_module.read(get)
            if not self._watching and engine_address() is not None:
                self._watching = True
                threading.Thread(target=_leave_with_engine, name="engine-watch", daemon=True).start()

    @property
    def settings(self) -> Settings:
        return self._settings or Settings()

    def say_once(self, message: str) -> None:
        """As `say`, but once for each message: a resource that is replaced is checked twice."""
        with self._lock:
            if message in self._told:
                return
            self._told.add(message)
        say(message)

    def note_checked(self, declaration: str) -> None:
        with self._lock:
            self._checked.add(declaration)

    def was_checked(self, declaration: str) -> bool:
        """False during a refresh: it calls diff without check, and must not plan a new run."""
        with self._lock:
            return declaration in self._checked

    def note_issued(self, key: str) -> None:
        with self._lock:
            self._issued.add(key)

    def issued(self, key: str) -> bool:
        """Whether this process made the run key, so that nothing can have been submitted under it before."""
        with self._lock:
            return key in self._issued

    def note_released(self, name: str) -> None:
        with self._lock:
            self._released.add(name)

    def released(self) -> frozenset[str]:
        """Names of jobs that this process has compared or deleted: a create replaces them, never adopts."""
        with self._lock:
            return frozenset(self._released)

    def remember(self, what: str, value: Any) -> None:
        """Keep what one call has found out for another call of the same operation."""
        with self._lock:
            self._remembered[what] = value

    def recall(self, what: str) -> Any:
        """What `remember` was given last, or None."""
        with self._lock:
            return self._remembered.get(what)

    def kept(self, what: str, make: Callable[[], T]) -> T:
        """Return the one object of this name that the operation has; the first caller makes it."""
        with self._lock:
            if what not in self._kept:
                self._kept[what] = make()
            kept: T = self._kept[what]
            return kept

    def claim(self, what: str, who: str) -> str:
        """Who has claimed something in this operation, which is the first who did."""
        with self._lock:
            claimed: str = self._remembered.setdefault(f"claim of {what}", who)
            return claimed

    def note_made(self, name: str) -> None:
        with self._lock:
            self._made.add(name)

    def all_made(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._made)

    def made(self, name: str) -> bool:
        """Whether a create of this process wants the object, or the job: a delete that follows leaves it."""
        with self._lock:
            return name in self._made


PLUGIN = Plugin()
CANCELLED = threading.Event()
"""Set when the engine has told this process of Ctrl-C; it waits for what has been begun all the same."""


def is_plugin_process() -> bool:
    """Whether this is the engine's provider process rather than a Pulumi program, a test or a shell."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name in ("pulumi.dynamic", "pulumi.dynamic.__main__")


def engine_address() -> str | None:
    """`host:port` of the engine: the provider's last argument, or the program's `--engine`; else None."""
    if is_plugin_process():
        last = sys.argv[-1]
        return last if ":" in last else None
    arguments = sys.orig_argv
    if "--engine" in arguments[:-1]:
        return arguments[arguments.index("--engine") + 1]
    return None


def engine_is_alive(address: str | None) -> bool:
    """Whether the engine still accepts connections; True where there is no engine to ask."""
    if address is None:
        return True
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=2):
            return True
    except OSError:
        return False


def require_engine() -> None:
    """Raise EngineGoneError when the deployment is gone: its process was killed, this one was not."""
    if not engine_is_alive(engine_address()):
        raise EngineGoneError("the deployment was killed before the job was submitted; nothing was submitted")


def _hear_of_cancellation() -> None:
    """Have `Cancel` set `CANCELLED`, which Pulumi's host of dynamic providers passes over.

    The server holds the method itself, so its code is what is replaced. Where a later host is made otherwise,
    waits end at their bound.
    """
    servicer = getattr(sys.modules.get("__main__"), "DynamicResourceProviderServicer", None)
    method = getattr(servicer, "Cancel", None)
    if method is not None and not method.__code__.co_freevars:
        method.__code__ = _cancel.__code__


def _cancel(self, request, context):  # type: ignore[no-untyped-def]  # noqa: ARG001
    # It runs with the names of the host's module: `empty_pb2` is one of them.
    from pulumi_vertex_training.plugin.process import CANCELLED

    CANCELLED.set()
    return empty_pb2.Empty()  # type: ignore[name-defined]  # noqa: F821


def say(message: str) -> None:
    """A line under the stack's diagnostics, without the secrets in it; in previews too. The engine passes the
    process's output on."""
    sys.stdout.write(SECRETS.masked(message) + "\n")
    sys.stdout.flush()


def _leave_with_engine() -> None:
    """End this process soon after its engine: after a SIGKILL of `pulumi` nothing else would end it."""
    pause, failures = threading.Event(), 0
    while failures < _ENGINE_CHECK_FAILURES:
        pause.wait(_ENGINE_CHECK_SECONDS)
        failures = 0 if engine_is_alive(engine_address()) else failures + 1
    os._exit(1)


if is_plugin_process():
    # Without this an error is shown with the frames of the whole call stack; the last line is for the user.
    sys.tracebacklimit = 0
    _hear_of_cancellation()
