"""The switches that `explain` and `diff` have in common, as options of the checks and in messages."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from dataclasses import replace

from pulumi_vertex_training.views.failure import InputError, did_you_mean
from vertex_cluster import frameworks as framework_settings
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.topology.rules import frameworks

_SAME = {"torch": "pytorch"}
"""Names under which `vertex_cluster` knows a framework of `topology.rules.frameworks`."""


_IN_A_PROGRAM = re.compile(
    r"(?<![\w'\"`.-])(set )?(allow_unknown_types|allow_legacy_types|drop_remainder)(?![\w'\"`-]|\.\w)"
)


def with_flags(message: str) -> str:
    """The message of a rule with the command's flags in place of a program's switches.

    A name in quotes is what the user wrote, and stays.
    """
    return _IN_A_PROGRAM.sub(
        lambda match: f"{'pass ' if match[1] else ''}--{match[2].replace('_', '-')}", message
    )


def all_with_flags(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The findings, each `with_flags`."""
    return tuple(replace(problem, message=with_flags(problem.message)) for problem in problems)


def of_options(options: argparse.Namespace) -> CheckOptions:
    """Raises InputError for an unknown framework."""
    return CheckOptions(
        location=options.location,
        framework=None if options.framework is None else _framework(options.framework),
        allow_unknown_types=options.allow_unknown_types,
        allow_legacy_types=options.allow_legacy_types,
    )


def settings_name(framework: str | None) -> str | None:
    """The name under which `vertex_cluster` knows the framework; None when it needs no settings."""
    return framework if framework in framework_settings.FRAMEWORKS else None


def _framework(name: str) -> str:
    """The name that the rules know, in any case."""
    known = frameworks.named(_SAME.get(name.casefold(), name))
    if known is not None:
        return known.name
    names = [*frameworks.FRAMEWORKS, *_SAME]
    raise InputError(
        f"{name!r} is no framework that is known here.{did_you_mean(name, names)} "
        f"Frameworks: {', '.join(names)}.",
        path="--framework",
    )
