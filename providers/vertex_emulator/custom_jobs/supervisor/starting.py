"""Start the replicas of a job, each with a port of its own, and detect kills for lack of memory.

Each replica gets one free loopback port, claimed so that no other job of this machine gets the same one. The
ports lie outside the range from which the kernel picks ports for outgoing connections, so that none is taken
by chance between its release and the moment the program listens. The claim is a UDP socket on the same
number, held until the job ends: the programs use TCP, other supervisors see the claim, and the kernel
releases it when the supervisor dies. TCP is held until just before the program starts, because some
frameworks (TensorFlow) refuse a port on which any process listens, whatever the address.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vertex_emulator.custom_jobs.plan import Plan, ReplicaPlan
from vertex_emulator.custom_jobs.replica.command import addresses_by_pool, replica_command
from vertex_emulator.custom_jobs.replica.private_python import SharedPackages
from vertex_emulator.custom_jobs.sandbox.program import Command
from vertex_emulator.custom_jobs.supervisor.loop import Loop
from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.job_folder.logs import LogWriter
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.trees import remove_tree
from vertex_emulator.proxy import variables
from vertex_training.job.custom_job import CustomJobSpec

HOST = "127.0.0.1"
_FIRST, _LAST = 10_000, 65_000
_DEFAULT_EPHEMERAL = (32_768, 65_535)


class NoPortError(Exception):
    """No free port is left."""


@dataclass(kw_only=True)
class Claim:
    """A claimed port; see the module."""

    port: int
    _udp: socket.socket = field(repr=False)
    _tcp: socket.socket = field(repr=False)

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def release(self) -> None:
        """Let the program listen on the port; the claim against other jobs stays."""
        self._tcp.close()

    def close(self) -> None:
        self._tcp.close()
        self._udp.close()


def claim(count: int) -> list[Claim]:
    """Claim `count` ports. Raises `NoPortError`."""
    claims: list[Claim] = []
    for port in _candidates():
        if len(claims) == count:
            break
        if (taken := _take(port)) is not None:
            claims.append(taken)
    if len(claims) < count:
        for one in claims:
            one.close()
        raise NoPortError(
            f"{count} free ports are needed, one for each replica, and only {len(claims)} between {_FIRST} "
            f"and {_LAST} are free. End other jobs, or declare fewer replicas."
        )
    return claims


def _candidates() -> Iterator[int]:
    low, high = _ephemeral_range()
    ports = [port for port in range(_FIRST, _LAST) if not low <= port <= high]
    start = int.from_bytes(os.urandom(4), "big") % len(ports)
    yield from ports[start:]
    yield from ports[:start]


def _ephemeral_range() -> tuple[int, int]:
    try:
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    except (OSError, ValueError):
        return _DEFAULT_EPHEMERAL
    wide = int(low) <= _FIRST and int(high) >= _LAST - 1
    return _DEFAULT_EPHEMERAL if wide else (int(low), int(high))


def _take(port: int) -> Claim | None:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        udp.bind((HOST, port))
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as everywhere:
            everywhere.bind(("", port))  # check that it is free on all addresses
        tcp.bind((HOST, port))
    except OSError:
        udp.close()
        tcp.close()
        return None
    return Claim(port=port, _udp=udp, _tcp=tcp)


_OWN_GROUP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


def oom_kills(*, own_group: Path = _OWN_GROUP, groups: Path = _GROUPS) -> int:
    """Return how many processes of our control group (version 2) the kernel has killed for lack of memory.

    Return 0 if the number is unknown; a killed program then looks like one that was killed from outside.
    """
    try:
        lines = own_group.read_text(encoding="utf-8").splitlines()
        path = next(line for line in lines if line.startswith("0::")).removeprefix("0::")
        events = (groups / path.lstrip("/") / "memory.events").read_text(encoding="utf-8")
        return int(dict(line.split() for line in events.splitlines())["oom_kill"])
    except (OSError, StopIteration, KeyError, ValueError):
        return 0


_BATCH = 50


class NotStartedError(Exception):
    """A replica could not be started; the message says which one, and why."""


class Starter:
    """Starts the replicas of one job.

    `packages` has the installed packages of replicas by their names. Claims a port for each replica until
    `close`. Raises `NoPortError`.
    """

    def __init__(
        self,
        plan: Plan,
        spec: CustomJobSpec,
        job_folder: JobFolder,
        loop: Loop,
        packages: Mapping[str, SharedPackages],
        time: Clock,
    ) -> None:
        self._plan = plan
        self._spec = spec
        self._folder = job_folder
        self._loop = loop
        self._packages = packages
        self._time = time
        claims = claim(len(plan.replicas))
        self._claims = {replica.name: one for replica, one in zip(plan.replicas, claims, strict=True)}
        self._addresses = addresses_by_pool(spec.worker_pool_specs, [one.address for one in claims])
        self._logs: dict[str, LogWriter] = {}
        self._oom_kills: dict[str, int] = {}

    def start(self, several: Sequence[ReplicaPlan], *, begin: Callable[[str], int]) -> None:
        """Start replicas in their order. Raises `NotStartedError`.

        `begin` is called with the name of each replica just before its start, and returns the number of the
        attempt, counted from 1.
        """
        for first in range(0, len(several), _BATCH):
            self._start_batch(several[first : first + _BATCH], begin)

    def _start_batch(self, several: Sequence[ReplicaPlan], begin: Callable[[str], int]) -> None:
        """Prepare all replicas, then start them.

        Memory that this process changes between two forks would not be shared by the shims.
        """
        commands = []
        for replica in several:
            with _start_errors(replica):
                commands.append(self._command(replica))
        for replica, command in zip(several, commands, strict=True):
            attempt = begin(replica.name)
            with _start_errors(replica):
                self._launch(replica, command, attempt=attempt)

    def _command(self, replica: ReplicaPlan) -> Command:
        """Return the command of a replica; create its folder. Raises `OSError`."""
        return replica_command(
            self._plan,
            self._spec,
            replica,
            addresses=self._addresses,
            packages=self._packages.get(replica.name),
            folder=self._folder.replica(replica.name),
        )

    def _launch(self, replica: ReplicaPlan, command: Command, *, attempt: int) -> None:
        """Start one replica; its log continues. Raises `OSError`."""
        log = self._logs.get(replica.name)
        if log is None:
            log = LogWriter(self._folder.log(replica.name), limit=self._plan.log_limit, time=self._time)
            self._logs[replica.name] = log
        log.forget_tail()
        log.hide(variables.secret_of(command.environment))
        log.write(replica.notice if attempt == 1 else f"Emulator: attempt {attempt}.", severity="NOTICE")
        self._claims[replica.name].release()
        self._oom_kills[replica.name] = oom_kills()
        self._loop.launch(replica.name, command, log)

    def ran_out_of_memory(self, name: str) -> bool:
        """Return whether the kernel killed a process for lack of memory since a replica was started."""
        return oom_kills() > self._oom_kills[name]

    def clear_folders(self) -> None:
        """Remove the replicas' own folders: after a restart of the job the machines are new."""
        for replica in self._plan.replicas:
            remove_tree(self._folder.replica(replica.name))

    def close(self) -> None:
        """Release the ports."""
        for claim in self._claims.values():
            claim.close()


@contextmanager
def _start_errors(replica: ReplicaPlan) -> Iterator[None]:
    """Turn an `OSError` within the block into a `NotStartedError`."""
    try:
        yield
    except OSError as error:
        raise NotStartedError(f"The replica {replica.name} could not be started: {error}.") from error
