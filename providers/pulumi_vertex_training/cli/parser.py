"""Define the arguments of the command. Imports nothing heavy, so that `--help` is fast."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pulumi_vertex_training.cli import declaration_options, stack_options
from pulumi_vertex_training.cli.arguments import (
    Parser,
    Subparsers,
    data_dir_options,
    endpoint_options,
    json_options,
    port,
)
from pulumi_vertex_training.cli.emulator import options as control_options
from pulumi_vertex_training.cli.jobs import options as job_options
from pulumi_vertex_training.cli.live import options as live_options
from pulumi_vertex_training.cli.placement import options as placement_options
from pulumi_vertex_training.cli.prices import options as price_options
from pulumi_vertex_training.views.failure import InputError
from vertex_training import __version__
from vertex_training.findings.words import did_you_mean


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
    job_options.add_to(parser, commands, parents=[json_options(), endpoint_options()])
    live_options.add_to(parser, commands, parents=[json_options(), endpoint_options()])
    declaration_options.add_to(parser, commands)
    placement_options.add_to(parser, commands)
    stack_options.add_to(parser, commands)
    price_options.add_to(parser, commands, parents=[json_options()])
    live_options.add_completion(parser, commands, parents=[json_options()])
    _add_ui(parser, commands)
    doctor = parser.command(
        commands,
        "doctor",
        "check that this machine has what deployments and the emulator need, and print remedies",
        parents=[json_options(), data_dir_options()],
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
    data_dir = [json_options(), data_dir_options()]
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


def _add_ui(parser: Parser, commands: Subparsers) -> None:
    ui = parser.command(
        commands,
        "ui",
        "serve a dashboard of the emulator: jobs, replicas, logs, buckets and images, live",
        parents=[json_options(), data_dir_options()],
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
