"""`python -m vertex_emulator`: runs one emulator as a process.

Started manually, it runs in the foreground until Ctrl-C or SIGTERM. The launcher passes --detached and
--ready-fd: the process then detaches from its parent and terminal, and writes one line of JSON to that
descriptor: it is ready (`{"ready": {...}}`), another process serves the folder (`{"held": pid}`), or it
failed (`{"error": "..."}`).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vertex_emulator.daemon.daemon import Daemon

log = logging.getLogger("vertex_emulator")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the emulator. Return 0 after a requested stop, 1 if it could not start."""
    options = _parse(arguments)
    if options.ready_fd is not None:
        os.set_inheritable(options.ready_fd, False)
    if options.detached:
        # The parent waits for its child only. The grandchild has no parent and cannot get a terminal.
        if os.fork():
            os._exit(0)
        # Handlers instead of SIG_IGN, which started programs would inherit.
        signal.signal(signal.SIGHUP, _ignore)
        signal.signal(signal.SIGINT, _ignore)
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    # Imported here, so that a detached process releases its parent first.
    from vertex_emulator.client import lookup
    from vertex_emulator.kernel import file_limit

    if problem := file_limit.problem():
        log.error("%s", problem)
        _report(options.ready_fd, {"error": problem})
        return 1
    code = lookup.code_of_this_process()  # before more of it is loaded
    from vertex_emulator.daemon.daemon import Daemon, Settings
    from vertex_emulator.daemon.gateways import PortError
    from vertex_emulator.kernel.database import DatabaseError
    from vertex_emulator.kernel.disk.data_folder import DataFolderError, no_room
    from vertex_emulator.kernel.disk.disk_space import is_out_of_space
    from vertex_emulator.kernel.disk.locks import LockHeldError
    from vertex_emulator.kernel.timeouts import DAEMON, DETACHED
    from vertex_training.timeouts import VARIABLE, scaled, timeout_scale

    try:
        scale = timeout_scale(os.environ.get(VARIABLE))
    except ValueError as error:
        log.error("%s", error)
        _report(options.ready_fd, {"error": str(error)})
        return 1
    timeouts = scaled(DETACHED if options.detached else DAEMON, scale)
    settings = Settings(
        data_dir=options.data_dir,
        port=options.port,
        idle_minutes=options.idle_minutes,
        timeouts=timeouts,
        lock_until_exit=True,
        code=code,
    )
    try:
        daemon = Daemon(settings)
        _serve(daemon, options)
    except LockHeldError as error:
        log.error("Process %s already serves %s", error.holder or "(unknown)", options.data_dir)
        _report(options.ready_fd, {"held": error.holder})
        return 1
    except (DataFolderError, DatabaseError, PortError) as error:
        log.error("%s", error)
        _report(options.ready_fd, {"error": str(error)})
        return 1
    except (OSError, sqlite3.Error) as error:
        if not is_out_of_space(error):
            raise
        log.error("%s", no_room(options.data_dir))
        _report(options.ready_fd, {"error": str(no_room(options.data_dir))})
        return 1
    return 0


def _serve(daemon: Daemon, options: argparse.Namespace) -> None:
    def stop(_number: int, _frame: FrameType | None) -> None:
        daemon.request_stop()

    try:
        signal.signal(signal.SIGTERM, stop)
        if not options.detached:
            signal.signal(signal.SIGINT, stop)
        daemon.start()
        _report(options.ready_fd, {"ready": {"url": daemon.url, "pid": os.getpid()}})
        daemon.wait()
    finally:
        daemon.close()


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Ignore the signal, which is for the process that started this one."""


def _report(descriptor: int | None, message: Mapping[str, Any]) -> None:
    if descriptor is None:
        return
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as pipe:
            pipe.write(json.dumps(message) + "\n")
    except OSError:
        log.info("The process that started the emulator has exited")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m vertex_emulator",
        description="Serve the Vertex AI and Cloud Storage emulator of one data folder on 127.0.0.1.",
    )
    parser.add_argument("--data-dir", type=Path, required=True, help="folder for all data")
    parser.add_argument(
        "--port", type=int, help="port to listen on (default: the last one if it is free, else any)"
    )
    parser.add_argument(
        "--idle-minutes",
        type=float,
        default=30.0,
        help="stop after that many minutes without a request or a live job; 0 means never (default: 30)",
    )
    parser.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ready-fd", type=int, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
