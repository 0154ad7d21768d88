"""Define the arguments of `top`, `watch`, `tensorboard` and `completion`. Imports nothing heavy."""

from __future__ import annotations

import argparse

from pulumi_vertex_training.cli.arguments import Parser, Subparsers, add_job, add_stack, port, seconds

SHELLS = ("bash", "zsh", "fish")


def add_to(parser: Parser, commands: Subparsers, *, parents: list[argparse.ArgumentParser]) -> None:
    """Add the commands for jobs. `parents` have the options that all of them share."""
    top = parser.command(
        commands,
        "top",
        "show the live jobs in a table that follows them; in a pipe, print it once",
        parents=parents,
    )
    top.add_argument(
        "--kind",
        choices=("custom-job", "tuning-job", "training-pipeline"),
        help="show only one kind (default: all kinds)",
    )
    add_stack(top, "show only the jobs of a stack, as STACK or PROJECT/STACK (default: all jobs)")
    watch = parser.command(
        commands,
        "watch",
        "follow a job until it has ended: its replicas, its progress and its log. Exit with 0 only if it "
        "succeeds",
        parents=parents,
    )
    add_job(watch)
    for command in (top, watch):
        command.add_argument(
            "--interval",
            type=_interval,
            metavar="SECONDS",
            help="seconds between two reads (default: 0.5 on the emulator, 5 on Google Cloud)",
        )
    tensorboard = parser.command(
        commands,
        "tensorboard",
        "open the TensorBoard logs of jobs in TensorBoard, on this machine, and keep them up to date",
        parents=parents,
    )
    add_job(tensorboard, many=True)
    tensorboard.add_argument(
        "--port", type=port, metavar="P", help="port on 127.0.0.1 (default: 6006, or the next free one)"
    )


def add_completion(parser: Parser, commands: Subparsers, *, parents: list[argparse.ArgumentParser]) -> None:
    """Add the command `completion`."""
    completion = parser.command(
        commands,
        "completion",
        'print the script that completes this command in a shell: eval "$(vertex-training completion bash)"',
        parents=parents,
    )
    completion.add_argument("shell", choices=SHELLS, help="the shell")


def _interval(text: str) -> float:
    value = seconds(text)
    if value < 0.1:
        raise argparse.ArgumentTypeError(f"{text!r} is too short; give 0.1 seconds or more")
    return value
