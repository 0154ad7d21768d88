"""The ring of a test: the dearest thing that it, or a fixture that it uses, has started.

An audit hook sees each process that this one starts and each socket that it binds. What another process
starts is not seen: a test of the command is in the ring `command`, whatever the command starts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

_SUPERVISOR_LOG = "/supervisor.log"
"""The file that an emulator makes for each supervisor of a job."""


class Ring(IntEnum):
    """Kinds of tests, from the cheapest to the dearest."""

    PURE = 0
    SERVER = 1
    COMMAND = 2
    REPLICAS = 3
    PULUMI = 4
    BROWSER = 5
    CLIENTS = 6


NAMES = {
    Ring.PURE: "pure",
    Ring.SERVER: "server in the test's process",
    Ring.COMMAND: "command or another process",
    Ring.REPLICAS: "replicas of jobs",
    Ring.PULUMI: "Pulumi CLI",
    Ring.BROWSER: "browser",
    Ring.CLIENTS: "third-party clients",
}


@dataclass
class Starts:
    """A record of starts since the last call of `take`."""

    ring: Ring = Ring.PURE
    cli_calls: int = 0
    jobs: int = 0

    def take(self) -> Starts:
        """Return the record so far, and begin a new one."""
        taken = Starts(self.ring, self.cli_calls, self.jobs)
        self.ring, self.cli_calls, self.jobs = Ring.PURE, 0, 0
        return taken

    def add(self, other: Starts) -> None:
        """Add what was recorded before."""
        self.ring = max(self.ring, other.ring)
        self.cli_calls += other.cli_calls
        self.jobs += other.jobs

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record one event of Python's audit hooks."""
        if event == "open":
            path, _mode, flags = arguments
            if flags & os.O_CREAT and str(path).endswith(_SUPERVISOR_LOG):
                self.jobs += 1
                self._raise_to(Ring.REPLICAS)
        elif event == "subprocess.Popen":
            words = arguments[1]
            self._note_command(
                [os.fsdecode(word) for word in words] if isinstance(words, list | tuple) else []
            )
        elif event in ("os.posix_spawn", "os.fork", "os.forkpty", "os.exec"):
            self._raise_to(Ring.COMMAND)
        elif event == "socket.bind":
            self._raise_to(Ring.SERVER)

    def _note_command(self, words: Sequence[str]) -> None:
        programs = {os.path.basename(word) for word in words[:3]}  # noqa: PTH119  it runs often
        if "pulumi" in programs:
            self.cli_calls += 1
            self._raise_to(Ring.PULUMI)
        elif any("playwright" in word or "chromium" in word for word in words[:3]):
            self._raise_to(Ring.BROWSER)
        else:
            self._raise_to(Ring.COMMAND)

    def _raise_to(self, ring: Ring) -> None:
        self.ring = max(self.ring, ring)


@dataclass
class FixtureRings:
    """The rings of the fixtures that have been set up, by their definition."""

    found: dict[int, Ring] = field(default_factory=dict)

    def note(self, definition: object, ring: Ring) -> None:
        self.found[id(definition)] = ring

    def of(self, definitions: Sequence[object]) -> Ring:
        """Return the dearest ring of these fixtures."""
        return max((self.found.get(id(each), Ring.PURE) for each in definitions), default=Ring.PURE)


def watched() -> Starts:
    """Return the record of this process's starts; call it once, because a hook cannot be removed."""
    starts = Starts()
    sys.addaudithook(starts.note)
    return starts
