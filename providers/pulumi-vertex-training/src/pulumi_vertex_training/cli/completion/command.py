"""`completion`: print the script that makes a shell complete this command."""

from __future__ import annotations

import argparse

from vertex_training.command_line.answer import Answer, Sentences
from vertex_training.command_line.output import Output

_COMMAND = "vertex-training"


def completion(options: argparse.Namespace, _: Output) -> Answer:
    """Run the command `completion`. The script asks the command itself at each completion."""
    from argcomplete.shell_integration import shellcode

    script = shellcode([_COMMAND], use_defaults=False, shell=options.shell)
    return Sentences({"shell": options.shell, "script": script}, [script.rstrip("\n")])
