"""The timeouts of the emulator's processes: how long one waits for another before it gives up.

Each process takes one of these objects, which it scales where it starts (`vertex_training.timeouts`). Polling
intervals, and times that a service or a protocol fixes, stay where they are used: they are never scaled.
docs/architecture/emulator.md lists the three classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from vertex_training.timeouts import scaled

T = TypeVar("T", bound="Timeouts")


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """The base of the timeouts of all processes, in seconds."""

    scale: float = 1.0
    """The factor of all other fields, which `scaled` multiplies like them."""

    sandbox: float = 20.0
    """For the process that tries what sandboxes of this machine can do. Then its caller gets an error."""
    interpreter: float = 20.0
    """For a Python of this machine to describe itself. Then it is not used for replicas."""

    def at_least(self: T, scale: float) -> T:
        """Return these timeouts, or longer ones if `scale`, another process's, is higher."""
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

    def for_emulator(self: T, data_dir: Path | None) -> T:
        """Return these timeouts, or longer ones if the emulator of the folder has recorded a higher scale.

        So no wait that includes the first call to the emulator is too short. None means the default folder.
        """
        # Imported late: commands that use no emulator load nothing of it.
        from vertex_emulator.kernel.disk import data_folder

        try:
            record = data_folder.read_record(
                data_folder.DataFolder(root=data_folder.chosen_data_dir(data_dir))
            )
        except data_folder.DataFolderError:  # reported where the emulator is needed
            return self
        return self if record is None else self.at_least(record.timeout_scale)


@dataclass(frozen=True, kw_only=True)
class DaemonTimeouts(Timeouts):
    """The timeouts of the emulator's own process."""

    folder: float = 2.0
    """For the lock of the data folder. Then the process that holds it is reported."""
    database: float = 10.0
    """For a writer of another process, such as an export. Then the request fails."""
    first_byte: float = 5.0
    """For the first byte of a client that never showed a secret, or its gRPC settings. Then its connection is
    closed."""
    head: float = 20.0
    """For the head of a request after its first byte. Then the connection is closed."""
    body: float = 60.0
    """For progress of a body in either direction, or for the request of a gRPC call. Then it fails."""
    linger: float = 5.0
    """For a client to read an answer that came before the end of its request. Then the answer may be lost."""
    refusal: float = 1.0
    """For a client without a free connection to take its refusal. Then it gets none."""
    upload: float = 30.0
    """For another request to the same upload of an image to end. Then the second one fails with 429."""
    tunnel_head: float = 10.0
    """For a request to the proxy, its TLS handshake and the gRPC server. Then the connection is closed."""
    upstream: float = 30.0
    """For a public host, or the caller's own proxy, to accept a connection. Then the proxy answers 502."""
    jobs_end: float = 60.0
    """For cancelled jobs to end in a reset of a running emulator. Then the reset fails."""
    job_folder: float = 2.0
    """For the lock of a new job's folder, which readers take for a moment. Then a supervisor has it."""
    supervisor_end: float = 5.0
    """For the supervisor of an ended job to exit before its folder is removed. Then it is removed anyway."""
    command_end: float = 5.0
    """For a command about the end of a run to go after SIGKILL. Then it is left to itself."""
    calls_end: float = 5.0
    """For running HTTP requests, and for gRPC calls, at a stop. Then their connections are closed."""
    threads_end: float = 2.0
    """For each group of threads at a stop: connections, listener, proxy. Then they end with the process."""
    tasks_end: float = 5.0
    """For background tasks at a stop. Then they end with the process."""
    tidy: float = 5.0
    """For the removal of unpacked images at a stop, which takes minutes. Then the next stop continues it."""


@dataclass(frozen=True, kw_only=True)
class SupervisorTimeouts(Timeouts):
    """The timeouts of the supervisor of a job, and of the processes that it forks. Its plan has the scale."""

    start: float = 60.0
    """For the shims to report that all replicas run. Then the job has failed."""
    kill: float = 10.0
    """For shims to kill what is left of their replicas. Then they are killed too, and awaited once more."""
    settle: float = 0.05
    """For shims to report the ends of other programs before one is handled. Then it decides about the job."""
    strays: float = 5.0
    """For the processes that a killed shim left behind to end. Then the supervisor stops waiting for them."""
    private_files: float = 2.0
    """For the removal of replicas' files at the end. Then it continues without the supervisor."""
    init: float = 10.0
    """For the first process of a process namespace to load its program. Then its replica starts anyway."""
    network_request: float = 5.0
    """For a client of the job's network to send its request. Then its connection is closed."""
    relay: float = 10.0
    """For the emulator or its proxy to accept a replica's connection. Then the replica is refused, too."""


CLIENT = ClientTimeouts()
DAEMON = DaemonTimeouts()
SUPERVISOR = SupervisorTimeouts()
"""The timeouts of an ordinary machine."""

DETACHED = DaemonTimeouts(folder=10.0)
"""The same for a daemon that a client starts: its predecessor may still be stopping."""
