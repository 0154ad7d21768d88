"""The arguments of the command. Imports nothing heavy: help must come at once."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from pulumi_vertex_training.cli.emulator import options as control_options
from pulumi_vertex_training.cli.jobs import options as job_options
from pulumi_vertex_training.views.failure import InputError, did_you_mean
from vertex_training import __version__

_FILE_HELP = (
    "YAML or JSON: a custom job, its workerPoolSpecs, roles or a trainingInput; a tuning job; a training "
    "pipeline; - is standard input"
)
_LARGEST = 10_000
_STRATEGIES = ("replication", "round-robin")


class Parser(argparse.ArgumentParser):
    """Raises InputError, with the nearest name, where argparse would print usage and exit."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **kwargs})
        self._commands: dict[str, Parser] = {}

    def command(self, group: Any, name: str, text: str, **kwargs: Any) -> Parser:
        made: Parser = group.add_parser(
            name, help=text, description=text[0].upper() + text[1:] + ".", **kwargs
        )
        made.set_defaults(parser=made)
        self._commands[name] = made
        return made

    def options(self) -> list[str]:
        return [option for action in self._actions for option in action.option_strings]

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"argument (?:\S*COMMAND|command): invalid choice: '([^']*)'", message)
        if wrong:
            commands = ", ".join(self._commands)
            raise InputError(
                f"{self.prog} has no command {wrong[1]!r}.{did_you_mean(wrong[1], self._commands)} "
                f"Commands: {commands}.",
                path="command",
            )
        if "required: COMMAND" in message:
            raise InputError(f"Name a command: {', '.join(self._commands)}.", path="command")
        argument = re.match(r"argument ([^:]+): |.*are required: ([^,]+)", message)
        raise InputError(
            f"{message[:1].upper()}{message[1:]}. `{self.prog} --help` tells more.",
            path=(argument[1] or argument[2]) if argument else "",
        )


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Raises InputError; SystemExit(0) after printing help or the version."""
    parsed, unknown = build().parse_known_args(arguments)
    if unknown:
        known = parsed.parser.options()
        hint = did_you_mean(unknown[0].partition("=")[0], known)
        raise InputError(
            f"{parsed.parser.prog} does not know {' '.join(unknown)!r}.{hint} "
            f"`{parsed.parser.prog} --help` tells more.",
            path=unknown[0],
        )
    return parsed


def build() -> Parser:
    """The whole command."""
    parser = Parser(
        prog="vertex-training",
        description="Check, explain and compare training jobs before they run; watch and stop them, on "
        "Google Cloud and in the emulator; run the emulator.",
        epilog="Exit code: 0, 1 (a failure), 2 (bad usage or input).",
    )
    parser.add_argument("--version", action="version", version=f"vertex-training {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    _add_emulator(parser, commands)
    job_options.add_to(parser, commands, parents=[_json_options(), _endpoint_options()])
    _add_declarations(parser, commands)
    _add_placement(parser, commands)
    parser.command(
        commands,
        "doctor",
        "look at this machine: what deployments and the emulator need, and what to do about what is missing",
        parents=[_json_options(), _data_dir_options()],
    )
    return parser


def _add_emulator(parser: Parser, commands: Any) -> None:
    emulator = parser.command(commands, "emulator", "start, stop and inspect the local emulator")
    actions = emulator.add_subparsers(metavar="COMMAND", dest="action", required=True)
    data_dir = [_json_options(), _data_dir_options()]
    start = emulator.command(actions, "start", "start it, and return when it answers", parents=data_dir)
    start.add_argument(
        "--port", type=_port, metavar="P", help="where to listen (default: the last one, else any)"
    )
    emulator.command(actions, "stop", "stop it; its jobs go on", parents=data_dir)
    emulator.command(actions, "status", "say whether it runs, and where", parents=data_dir)
    environment = emulator.command(
        actions,
        "env",
        'print shell lines that point Google\'s clients at it: eval "$(vertex-training emulator env)"',
        parents=data_dir,
    )
    environment.add_argument("--project", metavar="P", default="local", help="project id (default: local)")
    environment.add_argument(
        "--location", metavar="L", default="us-central1", help="region (default: us-central1)"
    )
    reset = emulator.command(
        actions,
        "reset",
        "end its jobs, stop it and delete all it holds: jobs, logs, buckets, images",
        parents=data_dir,
    )
    reset.add_argument("--yes", action="store_true", help="do not ask on a terminal")
    control_options.add_to(emulator, actions, parents=data_dir)


def _add_declarations(parser: Parser, commands: Any) -> None:
    common = [_json_options(), _check_options()]
    explain = parser.command(
        commands,
        "explain",
        "show what a job, tuning job or pipeline is, what is wrong with it, and what each replica sees",
        parents=common,
    )
    explain.add_argument("file", metavar="FILE", help=_FILE_HELP)
    explain.add_argument(
        "--contract",
        choices=("observed", "documented"),
        default="observed",
        help="CLUSTER_SPEC as real jobs get it, or as the documentation has it (default: observed)",
    )
    explain.add_argument(
        "--trial",
        type=_trial,
        metavar="N",
        help="as in this trial, from 1 (default: the first, of a tuning job)",
    )
    explain.add_argument(
        "--replica", metavar="NAME", help="the environment of one replica alone, such as workerpool1-0"
    )
    explain.add_argument(
        "--persistent-resource",
        metavar="FILE",
        help="what `gcloud ai persistent-resources describe` prints: check that the job fits on it",
    )
    diff = parser.command(
        commands,
        "diff",
        "say what changes between two jobs, tuning jobs or pipelines, and what that does to one that runs",
        parents=common,
    )
    diff.add_argument("old", metavar="OLD", help=_FILE_HELP)
    diff.add_argument("new", metavar="NEW", help="the same")
    diff.add_argument("--exit-code", action="store_true", help="exit code 1 when they differ")


def _add_placement(parser: Parser, commands: Any) -> None:
    placement = parser.command(
        commands,
        "placement",
        "say which worker builds and trains what of an ensemble, and where its variables are",
        parents=[_json_options()],
    )
    placement.add_argument(
        "--strategy",
        type=_strategy,
        metavar="{replication,round-robin}",
        default="round-robin",
        help="every worker trains all subnetworks, or each a part of them (default: round-robin)",
    )
    placement.add_argument(
        "--workers", type=_from_one, metavar="N", required=True, help="workers, the chief among them"
    )
    placement.add_argument(
        "--ps", type=_from_zero, metavar="N", default=0, help="parameter servers (default: 0)"
    )
    placement.add_argument(
        "--subnetworks",
        type=_several,
        metavar="N[,N...]",
        required=True,
        help="subnetworks of each iteration: one number, or one for each iteration",
    )
    placement.add_argument(
        "--drop-remainder",
        action="store_true",
        help="round-robin with too few workers: leave subnetworks untrained instead of sharing workers",
    )
    placement.add_argument(
        "--no-dedicate",
        action="store_true",
        help="round-robin: spread every subnetwork over all parameter servers, instead of a group for each",
    )


def _check_options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument(
        "--framework",
        metavar="NAME",
        help="check what this framework or strategy needs, such as MultiWorkerMirroredStrategy or pytorch",
    )
    options.add_argument(
        "--location",
        type=_location,
        metavar="L",
        help="check that this region has the accelerators (default: the file's)",
    )
    options.add_argument(
        "--allow-unknown-types",
        action="store_true",
        help="a machine or accelerator that is not in the tables is a warning only",
    )
    options.add_argument(
        "--allow-legacy-types",
        action="store_true",
        help="accept what Google has retired, such as NVIDIA_TESLA_K80",
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
        help="the emulator's folder (default: VERTEX_TRAINING_DATA_DIR, else in the user's data folder)",
    )
    return options


def _endpoint_options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False, parents=[_data_dir_options()])
    options.add_argument(
        "--endpoint",
        choices=("emulator", "google"),
        help="default: the emulator where one runs, else Google Cloud when --project or --location is given",
    )
    options.add_argument("--project", metavar="P", help="default in the emulator: local")
    options.add_argument("--location", metavar="L", help="default: us-central1")
    return options


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; it is a number from 1 to 65535")
    return int(text)


def _trial(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is no trial; it is a whole number from 1")
    return text


def _location(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty; give a region such as us-central1, or leave it out")
    return text


def _strategy(text: str) -> str:
    """In the command's own spelling; that of a class, RoundRobinStrategy, is refused with a hint."""
    if text in _STRATEGIES:
        return text
    short = re.sub(r"[^a-z]", "", text.casefold()).removesuffix("strategy")
    same = [known for known in _STRATEGIES if known.replace("-", "") == short]
    hint = did_you_mean(same[0] if same else text, _STRATEGIES)
    raise argparse.ArgumentTypeError(f"{text!r} is no strategy.{hint} Use {' or '.join(_STRATEGIES)}")


def _from_zero(text: str) -> int:
    return _whole_number(text, least=0)


def _from_one(text: str) -> int:
    return _whole_number(text, least=1)


def _several(text: str) -> tuple[int, ...]:
    return tuple(_whole_number(part.strip(), least=1) for part in text.split(","))


def _whole_number(text: str, *, least: int) -> int:
    number = int(text) if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) else -1
    if not least <= number <= _LARGEST:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not possible; give a whole number from {least} to {_LARGEST}"
        )
    return number
