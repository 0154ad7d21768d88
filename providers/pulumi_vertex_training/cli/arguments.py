"""The argument parser of the command, and the options, types and texts that several commands share."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from pulumi_vertex_training.views.failure import InputError
from vertex_training.findings.words import did_you_mean

Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"
"""A group of commands of a parser, as `add_subparsers` returns it."""

JOB_HELP = (
    "name of a resource of the selected stack; PROJECT/STACK/NAME for any stack; or a job's display name, id "
    "or full name"
)


class Parser(argparse.ArgumentParser):
    """A parser that raises InputError, with the nearest name, where argparse would print usage and exit."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **kwargs})
        self._commands: dict[str, Parser] = {}

    def command(self, group: Subparsers, name: str, text: str, **kwargs: Any) -> Parser:
        """Add a command to a group; `text` is its help, in lower case and without a period."""
        made = group.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", **kwargs)
        made.set_defaults(parser=made)
        self._commands[name] = made
        return made

    def each(self) -> Iterator[Parser]:
        """Yield this parser and those of all its commands."""
        yield self
        for command in self._commands.values():
            yield from command.each()

    def arguments(self) -> list[argparse.Action]:
        """Return the options and positional arguments."""
        return list(self._actions)

    def options(self) -> list[str]:
        """Return the names of all options."""
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
            f"{message[:1].upper()}{message[1:]}. See `{self.prog} --help`.",
            path=(argument[1] or argument[2]) if argument else "",
        )


def whole_number(text: str, *, least: int, most: int) -> int:
    """Parse a whole number within bounds. Raises ArgumentTypeError."""
    number = int(text) if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) else -1
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not allowed; give a whole number from {least} to {most:,}"
        )
    return number


def port(text: str) -> int:
    """Parse a port. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 1 to 65535")
    return int(text)


def seconds(text: str) -> float:
    """Parse a number of seconds, 0 or more. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (math.isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; give seconds, such as 0.5")
    return value


def add_job(command: Parser, *, many: bool = False) -> None:
    """Add the argument JOB, and the option that names its stack."""
    if many:
        command.add_argument("jobs", metavar="JOB", nargs="+", help=JOB_HELP)
    else:
        command.add_argument("job", metavar="JOB", help=JOB_HELP)
    add_stack(command, "stack of the job, as STACK or PROJECT/STACK (default: the one selected here)")


def add_stack(command: Parser, text: str) -> None:
    """Add the option that names the stack of jobs."""
    command.add_argument("--stack", metavar="S", help=text)


def json_options() -> argparse.ArgumentParser:
    """Return the option of a command that can print JSON."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--json", action="store_true", help="print JSON")
    return options


def report_options() -> argparse.ArgumentParser:
    """Return the options of a command that prints for people, for programs, or for a comment."""
    options = argparse.ArgumentParser(add_help=False)
    formats = options.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="print JSON")
    formats.add_argument(
        "--markdown", action="store_true", help="print Markdown, for an issue or a comment of a pull request"
    )
    return options


def stack_options(purpose: str) -> argparse.ArgumentParser:
    """Return the options that name a stack and its program; `purpose` is a verb, such as "preview"."""
    options = folder_options()
    options.add_argument("--stack", "-s", metavar="S", help=f"stack to {purpose} (default: the selected one)")
    return options


def folder_options() -> argparse.ArgumentParser:
    """Return the option that names the folder of a Pulumi program."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument(
        "--cwd", "-C", type=Path, metavar="DIR", help="folder of the Pulumi program (default: this one)"
    )
    return options


def _folder(text: str) -> Path:
    """Return the path of a folder. An empty text, as of an unset variable, is not the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty; name a folder, or leave it out")
    return Path(text)


def data_dir_options() -> argparse.ArgumentParser:
    """Return the option of a command that needs the emulator's data folder."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument(
        "--data-dir",
        type=_folder,
        metavar="D",
        help="data folder of the emulator (default: VERTEX_TRAINING_DATA_DIR, else in your data folder)",
    )
    return options


def endpoint_options() -> argparse.ArgumentParser:
    """Return the options of a command that asks the emulator or Google Cloud."""
    options = argparse.ArgumentParser(add_help=False, parents=[data_dir_options()])
    options.add_argument(
        "--endpoint",
        choices=("emulator", "google"),
        help="service to use (default: the emulator if it is running, else Google Cloud if --project or "
        "--location is given)",
    )
    options.add_argument("--project", metavar="P", help="project id (default in the emulator: local)")
    options.add_argument("--location", metavar="L", help="region (default: us-central1)")
    return options
