"""`run`: the emulator in this process, for containers and supervisors of services."""

from __future__ import annotations

import argparse
import shlex

from vertex_emulator import __main__ as process
from vertex_emulator.kernel.disk.data_folder import chosen_data_dir
from vertex_training.command_line.output import Output


def run(options: argparse.Namespace, output: Output) -> int:
    """Run the emulator until Ctrl-C or SIGTERM."""
    data_dir = str(chosen_data_dir(options.data_dir))
    output.note(f'Its clients find it by: eval "$(vertex-emulator env --data-dir {shlex.quote(data_dir)})"')
    port = [] if options.port is None else ["--port", str(options.port)]
    return process.main(["--data-dir", data_dir, "--idle-minutes", "0", *port])
