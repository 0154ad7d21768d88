"""`plugin install`: let Pulumi find the plugin, where it keeps those that it downloads itself."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from pulumi_vertex_training.package import launcher
from pulumi_vertex_training.package.launcher import NAME
from pulumi_vertex_training.plugin_folder import homes, program_of
from vertex_training import __version__
from vertex_training.command_line.answer import Answer, Sentences
from vertex_training.command_line.errors import CommandError
from vertex_training.command_line.output import Output


def install(options: argparse.Namespace, _: Output) -> Answer:
    """Run the command `plugin install`: write a program that starts the plugin with this Python."""
    text = launcher.of_this_python(__version__, sys.executable)
    programs = [_write(home, text) for home in homes(options.pulumi_home)]
    return Sentences(
        {"name": NAME, "version": __version__, "program": str(programs[0])},
        [f"Plugin {NAME} {__version__} is installed: {program}" for program in programs],
    )


def _write(home: Path, text: str) -> Path:
    """Write the program into Pulumi's folder of plugins. Return its path."""
    program = program_of(home)
    unfinished = program.with_suffix(f".{os.getpid()}")
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.chmod(0o755)
        unfinished.replace(program)
    except OSError as error:
        raise CommandError(f"The plugin cannot be written: {error}.", path=str(program)) from error
    return program
