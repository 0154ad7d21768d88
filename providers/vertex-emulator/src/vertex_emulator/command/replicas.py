"""`replica kill` and `preempt`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from vertex_emulator.command.target import control_of
from vertex_training.command_line.answer import Answer, Sentences
from vertex_training.command_line.output import Output


def replica(options: argparse.Namespace, _: Output) -> Answer:
    """Order that a replica is killed or preempted."""
    with control_of(options) as control:
        jobs = control.jobs()
        job_id = options.find_job(options, jobs)
        if options.replica_action == "preempt":
            order = control.preempt_replica(job_id, options.replica, after=options.after, times=options.times)
        else:
            order = control.kill_replica(
                job_id,
                options.replica,
                after=options.after,
                times=options.times,
                out_of_memory=options.out_of_memory,
            )
    effect = _effect(order, runs=_runs(jobs, job_id, options.replica))
    return Sentences({"job": job_id, **order}, [f"{options.replica} of job {job_id} {effect}."])


def _runs(jobs: Sequence[Mapping[str, Any]], job_id: str, replica: str) -> bool:
    of_job = (one for job in jobs if job["id"] == job_id for one in job["replicas"])
    return any(one["name"] == replica and one["state"] == "running" for one in of_job)


def _effect(order: Mapping[str, Any], *, runs: bool) -> str:
    """Return what an order does to a replica that `runs` already, or that has not started yet."""
    what = {
        "kill": "killed",
        "out_of_memory": "killed as if it ran out of memory",
        "preempt": "preempted",
    }[order["kind"]]
    after, times = order["after"], order["times"]
    often = "" if times == 1 else f", {times} times"
    if runs and not after:
        return f"is now {what}" + (often and f", and after its next starts{often} in all")
    if runs:
        return f"will be {what} once it has run {after:g} s{often}"
    return f"will be {what} {f'{after:g} s after it starts' if after else 'as soon as it runs'}{often}"
