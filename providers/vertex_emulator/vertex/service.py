"""The base class of the services that make up Vertex AI here: tuning jobs, pipelines, models and so on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from vertex_emulator.http.messages import Route
from vertex_emulator.rpc.methods import Binding
from vertex_emulator.vertex.archived import Archived


class Service(ABC):
    """What `service.VertexService` needs of each of them: nothing, unless it says otherwise."""

    def bindings(self) -> Mapping[str, Binding]:
        """The methods that it answers, by their full names."""
        return {}

    def routes(self) -> Sequence[Route]:
        """What it answers besides, such as an admin view."""
        return ()

    def start(self) -> None:
        """Called once the port answers and the custom jobs have been taken up: go on after a restart."""
        return

    def live(self) -> int:
        """How many of its resources are not finished; the emulator does not leave while there are any."""
        return 0

    @abstractmethod
    def archived(self) -> Sequence[Archived]:
        """What of it is exported and imported."""

    @abstractmethod
    def remove_all(self) -> None:
        """End what runs, and forget everything; called before all custom jobs are removed."""
