"""The emulator that a command is about: the running one of its data folder, and the controls of that.

Functions import what they need: most processes of the client load this module, and few call them.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vertex_emulator.kernel.timeouts import ClientTimeouts
from vertex_training.command_line.errors import CommandError, InputError

if TYPE_CHECKING:
    from vertex_emulator.client.control import Control
    from vertex_emulator.client.lookup import Emulator


def find_emulator(data_dir: Path | None, timeouts: ClientTimeouts) -> Emulator | None:
    """Return the running emulator of the folder, by default the user's folder, or None.

    Raises `CommandError`, also for an emulator that is running but busy.
    """
    from vertex_emulator.client import lookup

    try:
        return lookup.find(data_dir, timeouts=timeouts)
    except lookup.EmulatorBusyError as error:
        raise CommandError(str(error)) from error
    except lookup.LauncherError as error:
        raise CommandError(str(error), path="--data-dir") from error


def not_running(data_dir: Path | None) -> CommandError:
    """Return the error for an emulator that is not running."""
    from vertex_emulator.kernel.disk.data_folder import chosen_data_dir

    option = of_data_dir(data_dir)
    elsewhere = "" if option else " For another emulator, give --data-dir or set VERTEX_TRAINING_DATA_DIR."
    return CommandError(
        f"The emulator of {chosen_data_dir(data_dir)} is not running. Start it with "
        f"`vertex-emulator start{option}`.{elsewhere}"
    )


def of_data_dir(data_dir: Path | None) -> str:
    """Return the option for an emulator's data folder, "" for the folder of a command without it."""
    from vertex_emulator.kernel.disk.data_folder import chosen_data_dir, default_data_dir

    if data_dir is None or chosen_data_dir(data_dir) == default_data_dir():
        return ""
    return f" --data-dir {shlex.quote(str(chosen_data_dir(data_dir)))}"


def running(options: argparse.Namespace) -> Emulator:
    """Return the running emulator of --data-dir. Raises `CommandError`."""
    emulator = find_emulator(options.data_dir, options.timeouts)
    if emulator is None:
        raise not_running(options.data_dir)
    return emulator


def control_at(emulator: Emulator, options: argparse.Namespace) -> Control:
    """Return the controls of an emulator."""
    from vertex_emulator.client.control import Control

    timeouts = options.timeouts.at_least(emulator.timeout_scale)
    return Control(url=emulator.url, token=emulator.token, timeouts=timeouts)


@contextmanager
def control_of(
    options: argparse.Namespace, emulator: Emulator | None = None, *, bad_input: Collection[int] = (400, 404)
) -> Iterator[Control]:
    """Yield the controls of an emulator, by default the running one. Its errors become errors of the command.

    `bad_input` are the HTTP statuses that mean a mistake in the user's input.
    """
    from vertex_emulator.client.control import ControlError

    control = control_at(emulator or running(options), options)
    try:
        yield control
    except ControlError as error:
        raise (InputError if error.status in bad_input else CommandError)(str(error)) from error
