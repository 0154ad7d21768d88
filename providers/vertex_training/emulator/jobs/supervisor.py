"""The process that runs one job: `python -m vertex_training.emulator.jobs.supervisor FOLDER`.

It outlives the emulator and whoever started that: it starts the replicas, sees them end, decides how the job
ends, stops the rest, and leaves word in the job's folder. If it is killed, its replicas die with it
(`replicas`), and the emulator sees that the folder's lock is free.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vertex_training.emulator.jobs import clock, folder, outcome, package_request, ports, replicas
from vertex_training.emulator.jobs import namespaces as ns
from vertex_training.emulator.jobs.logs import LogWriter
from vertex_training.emulator.jobs.loop import Loop, Running
from vertex_training.emulator.jobs.outcome import Outcome
from vertex_training.emulator.jobs.plan import Plan
from vertex_training.emulator.jobs.progress import ReplicaProgress, Reporter
from vertex_training.emulator.jobs.replica_command import addresses_by_pool, replica_command
from vertex_training.specs import custom_job

SERVICE = "service"
"""The task name of what the service itself logs."""

_TICK_SECONDS = 0.5
_SETTLE_SECONDS = 0.05
_START_SECONDS = 60.0
_KILL_SECONDS = 10.0


class Supervisor:
    """One job, from the first word to the last."""

    def __init__(self, job_folder: folder.JobFolder, plan: Plan, job: dict[str, Any]) -> None:
        self.folder = job_folder
        self.plan = plan
        self.spec = custom_job.from_wire(job)
        self.reporter = Reporter(
            job_folder, [ReplicaProgress(name=each.name, role=each.role) for each in plan.replicas]
        )
        self.loop = Loop(job_folder.doorbell)
        self.service_log = LogWriter(job_folder.log(SERVICE))
        self.outcome: Outcome | None = None
        self._claims: list[ports.Claim] = []
        self._judged: set[str] = set()
        self._settled_at: float | None = None

    def run(self) -> None:
        """Run the job to its end."""
        self.say("Waiting for job to be provisioned.")
        self.say(
            "Vertex AI is provisioning job running framework. First time usage might take couple of minutes, "
            "and subsequent runs can be much faster."
        )
        self.say("Vertex AI is setting up this job.")
        environments = self._install_packages()
        if self.outcome is None:
            self.say("Waiting for training program to start.")
            self.say("Job is preparing.")
            self._start(environments)
        if self.outcome is None and not self._pump(self._is_decided, seconds=self.plan.timeout_seconds):
            self.outcome = outcome.timed_out(self.plan.timeout)
        self._stop_all()
        self._finish()

    def say(self, message: str, *, severity: str = "INFO") -> None:
        """Log a line of the service."""
        self.service_log.write(message, severity=severity)

    def _install_packages(self) -> dict[tuple[str, ...], Path]:
        """An environment for each set of packages that a pool asks for; the outcome where that fails."""
        found: dict[tuple[str, ...], Path] = {}
        for uris in dict.fromkeys(each.package_uris for each in self.plan.replicas if each.package_uris):
            request = self.folder.path / f"packages-{len(found)}.json"
            command = replicas.Command(
                argv=package_request.write(request, self.plan, uris),
                environment=dict(os.environ),
                cwd=self.folder.path,
            )
            installer = self.loop.launch(request.stem, command, self.service_log, counts=False)
            self._pump(lambda: self._is_decided() or not self.loop.left())
            if not installer.ended:
                break
            environment = package_request.result(request)
            if environment is None:
                self.outcome = outcome.broken(
                    f"The packages {', '.join(uris)} could not be installed: the installer ended without a "
                    f"result. The service's log has its messages: vertex-training logs {self.plan.job}"
                )
            elif environment.path is None:
                self.outcome = outcome.broken(environment.problem, code=outcome.FAILED_PRECONDITION)
            else:
                found[uris] = environment.path
            if self.outcome is not None:
                break
        return found

    def _start(self, environments: dict[tuple[str, ...], Path]) -> None:
        try:
            self._claims = ports.claim(len(self.plan.replicas))
        except ports.NoPortError as error:
            self.outcome = outcome.broken(str(error))
            return
        addresses = addresses_by_pool(self.spec.worker_pool_specs, [one.address for one in self._claims])
        for claim, replica in zip(self._claims, self.plan.replicas, strict=True):
            try:
                command = replica_command(
                    self.plan,
                    self.spec,
                    replica,
                    addresses=addresses,
                    venv=environments.get(replica.package_uris),
                    folder=self.folder.replica(replica.name),
                )
                log = LogWriter(self.folder.log(replica.name), limit=self.plan.log_limit)
                log.write(replica.notice, severity="NOTICE")
                claim.release()
                self.loop.launch(replica.name, command, log)
            except OSError as error:
                self.outcome = outcome.broken(f"The replica {replica.name} could not be started: {error}.")
                return
        if self._pump(lambda: all(one.child.started for one in self.loop.replicas()), seconds=_START_SECONDS):
            self.reporter.enter("JOB_STATE_RUNNING")
            self.say("Job is running.")
            return
        late = [one.name for one in self.loop.replicas() if not one.child.started]
        self.outcome = outcome.broken(f"Not started after {_START_SECONDS:g} s: {', '.join(late)}.")

    def _pump(self, until: Callable[[], bool], *, seconds: float | None = None) -> bool:
        """Handle what happens until the condition holds (True) or the time is over (False)."""
        deadline = None if seconds is None else time.monotonic() + seconds
        self._look()
        while not until():
            times = [time.monotonic() + _TICK_SECONDS, deadline, self._settled_at]
            wait = min(each for each in times if each is not None) - time.monotonic()
            if deadline is not None and time.monotonic() >= deadline:
                return False
            self.loop.turn(max(wait, 0.0))
            self._look()
            with contextlib.suppress(OSError):
                os.utime(self.folder.lock)
        return True

    def _is_decided(self) -> bool:
        return self.outcome is not None

    def _look(self) -> None:
        """Take note of replicas that started and ended, decide about the job, and tell."""
        for one in self.loop.replicas():
            self._note(one, self.reporter.replicas[one.name])
        if self.outcome is None:
            self.outcome = self._by_exits()
        if self.outcome is None and self._settled_at is None and self.folder.cancel.exists():
            self.outcome = outcome.cancelled()
        if self.outcome is None and not self.folder.path.exists():
            self.outcome = outcome.broken("The folder of the job was removed.")  # nobody could cancel it
        if self.outcome is None and self.loop.told_to_stop:
            self.outcome = outcome.broken(
                "The job's supervisor got SIGTERM from outside the emulator, as at the end of a login "
                "session, and stopped the replicas. Create the job again."
            )
        self.reporter.flush()

    def _note(self, one: Running, progress: ReplicaProgress) -> None:
        if progress.pid != one.child.pid:
            progress.state, progress.pid, progress.started = "running", one.child.pid, clock.now()
            self.reporter.changed()
        if one.ended and progress.ended is None:
            progress.exit_code, progress.ended = one.child.exit_code, clock.now()
            if self.outcome is not None:
                progress.state = "stopped"
            else:
                progress.state = "failed" if one.child.exit_code else "succeeded"
            self.reporter.changed()

    def _by_exits(self) -> Outcome | None:
        """What the replicas that ended mean, the earliest first.

        Often one fails because another did, and the two are heard of in any order: so the word of a first end
        is given a moment in which earlier ones can arrive.
        """
        ends = [
            one
            for one in self.loop.replicas()
            if one.child.exit_code is not None and one.name not in self._judged
        ]
        if not ends:
            return None
        if self._settled_at is None:
            self._settled_at = time.monotonic() + _SETTLE_SECONDS
        if time.monotonic() < self._settled_at:
            return None
        for one in sorted(ends, key=lambda each: each.child.ended_at or 0):
            if not one.ended:  # its log is not complete; the end of its keeper wakes us
                self._settled_at = time.monotonic() + _SETTLE_SECONDS
                return None
            end = outcome.Exit(replica=one.name, code=one.child.exit_code or 0, tail=one.log.tail())
            if found := outcome.after(end, where_to_look=f"vertex-training logs {self.plan.job}"):
                return found
            self._judged.add(one.name)
        self._settled_at = None
        return None

    def _stop_all(self) -> None:
        """Ask the programs that are left to end, then end them."""
        for one in self.loop.left():
            one.child.terminate()
        self._pump(lambda: not self.loop.left(), seconds=self.plan.grace_seconds)
        for one in self.loop.left():
            if one.counts:
                self.say(
                    f"{one.name} did not end within {self.plan.grace_seconds:g} s of SIGTERM: killed.",
                    severity="WARNING",
                )
            one.child.kill()
        if not self._pump(lambda: not self.loop.left(), seconds=_KILL_SECONDS):
            for one in self.loop.left():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one.child.keeper, signal.SIGKILL)
            self._pump(lambda: not self.loop.left(), seconds=_KILL_SECONDS)

    def _finish(self) -> None:
        result = self.outcome or outcome.broken("The job ended without a result.")
        for claim in self._claims:
            claim.close()
        if result.state == "JOB_STATE_SUCCEEDED":
            self.say("Job completed successfully.")
        elif result.state == "JOB_STATE_CANCELLED":
            self.say("Job cancelled.")
        else:
            self.say(f"Job failed. {result.message}", severity="ERROR")
        self.reporter.end(result)
        # A full disk: the word of the end must not be lost, as long as there is somebody to read it.
        while not self.reporter.flush() and self.folder.path.exists():
            time.sleep(_TICK_SECONDS)


def main(path: str) -> int:
    """Run the job whose folder is `path`; 0 also when another supervisor has it already."""
    os.umask(0o077)
    ns.adopt_orphans()  # what a killed keeper leaves behind comes to us
    job_folder = folder.JobFolder(Path(path))
    lock = job_folder.hold()
    if lock is None:
        return 0
    if job_folder.supervisor.exists():  # a supervisor had this job and died; the emulator says so
        return 0
    folder.write_json(job_folder.supervisor, {"pid": os.getpid(), "started": clock.now()})
    reporter = Reporter(job_folder, [])
    try:
        plan = Plan.from_json(folder.read_json(job_folder.plan))
        supervisor = Supervisor(job_folder, plan, folder.read_json(job_folder.job))
        reporter = supervisor.reporter
        supervisor.run()
    except Exception as error:  # the record must not say "running" for ever; replicas die with this process
        traceback.print_exc()
        reporter.end(
            outcome.broken(
                f"The job's supervisor broke: {type(error).__name__}: {error}. "
                f"Details are in {job_folder.supervisor_log}."
            )
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
