"""The command of the Pulumi CLI that runs this program."""

from __future__ import annotations

import functools

from pulumi_vertex_training import engine_command
from pulumi_vertex_training.engine_command import EngineCommand
from pulumi_vertex_training.program.resource import stack_settings


@functools.lru_cache(maxsize=1)
def engines_command() -> EngineCommand | None:
    """Return the command, None if it is not known. The first call looks for it: a program has one."""
    return engine_command.find(stack_settings().timeouts)
