"""Define the arguments of the commands for jobs and their runs, and of `gc`. Imports nothing heavy."""

from __future__ import annotations

import argparse

from pulumi_vertex_training.cli.arguments import JOB_HELP, Parser, Subparsers, add_job, add_stack
from pulumi_vertex_training.cli.jobs import hidden_values


def add_to(parser: Parser, commands: Subparsers, *, parents: list[argparse.ArgumentParser]) -> None:
    """Add the commands. `parents` have the options that all of them share."""
    jobs = parser.command(commands, "jobs", "list the jobs, newest first", parents=parents)
    jobs.add_argument("--live", action="store_true", help="list only jobs that have not ended")
    jobs.add_argument(
        "--kind",
        choices=("custom-job", "tuning-job", "training-pipeline"),
        help="list only one kind; trials and the jobs of pipelines are custom jobs (default: all kinds)",
    )
    jobs.add_argument(
        "--all",
        "--trials",
        action="store_true",
        help="also list the trials of tuning jobs and the jobs of pipelines, below their owners; --json "
        "always lists them, with their owner",
    )
    add_stack(jobs, "list only the jobs of a stack, as STACK or PROJECT/STACK (default: all jobs)")
    runs = parser.command(
        commands,
        "runs",
        "list the runs of a resource, newest first: why each one ran, its cost, metrics, model and logs",
        parents=parents,
    )
    runs.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="name of a resource of the selected stack; PROJECT/STACK/NAME for any stack; or a job's display "
        "name, id or full name",
    )
    runs.add_argument(
        "--by",
        metavar="LABEL",
        help="instead of a NAME: show what all jobs have cost, by the value of this label, such as "
        "pulumi-resource",
    )
    runs.add_argument(
        "--kind", choices=("custom-job", "tuning-job", "training-pipeline"), help="kind of the resource"
    )
    add_stack(runs, "stack of the resource, as STACK or PROJECT/STACK (default: the one selected here)")
    runs.add_argument(
        "--pulumi-project",
        metavar="NAME",
        help="Pulumi project of the resource (default: the one in Pulumi.yaml here or above)",
    )
    runs.add_argument(
        "--compare",
        nargs="*",
        metavar="RUN",
        help="compare runs side by side: numbers, as this command prints them, or ids of jobs; one RUN is "
        "compared with the latest one (default: the last two)",
    )
    status = parser.command(
        commands, "status", "show a job and, in the emulator, its replicas", parents=parents
    )
    add_job(status)
    hidden_values.add_option(status)
    logs = parser.command(
        commands, "logs", "print the log of a job; --json prints one object a line", parents=parents
    )
    add_job(logs)
    logs.add_argument("--follow", "-f", action="store_true", help="keep printing until the job has ended")
    logs.add_argument("--task", metavar="T", help="print only one replica, such as workerpool0-0")
    logs.add_argument(
        "--raw",
        action="store_true",
        help="on a terminal, pass on the control sequences that the program printed, such as colours",
    )
    cancel = parser.command(
        commands,
        "cancel",
        "cancel a job; ask first if it may not be a job of the selected stack",
        parents=parents,
    )
    add_job(cancel)
    cancel.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    adopted = parser.command(
        commands,
        "import",
        "print the Python of a resource that adopts an existing job, bucket, repository, model or persistent "
        "resource",
        parents=parents,
    )
    adopted.add_argument(
        "job",
        metavar="NAME",
        help=f"{JOB_HELP}; gs://BUCKET; or the full name of a repository, model or persistent "
        "resource, which may begin with repositories/, models/ or persistentResources/",
    )
    add_stack(adopted, "stack of the job, as STACK or PROJECT/STACK (default: the one selected here)")
    hidden_values.add_option(adopted)
    gc = parser.command(
        commands,
        "gc",
        "list the jobs, persistent resources, models and staged objects of this package that no stack has "
        "any longer; --yes deletes them",
        parents=parents,
    )
    gc.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="only these resources: ids, full names or gs:// addresses. --yes deletes them even if they are "
        "not proven orphans",
    )
    gc.add_argument("--yes", action="store_true", help="delete the proven orphans")
    gc.add_argument(
        "--backend",
        action="append",
        default=[],
        metavar="URL",
        help="Pulumi backend whose stacks to read; repeatable (default: the one that `pulumi` uses here)",
    )
    gc.add_argument(
        "--pulumi-project",
        metavar="NAME",
        help="list only jobs, persistent resources and models of this Pulumi project (default: the one in "
        "Pulumi.yaml here or above, else all)",
    )
