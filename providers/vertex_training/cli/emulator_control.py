"""The controls of the emulator that runs, for the commands that ask something of it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vertex_training.cli import target
from vertex_training.cli.failure import CommandError, InputError

if TYPE_CHECKING:
    from vertex_training.emulator.control import Control


@contextmanager
def control_of(options: argparse.Namespace) -> Iterator[Control]:
    """The controls of the emulator that runs; its refusals become errors of the command."""
    from vertex_training.emulator.control import Control, ControlError

    emulator = target.find_emulator(options.data_dir)
    if emulator is None:
        raise target.not_running(options.data_dir)
    try:
        yield Control(url=emulator.url, token=emulator.token)
    except ControlError as error:
        raise (InputError if error.status in (400, 404) else CommandError)(str(error)) from error
