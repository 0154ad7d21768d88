"""An interpreter that has done its imports and forks a process for each command line from `client.py`.

`python server.py SOCKET MODULE...` imports the modules (`PACKAGE.*`: all below a package), listens at
SOCKET, and runs until its standard input ends. A fork has the arguments, environment, folder and standard
streams of its client. It ends when the client is killed, and the client ends with the fork's exit code.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import gc
import importlib
import io
import marshal
import os
import pkgutil
import re
import resource
import runpy
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, TypeAlias

import setproctitle

PACKAGE = "pulumi_vertex_training"
INSPECTING = (f"{PACKAGE}.kinds.training_image.container_tools",)
"""The modules of PACKAGE that inspect their process when they are imported.

Programs and providers import them themselves, all modules that depend on them, and PACKAGE itself.
"""
PROVIDER = "pulumi.dynamic"
"""The module of the process of dynamic providers."""
CHANGING = f"{PACKAGE}.dynamic.process"
"""The module that changes the process of dynamic providers when it is imported: they import it themselves."""
CHANGED_BY = f"{PACKAGE}.dynamic.adapter"
"""The module whose import makes a provider import CHANGING, so it is not imported before."""
READY = "--ready-fd"
"""The emulator's option whose value is a descriptor, which has another number in the fork."""
CACHED_PATTERNS = 4096
"""More than an emulator has routes: `re` keeps 512 patterns, each of which takes half a millisecond."""
EMULATOR = "vertex_emulator.daemon.daemon"
"""The module of emulators, of which one is opened before the first fork."""
PLUGIN = "pulumi_vertex_training.package.server"
"""The module of the package's plugin, which imports Pulumi's messages without the rest of its SDK."""
COMMANDS = ("pulumi_vertex_training.cli", "vertex_emulator.command")
"""The modules that keep the imported modules of PACKAGE, or use none."""


Request: TypeAlias = tuple[list[str], list[str], dict[str, str], str, bool, list[tuple[int, int, int]]]
"""Arguments, those without `-u`, environment, folder, whether the client leads its session, limits."""


@dataclass
class Server:
    listener: socket.socket
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    clients: dict[int, socket.socket] = field(default_factory=dict)
    """The clients by the process id of their fork."""
    fresh: frozenset[str] = frozenset()
    """The modules that programs and providers import themselves."""

    def serve(self) -> None:
        """Serve until standard input ends; then kill all forks."""
        awake, wake = os.pipe()
        for descriptor in (awake, wake):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake)
        for each in (self.listener, awake, 0):
            self.selector.register(each, selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    self._accept()
                elif key.fileobj == awake:
                    os.read(awake, 4096)
                elif key.fileobj == 0:
                    for pid in self.clients:
                        _kill(pid)
                    return
                else:
                    self.selector.unregister(key.fileobj)
                    _kill(key.data)
            self._reap()

    def _accept(self) -> None:
        client, _ = self.listener.accept()
        head, streams, _, _ = socket.recv_fds(client, 4, 4)
        if not head:
            client.close()
            return
        with client.makefile("rb") as stream:
            request = stream.read(int.from_bytes(head, "big"))
        pid = os.fork()
        if pid == 0:
            self._leave(client)
            _become(marshal.loads(request), streams, self.fresh)
        for descriptor in streams:
            os.close(descriptor)
        self.clients[pid] = client
        self.selector.register(client, selectors.EVENT_READ, pid)
        with contextlib.suppress(OSError):
            client.sendall(pid.to_bytes(4, "big"))

    def _leave(self, client: socket.socket) -> None:
        """Close the server's files and sockets in a fork."""
        signal.set_wakeup_fd(-1)
        for key in list(self.selector.get_map().values()):
            if isinstance(key.fileobj, int) and key.fileobj:
                os.close(key.fileobj)
        self.selector.close()
        for each in (self.listener, client, *self.clients.values()):
            each.close()

    def _reap(self) -> None:
        """Report the exit code of each fork that has ended."""
        while self.clients:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            client = self.clients.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            with contextlib.suppress(KeyError):
                self.selector.unregister(client)
            with contextlib.suppress(OSError):
                client.sendall((code if code >= 0 else 128 - code).to_bytes(4, "big"))
            client.close()


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _become(request: Request, streams: list[int], fresh: Iterable[str]) -> None:
    """Run the command line in this fork; it does not return."""
    code = 1
    try:
        _run(request, streams, fresh)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if not isinstance(error.code, int | None):
            print(error.code, file=sys.stderr)
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _run(request: Request, streams: list[int], fresh: Iterable[str]) -> None:
    arguments, plain, environment, folder, leads, limits = request
    if leads:
        os.setsid()
    for limit, *values in limits:
        if resource.getrlimit(limit) != tuple(values):
            resource.setrlimit(limit, (values[0], values[1]))
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if READY in plain:
        plain[plain.index(READY) + 1] = str(streams[3])
    setproctitle.setproctitle(" ".join([sys.executable, *arguments]))  # for tests that look for processes
    for target, descriptor in enumerate(streams[:3]):
        os.dup2(descriptor, target)
        os.close(descriptor)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.FileIO(0, closefd=False), "utf-8")
    sys.stdout = sys.__stdout__ = _unbuffered(1, "strict")
    sys.stderr = sys.__stderr__ = _unbuffered(2, "backslashreplace")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.orig_argv[:] = [sys.executable, *arguments]
    if PACKAGE in sys.modules and not any(each in plain[:2] for each in COMMANDS):
        _forget_package()
        _forget(fresh)
    if PROVIDER in plain[:2]:
        assert CHANGED_BY not in sys.modules
        _forget([CHANGING])
    if plain[0] == "-m":
        sys.path[0] = folder
        sys.argv[:] = plain[1:]
        runpy._run_module_as_main(plain[1])  # type: ignore[attr-defined]
        return
    sys.path[0] = str(Path(plain[0]).parent)
    sys.argv[:] = plain
    program = types.ModuleType("__main__")
    program.__file__ = plain[0]
    sys.modules["__main__"] = program
    exec(compile(Path(plain[0]).read_bytes(), plain[0], "exec"), program.__dict__)


def _unbuffered(descriptor: int, errors: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(descriptor, "w", closefd=False), "utf-8", errors, write_through=True)


@contextlib.contextmanager
def _recorded_imports() -> Iterator[dict[str, set[str]]]:
    """Yield the names that each module of PACKAGE imports while it is itself imported in the block."""
    imports: dict[str, set[str]] = {}
    real = builtins.__import__

    def recording(name: str, *words: Any, **named: Any) -> Any:
        importer = words[0] if words else named.get("globals")
        parts = words[2] if len(words) > 2 else named.get("fromlist")
        module = str((importer or {}).get("__name__"))
        if module.partition(".")[0] == PACKAGE:
            imports.setdefault(module, set()).update((name, *(f"{name}.{part}" for part in parts or ())))
        return real(name, *words, **named)

    builtins.__import__ = recording
    try:
        yield imports
    finally:
        builtins.__import__ = real


def _fresh(imports: Mapping[str, Set[str]]) -> frozenset[str]:
    """Return the imported modules among INSPECTING, and those that depend on them.

    PACKAGE imports its parts on demand, so to import it is to depend on none of them.
    """
    found = set(INSPECTING)
    others = {name: used for name, used in imports.items() if name != PACKAGE}
    while more := {name for name, used in others.items() if name not in found and used & found}:
        found |= more
    return frozenset(found & sys.modules.keys())


def _forget(names: Iterable[str]) -> None:
    """Let modules be imported once more."""
    for name in names:
        del sys.modules[name]
        package, _, last = name.rpartition(".")
        vars(sys.modules[package]).pop(last, None)


def _forget_package() -> None:
    """Let PACKAGE be imported once more, without its imported parts, which become parts of the new one."""
    old = vars(sys.modules.pop(PACKAGE))
    parts = {name: part for name, part in old.items() if sys.modules.get(f"{PACKAGE}.{name}") is part}

    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        spec = PathFinder.find_spec(name, path, target) if name == PACKAGE else None
        if spec is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                vars(module).update(parts)
                execute(module)

            loader.exec_module = exec_module
        return spec

    sys.meta_path.insert(0, types.SimpleNamespace(find_spec=find_spec))


def _open_emulator() -> None:
    """Open an emulator and close it: its forks find the patterns of routes in the cache of `re`."""
    daemon = importlib.import_module(EMULATOR)
    re._MAXCACHE = CACHED_PATTERNS  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory(prefix="warm-python-") as folder:
        daemon.Daemon(daemon.Settings(data_dir=Path(folder))).close()
    assert threading.active_count() == 1, threading.enumerate()  # a fork has the main thread alone


def main() -> None:
    address, *modules = sys.argv[1:]
    if PLUGIN in modules:
        importlib.import_module(f"{PACKAGE}.package.wire.sdk").load_messages_alone()
    with _recorded_imports() as imports:
        for each in modules:
            package = importlib.import_module(each.removesuffix(".*"))
            if each.endswith(".*"):
                for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                    if not module.name.endswith(".__main__"):
                        importlib.import_module(module.name)
    if PLUGIN in modules:
        for name in ("pulumi", "pulumi.runtime"):
            del sys.modules[name]  # the plugin makes them once more
    if EMULATOR in modules:
        _open_emulator()
    fresh = _fresh(imports)
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        Server(listener, fresh=fresh).serve()
    shutil.rmtree(Path(address).parent, ignore_errors=True)  # the process that made it may have been killed


if __name__ == "__main__":
    main()
