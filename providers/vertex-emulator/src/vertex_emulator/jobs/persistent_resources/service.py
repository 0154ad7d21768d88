"""PersistentResourceService: the methods, and the changes that they begin.

Creation, update, reboot and deletion take some time on the emulator's clock (`delay`), so that their states
can be seen. The record is committed before the call returns, together with the pending change.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from vertex_emulator.jobs.custom.queue.slots import StartDelay
from vertex_emulator.jobs.custom.service import JobService
from vertex_emulator.jobs.persistent_resources import checks, resources
from vertex_emulator.jobs.persistent_resources.resources import (
    COLLECTION,
    ChangeKind,
    PendingChange,
    PendingChanges,
    ResourceAllocator,
)
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.server.http.messages import Route
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError, WithHeaders
from vertex_emulator.services.vertex import names
from vertex_emulator.services.vertex.operations import CANCELLED, ResourceOperations
from vertex_emulator.services.vertex.records import Record, Records
from vertex_emulator.services.vertex.resources import Resources
from vertex_emulator.services.vertex.service import Service

DELAY_SECONDS = 0.3
"""Duration of each change unless a test sets another one."""

_POLL_SECONDS = 0.1
"""Interval between checks whether the jobs on a resource that is being deleted have ended."""


class _Resources(Resources):
    ids = checks.IDS

    def complete(self, message: DynamicMessage, _: Place) -> None:
        resources.fill_in(message)
        resources.enter(message, resources.PROVISIONING, at=message.create_time.ToJsonString())


class PersistentResources(Service):
    """The persistent resources of one emulator; `jobs` run on them."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        scheduler: Scheduler,
        operations: ResourceOperations,
        jobs: JobService,
    ) -> None:
        self._clock = clock
        self._operations = operations
        self._jobs = jobs
        self._records = Records(database, clock, COLLECTION, table="persistent_resources")
        self._resources = _Resources(
            descriptors.PERSISTENT_RESOURCE_SERVICE, self._records, operations, clock
        )
        self._pending = PendingChanges(database, clock)
        self._allocator = ResourceAllocator(self._records, jobs.holding_machines)
        self._lock = threading.RLock()
        self._task = scheduler.add("changes of persistent resources", self._run_due)
        self.delay = StartDelay(path="/_local/persistent-resource-delay", seconds=DELAY_SECONDS)
        jobs.use_resources(self._allocator)

    # For the server

    def bindings(self) -> Mapping[str, Binding]:
        """Return the methods by their full names."""
        service = descriptors.PERSISTENT_RESOURCE_SERVICE
        return {
            **self._resources.bindings(),
            f"{service}.CreatePersistentResource": WithHeaders(self.create),
            f"{service}.GetPersistentResource": self.get,
            f"{service}.ListPersistentResources": self.list,
            f"{service}.UpdatePersistentResource": self.update,
            f"{service}.RebootPersistentResource": self.reboot,
            f"{service}.DeletePersistentResource": self.delete,
        }

    def routes(self) -> Sequence[Route]:
        """Return the routes of the duration of changes."""
        return self.delay.routes()

    def start(self) -> None:
        """Continue the changes that were pending."""
        with self._lock:
            self._pending.load()

    def live(self) -> int:
        """Return how many changes are pending."""
        with self._lock:
            return len(self._pending.all())

    def end_imported(self, at: str) -> int:
        """Finish the changes of a snapshot's resources; no job of it uses their machines."""

        def end(resource: DynamicMessage) -> None:
            checks.set_usage(resource, {})
            if resources.state_of(resource) not in (resources.RUNNING, resources.ERROR):
                resources.enter(resource, resources.RUNNING, at=at)

        self._records.end_all(end, condition="1")
        return 0

    def remove_all(self) -> None:
        """Remove all resources; the jobs on them are ended by their own service."""
        with self._lock:
            self._pending.clear()
            self._records.clear()
            self.delay.seconds = DELAY_SECONDS

    # Methods of the API

    def create(self, request: DynamicMessage, headers: Mapping[str, str]) -> DynamicMessage:
        """Answer CreatePersistentResource."""
        checks.refuse_ray(request.persistent_resource)
        allow = self._jobs.unknown_types.are_allowed(headers)
        found = checks.violations(request.persistent_resource, allow_unknown=allow)
        with self._lock, self._records.transaction():
            record = self._resources.add(request, names.parse_parent(request.parent), more=found)
            return self._begin(record, "create")

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Answer GetPersistentResource."""
        return self._find(request.name).message

    def list(self, request: DynamicMessage) -> DynamicMessage:
        """Answer ListPersistentResources, newest first."""
        for record in self._records.everywhere():
            self._allocator.with_usage(record)
        return self._resources.list_page(request)

    def update(self, request: DynamicMessage) -> DynamicMessage:
        """Answer UpdatePersistentResource: display name, labels and the sizes of pools."""
        with self._lock:
            record = self._find(request.persistent_resource.name)
            new = checks.apply_update(record.message, request)
            self._require(record, resources.RUNNING, doing="updated")
            return self._enter(record, "update", resources.UPDATING, new)

    def reboot(self, request: DynamicMessage) -> DynamicMessage:
        """Answer RebootPersistentResource. Only a resource without running jobs can be rebooted."""
        with self._lock:
            record = self._find(request.name)
            self._require(record, resources.RUNNING, resources.ERROR, doing="rebooted")
            if busy := self._allocator.jobs_of(record):
                raise RpcError(
                    "FAILED_PRECONDITION",
                    f'The PersistentResource "{record.name}" cannot be rebooted while jobs run on it: '
                    f"{busy[0].name}.",
                )
            return self._enter(record, "reboot", resources.REBOOTING, record.message)

    def delete(self, request: DynamicMessage) -> DynamicMessage:
        """Answer DeletePersistentResource; cancels the jobs on the resource first."""
        with self._lock:
            record = self._find(request.name)
            if record.state in (resources.REBOOTING, resources.STOPPING):
                raise RpcError(
                    "FAILED_PRECONDITION",
                    f'The PersistentResource "{record.name}" is in state {record.state} and cannot be '
                    "deleted.",
                )
            before = self._pending.get(record.place, record.id)
            answer = self._enter(record, "delete", resources.STOPPING, record.message)
        if before is not None:
            self._operations.fail(before.operation, CANCELLED, "CANCELLED")
        self._cancel_jobs(record)
        return answer

    # Internal

    def _find(self, name: str) -> Record:
        """Return the resource as it is now."""
        return self._allocator.with_usage(self._records.lookup(name))

    def _require(self, record: Record, *states: str, doing: str) -> None:
        if record.state not in states:
            raise RpcError(
                "FAILED_PRECONDITION",
                f'The PersistentResource "{record.name}" is in state {record.state} and cannot be {doing}.',
            )

    def _enter(self, record: Record, kind: ChangeKind, state: str, new: DynamicMessage) -> DynamicMessage:
        now = times.now(self._clock)

        def change(resource: DynamicMessage) -> bool:
            resource.CopyFrom(new)
            resources.enter(resource, state, at=now)
            return True

        with self._records.transaction():
            self._records.change(record.id, change, place=record.place)
            return self._begin(record, kind)

    def _begin(self, record: Record, kind: ChangeKind) -> DynamicMessage:
        below = str(record.place) if kind == "delete" else record.name
        operation = self._operations.begin(below, self._resources.metadata(kind.capitalize()))
        self._pending.begin(record.place, record.id, kind, operation.name, seconds=self.delay.seconds)
        self._task.wake()
        return operation

    def _run_due(self) -> Next:
        with self._lock:
            changes = self._pending.all()
        now, left = self._clock.seconds(), []
        for change in changes:
            if change.due > now:
                left.append(self._clock.real_seconds(change.due - now))
            elif not self._end(change):
                left.append(_POLL_SECONDS)
        return Next(seconds=min((each for each in left if each is not None), default=None))

    def _end(self, change: PendingChange) -> bool:
        """End a change that is due. Return False if it has to wait.

        Every step can be repeated: after a kill between two steps, all of them run again.
        """
        if change.kind == "delete":
            record = self._records.get(change.place, change.id)
            if record is not None and self._cancel_jobs(record):
                return False
        with self._lock:
            if self._pending.get(change.place, change.id) != change:
                return True  # deleted meanwhile
            if change.kind == "delete":
                self._records.delete(change.id, place=change.place)
                response = descriptors.message("google.protobuf.Empty")
            else:
                record = self._records.change(change.id, self._completed(change), place=change.place)
                response = descriptors.message(COLLECTION.message) if record is None else record.message
            self._operations.finish(change.operation, response)
            self._pending.end(change)
        return True

    def _completed(self, change: PendingChange) -> Callable[[DynamicMessage], bool]:
        now = times.now(self._clock)

        def run(resource: DynamicMessage) -> bool:
            if resources.state_of(resource) == resources.RUNNING:
                return False
            resources.enter(resource, resources.RUNNING, at=now)
            for pool in resource.resource_pools if change.kind == "reboot" else ():
                if pool.HasField("autoscaling_spec"):
                    pool.replica_count = pool.autoscaling_spec.min_replica_count
            return True

        return run

    def _cancel_jobs(self, record: Record) -> int:
        """Cancel the jobs on a resource, waiting ones first. Return how many have not ended."""
        jobs = self._jobs.jobs_on_resource(record.place, record.id)
        for job in sorted(jobs, key=lambda one: one.state != "JOB_STATE_QUEUED"):
            self._jobs.request_cancel(job.id)
        return len(jobs)
