"""An emulator for one test, in a process of its own. The standard library only; no Google package."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from vertex_emulator.control import Control, ControlError

_OWN_PATHS = "/_local/"
_ENDED = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED", "JOB_STATE_EXPIRED")
_END_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class SetFault:
    """A fault that was set, by its number."""

    number: int
    _control: Control = field(repr=False)

    @property
    def seen(self) -> int:
        """How many calls of its method came since it was set. KeyError once it is removed."""
        return int(self._now()["seen"])

    @property
    def fired(self) -> int:
        """How many calls it has spoilt. KeyError once it is removed."""
        return int(self._now()["fired"])

    @property
    def held(self) -> int:
        """How many calls it stalls or delays at this moment. KeyError once it is removed."""
        return int(self._now()["held"])

    def remove(self) -> None:
        """From now on calls are answered as ever; one that is stalled goes on at once."""
        self._control.remove_fault(self.number)

    def _now(self) -> Mapping[str, Any]:
        return {each["number"]: each for each in self._control.faults()}[self.number]


@dataclass(frozen=True, kw_only=True)
class VertexEmulator:
    """A running emulator.

    `host` is its URL, `storage_host` what STORAGE_EMULATOR_HOST takes (it holds a secret); `environment` are
    the variables that point clients, command-line tools and `vertex-training` at it.
    """

    host: str
    token: str = field(repr=False)
    storage_host: str = field(repr=False)
    data_dir: Path
    project: str
    location: str
    environment: Mapping[str, str] = field(repr=False)

    @property
    def control(self) -> Control:
        """All that can be asked of it besides."""
        return Control(url=self.host, token=self.token)

    def fault(
        self,
        method: str,
        *,
        status: int | None = None,
        message: str | None = None,
        stall: float | None = None,
        delay: float | None = None,
        drop: Literal["before", "after"] | None = None,
        stale_seconds: float | None = None,
        stale_changes: int | None = None,
        nth: int = 1,
        times: int | Literal["always"] = 1,
    ) -> SetFault:
        """Make calls of a method fail, from the `nth` from now on and so many `times`.

        `method` is Google's name, such as "JobService.CreateCustomJob", "ListCustomJobs", "storage.*" or "*".
        `stall`: seconds that pass first. `delay`: seconds between carrying out and the answer. `status`: an
        error such as 429, 500, 503. `drop`: the connection is closed without an answer, before or after the
        call was carried out. `stale_...`, for ListCustomJobs: the list as it was so many seconds ago, or
        before so many jobs were created or deleted.
        Raises `vertex_emulator.control.ControlError`.
        """
        stale = {
            name: value
            for name, value in (("seconds", stale_seconds), ("changes", stale_changes))
            if value is not None
        }
        fault = {
            "method": method,
            "status": status,
            "message": message,
            "stall": stall,
            "delay": delay,
            "drop": drop,
            "stale": stale or None,
            "nth": nth,
            "times": times,
        }
        return SetFault(number=int(self.control.add_fault(fault)["number"]), _control=self.control)

    def clear_faults(self) -> None:
        """Remove all faults."""
        self.control.clear_faults()

    def kill_replica(
        self, job: str, replica: str, *, after: float = 0.0, times: int = 1, out_of_memory: bool = False
    ) -> None:
        """Kill so many starts of a replica, each once it has run for `after` seconds, as by SIGKILL.

        `job` is the full name or the id, `replica` such as "workerpool1-0". The job need not run yet.
        """
        self.control.kill_replica(_id(job), replica, after=after, times=times, out_of_memory=out_of_memory)

    def preempt_replica(self, job: str, replica: str, *, after: float = 0.0, times: int = 1) -> None:
        """Take the machine of a replica away, as a Spot VM's: SIGTERM, and SIGKILL a little later."""
        self.control.preempt_replica(_id(job), replica, after=after, times=times)

    def set_quota(
        self,
        metric: str,
        limit: int,
        *,
        region: str | None = None,
        preemptible: bool = False,
        when_exceeded: Literal["refuse", "queue"] | None = None,
    ) -> None:
        """Set the quota of an accelerator, such as "NVIDIA_L4", or of "cpus", for a region or for each.

        A job that needs more than it as a whole is refused, one for which too little is left is QUEUED;
        `when_exceeded`: always the one or the other.
        """
        self.control.set_quota(
            metric, limit, region=region, preemptible=preemptible, when_exceeded=when_exceeded
        )

    def clear_quotas(self) -> None:
        """Remove all quotas."""
        self.control.clear_quotas()

    def freeze_clock(self) -> None:
        """Let the emulator's clock stand still."""
        self.control.freeze_clock()

    def advance_clock(self, seconds: float) -> None:
        """Let so many seconds of the emulator's time pass at once."""
        self.control.advance_clock(seconds)

    def scale_clock(self, factor: float) -> None:
        """Let so many seconds of the emulator's time pass in one; a frozen clock goes again."""
        self.control.scale_clock(factor)

    def reset_clock(self) -> None:
        """The machine's time again."""
        self.control.reset_clock()

    def now(self) -> datetime:
        """The emulator's time, in UTC."""
        return datetime.fromisoformat(self.control.clock()["time"].replace("Z", "+00:00"))

    def reset(self) -> None:
        """End all jobs, remove them and all buckets, and forget what was set and recorded."""
        self.control.reset()

    def export_state(self, path: Path) -> None:
        """Write all that it holds to a new file."""
        self.control.export_state(path)

    def import_state(self, path: Path) -> None:
        """Add what such a file holds: all or nothing."""
        self.control.import_state(path)

    def start_delay(self, seconds: float) -> None:
        """Let the jobs that are created from now on stay PENDING for so long, without any process."""
        self.control.set_start_delay(seconds)

    def persistent_resource_delay(self, seconds: float) -> None:
        """Let creations, updates, reboots and deletions of persistent resources that begin from now on take
        so long.
        """
        self.control.set_persistent_resource_delay(seconds)

    def allow_unknown_types(self, allowed: bool = True) -> None:
        """Take machine types that the emulator does not know, as Google Cloud takes its newest."""
        self.control.allow_unknown_types(allowed)

    def set_contract(self, contract: Literal["observed", "documented"]) -> None:
        """Give CLUSTER_SPEC to the jobs that are created from now on as real jobs get it, or as Vertex AI's
        documentation has it.
        """
        self.control.set_contract(contract)

    def replica_limit(self, replicas: int) -> None:
        """Let at most so many replicas run at once; further jobs stay PENDING, in the order they came."""
        self.control.set_replica_limit(replicas)

    def requests(self, call: str | None = None) -> list[dict[str, Any]]:
        """The requests so far, the oldest first; with `call` those of one method, by its whole name."""
        found = self.control.requests()["requests"]
        return [
            each
            for each in found
            if not each["target"].startswith(_OWN_PATHS) and call in (None, each["call"])
        ]

    def counts(self) -> dict[str, int]:
        """How often each method was called, by Google's name of it."""
        return dict(self.control.requests()["counts"])

    def jobs(self) -> list[dict[str, Any]]:
        """All jobs, the newest first: id, name, displayName, state, error, and the replicas of each."""
        return self.control.jobs()


@contextmanager
def running(
    data_dir: Path, *, project: str = "local", location: str = "us-central1"
) -> Iterator[VertexEmulator]:
    """An emulator as long as the context lasts; then its jobs are ended and it is stopped.

    Raises `vertex_emulator.launcher.LauncherError` when it cannot be started.
    """
    from vertex_emulator import addresses, launcher
    from vertex_emulator import reset as emulator_reset
    from vertex_emulator.kernel import data_folder

    emulator = launcher.ensure(data_dir)
    try:
        variables = addresses.variables(emulator, project=project, location=location, environment=os.environ)
        yield VertexEmulator(
            host=emulator.url,
            token=emulator.token,
            storage_host=emulator.storage_url,
            data_dir=emulator.data_dir,
            project=project,
            location=location,
            environment={**variables, data_folder.ENVIRONMENT_VARIABLE: str(emulator.data_dir)},
        )
    finally:
        try:
            _cancel_all(Control(url=emulator.url, token=emulator.token))
        except ControlError:
            # The test has stopped or killed it. Started again, it knows the jobs that it left.
            if any((data_dir / "jobs").glob("*")):
                again = launcher.ensure(data_dir)
                _cancel_all(Control(url=again.url, token=again.token))
        finally:
            emulator_reset.stop_and_end_jobs(data_dir)


def _id(job: str) -> str:
    return job.rpartition("/")[2]


def _cancel_all(control: Control) -> None:
    """Cancel what runs, and wait until it has ended. Raises `ControlError`."""
    control.clear_faults()
    for job in control.jobs():
        if job["state"] not in _ENDED:
            with contextlib.suppress(ControlError):  # it has ended meanwhile
                control.call("POST", f"/v1/{job['name']}:cancel", {})
    until = time.monotonic() + _END_SECONDS
    while time.monotonic() < until and any(job["state"] not in _ENDED for job in control.jobs()):
        time.sleep(0.02)
