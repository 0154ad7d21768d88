"""The timeouts of the emulator's processes: how long one waits for another before it gives up.

Each process takes one of these objects, which it scales where it starts (`vertex_training.timeouts`). Polling
intervals, and times that a service or a protocol fixes, stay where they are used: they are never scaled.
docs/architecture/emulator.md lists the three classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from vertex_training.timeouts import scaled

T = TypeVar("T", bound="Timeouts")


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """The base of the timeouts of all processes, in seconds."""

    scale: float = 1.0
    """The factor of all other fields, which `scaled` multiplies like them."""

    def at_least(self: T, scale: float) -> T:
        """Return these timeouts, or longer ones if `scale`, that of another process, is higher."""
        return self if scale <= self.scale else scaled(self, scale / self.scale)


@dataclass(frozen=True, kw_only=True)
class ClientTimeouts(Timeouts):
    """The timeouts of a process that finds, starts, controls, stops or resets an emulator."""

    probe: float = 5.0
    """For the answer of an emulator whose folder is locked. Then the emulator counts as busy."""
    start: float = 60.0
    """For a daemon to report its start, and for another process that starts it. Then the start has failed."""
    detach: float = 5.0
    """For the parent of a daemon to exit after the daemon's report. Then it is killed; the daemon stays."""
    stop: float = 45.0
    """For a daemon to release its folder after the request to stop. Then it is reported as busy."""
    control: float = 30.0
    """For data of a response to a control request. Then the request has failed."""
    transfer: float = 600.0
    """The same for a reset, an export and an import."""
    folder: float = 5.0
    """For the locks of a folder that is to be reset. Then its holder is reported, and nothing is deleted."""
    jobs_end: float = 60.0
    """For cancelled jobs to end before their folder is deleted. Then nothing is deleted."""
    forward: float = 10.0
    """For the process that holds the network of a job, and for a replica to accept a connection."""
    sandbox_probe: float = 20.0
    """For the process that tries what a sandbox can do. Then its caller gets an error."""


@dataclass(frozen=True, kw_only=True)
class DaemonTimeouts(Timeouts):
    """The timeouts of the emulator's own process."""

    folder: float = 2.0
    """For the lock of the data folder. Then the process that holds it is reported."""


CLIENT = ClientTimeouts()
DAEMON = DaemonTimeouts()
"""The timeouts of an ordinary machine."""

DETACHED = DaemonTimeouts(folder=10.0)
"""The same for a daemon that a client starts: its predecessor may still be stopping."""
