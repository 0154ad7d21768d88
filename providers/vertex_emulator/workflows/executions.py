"""The executions of workflows: they run in threads, and sleep by the emulator's clock."""

from __future__ import annotations

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.own_api import Call
from vertex_emulator.workflows import expressions, interpreter
from vertex_emulator.workflows.interpreter import DefinitionError, Raised, Sleep, State
from vertex_emulator.workflows.store import FAILED, SUCCEEDED, StoredExecution, WorkflowStore, copy_of

log = logging.getLogger(__name__)

_AT_ONCE = 8


class Executions:
    """Runs the active executions of a store."""

    def __init__(self, store: WorkflowStore, clock: Clock, scheduler: Scheduler, call: Call) -> None:
        self._store = store
        self._clock = clock
        self._call = call
        self._running: set[str] = set()
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="workflow")
        self._task = scheduler.add("executions of workflows", self._run_due)

    def wake(self) -> None:
        """Look for executions that are due, after one was created."""
        self._task.wake()

    def recover(self) -> None:
        """End executions that an earlier emulator was running: their last call may have been made.

        Those that were asleep go on.
        """
        for execution in self._store.active():
            if execution.wake_at is None:
                self._end(execution, FAILED, error="The emulator was stopped in the middle of the execution.")

    def _run_due(self) -> Next:
        now = self._clock.microseconds()
        waits = []
        for execution in self._store.active():
            if execution.wake_at is None:
                continue
            if execution.wake_at > now:
                waits.append(execution.wake_at)
                continue
            with self._lock:
                if execution.id in self._running:
                    continue
                self._running.add(execution.id)
            self._threads.submit(self._run, execution.id)
        return Next(at=min(waits, default=None))

    def _run(self, execution_id: str) -> None:
        try:
            started = self._store.change(execution_id, lambda one: replace(one, wake_at=None))
            if started is not None and started.is_active:
                self._go_on(started)
        except Exception as error:
            log.exception("The execution %s has failed in the emulator", execution_id)
            if (failed := self._store.execution(execution_id)) is not None:
                self._end(failed, FAILED, error=f"{type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._running.discard(execution_id)
            self._task.wake()

    def _go_on(self, execution: StoredExecution) -> None:
        """Run an execution until it ends or sleeps."""
        environment = {
            "GOOGLE_CLOUD_LOCATION": execution.place.location,
            "GOOGLE_CLOUD_PROJECT_ID": execution.place.project,
            "GOOGLE_CLOUD_PROJECT_NUMBER": execution.place.number,
            "GOOGLE_CLOUD_WORKFLOW_ID": execution.workflow,
            "GOOGLE_CLOUD_WORKFLOW_EXECUTION_ID": execution.id,
        }
        known = expressions.functions(now=lambda: self._clock.microseconds() / 1e6, environment=environment)
        state = execution.state
        try:
            program = interpreter.read(execution.source)
            done = interpreter.run(program, state, call=self._call, known=known)
        except (Raised, DefinitionError) as error:
            payload = error.payload if isinstance(error, Raised) else str(error)
            self._end(execution, FAILED, error=payload)
            return
        if isinstance(done, Sleep):
            wake_at = self._clock.microseconds() + round(done.seconds * 1e6)
            self._store.change(
                execution.id, lambda one: replace(one, state=state, wake_at=wake_at) if one.is_active else one
            )
        else:
            self._end(execution, SUCCEEDED, result=done.value)

    def _end(self, execution: StoredExecution, state: int, *, result: Any = None, error: Any = None) -> None:
        now = times.now(self._clock)
        log.info("%s has ended: %s", execution.message.name, result if error is None else error)

        def change(one: StoredExecution) -> StoredExecution:
            if not one.is_active:
                return one  # it was cancelled
            message = ended(one.message, state, now)
            if error is None:
                message.result = json.dumps(result)
            else:
                message.error.payload = json.dumps(error)
            return replace(one, message=message, wake_at=None, state=State())

        self._store.change(execution.id, change)


def ended(message: Any, state: int, now: str) -> Any:
    """Return an execution that has ended now in a state."""
    new = copy_of(message)
    new.state = state
    new.end_time.FromJsonString(now)
    new.duration.FromNanoseconds(max(0, new.end_time.ToNanoseconds() - new.start_time.ToNanoseconds()))
    return new
