"""Define the arguments of the commands that read the declaration of a job. Imports nothing heavy."""

from __future__ import annotations

import argparse
import re

from pulumi_vertex_training.cli.arguments import (
    Parser,
    Subparsers,
    endpoint_options,
    json_options,
    report_options,
    seconds,
    stack_options,
)

_FILE_HELP = (
    "YAML or JSON with a custom job (also as workerPoolSpecs, roles or trainingInput), a tuning job or a "
    "training pipeline; - reads standard input"
)
_LONGEST_TIMEOUT = 600


def add_to(parser: Parser, commands: Subparsers) -> None:
    """Add `explain`, `diff` and `preflight`."""
    common = [json_options(), _check_options()]
    explain = parser.command(
        commands,
        "explain",
        "check a job, tuning job or pipeline, and show the environment of each replica",
        parents=common,
    )
    explain.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help=f"{_FILE_HELP}. Without FILE, --framework prints what it chooses for any job",
    )
    explain.add_argument(
        "--contract",
        choices=("observed", "documented"),
        default="observed",
        help="CLUSTER_SPEC as in real jobs, or as documented (default: observed)",
    )
    explain.add_argument(
        "--trial",
        type=_trial,
        metavar="N",
        help="number of the trial to show, from 1 (default: 1 for a tuning job)",
    )
    explain.add_argument(
        "--replica", metavar="NAME", help="print only the environment of this replica, such as workerpool1-0"
    )
    pictures = explain.add_mutually_exclusive_group()
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
    explain.add_argument(
        "--persistent-resource",
        metavar="FILE",
        help="check that the job fits on this persistent resource: the output of "
        "`gcloud ai persistent-resources describe`",
    )
    diff = parser.command(
        commands,
        "diff",
        "show the changes between two jobs, tuning jobs or pipelines, and their effect on a running one",
        parents=common,
    )
    diff.add_argument("old", metavar="OLD", help=_FILE_HELP)
    diff.add_argument("new", metavar="NEW", help="the new version, in the same formats")
    diff.add_argument("--exit-code", action="store_true", help="exit with code 1 if they differ")
    _add_preflight(parser, commands)


def _add_preflight(parser: Parser, commands: Subparsers) -> None:
    preflight = parser.command(
        commands,
        "preflight",
        "look up whether the project lets the jobs of a file or a stack run: permissions, quota, images, "
        "buckets, networks",
        parents=[
            report_options(),
            stack_options("preview"),
            endpoint_options(),
            _check_options(location=False),
        ],
    )
    preflight.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help=f"{_FILE_HELP}. Without FILE, the jobs that the next deployment of a stack submits",
    )
    preflight.add_argument(
        "--timeout",
        type=_timeout,
        metavar="SECONDS",
        help="longest time that all lookups together may take (default: 10, times "
        "VERTEX_TRAINING_TIMEOUT_SCALE)",
    )


def _check_options(*, location: bool = True) -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument(
        "--framework",
        metavar="NAME",
        help="check the needs of this framework or strategy, such as MultiWorkerMirroredStrategy or pytorch, "
        "and fill in what it chooses: image, launcher and variables",
    )
    if location:
        options.add_argument(
            "--location",
            type=_location,
            metavar="L",
            help="check that this region has the accelerators (default: the region in the file)",
        )
    options.add_argument(
        "--allow-unknown-types",
        action="store_true",
        help="only warn about a machine or accelerator that is not in the tables",
    )
    options.add_argument(
        "--allow-legacy-types",
        action="store_true",
        help="accept machines and accelerators that Google has retired, such as NVIDIA_TESLA_K80",
    )
    return options


def _timeout(text: str) -> float:
    value = seconds(text)
    if not 0 < value <= _LONGEST_TIMEOUT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a timeout; give a number of seconds up to {_LONGEST_TIMEOUT}"
        )
    return value


def _trial(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is not a trial; give a whole number of 1 or more")
    return text


def _location(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty; give a region such as us-central1, or leave it out")
    return text
