"""Check options of `explain` and `diff`: read them, and name them as flags in messages."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from dataclasses import replace

from vertex_cluster import frameworks as framework_settings
from vertex_training.command_line.errors import InputError
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import did_you_mean
from vertex_training.topology.rules import frameworks

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
    strategies = [each.name for each in frameworks.FRAMEWORKS.values() if each.strict]
    others = [each for each in frameworks.FRAMEWORKS if each not in strategies]
    hint = did_you_mean(name, [*frameworks.FRAMEWORKS, *_SAME])
    what = f"{name!r} is not a known framework.{hint}" if name.strip() else "the name is empty."
    raise InputError(
        f"--framework: {what} Frameworks: {', '.join(others)}. Strategies of TensorFlow: "
        f"{', '.join(strategies)}.",
        path="--framework",
    )
