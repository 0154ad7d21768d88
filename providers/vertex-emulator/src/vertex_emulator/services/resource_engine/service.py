"""The base class of the services that make up Vertex AI."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from vertex_emulator.server.http.messages import Route
from vertex_emulator.server.rpc.methods import Binding
from vertex_emulator.services.resource_engine.resources import Resources


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

    def end_imported(self, at: str) -> int:  # noqa: ARG002
        """End the live resources of a snapshot, at a time. Return how many jobs and pipelines they were.

        Called in the transaction of an import, whose files have not been moved yet.
        """
        return 0

    @abstractmethod
    def remove_all(self) -> None:
        """End and delete all resources. Called before all custom jobs are removed."""


class StoredService(Service):
    """A service of stored resources alone."""

    def __init__(self, *resources: Resources) -> None:
        self.resources = resources

    def bindings(self) -> Mapping[str, Binding]:
        return {name: method for each in self.resources for name, method in each.methods().items()}

    def remove_all(self) -> None:
        for each in self.resources:
            each.records.clear()
