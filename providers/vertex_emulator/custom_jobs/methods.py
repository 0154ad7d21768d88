"""The methods of JobService for custom jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.custom_jobs import store
from vertex_emulator.custom_jobs.service import JobService
from vertex_emulator.custom_jobs.store import CUSTOM_JOBS
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import Binding, WithHeaders
from vertex_emulator.vertex import listing, names
from vertex_emulator.vertex.listing import Listing
from vertex_emulator.vertex.operations import ResourceOperations, cannot_delete

_LISTING = Listing(
    answer=f"{descriptors.VERTEX_AI}.ListCustomJobsResponse",
    items="custom_jobs",
    fields={
        "display_name": listing.DISPLAY_NAME,
        "state": listing.state_field(store.names()),
        "create_time": listing.CREATE_TIME,
        "labels": listing.LABELS,
    },
)


class JobMethods:
    """What is answered to them."""

    def __init__(self, jobs: JobService, operations: ResourceOperations) -> None:
        self._jobs = jobs
        self._operations = operations

    def bindings(self) -> Mapping[str, Binding]:
        """The methods, by their full names."""
        service = descriptors.JOB_SERVICE
        return {
            f"{service}.CreateCustomJob": WithHeaders(self.create),
            f"{service}.GetCustomJob": self.get,
            f"{service}.ListCustomJobs": self.list_jobs,
            f"{service}.CancelCustomJob": self.cancel,
            f"{service}.DeleteCustomJob": self.delete,
        }

    def create(self, request: Any, headers: Mapping[str, str]) -> Message:
        """CreateCustomJob."""
        place = names.parse_parent(request.parent)
        allowed = self._jobs.unknown_types.are_allowed(headers)
        record = self._jobs.submit(place, request.custom_job, allow_unknown_types=allowed)
        created: Message = record.message
        return created

    def get(self, request: Any) -> Message:
        """GetCustomJob."""
        found: Message = self._jobs.look(request.name).message
        return found

    def list_jobs(self, request: Any) -> Message:
        """ListCustomJobs, the newest first."""
        self._jobs.live_jobs()
        return listing.list_records(self._jobs, request, _LISTING)

    def cancel(self, request: Any) -> Message:
        """CancelCustomJob: asks only; the job is CANCELLED once none of its processes is left."""
        self._jobs.cancel(self._jobs.look(request.name))
        empty: Message = descriptors.message("google.protobuf.Empty")
        return empty

    def delete(self, request: Any) -> Message:
        """DeleteCustomJob: only of a job that has ended."""
        record = self._jobs.look(request.name)
        if record.live:
            raise cannot_delete(CUSTOM_JOBS, record.name, record.state)
        self._jobs.remove(record.id)
        return self._operations.deleted(record.place)
