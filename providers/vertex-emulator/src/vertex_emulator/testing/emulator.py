"""An emulator for one test, in its own process. It needs only the standard library, no Google package."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from vertex_emulator.client import addresses
from vertex_emulator.client.control import Control, ControlError
from vertex_emulator.client.lookup import Emulator
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.kernel.disk.data_folder import DataFolder
from vertex_emulator.kernel.timeouts import CLIENT, ClientTimeouts
from vertex_training.timeouts import VARIABLE, timeout_scale

_OWN_PATHS = "/_local/"
_ENDED = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED", "JOB_STATE_EXPIRED")


@dataclass(frozen=True, kw_only=True)
class SetFault:
    """A fault that was set."""

    number: int
    """Its number in `vertex-emulator fault list`."""
    _control: Control = field(repr=False)

    @property
    def seen(self) -> int:
        """The number of calls of its method since it was set. Raises KeyError after its removal."""
        return int(self._now()["seen"])

    @property
    def fired(self) -> int:
        """The number of calls that it affected. Raises KeyError after its removal."""
        return int(self._now()["fired"])

    @property
    def held(self) -> int:
        """The number of calls that it stalls or delays now. Raises KeyError after its removal."""
        return int(self._now()["held"])

    def remove(self) -> None:
        """Remove the fault. A stalled call continues at once."""
        self._control.remove_fault(self.number)

    def _now(self) -> Mapping[str, Any]:
        return {each["number"]: each for each in self._control.faults()}[self.number]


@dataclass(frozen=True, kw_only=True)
class VertexEmulator:
    """A running emulator.

    If the test stops it and starts it again, the address and the token are the last start's.
    """

    data_dir: Path
    """Its data folder."""
    project: str
    """Project id, `local` by default."""
    location: str
    """Region, `us-central1` by default."""
    _first: Emulator = field(repr=False)
    _timeouts: ClientTimeouts = field(default=CLIENT, repr=False)
    _outer: Mapping[str, str] = field(repr=False)

    @property
    def host(self) -> str:
        """Its URL."""
        return self._now().url

    @property
    def token(self) -> str:
        """The bearer token for requests."""
        return self._now().token

    @property
    def storage_host(self) -> str:
        """The value for STORAGE_EMULATOR_HOST. It contains a secret."""
        return self._now().storage_url

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables with which clients, command-line tools and `vertex-training` use this emulator."""
        variables = addresses.variables(
            self._now(), project=self.project, location=self.location, environment=self._outer
        )
        return {**variables, data_folder.ENVIRONMENT_VARIABLE: str(self.data_dir)}

    def _now(self) -> Emulator:
        folder = DataFolder(root=self.data_dir)
        record, token = data_folder.read_record(folder), data_folder.read_token(folder)
        if record is None or token is None:
            return self._first
        storage_url = f"{record.url}/s/{data_folder.storage_secret(token)}"
        return replace(self._first, url=record.url, token=token, storage_url=storage_url, pid=record.pid)

    @property
    def control(self) -> Control:
        """All other controls of the emulator."""
        return Control(url=self.host, token=self.token, timeouts=self._timeouts)

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
        """Make calls of a method fail, or make them slow.

        `method` is Google's name, such as "JobService.CreateCustomJob", "ListCustomJobs", "storage.*" or "*".

        * `nth`: the first call to affect. 1 is the next call from now.
        * `times`: how many calls to affect.
        * `status`: respond with this error, such as 429, 500 or 503. `message` is its text.
        * `stall`: wait that many seconds, then carry the call out.
        * `delay`: carry the call out, then wait that many seconds with the response.
        * `drop`: close the connection without a response, before or after carrying the call out.
        * `stale_seconds`: let ListCustomJobs return the list as it was that many seconds ago.
        * `stale_changes`: let ListCustomJobs return the list without that many of the last creations and
          deletions of jobs.

        Raises `vertex_emulator.client.control.ControlError`.
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
        """Kill a replica by SIGKILL, `after` seconds after its start.

        The job may start later. Each restart counts: with `times=2` the replica is killed again after its
        next start. With `out_of_memory` the job fails, as if the replica had run out of memory.

        * `job`: the full name, or the ID.
        * `replica`: for example "workerpool1-0".
        """
        self.control.kill_replica(_id(job), replica, after=after, times=times, out_of_memory=out_of_memory)

    def preempt_replica(self, job: str, replica: str, *, after: float = 0.0, times: int = 1) -> None:
        """Preempt the machine of a replica, like a Spot VM: SIGTERM, and a little later SIGKILL.

        The arguments mean the same as in `kill_replica`.
        """
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
        """Set a quota for new jobs, in one region or in each.

        A job that needs more than the whole quota is refused. A job that needs more than what is left is
        QUEUED.

        * `metric`: an accelerator, such as "NVIDIA_L4", or "cpus".
        * `preemptible`: limit Spot and Flex-start jobs instead of all others.
        * `when_exceeded`: refuse or queue the job in both cases.
        """
        self.control.set_quota(
            metric, limit, region=region, preemptible=preemptible, when_exceeded=when_exceeded
        )

    def clear_quotas(self) -> None:
        """Remove all quotas."""
        self.control.clear_quotas()

    def set_capacity(
        self,
        machine: str,
        available: int,
        *,
        region: str | None = None,
        strategy: Literal["STANDARD", "SPOT", "FLEX_START"] | None = None,
        wait_seconds: float = 10.0,
    ) -> None:
        """Set how many machines there are for jobs. A job that finds too few stays PENDING, then fails.

        * `machine`: a machine type, such as "n1-standard-8", or an accelerator, such as "NVIDIA_L4".
        * `available`: how many of them jobs can have at the same time; 0 means none.
        * `region`: only in this region. Otherwise in each.
        * `strategy`: only for jobs with this strategy. Otherwise for all jobs together.
        * `wait_seconds`: how long a job waits before it fails. One with FLEX_START waits for its own
          `max_wait_duration` instead.
        """
        self.control.set_capacity(
            machine, available, region=region, strategy=strategy, wait_seconds=wait_seconds
        )

    def clear_capacities(self) -> None:
        """Let every job find machines again."""
        self.control.clear_capacities()

    def deny(self, permission: str, resource: str | None = None) -> None:
        """Deny a permission, such as "aiplatform.customJobs.create" or "storage.objects.*".

        Calls that need the permission fail with 403. Calls that test permissions do not return it.

        `resource` is "gs://BUCKET", "projects/PROJECT", the name of a repository, or the email address of a
        service account. Without it, the permission is denied everywhere.
        """
        self.control.deny(permission, resource=resource)

    def allow(self, permission: str | None = None, resource: str | None = None) -> None:
        """Remove all denials, or those with this permission or resource, written as in `deny`."""
        self.control.allow(permission, resource=resource)

    def disable_service(self, service: str, project: str | None = None) -> None:
        """Disable a service, such as "aiplatform.googleapis.com", in one project or in each."""
        self.control.enable_service(service, enabled=False, project=project)

    def enable_service(self, service: str, project: str | None = None) -> None:
        """Enable a service again, in one project or in each."""
        self.control.enable_service(service, project=project)

    def freeze_clock(self) -> None:
        """Freeze the emulator's clock."""
        self.control.freeze_clock()

    def advance_clock(self, seconds: float) -> None:
        """Advance the emulator's clock by that many seconds."""
        self.control.advance_clock(seconds)

    def scale_clock(self, factor: float) -> None:
        """Run the emulator's clock `factor` times as fast as the machine's. A frozen clock runs again."""
        self.control.scale_clock(factor)

    def reset_clock(self) -> None:
        """Set the emulator's clock to the machine's time, and let it run."""
        self.control.reset_clock()

    def now(self) -> datetime:
        """Return the emulator's time in UTC."""
        return datetime.fromisoformat(self.control.clock()["time"].replace("Z", "+00:00"))

    def reset(self) -> None:
        """End and delete all jobs, delete all buckets, and clear all settings and records."""
        self.control.reset()

    def export_state(self, path: Path) -> None:
        """Write the emulator's state to a new file."""
        self.control.export_state(path)

    def import_state(self, path: Path) -> None:
        """Add the state from a file. If that fails, nothing is added."""
        self.control.import_state(path)

    def start_delay(self, seconds: float) -> None:
        """Keep new jobs PENDING for that many seconds before their replicas start."""
        self.control.set_start_delay(seconds)

    def persistent_resource_delay(self, seconds: float) -> None:
        """Set how long a creation, update, reboot or deletion of a persistent resource takes."""
        self.control.set_persistent_resource_delay(seconds)

    def allow_unknown_types(self, allowed: bool = True) -> None:
        """Allow machine types that the emulator does not know, such as Google Cloud's newest."""
        self.control.allow_unknown_types(allowed)

    def set_contract(self, contract: Literal["observed", "documented"]) -> None:
        """Set the form of CLUSTER_SPEC in new jobs: as in real jobs, or as in Vertex AI's documentation."""
        self.control.set_contract(contract)

    def set_network(self, network: Literal["host", "namespace"]) -> None:
        """Set the network of new jobs: the machine's, or a network for each job (Linux only)."""
        self.control.set_network(network)

    def stale_objects(self, stale: bool = True) -> None:
        """Let replicas of new jobs see an object below /gcs as it was when another one has rewritten it.

        A new name is seen. Needs Linux, and a user who may open /dev/fuse.
        """
        self.control.set_stale_objects(stale)

    def replica_limit(self, replicas: int) -> None:
        """Limit the number of replicas that run at once.

        Further jobs stay PENDING, in the order of their creation.
        """
        self.control.set_replica_limit(replicas)

    def requests(self, call: str | None = None) -> list[dict[str, Any]]:
        """Return the requests so far, oldest first.

        `call` is the full name of a method, to return only its requests.
        """
        found = self.control.requests()["requests"]
        return [
            each
            for each in found
            if not each["target"].startswith(_OWN_PATHS) and call in (None, each["call"])
        ]

    def counts(self) -> dict[str, int]:
        """Return the number of calls of each method, by Google's name."""
        return dict(self.control.requests()["counts"])

    def jobs(self) -> list[dict[str, Any]]:
        """Return all jobs, newest first. Each has id, name, displayName, state, error and replicas."""
        return self.control.jobs()


@contextmanager
def running(
    data_dir: Path, *, project: str = "local", location: str = "us-central1"
) -> Iterator[VertexEmulator]:
    """Run an emulator for a `with` block. At its end, the jobs are ended and the emulator is stopped.

    Raises `vertex_emulator.LauncherError` if it cannot be started, `ValueError` for a bad scale of timeouts.
    """
    from vertex_emulator.client import launcher
    from vertex_emulator.daemon import reset as emulator_reset

    timeouts = CLIENT.at_least(timeout_scale(os.environ.get(VARIABLE)))
    emulator = launcher.ensure(data_dir, timeouts=timeouts)
    timeouts = timeouts.at_least(emulator.timeout_scale)
    found = VertexEmulator(
        data_dir=emulator.data_dir,
        project=project,
        location=location,
        _first=emulator,
        _timeouts=timeouts,
        _outer=dict(os.environ),
    )
    try:
        yield found
    finally:
        try:
            _cancel_all(found.control)
        except ControlError:
            # The test has stopped or killed it. After another start it finds its jobs.
            if any((data_dir / "jobs").glob("*")):
                again = launcher.ensure(data_dir, timeouts=timeouts)
                _cancel_all(Control(url=again.url, token=again.token, timeouts=timeouts))
        finally:
            emulator_reset.stop_and_end_jobs(data_dir, timeouts=timeouts)


def _id(job: str) -> str:
    return job.rpartition("/")[2]


def _cancel_all(control: Control) -> None:
    """Cancel all live jobs, and wait until they have ended. Raises `ControlError`."""
    control.clear_faults()
    control.allow()
    control.reset_services()
    for job in control.jobs():
        if job["state"] not in _ENDED:
            with contextlib.suppress(ControlError):  # the job has just ended
                control.call("POST", f"/v1/{job['name']}:cancel", {})
    until = machine_clock.monotonic() + control.timeouts.jobs_end
    while machine_clock.monotonic() < until and any(job["state"] not in _ENDED for job in control.jobs()):
        machine_clock.sleep(0.02)
