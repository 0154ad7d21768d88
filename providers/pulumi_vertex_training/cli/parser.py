"""Define the arguments of the command. Imports nothing heavy, so that `--help` is fast."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from pulumi_vertex_training.cli.arguments import Parser, Subparsers, port, seconds, whole_number
from pulumi_vertex_training.cli.emulator import options as control_options
from pulumi_vertex_training.cli.jobs import options as job_options
from pulumi_vertex_training.cli.live import options as live_options
from pulumi_vertex_training.cli.prices import options as price_options
from pulumi_vertex_training.views.failure import InputError, did_you_mean
from vertex_training import __version__

_FILE_HELP = (
    "YAML or JSON with a custom job (also as workerPoolSpecs, roles or trainingInput), a tuning job or a "
    "training pipeline; - reads standard input"
)
_LARGEST = 10_000
_LONGEST_TIMEOUT = 600
_STRATEGIES = ("replication", "round-robin")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. Raises InputError, or SystemExit(0) after printing help or the version."""
    parsed, unknown = build().parse_known_args(arguments)
    if unknown:
        known = parsed.parser.options()
        hint = did_you_mean(unknown[0].partition("=")[0], known)
        raise InputError(
            f"{parsed.parser.prog} has no option {' '.join(unknown)!r}.{hint} "
            f"See `{parsed.parser.prog} --help`.",
            path=unknown[0],
        )
    return parsed


def build() -> Parser:
    """Return the parser of the whole command."""
    parser = Parser(
        prog="vertex-training",
        description="Check, explain and compare training jobs before they run. Watch and stop them on Google "
        "Cloud and in the emulator. Run the emulator.",
        epilog="Exit code: 0, 1 (a failure), 2 (bad usage or input).",
    )
    parser.add_argument("--version", action="version", version=f"vertex-training {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    _add_emulator(parser, commands)
    job_options.add_to(parser, commands, parents=[_json_options(), _endpoint_options()])
    live_options.add_to(parser, commands, parents=[_json_options(), _endpoint_options()])
    _add_declarations(parser, commands)
    _add_placement(parser, commands)
    _add_preflight(parser, commands)
    _add_plan(parser, commands)
    _add_apply(parser, commands)
    _add_drift(parser, commands)
    _add_promote(parser, commands)
    price_options.add_to(parser, commands, parents=[_json_options()])
    live_options.add_completion(parser, commands, parents=[_json_options()])
    _add_ui(parser, commands)
    doctor = parser.command(
        commands,
        "doctor",
        "check that this machine has what deployments and the emulator need, and print remedies",
        parents=[_json_options(), _data_dir_options()],
    )
    doctor.add_argument(
        "--repair",
        action="store_true",
        help="repair files of Pulumi's file backend that a killed `pulumi` left",
    )
    return parser


def _add_emulator(parser: Parser, commands: Subparsers) -> None:
    emulator = parser.command(commands, "emulator", "start, stop and inspect the local emulator")
    actions = emulator.add_subparsers(metavar="COMMAND", dest="action", required=True)
    data_dir = [_json_options(), _data_dir_options()]
    start = emulator.command(actions, "start", "start it, and return when it is ready", parents=data_dir)
    start.add_argument(
        "--port", type=port, metavar="P", help="port to listen on (default: the last one, else any)"
    )
    emulator.command(actions, "stop", "stop it; its jobs keep running", parents=data_dir)
    emulator.command(actions, "status", "show whether it is running, and where", parents=data_dir)
    environment = emulator.command(
        actions,
        "env",
        'print shell lines that point Google\'s clients to it: eval "$(vertex-training emulator env)"',
        parents=data_dir,
    )
    environment.add_argument("--project", metavar="P", default="local", help="project id (default: local)")
    environment.add_argument(
        "--location", metavar="L", default="us-central1", help="region (default: us-central1)"
    )
    environment.add_argument(
        "--proxy",
        action="store_true",
        help="also lead programs that only know Google's hosts to it, through its proxy",
    )
    environment.add_argument(
        "--java",
        action="store_true",
        help="the same as --proxy, and also for Java: sets JAVA_TOOL_OPTIONS, which every Java program reads",
    )
    reset = emulator.command(
        actions,
        "reset",
        "end its jobs, stop it and delete all its data: jobs, logs, buckets, images",
        parents=data_dir,
    )
    reset.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    control_options.add_to(emulator, actions, parents=data_dir)


def _add_declarations(parser: Parser, commands: Subparsers) -> None:
    common = [_json_options(), _check_options()]
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


def _add_preflight(parser: Parser, commands: Subparsers) -> None:
    preflight = parser.command(
        commands,
        "preflight",
        "look up whether the project lets the jobs of a file or a stack run: permissions, quota, images, "
        "buckets, networks",
        parents=[_json_options(), _endpoint_options(), _check_options(location=False)],
    )
    preflight.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help=f"{_FILE_HELP}. Without FILE, the jobs that the next deployment of a stack submits",
    )
    preflight.add_argument("--stack", "-s", metavar="S", help="stack to preview (default: the selected one)")
    preflight.add_argument(
        "--cwd", "-C", type=Path, metavar="DIR", help="folder of the Pulumi program (default: this one)"
    )
    preflight.add_argument(
        "--timeout",
        type=_timeout,
        metavar="SECONDS",
        default=10.0,
        help="longest time that all lookups together may take (default: 10)",
    )
    preflight.add_argument(
        "--markdown", action="store_true", help="print Markdown, for a comment of a pull request"
    )


def _add_plan(parser: Parser, commands: Subparsers) -> None:
    plan = parser.command(
        commands,
        "plan",
        "preview a stack, and show the effect on each resource and the live jobs that will be cancelled",
        parents=[_json_options()],
    )
    plan.add_argument("--stack", "-s", metavar="S", help="stack to preview (default: the selected one)")
    plan.add_argument(
        "--cwd", "-C", type=Path, metavar="DIR", help="folder of the Pulumi program (default: this one)"
    )
    plan.add_argument(
        "--refresh", action="store_true", help="read the real state of each resource before the preview"
    )
    plan.add_argument(
        "--markdown", action="store_true", help="print Markdown, for a comment of a pull request"
    )
    plan.add_argument(
        "--save-plan",
        type=Path,
        metavar="FILE",
        help="write the plan into a file that `vertex-training apply --plan FILE` deploys",
    )
    plan.add_argument("--exit-code", action="store_true", help="exit with code 1 if anything changes")


def _add_apply(parser: Parser, commands: Subparsers) -> None:
    apply = parser.command(
        commands,
        "apply",
        "deploy a saved plan, unless the program, the configuration or the state has changed since",
        parents=[_json_options()],
    )
    apply.add_argument(
        "--plan", type=Path, metavar="FILE", required=True, help="file that `plan --save-plan FILE` wrote"
    )
    apply.add_argument("--stack", "-s", metavar="S", help="stack to deploy (default: the selected one)")
    apply.add_argument(
        "--cwd", "-C", type=Path, metavar="DIR", help="folder of the Pulumi program (default: this one)"
    )
    apply.add_argument(
        "--yes", action="store_true", help="deploy it; without this, only check whether it can be deployed"
    )


def _add_drift(parser: Parser, commands: Subparsers) -> None:
    drift = parser.command(
        commands,
        "drift",
        "show which resources of a stack were changed or deleted outside of Pulumi, and how to repair each",
        parents=[_json_options()],
    )
    drift.add_argument("--stack", "-s", metavar="S", help="stack to read (default: the selected one)")
    drift.add_argument(
        "--cwd", "-C", type=Path, metavar="DIR", help="folder of the Pulumi program (default: this one)"
    )
    drift.add_argument("--markdown", action="store_true", help="print Markdown, for an issue or a comment")
    drift.add_argument("--exit-code", action="store_true", help="exit with code 1 if anything has drifted")


def _add_promote(parser: Parser, commands: Subparsers) -> None:
    promote = parser.command(
        commands,
        "promote",
        "let a stack run exactly the images and packages that another stack has run; to roll back, name an "
        "earlier run",
        parents=[_json_options()],
    )
    promote.add_argument("--from", dest="source", metavar="S", required=True, help="stack that has run them")
    promote.add_argument("--to", metavar="S", required=True, help="stack that is to run them")
    promote.add_argument(
        "--run",
        metavar="RUN",
        help="run to promote: NAME/NUMBER or NUMBER as `vertex-training runs NAME` prints it, or the id of "
        "its job (default: the last run of each job)",
    )
    promote.add_argument("--yes", action="store_true", help="promote; without it, only show the plan")
    promote.add_argument(
        "--cwd", "-C", type=Path, metavar="DIR", help="folder of the Pulumi program (default: this one)"
    )
    promote.add_argument(
        "--markdown", action="store_true", help="print Markdown, for a comment of a pull request"
    )


def _add_ui(parser: Parser, commands: Subparsers) -> None:
    ui = parser.command(
        commands,
        "ui",
        "serve a dashboard of the emulator: jobs, replicas, logs, buckets and images, live",
        parents=[_json_options(), _data_dir_options()],
    )
    ui.add_argument("--open", action="store_true", help="also open it in the browser")
    ui.add_argument("--port", type=port, metavar="P", help="port to listen on (default: any free one)")
    ui.add_argument(
        "--endpoint",
        choices=("emulator", "google"),
        help="what to show (default: the emulator); Google Cloud with your credentials",
    )
    ui.add_argument(
        "--project", metavar="P", help="project id to show (default: local, or GOOGLE_CLOUD_PROJECT)"
    )
    ui.add_argument("--location", metavar="L", help="region to show (default: us-central1)")
    ui.add_argument(
        "--allow-actions",
        action="store_true",
        help="on Google Cloud, allow to cancel jobs and to run them again (on the emulator, always allowed)",
    )


def _add_placement(parser: Parser, commands: Subparsers) -> None:
    placement = parser.command(
        commands,
        "placement",
        "show which worker builds and trains which part of an ensemble, and where its variables are",
        parents=[_json_options()],
    )
    placement.add_argument(
        "--strategy",
        type=_strategy,
        metavar="{replication,round-robin}",
        default="round-robin",
        help="every worker trains all subnetworks, or each worker a part of them (default: round-robin)",
    )
    placement.add_argument(
        "--workers", type=_from_one, metavar="N", required=True, help="number of workers, including the chief"
    )
    placement.add_argument(
        "--ps", type=_from_zero, metavar="N", default=0, help="number of parameter servers (default: 0)"
    )
    placement.add_argument(
        "--subnetworks",
        type=_several,
        metavar="N[,N...]",
        required=True,
        help="number of subnetworks, or one number for each iteration",
    )
    placement.add_argument(
        "--drop-remainder",
        action="store_true",
        help="round-robin with too few workers: drop subnetworks instead of sharing workers",
    )
    placement.add_argument(
        "--no-dedicate",
        action="store_true",
        help="round-robin: spread every subnetwork over all parameter servers, not over its own group",
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


def _json_options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--json", action="store_true", help="print JSON")
    return options


def _data_dir_options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument(
        "--data-dir",
        type=Path,
        metavar="D",
        help="data folder of the emulator (default: VERTEX_TRAINING_DATA_DIR, else in your data folder)",
    )
    return options


def _endpoint_options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False, parents=[_data_dir_options()])
    options.add_argument(
        "--endpoint",
        choices=("emulator", "google"),
        help="service to use (default: the emulator if it is running, else Google Cloud if --project or "
        "--location is given)",
    )
    options.add_argument("--project", metavar="P", help="project id (default in the emulator: local)")
    options.add_argument("--location", metavar="L", help="region (default: us-central1)")
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


def _strategy(text: str) -> str:
    """Check a strategy. A class name such as RoundRobinStrategy is rejected with a hint."""
    if text in _STRATEGIES:
        return text
    short = re.sub(r"[^a-z]", "", text.casefold()).removesuffix("strategy")
    same = [known for known in _STRATEGIES if known.replace("-", "") == short]
    hint = did_you_mean(same[0] if same else text, _STRATEGIES)
    raise argparse.ArgumentTypeError(f"{text!r} is not a strategy.{hint} Use {' or '.join(_STRATEGIES)}")


def _from_zero(text: str) -> int:
    return whole_number(text, least=0, most=_LARGEST)


def _from_one(text: str) -> int:
    return whole_number(text, least=1, most=_LARGEST)


def _several(text: str) -> tuple[int, ...]:
    return tuple(_from_one(part.strip()) for part in text.split(","))
