"""The Cloud Scheduler service: its methods, and the calls that its jobs make.

A job is due at the times of its schedule on the emulator's clock. When the clock is advanced over several
of these times, the job runs for each of them, one after the other. What was due while the emulator was
stopped is not made up for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone

from google.protobuf.field_mask_pb2 import FieldMask

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.server.http.google_paths import google_path
from vertex_emulator.server.own_api import Call
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError, Violation
from vertex_emulator.services.cloud_scheduler import checks
from vertex_emulator.services.cloud_scheduler.store import JOBS, Calls, JobStore, due
from vertex_emulator.services.resource_engine.listing import Listing
from vertex_emulator.services.resource_engine.operations import ResourceOperations
from vertex_emulator.services.resource_engine.records import Record
from vertex_emulator.services.resource_engine.resources import Resources
from vertex_emulator.services.resource_engine.service import Service
from vertex_training.fields import cron

log = logging.getLogger(__name__)

ENABLED, PAUSED = 1, 2
MOST_AT_ONCE = 100
"""The most runs that one job makes up for when the clock is advanced; the latest ones count."""

_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 429: 8, 501: 12, 503: 14, 504: 4}
"""The google.rpc.Code in a job's status by the HTTP status of the last answer; others are INTERNAL."""
_INTERNAL = 13
_VERBS = {1: "POST", 2: "GET", 3: "HEAD", 4: "PUT", 5: "DELETE", 6: "PATCH", 7: "OPTIONS"}


class _Jobs(Resources):
    """The jobs; `planned` is called with each one that is new or updated, in its transaction."""

    listing = Listing(default_order=[lambda job: job.id], most=500)

    def __init__(
        self, store: JobStore, operations: ResourceOperations, clock: Clock, planned: Callable[[], None]
    ) -> None:
        super().__init__(descriptors.CLOUD_SCHEDULER, store, operations, clock)
        self._store = store
        self._clock = clock
        self._planned = planned
        fields = descriptors.message(JOBS.message).DESCRIPTOR.fields
        self.updatable = [
            each.name for each in fields if each.name != "name" and not descriptors.is_output_only(each)
        ]

    def add(
        self,
        request: DynamicMessage,
        place: Place,
        parent: Record | None = None,
        *,
        more: Iterable[Violation] = (),
    ) -> Record:
        """Store a job, whose ID is in its name. Without a name the service makes one."""
        job_id = ""
        if name := request.job.name:
            found, job_id = JOBS.parse(name)
            if (found.number, found.location) != (place.number, place.location):
                raise RpcError("INVALID_ARGUMENT", f"The job's name {name} is not in {place.as_asked}.")
            checks.check_id(job_id)
        return self.store(request.job, job_id, place, parent, id_path="name", more=more)

    def prepare(self, message: DynamicMessage, _: Record | None) -> None:
        checks.fill_in(message)
        message.user_update_time.FromJsonString(times.now(self._clock))

    def problems(self, message: DynamicMessage, _: Record | None) -> Iterator[Violation]:
        found = list(checks.problems(message))
        yield from found
        if not found:
            checks.refuse(message)

    def complete(self, message: DynamicMessage, place: Place) -> None:
        """Name a job with the project as the client gave it, and plan its next call."""
        message.name = f"{place.as_asked}/jobs/{message.name.rpartition('/')[2]}"
        message.state = message.state or ENABLED
        plan(message, after=self._clock.microseconds())

    def overwrite(
        self, message: DynamicMessage, given: DynamicMessage, paths: Sequence[str]
    ) -> Iterable[Violation]:
        """Replace the fields of the mask, or all that are given without one."""
        asked = FieldMask(paths=paths or [field.name for field, _ in given.ListFields()])
        if not asked.IsValidForDescriptor(message.DESCRIPTOR):
            raise RpcError("INVALID_ARGUMENT", f"update_mask {paths} has fields that a Job does not have.")
        mask = FieldMask(paths=[path for path in asked.paths if path.partition(".")[0] in self.updatable])
        for path in mask.paths:
            top, _, below = path.partition(".")
            if not below:
                message.ClearField(top)
            elif message.HasField(top):
                getattr(message, top).ClearField(below.split(".")[0])
        mask.MergeMessage(given, message, replace_message_field=True, replace_repeated_field=True)
        return ()

    def saved(self, record: Record) -> None:
        self._store.stop_retries(record)
        self._planned()

    def remove(self, record: Record) -> None:
        self._store.remove(record)


class CloudScheduler(Service):
    """The jobs of Cloud Scheduler of one emulator; `call` reaches the emulator's own APIs."""

    def __init__(
        self,
        database: Database,
        operations: ResourceOperations,
        clock: Clock,
        scheduler: Scheduler,
        call: Call,
    ) -> None:
        self._clock = clock
        self._call = call
        self._store = JobStore(database, clock)
        self._task = scheduler.add("jobs of Cloud Scheduler", self._run_due)
        self._jobs = _Jobs(self._store, operations, clock, self._task.wake)

    # For the server

    def bindings(self) -> Mapping[str, Binding]:
        """Return the methods by their full names."""
        service = descriptors.CLOUD_SCHEDULER
        return {
            **self._jobs.methods(),
            f"{service}.PauseJob": self.pause,
            f"{service}.ResumeJob": self.resume,
            f"{service}.RunJob": self.run,
        }

    def start(self) -> None:
        """Plan the next run of each job. Those that were due while the emulator was stopped are left out."""
        for job in self._store.all():
            self._store.change(job.id, self._replan, place=job.place)

    def enabled(self) -> int:
        """Return the number of jobs that are not paused. The emulator keeps running for them."""
        return sum(due(job.message) is not None for job in self._store.all())

    def remove_all(self) -> None:
        """Delete all jobs."""
        self._store.clear()

    # Methods of the API

    def pause(self, request: DynamicMessage) -> DynamicMessage:
        """Answer PauseJob."""
        return self._enter(request.name, ENABLED, PAUSED, "enabled")

    def resume(self, request: DynamicMessage) -> DynamicMessage:
        """Answer ResumeJob."""
        return self._enter(request.name, PAUSED, ENABLED, "paused")

    def run(self, request: DynamicMessage) -> DynamicMessage:
        """Answer RunJob: the job makes its call now, whatever its schedule."""
        with self._store.transaction():
            job = self._store.lookup(request.name)
            calls = self._store.calls(job)
            self._store.set_calls(job, replace(calls, forced=calls.forced + 1))
        self._task.wake()
        return job.message

    # Internal

    def _enter(self, name: str, old: int, new: int, word: str) -> DynamicMessage:
        def change(message: DynamicMessage) -> bool:
            if message.state != old:
                raise RpcError("FAILED_PRECONDITION", f"Job {name} is not {word}.")
            message.state = new
            return self._replan(message)

        with self._store.transaction():
            job = self._store.lookup(name)
            changed = self._store.change(job.id, change, place=job.place) or job
            self._store.stop_retries(job)
        self._task.wake()
        return changed.message

    def _replan(self, message: DynamicMessage) -> bool:
        plan(message, after=self._clock.microseconds())
        return True

    def _run_due(self) -> Next:
        now = self._clock.microseconds()
        for job in self._store.all():
            calls = self._store.calls(job)
            for _ in range(calls.forced):
                self._attempt(job, at=now, is_forced=True)
            if calls.retry_at is not None and calls.retry_at <= now:
                self._attempt(job, at=calls.retry_at)
            for at in self._take_due(job, now):
                self._attempt(job, at=at)
        waits = [
            at for job in self._store.all() for at in (due(job.message), self._store.calls(job).retry_at)
        ]
        return Next(at=min((at for at in waits if at is not None), default=None))

    def _take_due(self, job: Record, now: int) -> Sequence[int]:
        """Return the times that are due, and plan the next one before any call is made.

        A clock that was set back plans the next run earlier.
        """
        taken: list[int] = []

        def change(message: DynamicMessage) -> bool:
            taken.clear()
            while (at := due(message)) is not None and at <= now:
                taken.append(at)
                plan(message, after=at)
            if at is not None:
                plan(message, after=now)
                message.schedule_time.FromMicroseconds(min(at, due(message) or at))
            return True

        if due(job.message) is not None:
            self._store.change(job.id, change, place=job.place)
        if len(taken) > MOST_AT_ONCE:
            log.warning("%s: %d missed runs are left out", job.message.name, len(taken) - MOST_AT_ONCE)
        return taken[-MOST_AT_ONCE:]

    def _attempt(self, job: Record, *, at: int, is_forced: bool = False) -> None:
        """Make the call of a job once, and record its result."""
        stored = self._store.get(job.place, job.id)
        if stored is None:
            return
        target = stored.message.http_target
        host, _, path = target.uri.partition("://")[2].partition("/")
        answer = self._call(
            _VERBS[target.http_method],
            f"https://{host}{google_path(host, f'/{path}')}",
            body=bytes(target.body),
            headers={
                "Content-Type": "application/octet-stream",
                **dict(target.headers),
                "User-Agent": "Google-Cloud-Scheduler",
                "X-CloudScheduler": "true",
                "X-CloudScheduler-JobName": stored.id,
                "X-CloudScheduler-ScheduleTime": times.from_microseconds(at),
            },
            timeout=stored.message.attempt_deadline.seconds,
        )
        code = 0 if 200 <= answer.status < 300 else _CODES.get(answer.status, _INTERNAL)
        text = answer.body.decode("utf-8", "replace")
        log.info("%s called %s: %d %s", stored.message.name, target.uri, answer.status, text if code else "")

        def change(message: DynamicMessage) -> bool:
            message.last_attempt_time.FromJsonString(times.now(self._clock))
            message.status.Clear()
            message.status.code = code
            message.status.message = text[:1000] if code else ""
            return True

        with self._store.transaction():
            changed = self._store.change(job.id, change, place=job.place)
            if changed is not None:
                calls = self._store.calls(changed)
                after = self._after_failure(changed.message, calls) if code and not is_forced else Calls()
                self._store.set_calls(changed, replace(after, forced=max(0, calls.forced - is_forced)))

    def _after_failure(self, job: DynamicMessage, calls: Calls) -> Calls:
        """Return the calls of a job with the next attempt, if it has one left."""
        retry = job.retry_config
        if calls.attempts >= retry.retry_count:
            return Calls()
        doublings = min(calls.attempts, retry.max_doublings)
        seconds = min(retry.min_backoff_duration.seconds * 2**doublings, retry.max_backoff_duration.seconds)
        at = self._clock.microseconds() + seconds * 1_000_000
        return Calls(retry_at=at, attempts=calls.attempts + 1)


def plan(job: DynamicMessage, *, after: int) -> None:
    """Set the next time of a job's schedule; a paused job has none."""
    job.ClearField("schedule_time")
    if job.state == ENABLED:
        moment = datetime.fromtimestamp(after / 1e6, timezone.utc)
        for found in cron.next_times(job.schedule, checks.zone_of(job) or timezone.utc, moment, 1):
            job.schedule_time.FromMicroseconds(round(found.timestamp() * 1e6))
