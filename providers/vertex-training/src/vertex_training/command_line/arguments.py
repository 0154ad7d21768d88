"""The argument parser of a command, and types of arguments. Imports nothing heavy."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn, TypeAlias

from vertex_training.command_line.errors import InputError
from vertex_training.findings.words import did_you_mean

Options: TypeAlias = "Callable[[Parser], None]"
"""A function that adds options to a command."""


class Parser(argparse.ArgumentParser):
    """A parser that raises InputError, with the nearest name, where argparse would print usage and exit.

    `sections` are the titles under which `--help` lists the commands, with their names. `package` is the one
    with the functions of the commands that are added.
    """

    package = ""
    sections: Mapping[str, Collection[str]] = MappingProxyType({})
    _shared: Sequence[Options] = ()
    _run = ""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **kwargs})
        self._commands: dict[str, Parser] = {}

    def group(self, dest: str, *shared: Options, run: str = "", required: bool = True) -> None:
        """Begin to take commands. Each has the `shared` options, by default the options of this command.

        `run` is the function of commands that name no other.
        """
        self._group = self.add_subparsers(metavar="COMMAND", dest=dest, required=required)
        self._shared, self._run = shared or self._shared, run

    def command(self, name: str, text: str, run: str = "") -> Parser:
        """Add a command; `text` is its help, in lower case and without a period.

        `run` is as in `runs`. Without it, the command has no options yet, and may become a group.
        """
        made = self._group.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        made._shared, made.package = self._shared, self.package
        made.set_defaults(parser=made)
        if run or self._run:
            made.runs(run or self._run, *self._shared)
        self._commands[name] = made
        return made

    def runs(self, run: str, *shared: Options) -> None:
        """Set the function that runs the command, as "module:function" of `package`, and add options."""
        self.set_defaults(handler=f"{self.package}.{run}")
        for options in shared:
            options(self)

    def flag(self, names: str, text: str) -> None:
        """Add an option without a value; other names of it follow after spaces."""
        self.add_argument(*names.split(), action="store_true", help=text)

    def value(self, names: str, metavar: str, text: str, **kwargs: Any) -> None:
        """Add an option with a value, or a positional argument."""
        self.add_argument(*names.split(), metavar=metavar, help=text, **kwargs)

    def choice(self, names: str, choices: Sequence[str], text: str, **kwargs: Any) -> None:
        """Add an option or argument with one of these values."""
        self.add_argument(*names.split(), choices=choices, help=text, **kwargs)

    def parsed(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse the words. Raises InputError, or SystemExit(0) after printing help or the version."""
        options, unknown = self.parse_known_args(words)
        if unknown:
            command: Parser = options.parser
            hint = did_you_mean(unknown[0].partition("=")[0], command.options())
            raise InputError(
                f"{command.prog} has no option {' '.join(unknown)!r}.{hint} See `{command.prog} --help`.",
                path=unknown[0],
            )
        return options

    def format_help(self) -> str:
        """Return the help, with the commands in sections if the parser has any for them."""
        if not self.sections:
            return super().format_help()
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        listed = {action.dest: action for action in self._group._get_subactions()}
        for title, names in self.sections.items():
            formatter.start_section(title)
            formatter.add_arguments([listed[name] for name in names])
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([one for one in self._actions if one.option_strings])
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

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
            hint = did_you_mean(wrong[1], self._commands)
            known = "" if hint else f" Commands: {', '.join(self._commands)}."
            raise InputError(f"{self.prog} has no command {wrong[1]!r}.{hint}{known}", path="command")
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


def json_options(command: Parser) -> None:
    """Add the option of a command that can print JSON."""
    command.flag("--json", "print JSON")
