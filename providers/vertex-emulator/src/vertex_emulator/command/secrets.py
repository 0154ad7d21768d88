"""`secret set`."""

from __future__ import annotations

import argparse
import getpass
import sys

from vertex_emulator.command.target import control_of
from vertex_training.command_line.answer import Answer, Sentences
from vertex_training.command_line.errors import InputError
from vertex_training.command_line.output import Output


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
            f"vertex-emulator secret set {name}",
            path="NAME",
        )
    return value
