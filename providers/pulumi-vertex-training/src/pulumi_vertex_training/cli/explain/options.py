"""The arguments of `explain` and `diff`. Imports nothing heavy."""

from __future__ import annotations

import argparse
import re

from vertex_training.command_line.arguments import Parser, json_options

FILE_HELP = "YAML or JSON of a custom job in any form, a tuning job or a pipeline; - reads standard input"


def explain_options(command: Parser) -> None:
    """Add the options of `explain`."""
    command.runs("command:explain", json_options, check_options)
    command.value(
        "file",
        "FILE",
        f"{FILE_HELP}. Without FILE, --framework prints what it chooses for any job",
        nargs="?",
    )
    command.choice(
        "--contract",
        ("observed", "documented"),
        "CLUSTER_SPEC as in real jobs, or as documented (default: observed)",
        default="observed",
    )
    command.value(
        "--trial", "N", "number of the trial to show, from 1 (default: 1 for a tuning job)", type=_trial
    )
    command.flag("--cost", "print each part of the cost, and the sources of the prices")
    command.value("--replica", "NAME", "print only the environment of this replica, such as workerpool1-0")
    _add_pictures(command)
    command.value(
        "--persistent-resource",
        "FILE",
        "check that the job fits on this persistent resource: the output of "
        "`gcloud ai persistent-resources describe`",
    )


def _add_pictures(command: Parser) -> None:
    pictures = command.add_mutually_exclusive_group()
    pictures.add_argument(
        "--mermaid",
        action="store_true",
        help="print only a picture of the worker pools, as a Mermaid flowchart, which GitHub and GitLab draw",
    )
    pictures.add_argument(
        "--markdown",
        action="store_true",
        help="print Markdown, for a comment: the worker pools as a picture, their cost and the findings",
    )
    pictures.add_argument(
        "--svg",
        action="store_true",
        help="print only this picture as SVG, with a mark for each replica, for a page in light or dark",
    )


def diff_options(command: Parser) -> None:
    """Add the options of `diff`."""
    command.runs("diff:diff", json_options, check_options)
    command.value("old", "OLD", FILE_HELP)
    command.value("new", "NEW", "the new version, in the same formats")
    command.flag("--exit-code", "exit with code 1 if they differ")


def check_options(command: Parser, *, location: bool = True) -> None:
    """Add the options of a command that checks a declaration."""
    command.value(
        "--framework",
        "NAME",
        "check the needs of this framework or strategy, such as MultiWorkerMirroredStrategy or pytorch, "
        "and fill in what it chooses: image, launcher and variables",
    )
    if location:
        command.value(
            "--location",
            "L",
            "check that this region has the accelerators (default: the region in the file)",
            type=_location,
        )
    command.flag(
        "--allow-unknown-types", "only warn about a machine or accelerator that is not in the tables"
    )
    command.flag(
        "--allow-legacy-types",
        "accept machines and accelerators that Google has retired, such as NVIDIA_TESLA_K80",
    )


def _trial(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is not a trial; give a whole number of 1 or more")
    return text


def _location(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty; give a region such as us-central1, or leave it out")
    return text
