"""What the end of a replica means for its job: that ends too, or is started again, in part or as a whole."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass, replace

from vertex_emulator.custom_jobs.plan import Plan
from vertex_emulator.custom_jobs.supervisor import restarts
from vertex_emulator.custom_jobs.supervisor.loop import Running
from vertex_emulator.custom_jobs.supervisor.restarts import Decision, History
from vertex_emulator.job_folder import outcome
from vertex_emulator.job_folder.outcome import Outcome
from vertex_training.job.job_spec import Scheduling

_KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`outcome`: how the job ends; `restart`: what is started again instead. Neither: the job goes on.

    `history` is that of the job's restarts, this one included.
    """

    history: History
    outcome: Outcome | None = None
    restart: Decision | None = None


def judge(
    one: Running,
    plan: Plan,
    scheduling: Scheduling,
    history: History,
    *,
    ran_out_of_memory: Callable[[str], bool],
) -> Verdict:
    """Decide about a replica that has ended; `ran_out_of_memory` is asked by its name."""
    code = one.child.exit_code or 0
    end = outcome.Exit(replica=one.name, code=code, tail=one.log.tail())
    preempted = one.struck == "preempt"
    if code or preempted:
        no_memory = one.struck == "out_of_memory" or ran_out_of_memory(one.name)
        failure = restarts.Failure(
            replica=one.name,
            code=code,
            replica_restarts=history.of(one.name),
            job_restarts=history.job,
            disable_retries=scheduling.disable_retries,
            restart_job_on_worker_restart=scheduling.restart_job_on_worker_restart,
            out_of_memory=no_memory and code == _KILLED,
            unwatched=one.unwatched,
            preempted=preempted,
            spot=scheduling.strategy in ("SPOT", "LOW_COST"),
            preemptions=history.preemptions,
        )
        decision = restarts.decide(failure)
        spot_ended = failure.preempted and failure.spot
        history = history.after(decision.step, replica=one.name, spot_ended=spot_ended)
        if decision.step != "fail":
            return Verdict(history=history, restart=decision)
        if failure.preempted:
            return Verdict(history=history, outcome=outcome.stockout(plan.location, decision.words))
        end = replace(end, out_of_memory=failure.out_of_memory, words=decision.words)
    where_to_look = f"vertex-training logs {plan.job}"
    return Verdict(history=history, outcome=outcome.after(end, where_to_look=where_to_look))
