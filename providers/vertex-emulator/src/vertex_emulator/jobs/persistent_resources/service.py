"""PersistentResourceService: what it adds to a stored resource, and the changes that its methods begin.

Creation, update, reboot and deletion take some time on the emulator's clock (`delay`), so that their states
can be seen. The record is committed before the call returns, together with the pending change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from vertex_emulator.jobs.custom.queue.slots import StartDelay
from vertex_emulator.jobs.custom.service import JobService
from vertex_emulator.jobs.persistent_resources import checks, resources
from vertex_emulator.jobs.persistent_resources.resources import (
    COLLECTION,
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
from vertex_emulator.server.rpc.methods import Binding, RpcError, Violation, WithHeaders
from vertex_emulator.services.resource_engine.operations import CANCELLED, ResourceOperations
from vertex_emulator.services.resource_engine.records import Record, Records
from vertex_emulator.services.resource_engine.resources import Resources
from vertex_emulator.services.resource_engine.service import Service

DELAY_SECONDS = 0.3
"""Duration of each change unless a test sets another one."""

_POLL_SECONDS = 0.1
"""Interval between checks whether the jobs on a resource that is being deleted have ended."""


class PersistentResources(Resources, Service):
    """The persistent resources of one emulator; `jobs` run on them."""

    ids = checks.IDS

    def __init__(
        self,
        database: Database,
        clock: Clock,
        scheduler: Scheduler,
        operations: ResourceOperations,
        jobs: JobService,
    ) -> None:
        records = Records(database, clock, COLLECTION, table="persistent_resources")
        super().__init__(descriptors.PERSISTENT_RESOURCE_SERVICE, records, operations, clock)
        self._clock = clock
        self._jobs = jobs
        self._pending = PendingChanges(database, clock)
        self._allocator = ResourceAllocator(records, jobs.holding_machines)
        self._task = scheduler.add("changes of persistent resources", self._run_due)
        self.delay = StartDelay(path="/_local/persistent-resource-delay", default=DELAY_SECONDS)
        jobs.use_resources(self._allocator)

    # For the server

    def bindings(self) -> Mapping[str, Binding]:
        """Return the methods by their full names."""
        service = descriptors.PERSISTENT_RESOURCE_SERVICE
        return {
            **self.methods(),
            f"{service}.CreatePersistentResource": WithHeaders(self.create_for),
            f"{service}.RebootPersistentResource": self.reboot,
        }

    def routes(self) -> Sequence[Route]:
        """Return the routes of the duration of changes."""
        return self.delay.routes()

    def start(self) -> None:
        """Continue the changes that were pending."""
        with self.records.transaction():
            self._pending.load()

    def live(self) -> int:
        """Return how many changes are pending."""
        return len(self._pending.all())

    def end_imported(self, at: str) -> int:
        """Finish the changes of a snapshot's resources; no job of it uses their machines."""

        def end(resource: DynamicMessage) -> None:
            checks.set_usage(resource, {})
            if resources.state_of(resource) not in (resources.RUNNING, resources.ERROR):
                resources.enter(resource, resources.RUNNING, at=at)

        self.records.end_all(end, condition="1")
        return 0

    def remove_all(self) -> None:
        """Remove all resources; the jobs on them are ended by their own service."""
        with self.records.transaction():
            self._pending.clear()
            self.records.clear()
        self.delay.reset()

    # For the engine of stored resources

    def shown(self, record: Record) -> DynamicMessage:
        return self._allocator.with_usage(record).message

    def overwrite(
        self, message: DynamicMessage, given: DynamicMessage, paths: Sequence[str]
    ) -> Iterable[Violation]:
        """Update the display name, the labels and the sizes of pools."""
        checks.update(message, given, paths)
        return ()

    def problems(self, message: DynamicMessage, _: Record | None) -> Iterable[Violation]:
        """Check an updated resource. A new one is checked with the headers of its request."""
        return checks.violations(message, allow_unknown=True) if message.state else ()

    def complete(self, message: DynamicMessage, _: Place) -> None:
        if message.state:
            _require(message, resources.RUNNING, doing="updated")
            resources.enter(message, resources.UPDATING, at=times.now(self._clock))
        else:
            resources.fill_in(message)
            resources.enter(message, resources.PROVISIONING, at=message.create_time.ToJsonString())

    def remove(self, record: Record) -> None:
        states = set(resources.STATES) - {resources.REBOOTING, resources.STOPPING}
        _require(record.message, *states, doing="deleted")
        if (before := self._pending.get(record.place, record.id)) is not None:
            self.operations.fail(before.operation, CANCELLED, "CANCELLED")
        self._enter(record, resources.STOPPING)

    def answer(self, verb: str, record: Record) -> DynamicMessage:
        """Begin a change, and return its operation."""
        operation = self.operations.begin(self.below(verb, record), self.metadata(verb))
        seconds = self.delay.value
        self._pending.begin(record.place, record.id, verb.lower(), operation.name, seconds=seconds)
        self._task.wake()
        return operation

    # Methods of the API

    def create_for(self, request: DynamicMessage, headers: Mapping[str, str]) -> DynamicMessage:
        """Create a resource, with a machine type that the catalog lacks if the headers allow it."""
        checks.refuse_ray(request.persistent_resource)
        allow = self._jobs.unknown_types.are_allowed(headers)
        found = checks.violations(request.persistent_resource, allow_unknown=allow)
        with self.records.transaction():
            return self.answer("Create", self.add(request, *self.scope(request.parent), more=found))

    def update(self, request: DynamicMessage) -> DynamicMessage:
        """Update a resource whose usage is the present one."""
        self.shown(self.records.lookup(request.persistent_resource.name))
        return super().update(request)

    def reboot(self, request: DynamicMessage) -> DynamicMessage:
        """Reboot a resource on which no job runs."""
        busy = self._allocator.jobs_of(self.records.lookup(request.name))
        with self.records.transaction():
            record = self.records.lookup(request.name)
            _require(record.message, resources.RUNNING, resources.ERROR, doing="rebooted")
            if busy:
                raise RpcError(
                    "FAILED_PRECONDITION",
                    f'The PersistentResource "{record.name}" cannot be rebooted while jobs run on it: '
                    f"{busy[0].name}.",
                )
            self._enter(record, resources.REBOOTING)
            return self.answer("Reboot", record)

    def delete(self, request: DynamicMessage) -> DynamicMessage:
        """Delete a resource, and cancel the jobs on it first."""
        answer = super().delete(request)
        self._cancel_jobs(*COLLECTION.parse(request.name))
        return answer

    # Internal

    def _enter(self, record: Record, state: str) -> None:
        now = times.now(self._clock)

        def change(resource: DynamicMessage) -> bool:
            resources.enter(resource, state, at=now)
            return True

        self.records.change(record.id, change, place=record.place)

    def _run_due(self) -> Next:
        now, left = self._clock.seconds(), []
        for change in self._pending.all():
            if change.due > now:
                left.append(self._clock.real_seconds(change.due - now))
            elif not self._end(change):
                left.append(_POLL_SECONDS)
        return Next(seconds=min((each for each in left if each is not None), default=None))

    def _end(self, change: PendingChange) -> bool:
        """End a change that is due. Return False if it has to wait.

        Every step can be repeated: after a kill between two steps, all of them run again.
        """
        if change.kind == "delete" and self._cancel_jobs(change.place, change.id):
            return False
        with self.records.transaction():
            if self._pending.get(change.place, change.id) != change:
                return True  # deleted meanwhile
            if change.kind == "delete":
                self.records.delete(change.id, place=change.place)
                response = descriptors.empty()
            else:
                record = self.records.change(change.id, self._completed(change), place=change.place)
                response = descriptors.message(COLLECTION.message) if record is None else record.message
            self.operations.finish(change.operation, response)
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

    def _cancel_jobs(self, place: Place, resource_id: str) -> int:
        """Cancel the jobs on a resource, waiting ones first. Return how many have not ended."""
        jobs = self._jobs.jobs_on_resource(place, resource_id)
        for job in sorted(jobs, key=lambda one: one.state != "JOB_STATE_QUEUED"):
            self._jobs.request_cancel(job.id)
        return len(jobs)


def _require(resource: DynamicMessage, *states: str, doing: str) -> None:
    """Raise FAILED_PRECONDITION unless the resource is in one of the states."""
    if (state := resources.state_of(resource)) not in states:
        raise RpcError(
            "FAILED_PRECONDITION",
            f'The PersistentResource "{resource.name}" is in state {state} and cannot be {doing}.',
        )
