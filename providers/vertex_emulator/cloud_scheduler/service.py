"""The Cloud Scheduler service: its methods, and the calls that its jobs make.

A job is due at the times of its schedule on the emulator's clock. When the clock is advanced over several
of these times, the job runs for each of them, one after the other. What was due while the emulator was
stopped is not made up for.
"""

from __future__ import annotations

import builtins
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.cloud_scheduler import checks
from vertex_emulator.cloud_scheduler.store import JOB, PACKAGE, JobStore, StoredJob, name_of
from vertex_emulator.http.google_paths import google_path
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.own_api import Call
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import Binding, RpcError
from vertex_emulator.rpc.paging import page_size, page_token, read_page_token
from vertex_emulator.vertex import names
from vertex_emulator.vertex.service import Archived, Service
from vertex_training.fields import cron

log = logging.getLogger(__name__)

ENABLED, PAUSED = 1, 2
MOST_AT_ONCE = 100
"""The most runs that one job makes up for when the clock is advanced; the latest ones count."""

_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 429: 8, 501: 12, 503: 14, 504: 4}
"""The google.rpc.Code in a job's status by the HTTP status of the last answer; others are INTERNAL."""
_INTERNAL = 13
_VERBS = {1: "POST", 2: "GET", 3: "HEAD", 4: "PUT", 5: "DELETE", 6: "PATCH", 7: "OPTIONS"}
_PAGE, _MAX_PAGE = 100, 500


class CloudScheduler(Service):
    """The jobs of Cloud Scheduler of one emulator; `call` reaches the emulator's own APIs."""

    def __init__(self, database: Database, clock: Clock, scheduler: Scheduler, call: Call) -> None:
        self._clock = clock
        self._call = call
        self._store = JobStore(database)
        self._task = scheduler.add("jobs of Cloud Scheduler", self._run_due)

    # For the server

    def bindings(self) -> Mapping[str, Binding]:
        """Return the methods by their full names."""
        methods: Mapping[str, Binding] = {
            "CreateJob": self.create,
            "GetJob": self.get,
            "ListJobs": self.list,
            "UpdateJob": self.update,
            "DeleteJob": self.delete,
            "PauseJob": self.pause,
            "ResumeJob": self.resume,
            "RunJob": self.run,
        }
        return {f"{descriptors.CLOUD_SCHEDULER}.{name}": method for name, method in methods.items()}

    def start(self) -> None:
        """Plan the next run of each job. Those that were due while the emulator was stopped are left out."""
        for job in self._store.all():
            self._store.change(job.place, job.id, self._replanned)

    def enabled(self) -> int:
        """Return the number of jobs that are not paused. The emulator keeps running for them."""
        return sum(job.due is not None for job in self._store.all())

    def archived(self) -> Sequence[Archived]:
        """Return nothing: an archive leaves the schedules out, so that an import starts no jobs."""
        return ()

    def remove_all(self) -> None:
        """Delete all jobs."""
        self._store.clear()

    # Methods of the API

    def create(self, request: Any) -> Message:
        """Answer CreateJob. Without a name the service makes one."""
        place = names.parse_parent(request.parent)
        job = descriptors.message(JOB)
        job.CopyFrom(request.job)
        for field in checks.OUTPUT_ONLY:
            job.ClearField(field)
        job_id = _id_in(job.name, place) if job.name else names.new_id()
        checks.check_id(job_id)
        checks.check(job)
        checks.fill_in(job)
        job.name = name_of(place, job_id)
        job.state = ENABLED
        job.user_update_time.FromJsonString(times.now(self._clock))
        stored = self._replanned(StoredJob(place=place, id=job_id, message=job))
        if not self._store.insert(stored):
            raise RpcError("ALREADY_EXISTS", f"Job {job.name} already exists.")
        self._task.wake()
        return _message(stored)

    def get(self, request: Any) -> Message:
        """Answer GetJob."""
        return _message(self._find(request.name))

    def list(self, request: Any) -> Message:
        """Answer ListJobs, by name."""
        place = names.parse_parent(request.parent)
        size = page_size(request.page_size, default=_PAGE, most=_MAX_PAGE)
        position = read_page_token(request.page_token, query=str(place))
        found = [
            job
            for job in self._store.all()
            if (job.place.number, job.place.location) == (place.number, place.location)
            and (position is None or job.id > str(position[0]))
        ]
        answer = descriptors.message(f"{PACKAGE}.ListJobsResponse")
        answer.jobs.extend(_message(job) for job in found[:size])
        if len(found) > size:
            answer.next_page_token = page_token([found[size - 1].id, 0], query=str(place))
        listed: Message = answer
        return listed

    def update(self, request: Any) -> Message:
        """Answer UpdateJob: replaces the fields of the mask, or all that are given without one."""
        place, job_id = _parse(request.job.name)

        def change(stored: StoredJob) -> StoredJob:
            job = _copy(stored.message)
            _merge(job, request)
            checks.check(job)
            checks.fill_in(job)
            job.name = stored.message.name
            job.user_update_time.FromJsonString(times.now(self._clock))
            return self._replanned(replace(stored, message=job, retry_at=None, attempts=0))

        return _message(self._changed(place, job_id, request.job.name, change))

    def delete(self, request: Any) -> Message:
        """Answer DeleteJob."""
        place, job_id = _parse(request.name)
        if not self._store.delete(place, job_id):
            raise _not_found(request.name)
        empty: Message = descriptors.message("google.protobuf.Empty")
        return empty

    def pause(self, request: Any) -> Message:
        """Answer PauseJob."""
        return self._enter(request.name, ENABLED, PAUSED, "enabled")

    def resume(self, request: Any) -> Message:
        """Answer ResumeJob."""
        return self._enter(request.name, PAUSED, ENABLED, "paused")

    def run(self, request: Any) -> Message:
        """Answer RunJob: the job makes its call now, whatever its schedule."""
        place, job_id = _parse(request.name)
        changed = self._changed(
            place, job_id, request.name, lambda stored: replace(stored, forced=stored.forced + 1)
        )
        return _message(changed)

    # Internal

    def _find(self, name: str) -> StoredJob:
        place, job_id = _parse(name)
        found = self._store.get(place, job_id)
        if found is None:
            raise _not_found(name)
        return found

    def _changed(self, place: Place, job_id: str, name: str, change: Any) -> StoredJob:
        changed = self._store.change(place, job_id, change)
        if changed is None:
            raise _not_found(name)
        self._task.wake()
        return changed

    def _enter(self, name: str, old: int, new: int, word: str) -> Message:
        place, job_id = _parse(name)

        def change(stored: StoredJob) -> StoredJob:
            if stored.message.state != old:
                raise RpcError("FAILED_PRECONDITION", f"Job {name} is not {word}.")
            job = _copy(stored.message)
            job.state = new
            return self._replanned(replace(stored, message=job, retry_at=None, attempts=0))

        return _message(self._changed(place, job_id, name, change))

    def _replanned(self, stored: StoredJob, *, after: int | None = None) -> StoredJob:
        """Return a job with the next time of its schedule after a time, by default after now."""
        if stored.message.state != ENABLED:
            job = _copy(stored.message)
            job.ClearField("schedule_time")
            return replace(stored, message=job, due=None, retry_at=None)
        now = self._clock.microseconds() if after is None else after
        moment = datetime.fromtimestamp(now / 1e6, timezone.utc)
        found = cron.next_times(stored.message.schedule, checks.zone_of(stored.message), moment, 1)
        return _due_at(stored, round(found[0].timestamp() * 1e6) if found else None)

    def _run_due(self) -> Next:
        now = self._clock.microseconds()
        for job in self._store.all():
            for _ in range(job.forced):
                self._attempt(job.place, job.id, at=now, retries=False)
                self._store.change(job.place, job.id, lambda one: replace(one, forced=max(0, one.forced - 1)))
            if job.retry_at is not None and job.retry_at <= now:
                self._attempt(job.place, job.id, at=job.retry_at)
            for due in self._take_due(job, now):
                self._attempt(job.place, job.id, at=due)
        waits = [job.next_at for job in self._store.all()]
        return Next(at=min((at for at in waits if at is not None), default=None))

    def _take_due(self, job: StoredJob, now: int) -> Sequence[int]:
        """Return the times that are due, and plan the next one before any call is made.

        A clock that was set back plans the next run earlier.
        """
        taken: builtins.list[int] = []

        def change(stored: StoredJob) -> StoredJob:
            taken.clear()
            while stored.due is not None and stored.due <= now:
                taken.append(stored.due)
                stored = self._replanned(stored, after=stored.due)
            again = self._replanned(stored, after=now)
            earlier = None not in (again.due, stored.due) and again.due < stored.due  # type: ignore[operator]
            return again if earlier else stored

        if job.due is not None:
            self._store.change(job.place, job.id, change)
        if len(taken) > MOST_AT_ONCE:
            log.warning("%s: %d missed runs are left out", job.name, len(taken) - MOST_AT_ONCE)
        return taken[-MOST_AT_ONCE:]

    def _attempt(self, place: Place, job_id: str, *, at: int, retries: bool = True) -> None:
        """Make the call of a job once, and record its result."""
        stored = self._store.get(place, job_id)
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
        log.info("%s called %s: %d %s", stored.name, target.uri, answer.status, text if code else "")

        def change(now: StoredJob) -> StoredJob:
            job = _copy(now.message)
            job.last_attempt_time.FromJsonString(times.now(self._clock))
            job.status.Clear()
            job.status.code = code
            job.status.message = text[:1000] if code else ""
            now = replace(now, message=job)
            return self._with_retry(now) if code and retries else replace(now, retry_at=None, attempts=0)

        self._store.change(place, job_id, change)

    def _with_retry(self, stored: StoredJob) -> StoredJob:
        """Return a job whose call has failed with the time of the next attempt, if it has one left."""
        retry = stored.message.retry_config
        if stored.attempts >= retry.retry_count:
            return replace(stored, retry_at=None, attempts=0)
        doublings = min(stored.attempts, retry.max_doublings)
        seconds = min(retry.min_backoff_duration.seconds * 2**doublings, retry.max_backoff_duration.seconds)
        at = self._clock.microseconds() + seconds * 1_000_000
        return replace(stored, retry_at=at, attempts=stored.attempts + 1)


def _due_at(stored: StoredJob, due: int | None) -> StoredJob:
    job = _copy(stored.message)
    job.ClearField("schedule_time")
    if due is not None:
        job.schedule_time.FromMicroseconds(due)
    return replace(stored, message=job, due=due)


def _merge(job: Any, request: Any) -> None:
    """Take the fields of an update over. Raises `RpcError` INVALID_ARGUMENT for an unknown field."""
    paths = list(request.update_mask.paths)
    if not paths:
        paths = [
            field.name
            for field, _ in request.job.ListFields()
            if field.name not in ("name", *checks.OUTPUT_ONLY)
        ]
    if not request.update_mask.IsValidForDescriptor(job.DESCRIPTOR):
        raise RpcError("INVALID_ARGUMENT", f"update_mask {paths} has fields that a Job does not have.")
    for path in paths:
        if path in ("name", *checks.OUTPUT_ONLY):
            continue
        top, _, below = path.partition(".")
        if not below:
            job.ClearField(top)
        elif job.HasField(top):
            getattr(job, top).ClearField(below.split(".")[0])
    mask = type(request.update_mask)(
        paths=[path for path in paths if path not in ("name", *checks.OUTPUT_ONLY)]
    )
    mask.MergeMessage(request.job, job, replace_message_field=True, replace_repeated_field=True)


def _copy(job: Any) -> Any:
    new = descriptors.message(JOB)
    new.CopyFrom(job)
    return new


def _message(stored: StoredJob) -> Message:
    message: Message = stored.message
    return message


def _parse(name: str) -> tuple[Place, str]:
    return names.parse_name(name, "jobs")


def _id_in(name: str, place: Place) -> str:
    found, job_id = _parse(name)
    if (found.number, found.location) != (place.number, place.location):
        raise RpcError("INVALID_ARGUMENT", f"The job's name {name} is not in {place.as_asked}.")
    return job_id


def _not_found(name: str) -> RpcError:
    return RpcError("NOT_FOUND", f"Job {name} was not found.")
