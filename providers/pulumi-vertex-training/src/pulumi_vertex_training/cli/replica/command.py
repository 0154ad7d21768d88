"""`replica exec`."""

from __future__ import annotations

import argparse
import os
import sys

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.jobs import lookup, status
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.command_line.output import Output
from vertex_training.findings.words import did_you_mean


def execute(options: argparse.Namespace, _: Output) -> int:
    """Run a command in a replica. Return its exit code."""
    from vertex_emulator import entering, relay

    endpoint = target.resolve(target.of_options(options))
    record = lookup.find(endpoint, lookup.wanted_of(options, options.job)).record
    if not endpoint.is_emulator:
        links = status.web_access(record)
        where = (
            f"Open the link of the replica: {links.get(options.replica) or ', '.join(links.values())}"
            if links
            else "Declare enable_web_access=True, and open the link that `vertex-training status JOB` shows "
            "while the job runs"
        )
        raise CommandError(f"Commands run in replicas of the emulator only. {where}.")
    inner = status.inner_job(record)
    pids = emulator_api.processes(endpoint, inner) if inner else {}
    if options.replica not in pids:
        known = [one.name for one in status.replicas(endpoint, record) or ()]
        if options.replica in known:
            raise CommandError(f"The replica {options.replica} of job {record.job_id} is not running.")
        raise InputError(
            f"Job {record.job_id} has no replica {options.replica!r}.{did_you_mean(options.replica, known)}",
            path="REPLICA",
        )
    try:
        replica = entering.find(pids[options.replica], inner)
    except entering.EnterError as error:
        raise CommandError(f"{options.replica} of job {record.job_id}: {error}") from error
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    term = os.environ.get("TERM", "dumb") if terminal else None
    return relay.run(
        lambda streams: entering.run_in(replica, options.program, streams, term=term), terminal=terminal
    )
