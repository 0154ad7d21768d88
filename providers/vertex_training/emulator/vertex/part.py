"""One of the services that Vertex AI consists of here: tuning jobs, pipelines, models and so on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from vertex_training.emulator.http import Route
from vertex_training.emulator.rpc import Binding
from vertex_training.emulator.vertex.kept import Kept


class Part(Protocol):
    """What `service.VertexService` needs of each of them."""

    def bindings(self) -> Mapping[str, Binding]:
        """The methods that it answers, by their full names."""

    def routes(self) -> Sequence[Route]:
        """What it answers besides, such as an admin view."""

    def start(self) -> None:
        """Called once the port answers and the custom jobs have been taken up: go on after a restart."""

    def live(self) -> int:
        """How many of its resources are not finished; the emulator does not leave while there are any."""

    def kept(self) -> Sequence[Kept]:
        """What of it is exported and imported."""

    def remove_all(self) -> None:
        """End what runs, and forget everything; called before all custom jobs are removed."""
