"""The command `vertex-emulator`, for those who test programs of Google's SDK and have no Pulumi.

`vertex-training emulator` of pulumi-vertex-training has more: faults, quotas, permissions, time, and JSON.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from vertex_emulator import __main__ as process
from vertex_emulator.client import addresses, launcher
from vertex_emulator.client.launcher import Emulator, LauncherError
from vertex_emulator.kernel.disk.data_folder import chosen_data_dir
from vertex_emulator.kernel.disk.ownership import DataFolderError
from vertex_training import __version__

PROJECT, LOCATION = "local", "us-central1"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Return 0, 1 after a failure or if no emulator runs, 2 for wrong arguments."""
    options = _parser().parse_args(arguments)
    try:
        data_dir = chosen_data_dir(options.data_dir)
        if options.command == "run":
            port = [] if options.port is None else ["--port", str(options.port)]
            print(f"Its clients find it by: {_env_command(data_dir)}", file=sys.stderr)
            return process.main(["--data-dir", str(data_dir), "--idle-minutes", "0", *port])
        if options.command == "start":
            emulator = launcher.ensure(data_dir, port=options.port)
            print(f"The emulator is running at {emulator.url}, with its data in {data_dir}.")
            print(f"To lead Google's clients to it: {_env_command(data_dir)}")
            return 0
        if options.command == "stop":
            stopped = launcher.stop(data_dir)
            print("The emulator is stopped." if stopped else "The emulator was not running.")
            return 0
        return _shown(options, data_dir, launcher.find(data_dir))
    except (LauncherError, DataFolderError) as error:
        print(error, file=sys.stderr)
        return 1


def _shown(options: argparse.Namespace, data_dir: Path, emulator: Emulator | None) -> int:
    """Print where the emulator is, or the variables that lead to it."""
    if emulator is None:
        print(
            f"No emulator runs with the data folder {data_dir}. Start it: vertex-emulator start",
            file=sys.stderr,
        )
        return 1
    if options.command == "status":
        print(f"The emulator runs at {emulator.url} (process {emulator.pid}), with its data in {data_dir}.")
        return 0
    values = addresses.variables(emulator, project=PROJECT, location=LOCATION, environment=os.environ)
    print("\n".join(addresses.exports(values)))
    return 0


def _env_command(data_dir: Path) -> str:
    return f'eval "$(vertex-emulator env --data-dir {shlex.quote(str(data_dir))})"'


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="vertex-emulator",
        description="Vertex AI training, Cloud Storage and Artifact Registry on this machine.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in (
        ("start", "start it in the background, and return when it answers; a running one is kept"),
        ("run", "run it in the foreground until Ctrl-C"),
        ("stop", "stop it; its jobs keep running"),
        ("status", "show its address; the exit code is 1 if it does not run"),
        ("env", "print the variables that lead Google's clients to it, for a shell's eval"),
    ):
        command = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        command.add_argument(
            "--data-dir",
            type=Path,
            help="its data folder (default: VERTEX_TRAINING_DATA_DIR, else the user's)",
        )
        if name in ("start", "run"):
            command.add_argument(
                "--port", type=int, help="its port (default: the last one if it is free, else any)"
            )
    return parser


if __name__ == "__main__":
    sys.exit(main())
