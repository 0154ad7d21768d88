"""Decide what follows when a replica ends: restart it, restart the job, or end the job. Pure.

Vertex AI documentation, "Understand the custom training service":

* a failure that is one of the "common errors" is permanent: all replicas are shut down and the job fails;
* SIGABRT and SIGSEGV (exit 6 or 134, 11 or 139) may be transient: the job is restarted up to three times;
* any other failed replica, as one whose machine was taken away, is started again with the same host name, up
  to 5 times a replica; then the whole job is, up to three times;
* VM maintenance takes a replica's machine away, and it is started again on another one;
* `disable_retries` allows no restart; with `restart_job_on_worker_restart` the restart of a replica restarts
  the job.

The page contradicts itself about a plain exit status such as 1: it says both that the replica is started
again, and that the exception of a program is a common error. Public logs of the service show jobs that one
such exit failed, so that is the rule here. A program that ran out of memory is a common error as well.

"Use Spot VMs for training": a preempted job fails with STOCKOUT and is restarted up to six times.

Our rules, where the documents are silent:

* a replica counts as taken away when SIGKILL or SIGTERM ended it, which cannot be distinguished from a
  program that exits with 137 or 143;
* every attempt of the job gives each replica its 5 restarts again, as the machines are new;
* a restart of the job in place of a replica's counts as one of the job's three, but a preemption of a Spot VM
  does not;
* a preempted replica of another job counts as one whose machine was taken away, whatever its exit status;
* the job stays RUNNING through all of it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from vertex_emulator.job_folder import outcome
from vertex_emulator.job_folder.outcome import Outcome, signal_name
from vertex_emulator.replicas.plan import Plan
from vertex_emulator.replicas.supervisor.loop import Running
from vertex_training.job.job_spec import Scheduling

REPLICA_RESTARTS = 5
"""Most restarts of one replica within one attempt of the job."""

JOB_RESTARTS = 3
"""Most restarts of a job, which therefore has up to four attempts."""

PREEMPTIONS = 6
"""Most restarts of a job on Spot VMs after preemptions."""

TRANSIENT = frozenset({6, 11, 134, 139})
"""SIGABRT and SIGSEGV, as a program's own status and as containers report them."""

TAKEN_AWAY = frozenset({137, 143})
"""SIGKILL and SIGTERM: the program was ended from outside."""

Step = Literal["fail", "restart_replica", "restart_job"]


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A replica whose program ended with a status other than 0, or whose machine was preempted.

    `replica_restarts` counts this replica's in this attempt of the job. `shim_killed`: some processes
    of the program may still run. `preempted`: its machine was taken away. `spot`: the machine was a Spot VM.
    `preemptions` counts earlier preemptions of the job.
    """

    replica: str
    code: int
    replica_restarts: int = 0
    job_restarts: int = 0
    disable_retries: bool = False
    restart_job_on_worker_restart: bool = False
    out_of_memory: bool = False
    shim_killed: bool = False
    preempted: bool = False
    spot: bool = False
    preemptions: int = 0


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The next step, and a sentence about it for the service's log or, after a failure, for the job's error.

    `words` is empty if the exit status says it all.
    """

    step: Step
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class History:
    """The restarts so far: of the job, and of each replica in the present attempt of the job.

    `preemptions` counts restarts of the job after a Spot VM was preempted; `job` counts all others.
    """

    job: int = 0
    preemptions: int = 0
    replicas: Mapping[str, int] = field(default_factory=dict)

    def of(self, replica: str) -> int:
        """Return how often the replica was restarted in this attempt."""
        return self.replicas.get(replica, 0)

    @property
    def attempt(self) -> int:
        """The present attempt of the job, from 1."""
        return 1 + self.job + self.preemptions

    def after(self, step: Step, *, replica: str, spot_ended: bool = False) -> History:
        """Return the history after a step because of a replica."""
        if step == "restart_job":
            return History(
                job=self.job + (not spot_ended), preemptions=self.preemptions + spot_ended, replicas={}
            )
        if step == "restart_replica":
            return replace(self, replicas={**self.replicas, replica: self.of(replica) + 1})
        return self


def decide(failure: Failure) -> Decision:
    """Decide on the next step after a failure; the module's docstring has the rules."""
    if failure.shim_killed:
        return Decision(step="fail")
    if not failure.preempted and (failure.out_of_memory or failure.code not in TRANSIENT | TAKEN_AWAY):
        return Decision(step="fail")
    if failure.disable_retries:
        return Decision(
            step="fail",
            words="Nothing was restarted, because job_spec.scheduling.disable_retries is true.",
        )
    if failure.preempted and failure.spot:
        return _spot(failure)
    if failure.code in TRANSIENT and not failure.preempted:
        return _job(failure, why="which may be transient")
    if failure.restart_job_on_worker_restart:
        return _job(failure, why="and restart_job_on_worker_restart is true")
    if failure.replica_restarts < REPLICA_RESTARTS:
        return Decision(
            step="restart_replica",
            words=f"{_end(failure)}. It is restarted: restart {failure.replica_restarts + 1} of "
            f"{REPLICA_RESTARTS}.",
        )
    return _job(failure, why=f"after {failure.replica_restarts} restarts")


def _job(failure: Failure, *, why: str) -> Decision:
    if failure.job_restarts >= JOB_RESTARTS:
        return Decision(step="fail", words=f"The job had been restarted {failure.job_restarts} times before.")
    return Decision(
        step="restart_job",
        words=f"{_end(failure)}, {why}. The job is restarted: restart {failure.job_restarts + 1} of "
        f"{JOB_RESTARTS}.",
    )


def _spot(failure: Failure) -> Decision:
    if failure.preemptions >= PREEMPTIONS:
        return Decision(
            step="fail",
            words=f"The job had been restarted after {failure.preemptions} preemptions of Spot VMs before.",
        )
    return Decision(
        step="restart_job",
        words=f"{_end(failure)}, on Spot VMs. The job is restarted: restart {failure.preemptions + 1} of "
        f"{PREEMPTIONS}.",
    )


def _end(failure: Failure) -> str:
    if failure.preempted:
        return f"The machine of the replica {failure.replica} was preempted"
    name = signal_name(failure.code)
    return f"The replica {failure.replica} ended with status {failure.code}{f' ({name})' if name else ''}"


_KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True, kw_only=True)
class Consequence:
    """The consequence of a replica's end.

    `outcome`: how the job ends. `restart`: what is restarted instead. If both are None, the job continues.
    `history` includes this restart.
    """

    history: History
    outcome: Outcome | None = None
    restart: Decision | None = None


def consequence_of(
    one: Running,
    plan: Plan,
    scheduling: Scheduling,
    history: History,
    *,
    ran_out_of_memory: Callable[[str], bool],
) -> Consequence:
    """Return the consequence of a replica's end; `ran_out_of_memory` takes the replica's name."""
    code = one.child.exit_code or 0
    end = outcome.Exit(replica=one.name, code=code, tail=one.log.tail())
    preempted = one.order_kind == "preempt"
    if code or preempted:
        no_memory = one.order_kind == "out_of_memory" or ran_out_of_memory(one.name)
        failure = Failure(
            replica=one.name,
            code=code,
            replica_restarts=history.of(one.name),
            job_restarts=history.job,
            disable_retries=scheduling.disable_retries,
            restart_job_on_worker_restart=scheduling.restart_job_on_worker_restart,
            out_of_memory=no_memory and code == _KILLED,
            shim_killed=one.shim_killed,
            preempted=preempted,
            spot=scheduling.strategy in ("SPOT", "LOW_COST"),
            preemptions=history.preemptions,
        )
        decision = decide(failure)
        spot_ended = failure.preempted and failure.spot
        history = history.after(decision.step, replica=one.name, spot_ended=spot_ended)
        if decision.step != "fail":
            return Consequence(history=history, restart=decision)
        if failure.preempted:
            return Consequence(history=history, outcome=outcome.stockout(plan.location, decision.words))
        end = replace(end, out_of_memory=failure.out_of_memory, words=decision.words)
    where_to_look = f"vertex-training logs {plan.job}"
    return Consequence(history=history, outcome=outcome.after(end, where_to_look=where_to_look))
