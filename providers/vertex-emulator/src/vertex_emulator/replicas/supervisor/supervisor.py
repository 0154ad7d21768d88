"""The process that runs one job: a fork of the fork server (`fork_server`).

It outlives the emulator that started it. It starts the replicas, waits for their ends, restarts them by the
rules (`restarts`), decides how the job ends, stops the remaining replicas, and reports to the job's folder.
If it is killed, its replicas die with it (`shim`), and the emulator sees that the folder's lock is free.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from vertex_emulator.job_folder import folder, outcome
from vertex_emulator.job_folder.logs import LogWriter
from vertex_emulator.job_folder.outcome import Outcome
from vertex_emulator.job_folder.progress import ReplicaProgress, Reporter
from vertex_emulator.kernel import machine_clock, times
from vertex_emulator.kernel.clock import FILE, Clock
from vertex_emulator.kernel.disk.data_folder import replica_proxy_secret
from vertex_emulator.kernel.disk.disk_space import is_out_of_space
from vertex_emulator.replicas.network.addresses import NoPortError
from vertex_emulator.replicas.network.job_network import NetworkError
from vertex_emulator.replicas.plan import Plan, ReplicaPlan
from vertex_emulator.replicas.preparation import preparation
from vertex_emulator.replicas.preparation.packages.private_python import SharedPackages
from vertex_emulator.replicas.preparation.services import services_of
from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.program import Command
from vertex_emulator.replicas.supervisor import restarts
from vertex_emulator.replicas.supervisor.loop import Exits, Loop, Running
from vertex_emulator.replicas.supervisor.orders import Orders
from vertex_emulator.replicas.supervisor.prepared import Prepared, prepare
from vertex_emulator.replicas.supervisor.private_files import PrivateFiles
from vertex_emulator.replicas.supervisor.restarts import consequence_of
from vertex_emulator.replicas.supervisor.starting import NotStartedError, Starter
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.job_spec import Scheduling

SERVICE = "service"
"""Task name of the service's own log."""

_TICK_SECONDS = 0.5


class Supervisor:
    """Runs one job from its start to its end."""

    def __init__(
        self, job_folder: folder.JobFolder, plan: Plan, spec: CustomJobSpec, emulated: Clock
    ) -> None:
        self.folder = job_folder
        self.plan = plan
        self.spec = spec
        self.scheduling = self.spec.scheduling or Scheduling()
        self.clock = emulated
        self.reporter = Reporter(
            job_folder, [ReplicaProgress(name=each.name, role=each.role) for each in plan.replicas], emulated
        )
        self.loop = Loop(job_folder.doorbell, on_wake=emulated.reload, timeouts=plan.timeouts)
        self.service_log = LogWriter(job_folder.log(SERVICE), time=emulated)
        self.outcome: Outcome | None = None
        self._starter: Starter | None = None
        self._private_files = PrivateFiles(job_folder.path)
        self._exits = Exits(settle_seconds=plan.timeouts.settle)
        self._orders = Orders(job_folder, emulated, grace_seconds=plan.grace_seconds)
        self._held: tuple[int, ...] = ()  # locks on unpacked images and packages, held by this process
        self._history = restarts.History()
        self._due: dict[str, float] = {}  # times at which replicas restart
        self._job_restarts = False  # True from the decision until the replicas have stopped
        self._next_attempt = -math.inf  # time at which a restarted job continues
        self._resume = -math.inf  # the same, once only that time is left to wait for
        self._deadline: float | None = None

    def run(self) -> None:
        """Run the job to its end."""
        self.log("Waiting for job to be provisioned.")
        self.log(
            "Vertex AI is provisioning job running framework. First time usage might take couple of minutes, "
            "and subsequent runs can be much faster."
        )
        self.log("Vertex AI is setting up this job.")
        for line in self.plan.lines:
            self.log(line)
        packages = self._prepare()
        if self.outcome is None:
            try:
                self._starter = Starter(self.plan, self.spec, self.folder, self.loop, packages, self.clock)
            except NoPortError as error:
                self.outcome = outcome.broken(str(error))
            except NetworkError as error:
                self.outcome = outcome.broken(
                    f"The network of the job could not be made: {error}. To use the machine's network, run "
                    "`vertex-emulator network host` and create the job again."
                )
        while self.outcome is None and self._starter is not None:
            self._attempt(self._starter)
            if self._job_restarts:
                self._stop_attempt(self._starter)
        self._stop_all()
        self._finish()

    def log(self, message: str, *, severity: str = "INFO") -> None:
        """Write a line to the service's log."""
        self.service_log.write(message, severity=severity)

    def _prepare(self) -> Mapping[str, SharedPackages]:
        """Unpack images and install packages, and hold both. Return the packages of each replica by its name.

        Sets the job's outcome if that fails.
        """
        self._held, problem = preparation.unpack_images(self.plan, self.folder, run=self._run_helper)
        self.outcome = self.outcome or problem
        if self.outcome is not None:
            return {}
        if self.plan.network != "host" and (services := services_of(self.plan)) is not None:
            self.service_log.hide(replica_proxy_secret(services.token))
        packages, held, problem = preparation.install_packages(self.plan, self.folder, run=self._run_helper)
        self._held += held
        self.outcome = self.outcome or problem
        return packages

    def _run_helper(self, name: str, command: Command) -> bool:
        """Run a program of the emulator's own. Return whether it ended before the job was decided."""
        helper = self.loop.launch(name, command, self.service_log, is_replica=False)
        self._run_until(lambda: self._is_decided() or not self.loop.unfinished())
        return helper.ended and not self._is_decided()

    def _attempt(self, starter: Starter) -> None:
        """Run all replicas until the job has ended or is to be restarted."""
        self.log("Waiting for training program to start.")
        self.log("Job is preparing.")
        self._start(starter, self.plan.replicas)
        if self.outcome is not None:
            return
        if not self._run_until(
            lambda: all(one.child.started for one in self.loop.replicas()), seconds=self.plan.timeouts.start
        ):
            late = [one.name for one in self.loop.replicas() if not one.child.started]
            self.outcome = outcome.broken(
                f"Replicas not started after {self.plan.timeouts.start:g} s: {', '.join(late)}."
            )
            return
        if self._deadline is None:
            self._deadline = self.clock.seconds() + self.plan.timeout_seconds
            self.reporter.enter("JOB_STATE_RUNNING")  # a restarted job stays RUNNING; our rule
        self.log("Job is running.")
        self._run_until(self._is_decided)

    def _start(self, starter: Starter, several: Sequence[ReplicaPlan]) -> None:
        try:
            starter.start(several, begin=self._record_start)
        except NotStartedError as error:
            self.outcome = outcome.broken(str(error))

    def _record_start(self, name: str) -> int:
        """Record that a replica is about to start. Return the attempt number, counted from 1."""
        progress = self.reporter.replicas[name]
        progress.begin(job_attempt=self._history.attempt)
        self.reporter.changed()
        return progress.attempt

    def _stop_attempt(self, starter: Starter) -> None:
        """Stop what is left of an attempt of the job, so that the next one can begin."""
        self._stop_all()
        if self.outcome is None and (left := [one.name for one in self.loop.unfinished()]):
            self.outcome = outcome.broken(
                f"The job was not restarted: {', '.join(left)} could not be stopped."
            )
        self._resume = self._next_attempt
        self._run_until(lambda: self.outcome is not None or self.clock.seconds() >= self._resume)
        self._resume = -math.inf
        if self.outcome is None:
            starter.clear_folders()
            self._job_restarts = False

    def _run_until(self, until: Callable[[], bool], *, seconds: float | None = None) -> bool:
        """Handle events until the condition holds, or `seconds` of real time have passed.

        Return whether it holds.
        """
        deadline = None if seconds is None else machine_clock.monotonic() + seconds
        self._check()
        while not until():
            times = [machine_clock.monotonic() + _TICK_SECONDS, deadline, *self._next_checks()]
            wait = min(each for each in times if each is not None) - machine_clock.monotonic()
            if deadline is not None and machine_clock.monotonic() >= deadline:
                return False
            self.loop.run_once(max(wait, 0.0))
            self._check()
            if not self._is_decided():
                with contextlib.suppress(OSError):
                    os.utime(self.folder.lock)  # a sign of a round that found nothing to end
        return True

    def _next_checks(self) -> list[float | None]:
        """Return the times at which something is due without an event, on the machine's clock."""
        if self.outcome is not None:
            return []
        settled_at = self._exits.settled_at  # until then, the deadline waits
        orders = () if self._is_decided() else self._orders.next_checks(self.loop.replicas())
        waits = [*self._due.values(), self._resume]
        if settled_at is None and self._deadline is not None:
            waits.append(self._deadline)
        return [settled_at, *orders, *(self.clock.steady_at(each) for each in waits if each > -math.inf)]

    def _is_decided(self) -> bool:
        return self.outcome is not None or self._job_restarts

    def _check(self) -> None:
        """Record starts and ends of replicas, decide about the job, and report."""
        for one in self.loop.replicas():
            self._record_progress(one, self.reporter.replicas[one.name])
        if not self._is_decided():
            self._orders.apply_due(self.loop.replicas())
        while self._starter and not self._is_decided() and (end := self._exits.take(self.loop.replicas())):
            self._handle_end(end, self._starter)
        if self._is_decided():
            self._exits.settled_at = None
        if self.outcome is None and self._exits.settled_at is None:
            self._check_end_conditions()
        if self.outcome is None and self.loop.stop_requested:
            self.outcome = outcome.broken(
                "The job's supervisor got SIGTERM from outside the emulator, as at the end of a login "
                "session, and stopped the replicas. Create the job again."
            )
        self._start_due()
        self.reporter.flush()

    def _check_end_conditions(self) -> None:
        if self.folder.cancel.exists():
            self.outcome = outcome.cancelled()
        elif not self.folder.path.exists():
            self.outcome = outcome.broken(
                "The folder of the job was removed."
            )  # it can no longer be cancelled
        elif self._deadline is not None and self.clock.seconds() >= self._deadline:
            self.outcome = outcome.timed_out(self.plan.timeout)

    def _start_due(self) -> None:
        for replica in self.plan.replicas:
            if self._starter is None or self._is_decided():
                return
            if self._due.get(replica.name, math.inf) <= self.clock.seconds():
                del self._due[replica.name]
                self._start(self._starter, [replica])

    def _record_progress(self, one: Running, progress: ReplicaProgress) -> None:
        if one.started_at is None and one.child.started:
            one.started_at = self.clock.seconds()
        if progress.pid != one.child.pid:
            progress.state, progress.pid, progress.started = "running", one.child.pid, times.now(self.clock)
            self.reporter.changed()
        if one.ended and progress.ended is None:
            one.finished_at = self.clock.seconds()
            self._private_files.remove(self.folder.replica(one.name))
            progress.exit_code, progress.ended = one.child.exit_code, times.now(self.clock)
            if self._is_decided():
                progress.state = "stopped"
            else:
                progress.state = "failed" if one.child.exit_code else "succeeded"
            self.reporter.changed()

    def _handle_end(self, one: Running, starter: Starter) -> None:
        """Decide on the consequence of a replica's end, and carry it out."""
        consequence = consequence_of(
            one, self.plan, self.scheduling, self._history, ran_out_of_memory=starter.ran_out_of_memory
        )
        self._history = consequence.history
        if consequence.restart is not None:
            self._restart(one, consequence.restart)
        else:
            self.outcome = consequence.outcome

    def _restart(self, one: Running, decision: restarts.Decision) -> None:
        self.log(decision.words, severity="WARNING")
        # Count from its end: a test that has seen the end may advance the clock at once.
        due = (
            self.clock.seconds() if one.finished_at is None else one.finished_at
        ) + self.plan.restart_seconds
        if decision.step == "restart_job":
            self._job_restarts = True
            self._next_attempt = due
            self._due.clear()
        else:
            self._due[one.name] = due
            self.reporter.replicas[one.name].state = "restarting"
            self.reporter.changed()

    def _stop_all(self) -> None:
        """Send SIGTERM to the remaining programs, then kill them."""
        for one in self.loop.unfinished():
            one.child.terminate()
        self._run_until(lambda: not self.loop.unfinished(), seconds=self.plan.grace_seconds)
        for one in self.loop.unfinished():
            if one.is_replica:
                self.log(
                    f"{one.name} did not end within {self.plan.grace_seconds:g} s of SIGTERM: killed.",
                    severity="WARNING",
                )
            one.child.kill()
        if not self._run_until(lambda: not self.loop.unfinished(), seconds=self.plan.timeouts.kill):
            for one in self.loop.unfinished():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one.child.shim, signal.SIGKILL)
            self._run_until(lambda: not self.loop.unfinished(), seconds=self.plan.timeouts.kill)

    def _finish(self) -> None:
        result = self.outcome or outcome.broken("The job ended without a result.")
        if self._starter is not None:
            self._starter.close()
        if result.state == "JOB_STATE_SUCCEEDED":
            self.log("Job completed successfully.")
        elif result.state == "JOB_STATE_CANCELLED":
            self.log("Job cancelled.")
        else:
            self.log(f"Job failed. {result.message}", severity="ERROR")
        self.reporter.end(result)
        # With a full disk, repeat the report of the end until the job's timeout.
        latest = self._deadline or self.clock.seconds() + self.plan.timeout_seconds
        while not self.reporter.flush() and self.folder.path.exists() and self.clock.seconds() < latest:
            machine_clock.sleep(_TICK_SECONDS)
            self.clock.reload()
        self._private_files.finish(seconds=self.plan.timeouts.private_files)


def main(path: str, _lock: int, prepared: Prepared | None) -> int:
    """Run the job whose folder is `path`, and keep the folder's lock. Return the exit code."""
    os.umask(0o077)
    ns.adopt_orphans()  # adopt the processes that a killed shim leaves
    job_folder = folder.JobFolder(Path(path))
    if job_folder.supervisor.exists():  # an earlier supervisor died; the emulator reports it
        return 0
    reporter = Reporter(job_folder, [], Clock())
    try:
        plan, spec = prepared or prepare(path)
        emulated = Clock(plan.data_dir / FILE)
        if not _note_start(job_folder, emulated, latest=emulated.seconds() + plan.timeout_seconds):
            return 0
        supervisor = Supervisor(job_folder, plan, spec, emulated)
        reporter = supervisor.reporter
        supervisor.run()
    except Exception as error:  # the record must not stay RUNNING
        traceback.print_exc()
        reporter.end(
            outcome.broken(
                f"The job's supervisor failed: {type(error).__name__}: {error}. "
                f"Details are in {job_folder.supervisor_log}."
            )
        )
        return 1
    return 0


def _note_start(job_folder: folder.JobFolder, emulated: Clock, *, latest: float) -> bool:
    """Write supervisor.json, if needed after a wait for space on the disk.

    Return False if the job was cancelled or its timeout passed before.
    """
    while True:
        try:
            folder.write_json(job_folder.supervisor, {"pid": os.getpid(), "started": times.now(Clock())})
        except OSError as error:
            if not is_out_of_space(error):
                raise
        else:
            job_folder.clear_unreported()
            return True
        job_folder.note_unreported("JOB_STATE_PENDING")
        if job_folder.cancel.exists() or emulated.seconds() >= latest:
            return False
        machine_clock.sleep(_TICK_SECONDS)
        emulated.reload()
