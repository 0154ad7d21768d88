"""The arguments of `doctor`."""

from __future__ import annotations

from pulumi_vertex_training.cli.arguments import Parser, data_dir_options, json_options


def doctor_options(command: Parser) -> None:
    """Add the options of `doctor`."""
    command.runs("command:doctor", json_options, data_dir_options)
    command.flag("--repair", "repair files of Pulumi's file backend that a killed `pulumi` left")
