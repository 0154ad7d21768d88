"""The supervisor's report to the emulator: the file state.json in the job's folder.

{"events": [{"state": "JOB_STATE_RUNNING", "at": time}, {"state": ..., "at": ..., "error": {...}}],
 "replicas": [{"name", "role", "state", "pid", "exit_code", "started", "ended", "attempt", "job_attempt"}]}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from vertex_emulator.job_folder import folder
from vertex_emulator.job_folder.outcome import Outcome
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.disk.disk_space import is_out_of_space

ReplicaState = Literal["pending", "running", "restarting", "succeeded", "failed", "stopped"]


@dataclass(kw_only=True)
class ReplicaProgress:
    """One replica as the admin view shows it.

    `restarting`: it has ended and will start again; `exit_code` and `ended` describe that end. `stopped`:
    it was ended because the job ended or restarts. `attempt` counts its starts; `job_attempt` is the attempt
    of the job, from 1, in which it was started.
    """

    name: str
    role: str
    state: ReplicaState = "pending"
    pid: int | None = None
    exit_code: int | None = None
    started: str | None = None
    ended: str | None = None
    attempt: int = 0
    job_attempt: int = 1

    def begin(self, *, job_attempt: int) -> None:
        """Record another start; clear the values of the attempt before."""
        self.attempt, self.job_attempt = self.attempt + 1, job_attempt
        self.state = "pending" if self.attempt == 1 else "restarting"
        self.pid = self.exit_code = self.started = self.ended = None


@dataclass(frozen=True, kw_only=True)
class Event:
    """The job entered `state`; `error` is a google.rpc.Status in its JSON form."""

    state: str
    at: str
    error: Mapping[str, Any] | None = None


class Reporter:
    """Keeps state.json up to date; a failed write is repeated at the next `flush`."""

    def __init__(self, job_folder: folder.JobFolder, replicas: list[ReplicaProgress], time: Clock) -> None:
        self.replicas = {replica.name: replica for replica in replicas}
        self._folder = job_folder
        self._clock = time
        self._events: list[Event] = []
        self._dirty = False

    def enter(self, state: str) -> None:
        """Record that the job entered a state."""
        self._events.append(Event(state=state, at=times.now(self._clock)))
        self.changed()
        self.flush()

    def end(self, outcome: Outcome) -> None:
        """Record that the job has ended and none of its processes is left."""
        error = {"code": outcome.code, "message": outcome.message} if outcome.code else None
        self._events.append(Event(state=outcome.state, at=times.now(self._clock), error=error))
        self.changed()
        self.flush()

    def changed(self) -> None:
        """Record that a replica changed; the next `flush` writes it."""
        self._dirty = True

    def flush(self) -> bool:
        """Write pending changes. Return whether all are written."""
        if self._dirty:
            document = {
                "events": [vars(event) for event in self._events],
                "replicas": [vars(replica) for replica in self.replicas.values()],
            }
            try:
                folder.write_json(self._folder.state, document)
            except OSError as error:
                if is_out_of_space(error):
                    state = self._events[-1].state if self._events else "JOB_STATE_PENDING"
                    self._folder.note_unreported(state)
                return False
            self._dirty = False
            self._folder.clear_unreported()
        return True


def read(job_folder: folder.JobFolder) -> tuple[list[Event], list[ReplicaProgress]]:
    """Return the supervisor's report; empty before it starts, or after a power cut damaged the file."""
    try:
        document = folder.read_json(job_folder.state) or {"events": [], "replicas": []}
        return (
            [Event(**event) for event in document["events"]],
            [ReplicaProgress(**replica) for replica in document["replicas"]],
        )
    except (ValueError, KeyError, TypeError):
        return [], []
