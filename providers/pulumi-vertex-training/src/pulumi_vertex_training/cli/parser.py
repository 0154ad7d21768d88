"""The commands, by what people want to do, and the parser of the whole command. Imports nothing heavy."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping, Sequence

from vertex_training import __version__
from vertex_training.command_line.arguments import Parser

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "the five to begin with": {
        "explain": "check a job, tuning job or pipeline, and show the environment of each replica",
        "jobs": "list the jobs, newest first",
        "status": "show a job and, in the emulator, its replicas",
        "logs": "print the log of a job; --json prints one object a line",
        "doctor": "check that this machine has what deployments and the emulator need, and print remedies",
    },
    "watch and stop jobs": {
        "top": "show the live jobs in a table that follows them; in a pipe, print it once",
        "watch": "follow a job until it has ended: its replicas, its progress and its log. Exit with 0 only "
        "if it succeeds",
        "replica": "run a command in a replica of the emulator: replica exec JOB REPLICA -- COMMAND",
        "cancel": "cancel a job; ask first if it may not be a job of the selected stack",
        "ui": "serve a dashboard of the emulator: jobs, replicas, logs, buckets and images, live",
        "tensorboard": "open the TensorBoard logs of jobs in TensorBoard, on this machine, and "
        "keep them up to date",
    },
    "compare runs and costs": {
        "runs": "list the runs of a resource, newest first: why each one ran, its cost, metrics, model and "
        "logs",
        "trace": "show where a model came from: its run, image, package, data and commit; and which models "
        "an image, data or a commit went into",
        "prices": "show the prices that costs are calculated with; `refresh` reads Google's current ones",
    },
    "check before a deployment": {
        "diff": "show the changes between two jobs, tuning jobs or pipelines, and their effect on a running "
        "one",
        "preflight": "look up whether the project lets the jobs of a file or a stack run: "
        "permissions, quota, images, buckets, networks",
        "plan": "preview a stack, and show the effect on each resource and the live jobs that will be "
        "cancelled",
        "placement": "show which worker builds and trains which part of an ensemble, and where its "
        "variables are",
    },
    "deploy and repair stacks": {
        "apply": "deploy a saved plan, unless the program, the configuration or the state has changed since",
        "drift": "show which resources of a stack were changed or deleted outside of Pulumi, and how to "
        "repair each",
        "promote": "let a stack run exactly the images and packages that another stack has run; to "
        "roll back, name an earlier run",
        "import": "print the Python of a resource that adopts an existing job, bucket, repository, model or "
        "persistent resource",
        "migrate-state": "move a stack between Pulumi's dynamic providers and the package, while "
        "its jobs run on",
        "gc": "list the jobs, persistent resources, models and staged objects of this package that no "
        "stack has any longer; --yes deletes them",
    },
    "set up this machine": {
        "emulator": "start, stop and inspect the local emulator",
        "completion": "print the script that completes this command in a shell: eval "
        '"$(vertex-training completion bash)"',
        "plugin": "install the plugin for Pulumi programs in other languages",
        "mcp": "serve commands to an agent as tools of the Model Context Protocol (MCP)",
    },
}
"""The commands with their help, in lower case and without a period, by what people want to do."""

_FOLDERS: Mapping[str, str] = {
    **{name: f"teams.{name}" for name in ("apply", "drift", "plan", "preflight", "prices", "promote")},
    "cancel": "jobs",
    "diff": "explain",
    "import": "jobs",
    "logs": "jobs",
    "migrate-state": "migration",
    "status": "jobs",
    "top": "live",
    "watch": "live",
}
"""The packages of the commands that are not in one of their own name."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. Raises InputError, or SystemExit(0) after printing help or the version."""
    return build(arguments).parsed(arguments)


def build(words: Sequence[str] | None = None) -> Parser:
    """Return the parser of the whole command; with `words`, only the commands in these have their options.

    A command's options, and with them the function that runs it, are in `options.py` of its folder.
    """
    parser = Parser(
        prog="vertex-training",
        description="Check, explain and compare training jobs before they run. Watch and stop them on Google "
        "Cloud and in the emulator. Run the emulator.",
        epilog="Exit code: 0, 1 (a failure), 2 (bad usage or input).",
    )
    parser.sections = SECTIONS
    parser.add_argument("--version", action="version", version=f"vertex-training {__version__}")
    parser.group("command")
    for section in SECTIONS.values():
        for name, text in section.items():
            command = parser.command(name, text)
            if words is None or name in words:
                found = importlib.import_module(f".{_FOLDERS.get(name, name)}.options", __package__)
                command.package = found.__package__ or ""
                getattr(found, f"{name.replace('-', '_')}_options")(command)
    return parser
