"""`emulator secret set`."""

from __future__ import annotations

import argparse
import getpass
import sys

from pulumi_vertex_training.cli.emulator.settings import control_of
from pulumi_vertex_training.failure import InputError
from pulumi_vertex_training.views.answer import Answer, Sentences
from pulumi_vertex_training.views.output import Output


def set_secret(options: argparse.Namespace, _: Output) -> Answer:
    """Set the value of a secret, which no argument of a command has: others could read it."""
    with control_of(options) as control:
        name = control.set_secret(options.name, _value(options.name), project=options.project)
    return Sentences({"name": name}, [f"Set the value of {name}."])


def _value(name: str) -> str:
    """Return the value that is typed, or standard input without its last line break."""
    if sys.stdin.isatty():
        value = getpass.getpass(f"Value of {name}: ")
    else:
        value = sys.stdin.read().removesuffix("\n")
    if not value:
        raise InputError(
            f"The value is empty. Pass it in standard input: printf %s VALUE | "
            f"vertex-training emulator secret set {name}",
            path="NAME",
        )
    return value
