"""A stand-in for the Python that Pulumi and the command start, without the time for imports.

Pulumi starts Python five times for a command: twice for its version, and for the list of packages, the
program, and the provider. Most of the processor time of `pulumi up` goes into their imports. Pulumi takes its
interpreter from PULUMI_PYTHON_CMD; with the command of `running` there, a shell prints version and list, and
program and provider are forks of a process that has done the imports. Command, language host, program,
provider and the protocols between them are real; `tests/engine/stand_ins/test_warm_python.py` compares them.
"""

from __future__ import annotations

import atexit
import functools
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support.waiting import eventually

_FOLDER = Path(__file__).parent
_SCRIPT = """\
#!/bin/sh
case "$*" in
--version)
    echo {version}
    exit
    ;;
'-m pip list -v --format json')
    if [ "$PYTHONPATH" = {path} ]; then
        [ -f {packages} ] || {{ {python} "$@" >{packages}.$$ && mv {packages}.$$ {packages}; }} || exit
        exec cat {packages}
    fi
    ;;
esac
exec {client} "$@"
"""
"""The command: the packages are listed once, since they stay the same."""
_MODULES = (
    "pulumi.dynamic",
    "dill",
    "grpc._server",
    "google.auth.transport.requests",
    "google.cloud.storage",
    "rich.console",
    "rich.table",
    "vertex_emulator.command.*",
    "pulumi_vertex_training.cli.*",
    "pulumi_vertex_training.kinds.*",
    "pulumi_vertex_training.program.*",
)
"""The imports of programs, providers and the command. The first two import some modules of ours once more."""


_EMULATOR_MODULES = (
    "vertex_emulator.__main__",
    "vertex_emulator.client.lookup",
    "vertex_emulator.daemon.daemon",
    "vertex_emulator.server.grpc_server.calls",
    "vertex_emulator.server.grpc_server.server",
    "vertex_emulator.server.proxy.authority",
    "vertex_emulator.server.proxy.server",
    "vertex_emulator.replicas.supervisor.fork_server",
    "vertex_emulator.replicas.supervisor.supervisor",
    "cryptography.hazmat.backends.openssl.backend",
    "grpc._server",
    "packaging.requirements",
    "packaging.tags",
    "encodings.utf_16_be",
)
"""The imports of emulators and supervisors, whose warm interpreter is separate and has small forks."""


_PLUGIN_MODULES = (
    "pulumi_vertex_training.package.server",
    "pulumi_vertex_training.package.adapter",
    "pulumi_vertex_training.package.components",
    "pulumi_vertex_training.package.configuration",
    "pulumi_vertex_training.package.functions",
    "pulumi_vertex_training.package.stack_key",
    "grpc._utilities",
    "grpc.experimental",
    "google.api_core.retry",
    "google.auth.transport.requests",
    "pulumi_vertex_training.kinds.custom_job.provider",
    "pulumi_vertex_training.kinds.staging_bucket.provider",
)
"""The imports of the package's plugin, which has Pulumi's messages without the rest of its SDK."""


@functools.cache
def for_plugins() -> Path:
    """Return the command that starts the package's plugin."""
    return _until_this_process_ends(_PLUGIN_MODULES, wait=True)


@functools.cache
def for_emulators() -> Path:
    """Return the command that starts emulators, their probes and supervisors. It waits for no imports."""
    return _until_this_process_ends(_EMULATOR_MODULES, wait=False)


@functools.cache
def shared() -> Path:
    """Return the command that starts Pulumi's Python processes and our command."""
    return _until_this_process_ends(_MODULES, wait=True)


def _until_this_process_ends(modules: Sequence[str], *, wait: bool) -> Path:
    """Return the command of a warm interpreter, or this process's own with COLD_PYTHON in the environment."""
    if os.environ.get("COLD_PYTHON"):
        return Path(sys.executable)
    ending = ExitStack()
    atexit.register(ending.close)
    return ending.enter_context(running(modules, wait=wait))


@contextmanager
def running(modules: Sequence[str] = _MODULES, *, wait: bool = True) -> Iterator[Path]:
    """Yield the command that replaces `python3` while the warm interpreter runs.

    Until its imports are done, which `wait` waits for, the command runs a normal interpreter.
    """
    with tempfile.TemporaryDirectory(prefix="warm-python-") as name:
        folder = Path(name)
        address, command = folder / "socket", folder / "python3"
        path = os.environ.get("PYTHONPATH", "")
        words = [sys.executable, "-IS", str(_FOLDER / "client.py"), str(address), sys.executable, path]
        parts = {"version": f"Python {platform.python_version()}", "path": path, "python": sys.executable}
        parts["packages"] = str(folder / "packages.json")
        quoted = {name: shlex.quote(part) for name, part in parts.items()}
        command.write_text(_SCRIPT.format(client=shlex.join(words), **quoted))
        command.chmod(0o700)
        server = subprocess.Popen(
            [sys.executable, str(_FOLDER / "server.py"), str(address), *modules],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            if wait:
                eventually(lambda: address.exists() or server.poll() is not None)
                assert server.poll() is None, "the warm interpreter ended"
            yield command
        finally:
            assert server.stdin is not None
            server.stdin.close()
            if not address.exists():
                server.kill()  # its imports are not done, so it has no forks
            server.wait()
