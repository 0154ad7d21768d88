"""The arguments of `jobs`, `status`, `logs`, `cancel`, `import` and `gc`. Imports nothing heavy."""

from __future__ import annotations

import argparse
from typing import Any

from pulumi_vertex_training.cli.emulator.options import Group

_JOB_HELP = (
    "full name, id, or display name; a display name that several jobs have means the one that has not ended"
)


def add_to(parser: Group, commands: Any, *, parents: list[argparse.ArgumentParser]) -> None:
    """Add the commands; `parents` have the options that all of them have."""
    jobs = parser.command(commands, "jobs", "list the jobs, newest first", parents=parents)
    jobs.add_argument("--live", action="store_true", help="only those that have not ended")
    jobs.add_argument(
        "--kind",
        choices=("custom-job", "tuning-job", "training-pipeline"),
        help="only those of one kind; trials, and what pipelines run, are custom jobs (default: all kinds)",
    )
    jobs.add_argument(
        "--all",
        "--trials",
        action="store_true",
        help="also the jobs that others run: each trial below its tuning job, a pipeline's job below it "
        "(with --json they are always listed, with their owner)",
    )
    status = parser.command(
        commands, "status", "show one job and, in the emulator, its replicas", parents=parents
    )
    status.add_argument("job", metavar="JOB", help=_JOB_HELP)
    logs = parser.command(
        commands, "logs", "print the log of a job; with --json one object a line", parents=parents
    )
    logs.add_argument("job", metavar="JOB", help=_JOB_HELP)
    logs.add_argument("--follow", "-f", action="store_true", help="go on until the job has ended")
    logs.add_argument("--task", metavar="T", help="only one replica, such as workerpool0-0")
    cancel = parser.command(commands, "cancel", "ask a job to stop", parents=parents)
    cancel.add_argument("job", metavar="JOB", help=_JOB_HELP)
    adopted = parser.command(
        commands, "import", "print the Python of a resource that adopts a job", parents=parents
    )
    adopted.add_argument("job", metavar="JOB", help=_JOB_HELP)
    gc = parser.command(
        commands,
        "gc",
        "list, and with --yes delete, jobs, persistent resources, models and staged objects of ours that no "
        "stack knows any more",
        parents=parents,
    )
    gc.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="only these: ids or full names, gs:// addresses of staged objects. With --yes they are "
        "deleted also where it is not proven that they are orphans",
    )
    gc.add_argument("--yes", action="store_true", help="delete what is proven to be an orphan")
    gc.add_argument(
        "--backend",
        action="append",
        default=[],
        metavar="URL",
        help="a backend whose stacks may know them; may be repeated (default: the one of `pulumi` here)",
    )
    gc.add_argument(
        "--pulumi-project",
        metavar="NAME",
        help="only jobs, persistent resources and models of this Pulumi project (default: the one of "
        "Pulumi.yaml here or above, else any)",
    )
