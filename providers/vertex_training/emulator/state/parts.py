"""What export, import and reset need of the jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Protocol

from vertex_training.emulator.jobs.folder import JobFolder
from vertex_training.emulator.projects import Place
from vertex_training.emulator.vertex.kept import Kept
from vertex_training.emulator.vertex.records import Record


class JobParts(Protocol):
    """All jobs of an emulator; `kept` is what it has besides, made of them or beside them."""

    @property
    def kept(self) -> Sequence[Kept]: ...

    def records(self) -> Sequence[Record]:
        """The jobs as they are now, the newest first."""

    def folder(self, job_id: str) -> JobFolder:
        """The folder of a job."""

    def staging(self) -> Path:
        """A new folder for what is to become jobs; the next start removes what is left of it."""

    def has_any(self, job_ids: Collection[str]) -> Sequence[str]:
        """Those of the ids that jobs have."""

    def add_ended(self, jobs: Collection[tuple[Place, str, Any]], folders: Path) -> None:
        """Add jobs that have ended, with their folders by id. All or none, within a transaction."""

    def remove_all(self) -> None:
        """End what runs, and remove all. Raises `TimeoutError`."""
