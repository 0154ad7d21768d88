"""`emulator export` and `import`. An emulator that does not run is started for them, and stopped again."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pulumi_vertex_training.cli import target
from pulumi_vertex_training.cli.emulator.settings import control_of
from pulumi_vertex_training.views.failure import CommandError, InputError
from pulumi_vertex_training.views.output import Output

if TYPE_CHECKING:
    from vertex_emulator.control import Control

_WORDS = {
    "hyperparameterTuningJobs": "tuning jobs",
    "trainingPipelines": "pipelines",
    "models": "models",
    "datasets": "datasets",
    "persistentResources": "persistent resources",
    "logEntries": "log entries",
}


def export(options: argparse.Namespace, output: Output) -> None:
    """Write the archive, for its owner alone to read."""
    with _started(options) as control:
        try:
            size = control.export_state(options.file)
        except FileExistsError:
            raise InputError(f"{options.file} is there already. Name a new file.", path="FILE") from None
        except OSError as error:
            raise _unusable(options, error) from error
    if output.as_json:
        output.document({"file": str(options.file), "bytes": size})
    else:
        output.line(f"All that it holds is in {options.file} ({size} bytes).")


def import_state(options: argparse.Namespace, output: Output) -> None:
    """Add what the archive holds."""
    if not options.file.is_file():
        raise InputError(f"There is no file {options.file}.", path="FILE")
    with _started(options) as control:
        try:
            added = control.import_state(options.file)
        except OSError as error:
            raise _unusable(options, error) from error
    if output.as_json:
        output.document(added)
        return
    counts = ", ".join(
        [
            *(f"{added[kind]} {kind}" for kind in ("jobs", "buckets", "objects", "images", "repositories")),
            *(f"{count} {_WORDS[kind]}" for kind, count in added["resources"].items()),
        ]
    )
    output.line(f"Imported: {counts}.")
    if added["endedJobs"]:
        output.line(
            "Jobs and pipelines that had not ended when they were exported, and have now: "
            f"{added['endedJobs']}."
        )


@contextmanager
def _started(options: argparse.Namespace) -> Iterator[Control]:
    from vertex_emulator import launcher

    started = target.find_emulator(options.data_dir) is None
    try:
        if started:
            launcher.ensure(options.data_dir)
        try:
            with control_of(options, bad_input=(400, 404, 409)) as control:
                yield control
        finally:
            if started:
                launcher.stop(options.data_dir)
    except launcher.LauncherError as error:
        raise CommandError(str(error)) from error


def _unusable(options: argparse.Namespace, error: OSError) -> CommandError:
    return CommandError(f"{options.file} cannot be used: {error.strerror or error}.", path="FILE")
