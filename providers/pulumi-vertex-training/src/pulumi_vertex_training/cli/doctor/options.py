"""The arguments of `doctor`."""

from __future__ import annotations

from vertex_emulator import data_dir_options
from vertex_training.command_line.arguments import Parser, json_options


def doctor_options(command: Parser) -> None:
    """Add the options of `doctor`."""
    command.runs("command:doctor", json_options, data_dir_options)
    command.flag("--repair", "repair files of Pulumi's file backend that a killed `pulumi` left")
