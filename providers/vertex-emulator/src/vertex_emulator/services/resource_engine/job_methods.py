"""The methods of jobs on the engine of stored resources: jobs are refreshed when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError, WithHeaders
from vertex_emulator.services.resource_engine import listing
from vertex_emulator.services.resource_engine.operations import ResourceOperations
from vertex_emulator.services.resource_engine.records import Collection, Record, Records
from vertex_emulator.services.resource_engine.resources import Resources


class JobMethods(Resources):
    """The methods of one kind of job.

    `states` are the names of all states, `filters` the fields of filters that not all jobs have. The service
    has the rest: `create` gets a request and its headers, `current` returns a job as it is now, `refresh`
    brings the records of all live jobs up to date, `cancel` asks a job to stop and raises `RpcError` if it
    has ended, and `delete` deletes one that has ended, with all that belongs to it.
    """

    def __init__(
        self,
        service: str,
        records: Records,
        operations: ResourceOperations,
        clock: Clock,
        *,
        states: Iterable[str],
        create: Callable[[DynamicMessage, Mapping[str, str]], DynamicMessage],
        cancel: Callable[[Record], object],
        delete: Callable[[Record], object],
        current: Callable[[Record], Record] = lambda record: record,
        refresh: Callable[[], object] = lambda: None,
        filters: Mapping[str, listing.Field] = MappingProxyType({}),
    ) -> None:
        self.listing = listing.Listing(
            fields={
                "display_name": listing.DISPLAY_NAME,
                "state": listing.state_field(states),
                **filters,
                "create_time": listing.CREATE_TIME,
                "labels": listing.LABELS,
            }
        )
        super().__init__(service, records, operations, clock)
        self._create = create
        self._cancel = cancel
        self._delete = delete
        self._current = current
        self._refresh = refresh

    def bindings(self) -> Mapping[str, Binding]:
        """Return the methods by their full names."""
        return {
            **self.methods(),
            self._methods["Create"].full_name: WithHeaders(self._create),
            self._methods["Cancel"].full_name: self.cancel,
        }

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Return a job."""
        return self._find(request.name).message

    def list_page(self, request: DynamicMessage) -> DynamicMessage:
        """List the jobs of a location, newest first."""
        self._refresh()
        return super().list_page(request)

    def cancel(self, request: DynamicMessage) -> DynamicMessage:
        """Ask a job to stop. It is CANCELLED once all that runs for it has ended."""
        self._cancel(self._find(request.name))
        return descriptors.empty()

    def delete(self, request: DynamicMessage) -> DynamicMessage:
        """Delete a job that has ended."""
        record = self._find(request.name)
        if record.live:
            noun = self.records.collection.noun
            raise RpcError(
                "FAILED_PRECONDITION",
                f'The {noun} "{record.name}" is in state {record.state} and cannot be deleted. Cancel it and '
                "wait until it has ended.",
            )
        self._delete(record)
        return self.answer("Delete", record)

    def _find(self, name: str) -> Record:
        return self._current(self.records.lookup(name))


def stopping(collection: Collection, name: str, changed: Record | None) -> Record:
    """Return a job that was asked to stop. Raises `RpcError` if it is gone or has ended, as the service."""
    if changed is None:
        raise collection.missing(name)
    if not changed.live:
        raise RpcError(
            "FAILED_PRECONDITION",
            f'The {collection.noun} "{name}" is in state {changed.state} and cannot be canceled.',
        )
    return changed
