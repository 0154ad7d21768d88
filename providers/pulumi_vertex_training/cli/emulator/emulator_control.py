"""The controls of the emulator that runs, for the commands that ask something of it."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pulumi_vertex_training.cli import target
from pulumi_vertex_training.views.failure import CommandError, InputError

if TYPE_CHECKING:
    from vertex_emulator.control import Control


@contextmanager
def control_of(options: argparse.Namespace, *, bad_input: Collection[int] = (400, 404)) -> Iterator[Control]:
    """The controls of the emulator that runs; its refusals become errors of the command.

    `bad_input`: the HTTP status of refusals for which the user's input is to blame.
    """
    from vertex_emulator.control import Control, ControlError

    emulator = target.find_emulator(options.data_dir)
    if emulator is None:
        raise target.not_running(options.data_dir)
    try:
        yield Control(url=emulator.url, token=emulator.token)
    except ControlError as error:
        raise (InputError if error.status in bad_input else CommandError)(str(error)) from error
