"""The notifications of a job on the emulator: a file in its data folder, which the emulator reads.

Only this process writes it, with the rights of whoever deploys. A method of the emulator could be called by a
training program, too, and the file may name a command (`vertex_emulator.subscriptions`). It is named by the
identity of the job's runs, and written before a job is submitted, which may end at once.
"""

from __future__ import annotations

from pathlib import Path

from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.core.running.declaration import JobInputs
from vertex_emulator import DataFolderError, Subscription, launcher, subscriptions


def write(collection: str, inputs: JobInputs, identity: str) -> None:
    """Write the notifications of a declaration's runs, or remove what is written if none are declared.

    The emulator runs: a started one has made its data folder.
    """
    if inputs.endpoint != "emulator":
        return
    if not inputs.notifications:
        remove(identity)
        return
    one = Subscription(
        id=identity,
        collection=collection,
        declaration=identity,
        job=(inputs.adopt or "").rpartition("/")[2],
        notifications=inputs.notifications,
    )
    try:
        subscriptions.write(_data_dir(), one)
    except DataFolderError as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise _unusable("written", error) from error


def are_written(identity: str) -> bool:
    """Return whether the notifications of a declaration's runs are written."""
    try:
        return subscriptions.exists(_data_dir(), identity)
    except OSError as error:
        raise _unusable("read", error) from error


def remove(identity: str) -> None:
    """Remove the notifications of a declaration's runs, if there are any."""
    try:
        subscriptions.remove(_data_dir(), identity)
    except OSError as error:
        raise _unusable("removed", error) from error


def _data_dir() -> Path:
    return launcher.data_dir_of(OPERATION.settings.data_dir)


def _unusable(done: str, error: OSError) -> Failure:
    return Failure(
        f"the notifications in {_data_dir()} cannot be {done}: {error.strerror or type(error).__name__}. Run "
        "`vertex-training doctor`."
    )
