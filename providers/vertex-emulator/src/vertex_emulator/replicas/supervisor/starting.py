"""Start the replicas of a job at their addresses, and detect kills for lack of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from vertex_emulator.job_folder.folder import JobFolder
from vertex_emulator.job_folder.logs import LogWriter
from vertex_emulator.kernel import file_limit
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.replicas.network import job_network
from vertex_emulator.replicas.network.addresses import Addresses, LoopbackAddresses
from vertex_emulator.replicas.network.job_network import JobNetwork
from vertex_emulator.replicas.plan import Plan, ReplicaPlan
from vertex_emulator.replicas.preparation.command import Placement, replica_command
from vertex_emulator.replicas.preparation.packages.private_python import SharedPackages
from vertex_emulator.replicas.preparation.services import Services, network_targets, services_of
from vertex_emulator.replicas.sandbox.program import Command
from vertex_emulator.replicas.supervisor.loop import Loop
from vertex_emulator.server.proxy import variables
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.replica_environment.replica import host_name

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

    `packages` has the installed packages of replicas by their names. The replicas have addresses until
    `close`. Raises `NoPortError`, `NetworkError`.
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
        self._services = services_of(plan)
        self._addresses = _open_addresses(plan, job_folder, self._services)
        self._index = {replica.name: index for index, replica in enumerate(plan.replicas)}
        self._loop.kept.update(self._addresses.processes)
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
            placement=self._placement(self._index[replica.name]),
            packages=self._packages.get(replica.name),
            folder=self._folder.replica(replica.name),
        )

    def _placement(self, index: int) -> Placement:
        """Return the addresses of all replicas, and what the replica at `index` has beside its own.

        In a network of the job's own, the emulator stays where it was when the network was made.
        """
        services, namespace = services_of(self._plan), self._addresses.namespace(index)
        if namespace is not None and services is not None and self._services is not None:
            services = replace(services, url=self._services.url, proxy=self._services.proxy)
        return Placement(
            addresses=self._addresses.addresses,
            services=services,
            network=namespace,
            resolver=None if namespace is None else job_network.RESOLVER,
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
        self._addresses.release(self._index[replica.name])
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
        """Release the addresses."""
        self._loop.kept.difference_update(self._addresses.processes)
        self._addresses.close()


def _open_addresses(plan: Plan, job_folder: JobFolder, services: Services | None) -> Addresses:
    """Open the addresses of a job's replicas. Raises `NoPortError`, `NetworkError`."""
    if plan.network == "host":
        return LoopbackAddresses(len(plan.replicas))
    return JobNetwork(
        names=[each.name for each in plan.replicas],
        hosts=[host_name(plan.job_id, each.pool, each.index) for each in plan.replicas],
        targets=network_targets(plan, services),
        sandbox=plan.sandbox,
        path=job_folder.network,
        timeouts=plan.timeouts,
    )


@contextmanager
def _start_errors(replica: ReplicaPlan) -> Iterator[None]:
    """Turn an `OSError` within the block into a `NotStartedError`."""
    try:
        yield
    except OSError as error:
        why = f"The replica {replica.name} could not be started: {error}.{file_limit.remedy(error)}"
        raise NotStartedError(why) from error
