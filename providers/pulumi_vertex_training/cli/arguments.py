"""The argument parser of the command, and types, texts and check options that several commands share."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NoReturn, TypeAlias

from pulumi_vertex_training.views.failure import InputError, did_you_mean
from vertex_cluster import frameworks as framework_settings
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.topology.rules import frameworks

Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"
"""A group of commands of a parser, as `add_subparsers` returns it."""

JOB_HELP = "full name, id or display name; if several jobs have this display name, the live one"


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


def seconds(text: str) -> float:
    """Parse a number of seconds, 0 or more. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (math.isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; give seconds, such as 0.5")
    return value


_SAME = {"torch": "pytorch"}
"""Names of `vertex_cluster` for frameworks, with those of `topology.rules.frameworks`."""

_IN_A_PROGRAM = re.compile(
    r"(?<![\w'\"`.-])(set )?(allow_unknown_types|allow_legacy_types|drop_remainder)(?![\w'\"`-]|\.\w)"
)


def with_flags(message: str) -> str:
    """Replace the arguments of a program in a rule's message by the command's flags.

    A name in quotes is the user's own text and stays.
    """
    return _IN_A_PROGRAM.sub(
        lambda match: f"{'pass ' if match[1] else ''}--{match[2].replace('_', '-')}", message
    )


def all_with_flags(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Apply `with_flags` to the message of each finding."""
    return tuple(replace(problem, message=with_flags(problem.message)) for problem in problems)


def of_options(options: argparse.Namespace) -> CheckOptions:
    """Return the check options that the arguments give. Raises InputError for an unknown framework."""
    return CheckOptions(
        location=options.location,
        framework=None if options.framework is None else _framework(options.framework),
        allow_unknown_types=options.allow_unknown_types,
        allow_legacy_types=options.allow_legacy_types,
    )


def settings_name(framework: str | None) -> str | None:
    """Return the framework if `vertex_cluster` makes settings for it, else None."""
    return framework if framework in framework_settings.FRAMEWORKS else None


def _framework(name: str) -> str:
    """Return the rules' name of a framework, whose case is ignored."""
    known = frameworks.named(_SAME.get(name.casefold(), name))
    if known is not None:
        return known.name
    names = [*frameworks.FRAMEWORKS, *_SAME]
    raise InputError(
        f"{name!r} is not a known framework.{did_you_mean(name, names)} Frameworks: {', '.join(names)}.",
        path="--framework",
    )
