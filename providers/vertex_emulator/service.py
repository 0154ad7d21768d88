"""What the emulator needs of the service whose jobs it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from vertex_emulator.custom_jobs.all_jobs import AllJobs
from vertex_emulator.http.messages import Route
from vertex_emulator.kernel.agenda import Agenda
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.data_folder import DataFolder
from vertex_emulator.kernel.database import Database
from vertex_emulator.replica_images.meaning import Images
from vertex_emulator.storage.disk.catalog import Catalog


class Service(Protocol):
    """Answers requests, and runs jobs besides."""

    def routes(self) -> Sequence[Route]:
        """What it answers."""

    def start(self) -> None:
        """Called once the port answers: pick up what was going on before a restart."""

    def live_jobs(self) -> int:
        """How many jobs are not finished; the emulator does not leave while there are any."""

    def all_jobs(self) -> AllJobs | None:
        """What is exported, imported and reset; None: nothing."""

    def clock_changing(self, jump: int) -> AbstractContextManager[None]:
        """Entered while somebody sets the clock.

        The time of day jumps by so many microseconds, back if negative, while no time passes.
        """

    def info(self) -> Mapping[str, Any]:
        """What GET /_local/info tells of it."""

    def close(self) -> None:
        """The agenda has been closed before. Replicas go on running."""


OpenService = Callable[[DataFolder, Database, Clock, Agenda, Images, Catalog], Service]
