"""The notifier: it records a delivery with the end of a job, and sends it until it arrives or is given up.

A delivery is recorded in the transaction that ends the job, so a kill loses none. An attempt is counted
before it is made. A kill during it repeats it after the next start: a notification arrives at least once, and
the id of its delivery is the same each time.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from vertex_emulator.jobs.custom.service import JobService
from vertex_emulator.jobs.notifications import command, subscriptions, webhook
from vertex_emulator.jobs.notifications.deliveries import Deliveries, Delivery, DeliveryState, TargetKind
from vertex_emulator.jobs.notifications.subscriptions import Subscriptions
from vertex_emulator.kernel import background, times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.kernel.timeouts import DaemonTimeouts
from vertex_emulator.server.http.auth import CALLER, Access
from vertex_emulator.server.http.messages import Request, Response, Route, json_response
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.resource_engine.records import Record
from vertex_emulator.services.resource_engine.service import Service
from vertex_training.notifications import ended_run
from vertex_training.notifications.ended_run import EndedRun
from vertex_training.notifications.notification import Notification

log = logging.getLogger(__name__)

PAUSES = (2, 10, 60, 300)
"""Seconds of the emulator's clock before the second attempt and each one after it; the last is given up."""

_ATTEMPTS = len(PAUSES) + 1
_AT_ONCE = 8
_LOOK_SECONDS = 1.0
"""Interval between looks for jobs whose ends are reported."""


class Notifier(Service):
    """The notifications of one emulator."""

    def __init__(
        self,
        data_dir: Path,
        jobs: JobService,
        *,
        database: Database,
        clock: Clock,
        scheduler: Scheduler,
        timeouts: DaemonTimeouts,
    ) -> None:
        self._data_dir = data_dir
        self._timeouts = timeouts
        self._jobs = jobs
        self._clock = clock
        self._subscriptions = Subscriptions(data_dir)
        self._deliveries = Deliveries(database)
        self._watched: set[str] = set()
        self._sending: set[str] = set()
        self._lock = threading.Lock()
        self._task = scheduler.add("notifications", self._run)

    # --- the service

    def routes(self) -> Sequence[Route]:
        """Return the route that lists the deliveries of a job."""
        path = r"/_local/notifications/(?P<collection>[A-Za-z]+)/(?P<job>[0-9A-Za-z-]+)"
        return (Route("GET", path, self._show),)

    def remove_all(self) -> None:
        """Remove all subscriptions and deliveries."""
        subscriptions.remove_all(self._data_dir)
        self._deliveries.clear()

    # --- the end of a job

    def created(self, collection: str, job_id: str, message: DynamicMessage) -> None:
        """Note a job that only seems to be of a declaration. It joins the transaction of the creation.

        A replica, and a schedule that it made, have the token for services only. They can read the labels of
        a declared job and give them to a job of their own.
        """
        if CALLER.get() is not Access.OWNER and subscriptions.DECLARATION_LABEL in message.labels:
            self._deliveries.note_stranger(collection, job_id)

    def ended(self, record: Record) -> None:
        """Record the deliveries about a job that has just ended. It joins the transaction of the end."""
        labels = dict(record.message.labels)
        own = {} if self._deliveries.is_stranger(record.collection, record.id) else labels
        for subscription in self._subscriptions.of(record.collection, own, record.id):
            for index, one in enumerate(subscription.notifications):
                self._record(record, labels, one, f"notifications[{index}]")

    def _record(self, record: Record, labels: Mapping[str, str], one: Notification, path: str) -> None:
        run = _ended_run(record, labels)
        if run is None or run.event not in one.on:
            return
        for kind, target in _targets(one):
            self._deliveries.add(
                Delivery(
                    id=secrets.token_hex(8),
                    collection=record.collection,
                    job_id=record.id,
                    event=run.event,
                    path=f"{path}.{kind}",
                    kind=kind,
                    target=target,
                    facts=run.facts(),
                    summary=run.summary,
                    due=self._clock.microseconds(),
                )
            )
        self._task.wake()

    # --- the background task

    def _run(self) -> Next:
        self._watch_jobs()
        now = self._clock.microseconds()
        for one in self._deliveries.due(now):
            with self._lock:
                if one.id in self._sending or len(self._sending) >= _AT_ONCE:
                    continue
                self._sending.add(one.id)
            pause = PAUSES[min(one.attempts, len(PAUSES) - 1)]
            self._deliveries.begin(one.id, next_due=now + pause * 1_000_000)
            background.begin("notification", partial(self._attempt, one))
        return Next(at=self._deliveries.next_due(), seconds=_LOOK_SECONDS)

    def _watch_jobs(self) -> None:
        """Watch the live custom jobs whose ends are reported: otherwise nobody may look at them."""
        if not self._subscriptions.all():
            return
        live = {record.id: record for record in self._jobs.recorded_live()}
        with self._lock:
            self._watched &= live.keys()
            new = live.keys() - self._watched
        for job_id in new:
            record = live[job_id]
            if self._subscriptions.of(record.collection, dict(record.message.labels), job_id):
                with self._lock:
                    self._watched.add(job_id)
                self._jobs.watch(job_id, _ignore)

    def _attempt(self, one: Delivery) -> None:
        """Make an attempt, and record how it went."""
        number = one.attempts + 1
        try:
            try:
                error = self._send(one)
            except Exception as failure:  # a defect must not lose the delivery silently
                log.error("%s: sending failed with %s", one.path, type(failure).__name__)
                error = f"an internal error ({type(failure).__name__}); please report this"
            self._note(one, number, error)
        finally:
            with self._lock:
                self._sending.discard(one.id)
            self._task.wake()

    def _send(self, one: Delivery) -> str:
        if one.kind == "webhook":
            ended_at = self._clock.microseconds() // 1_000_000
            body = ended_run.incident(one.facts, one.summary, delivery=one.id, started_at=ended_at)
            return webhook.post(one.target[0], body, delivery=one.id)
        document = json.dumps(ended_run.document(one.facts, delivery=one.id)).encode()
        return command.run(
            one.target,
            ended_run.variables(one.facts, delivery=one.id),
            document,
            output=self._output_of(one),
            timeouts=self._timeouts,
        )

    def _output_of(self, one: Delivery) -> Path:
        """Return the file of what a command prints; it is kept if the command fails."""
        return subscriptions.output_folder(self._data_dir) / f"{one.id}.log"

    def _note(self, one: Delivery, number: int, error: str) -> None:
        what = f"job {one.job_id} {one.event}: {one.path}"
        now = times.now(self._clock)
        if not error:
            self._deliveries.end(one.id, DeliveryState.DELIVERED, at=now)
            self._output_of(one).unlink(missing_ok=True)
            log.info("%s: delivered", what)
        elif number >= _ATTEMPTS:
            self._deliveries.end(one.id, DeliveryState.FAILED, error=error, at=now)
            log.error("%s: given up after %d attempts: %s", what, number, error)
        else:
            self._deliveries.note_error(one.id, error)
            log.warning("%s: attempt %d of %d failed: %s", what, number, _ATTEMPTS, error)

    # --- the admin view

    def _show(self, _request: Request, match: re.Match[str]) -> Response:
        found = self._deliveries.of_job(match["collection"], match["job"])
        return json_response({"deliveries": [self._shown(one) for one in found]})

    def _shown(self, one: Delivery) -> dict[str, Any]:
        pending = one.state is DeliveryState.PENDING
        return {
            "id": one.id,
            "event": one.event,
            "target": one.path,
            "state": one.state.value,
            "attempts": one.attempts,
            "mostAttempts": _ATTEMPTS,
            "error": one.error,
            "nextAttempt": times.from_microseconds(one.due) if pending else "",
            "endTime": one.ended,
        }


def _ignore(_job_id: str, _record: Record | None) -> None:
    """Do nothing: looking at the job has recorded its end."""


def _targets(one: Notification) -> Iterator[tuple[TargetKind, tuple[str, ...]]]:
    if one.webhook:
        yield "webhook", (one.webhook,)
    if one.command:
        yield "command", one.command


def _ended_run(record: Record, labels: Mapping[str, str]) -> EndedRun | None:
    """Return the facts about a job that has ended; None for a state that is no end."""
    event = ended_run.event_of(record.state)
    if event is None:
        return None
    message = record.message
    return EndedRun(
        event=event,
        state=record.state,
        job=record.name,
        kind=message.DESCRIPTOR.name,
        display_name=message.display_name,
        project=record.project,
        location=record.location,
        resource=labels.get("pulumi-resource", ""),
        stack=labels.get("pulumi-stack", ""),
        program=labels.get("pulumi-project", ""),
        run=labels.get("vertex-training-run", ""),
        error=message.error.message,
        create_time=_time(message, "create_time"),
        start_time=_time(message, "start_time"),
        end_time=_time(message, "end_time"),
        output_directory=_output_directory(message),
    )


def _time(message: DynamicMessage, name: str) -> str:
    return getattr(message, name).ToJsonString() if message.HasField(name) else ""


_WITH_DIRECTORY: tuple[Callable[[Any], Any], ...] = (
    lambda message: message.job_spec,
    lambda message: message.trial_job_spec,
)


def _output_directory(message: DynamicMessage) -> str:
    """Return the directory of the run's output; "" for a pipeline, whose task has it."""
    for spec_of in _WITH_DIRECTORY:
        try:
            return str(spec_of(message).base_output_directory.output_uri_prefix)
        except AttributeError:
            continue
    return ""
