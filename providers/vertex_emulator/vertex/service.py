"""The base class of the services that make up Vertex AI: tuning jobs, pipelines, models and so on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from vertex_emulator.http.messages import Route
from vertex_emulator.rpc.methods import Binding
from vertex_emulator.vertex.archived import Archived


class Service(ABC):
    """A service of `VertexService`."""

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        return {}

    def routes(self) -> Sequence[Route]:
        """Return additional routes, such as those of an admin view."""
        return ()

    def start(self) -> None:
        """Resume after a restart. Called once the port is open and the custom jobs have been resumed."""
        return

    def live(self) -> int:
        """Return the number of live resources, which keep the emulator running."""
        return 0

    @abstractmethod
    def archived(self) -> Sequence[Archived]:
        """Return the kinds of things that are exported and imported."""

    @abstractmethod
    def remove_all(self) -> None:
        """End and delete all resources. Called before all custom jobs are removed."""
