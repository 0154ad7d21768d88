"""Run `vertex-training` and `vertex-emulator` as a user does: in a pipe, and on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.warm import warm_python
from vertex_emulator.client.interpreter import VARIABLE

CLIENT = "pulumi_vertex_training.cli"
EMULATOR = "vertex_emulator.command"
"""The modules of the two commands."""
HANGS = 300.0
"""Seconds after which a command hangs. A busy machine takes a minute for one that calls `pulumi`."""

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, kw_only=True)
class Ended:
    """The exit code and output of a command. On a terminal `out` has both streams, with \
     line ends.
    """

    code: int
    out: str
    err: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def plain(self) -> str:
        """The output without colours."""
        return _ESCAPES.sub("", self.out)


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return a user's environment with its own home.

    It has no variables of Google or of this package, except those that find the code under test.
    """
    own = {name: os.environ[name] for name in ("PYTHONPATH", VARIABLE) if name in os.environ}
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TERM": "xterm", **own, **more}


def run(
    *arguments: str,
    env: Mapping[str, str],
    timeout: float = HANGS,
    stdin: str | None = None,
    folder: Path | None = None,
    module: str = CLIENT,
) -> Ended:
    """Run the command in a pipe, by the interpreter of `support.warm.warm_python`."""
    done = subprocess.run(
        [warm_python.shared(), "-m", module, *arguments],
        cwd=folder,
        env=dict(env),
        capture_output=True,
        text=True,
        timeout=timeout,
        input=stdin,
    )
    return Ended(code=done.returncode, out=done.stdout, err=done.stderr)


def run_on_terminal(
    *arguments: str,
    env: Mapping[str, str],
    timeout: float = HANGS,
    typed: str = "",
    columns: int = 120,
    module: str = CLIENT,
) -> Ended:
    """Run the command on a pseudo-terminal."""
    process, master = start_on_terminal(arguments, env={**env, "COLUMNS": str(columns)}, module=module)
    if typed:
        os.write(master, typed.encode())
    out = read_until_closed(master, timeout=timeout)
    return Ended(code=process.wait(timeout=timeout), out=out.replace("\r\n", "\n"))


def start_on_terminal(
    arguments: Sequence[str], *, env: Mapping[str, str], module: str = CLIENT
) -> tuple[subprocess.Popen[bytes], int]:
    """Start the command on a pseudo-terminal. Return the process and the terminal's file descriptor.

    It uses the interpreter of `run`.
    """
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [warm_python.shared(), "-m", module, *arguments],
        env={"COLUMNS": "120", **env},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    return process, master


def run_emulator(*arguments: str, env: Mapping[str, str], stdin: str | None = None) -> Ended:
    """Run `vertex-emulator` in a pipe."""
    return run(*arguments, env=env, stdin=stdin, module=EMULATOR)


def read_until(master: int, text: str, *, timeout: float) -> str:
    """Return the terminal's output up to and including `text`."""
    until = time.monotonic() + timeout
    shown = b""
    while text.encode() not in shown:
        assert time.monotonic() < until, f"no {text!r} in {shown.decode(errors='replace')!r}"
        if _readable(master, 0.1):
            shown += os.read(master, 65536)
    return shown.decode(errors="replace")


def read_until_closed(master: int, *, timeout: float) -> str:
    """Return the terminal's output until its last program has ended, and close the descriptor."""
    until = time.monotonic() + timeout
    parts: list[bytes] = []
    try:
        while time.monotonic() < until:
            if not _readable(master, 0.1):
                continue
            try:
                part = os.read(master, 65536)
            except OSError:  # on Linux: the other end is closed
                part = b""
            if not part:
                return b"".join(parts).decode()
            parts.append(part)
    finally:
        os.close(master)
    raise TimeoutError(b"".join(parts).decode(errors="replace"))


def _readable(descriptor: int, seconds: float) -> bool:
    with selectors.DefaultSelector() as ends:  # select.select refuses descriptors above 1023
        ends.register(descriptor, selectors.EVENT_READ)
        return bool(ends.select(seconds))
