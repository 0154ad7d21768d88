"""Entry point of `vertex-emulator`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from vertex_emulator.command.options import SECTIONS, add_port, data_dir_options, emulator_options
from vertex_emulator.kernel.timeouts import CLIENT, ClientTimeouts
from vertex_training import __version__
from vertex_training.command_line.answer import render
from vertex_training.command_line.arguments import Parser
from vertex_training.command_line.errors import InputError
from vertex_training.command_line.output import Output, for_streams
from vertex_training.command_line.run import command_of, run
from vertex_training.timeouts import VARIABLE, scaled, timeout_scale


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Return 0, 1 (a failure), 2 (bad usage or input), or 130 after Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    output = for_streams(as_json="--json" in words, environment=os.environ)
    return run(lambda: _run(words, output), output, os.environ)


def _run(words: Sequence[str], output: Output) -> int:
    options = build().parsed(words)
    options.timeouts = _timeouts(options)
    return render(command_of(options)(options, output), output)


def build() -> Parser:
    """Return the parser of the whole command."""
    parser = Parser(
        prog="vertex-emulator",
        description="Vertex AI training, Cloud Storage and Artifact Registry on this machine.",
        epilog="Exit code: 0, 1 (a failure), 2 (bad usage or input).",
    )
    parser.add_argument("--version", action="version", version=f"vertex-emulator {__version__}")
    emulator_options(parser)
    foreground = parser.command("run", "run it in the foreground until Ctrl-C")
    foreground.runs("foreground:run", data_dir_options, add_port)
    parser.sections = {**SECTIONS, "run it": (*SECTIONS["run it"], "run")}
    return parser


def _timeouts(options: argparse.Namespace) -> ClientTimeouts:
    try:
        own = scaled(CLIENT, timeout_scale(os.environ.get(VARIABLE)))
    except ValueError as error:
        raise InputError(str(error), path=VARIABLE) from None
    return own.for_emulator(options.data_dir)
