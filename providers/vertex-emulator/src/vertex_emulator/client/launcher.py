"""Starts and stops the emulator of a data folder, from any process.

Any number of threads and processes may call `ensure` at once: one of them starts the only daemon.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vertex_emulator.client.interpreter import VARIABLE, interpreter
from vertex_emulator.client.lookup import Emulator, EmulatorBusyError, LauncherError, call, find, lock_holder
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.kernel.disk.data_folder import DataFolder, DataFolderError
from vertex_emulator.kernel.disk.locks import LockHeldError, locked
from vertex_emulator.kernel.timeouts import CLIENT, ClientTimeouts
from vertex_emulator.server.proxy import variables
from vertex_training import __version__

__all__ = ["Emulator", "EmulatorBusyError", "LauncherError", "data_dir_of", "ensure", "find", "stop"]

_MAX_LOG = 5 * 1024 * 1024
_LOG_LINES = 15

_PASSED_VARIABLES = re.compile(
    r"HOME|USER|LOGNAME|PATH|LANG|LANGUAGE|LC_.*|TZ|TMPDIR|TEMP|TMP|XDG_.*|VIRTUAL_ENV|VERTEX_TRAINING_.*"
    r"|PYTHONPATH|PYTHONDONTWRITEBYTECODE|PYTHONPYCACHEPREFIX|(?:DY)?LD_LIBRARY_PATH"
    r"|PIP_.*|UV_.*|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|(?i:(?:all|http|https|no)_proxy)"
)
"""The variables that programs and pip need.

The daemon outlives its caller and gets none of the caller's secrets.
"""


def ensure(
    data_dir: Path | None = None,
    *,
    port: int | None = None,
    idle_minutes: float | None = None,
    timeouts: ClientTimeouts = CLIENT,
) -> Emulator:
    """Return the emulator of the folder (default: the user's), and start it if it is not running.

    An outdated emulator is replaced; its jobs keep running. `port` is the required port. `idle_minutes` is
    the idle time after which a daemon that this call starts stops. Raises `LauncherError`.
    """
    folder = _folder(data_dir)
    began = machine_clock.monotonic()
    try:
        running = find(folder.root, timeouts=timeouts)
    except EmulatorBusyError:
        running = None  # it is waited for below
    if running is not None and not running.is_outdated:
        return _at_port(running, port)
    try:
        data_folder.prepare(folder.root)
        with locked(folder.start_lock, timeout=timeouts.start):
            return _start(folder, port=port, idle_minutes=idle_minutes, began=began, timeouts=timeouts)
    except DataFolderError as error:
        raise LauncherError(str(error)) from error
    except LockHeldError as error:
        raise LauncherError(
            f"Process {error.holder or '(unknown)'} has been starting the emulator of {folder.root} for "
            f"{timeouts.start:.0f} seconds. See {folder.log}. If that process hangs, end it and try again."
        ) from error


def stop(data_dir: Path | None = None, *, timeouts: ClientTimeouts = CLIENT) -> bool:
    """Stop the emulator and wait until it has ended. Return False if none was running. Jobs keep running.

    Raises `LauncherError`.
    """
    folder = _folder(data_dir)
    until = machine_clock.monotonic() + timeouts.stop
    while True:
        try:
            running = find(folder.root, timeouts=timeouts)
            break
        except EmulatorBusyError:
            if machine_clock.monotonic() >= until:
                raise
    if running is None:
        return False
    _shut_down(folder, running, timeouts=timeouts.at_least(running.timeout_scale))
    return True


def _start(
    folder: DataFolder,
    *,
    port: int | None,
    idle_minutes: float | None,
    began: float,
    timeouts: ClientTimeouts,
) -> Emulator:
    """Start the daemon, or return the running one. Called under the start lock."""
    until = began + timeouts.start
    has_started = False
    while True:
        try:
            running = find(folder.root, timeouts=timeouts)
        except EmulatorBusyError:
            if machine_clock.monotonic() >= until:
                raise
            continue
        if running is not None and not running.is_outdated:
            return _at_port(running, port)
        if running is not None:
            timeouts = timeouts.at_least(running.timeout_scale)
            until = began + timeouts.start
            _shut_down(folder, running, timeouts=timeouts)
            if has_started and running.version != __version__:
                raise LauncherError(
                    f"{interpreter()} starts version {running.version} of vertex-emulator. It must be "
                    f"{__version__}, as this program's. Install that version there, unset {VARIABLE}, or run "
                    "the program again if its packages have just changed."
                )
        if machine_clock.monotonic() >= until:
            raise EmulatorBusyError(folder, pid=lock_holder(folder), why="another process serves its folder")
        log_size = _log_size(folder)
        message = _spawn(folder, port=port, idle_minutes=idle_minutes, until=until, detach=timeouts.detach)
        if "error" in message:
            raise LauncherError(str(message["error"]))
        if not message:
            raise _not_started(folder, since=log_size, timed_out=machine_clock.monotonic() >= until)
        has_started = True


def _not_started(folder: DataFolder, *, since: int, timed_out: bool) -> LauncherError:
    """Return the error of a daemon that reported nothing. `since` is where its log began."""
    end = _end_of_log(folder, since=since)
    if not timed_out:
        return LauncherError(f"The emulator of {folder.root} did not start. {end}")
    return LauncherError(
        f"The emulator of {folder.root} did not start in time: this machine may be busy. "
        f"Run the same command again. {end}"
    )


def _spawn(
    folder: DataFolder, *, port: int | None, idle_minutes: float | None, until: float, detach: float
) -> dict[str, Any]:
    """Start a daemon and return its message, or {} if it ended or timed out without one."""
    python = interpreter()
    if not python:
        raise LauncherError(
            "The emulator cannot be started: sys.executable is not set. Run Python from its full path, "
            f"or set {VARIABLE} to the path of an interpreter."
        )
    command = [python, "-m", "vertex_emulator", "--data-dir", str(folder.root), "--detached"]
    if port is not None:
        command += ["--port", str(port)]
    if idle_minutes is not None:
        command += ["--idle-minutes", str(idle_minutes)]
    reading, writing = os.pipe()
    try:
        try:
            _rotate(folder.log)
            with open(folder.log, "ab", opener=_open_private) as log:
                # With inherited streams, a reader of the caller's output would wait for the daemon.
                process = subprocess.Popen(  # noqa: S603
                    [*command, "--ready-fd", str(writing)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    env=_environment(os.environ),
                    start_new_session=True,
                    pass_fds=(writing,),
                )
        except OSError as error:
            raise LauncherError(str(data_folder.unusable(folder.root, error))) from error
        finally:
            os.close(writing)
        message = _read_line(reading, until=until)
        try:
            process.wait(timeout=detach)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return message
    finally:
        os.close(reading)


def _read_line(descriptor: int, *, until: float) -> dict[str, Any]:
    data = b""
    while not data.endswith(b"\n"):
        left = until - machine_clock.monotonic()
        if left <= 0 or not _readable(descriptor, left):
            break
        part = os.read(descriptor, 65536)
        if not part:
            break
        data += part
    try:
        value = json.loads(data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _readable(descriptor: int, seconds: float) -> bool:
    # select.select cannot watch descriptors above 1023, which a busy process may have.
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _environment(caller: Mapping[str, str]) -> dict[str, str]:
    own = variables.without(caller)
    return {name: value for name, value in own.items() if _PASSED_VARIABLES.fullmatch(name)}


def _shut_down(folder: DataFolder, running: Emulator, *, timeouts: ClientTimeouts) -> None:
    until = machine_clock.monotonic() + timeouts.stop
    status = 0
    while lock_holder(folder) == running.pid:
        if status != 200:
            status, answer = call(
                running.url, "POST", "/_local/shutdown", timeout=timeouts.probe, token=running.token
            )
            if status not in (0, 200, 503):
                raise LauncherError(
                    f"The emulator at {running.url} (process {running.pid}) refused to stop: {answer}. See "
                    f"{folder.log}."
                )
        if machine_clock.monotonic() >= until:
            raise LauncherError(
                f"The emulator of {folder.root} (process {running.pid}) is busy: it has not stopped within "
                f"{timeouts.stop:.0f} seconds. See {folder.log}, or end it with: kill {running.pid}"
            )
        machine_clock.sleep(0.01)


def _at_port(running: Emulator, port: int | None) -> Emulator:
    if port is not None and urlsplit(running.url).port != port:
        raise LauncherError(
            f"The emulator of {running.data_dir} already runs at {running.url}. Leave the port out, or stop "
            "it first: vertex-emulator stop"
        )
    return running


def data_dir_of(data_dir: Path | None) -> Path:
    """Return the data folder of the emulator that a caller means; None is the default one."""
    return data_folder.chosen_data_dir(data_dir)


def _folder(data_dir: Path | None) -> DataFolder:
    return DataFolder(root=data_folder.chosen_data_dir(data_dir))


def _log_size(folder: DataFolder) -> int:
    return folder.log.stat().st_size if folder.log.exists() else 0


def _rotate(log: Path) -> None:
    if log.exists() and log.stat().st_size > _MAX_LOG:
        log.replace(log.with_name(log.name + ".1"))


def _end_of_log(folder: DataFolder, *, since: int) -> str:
    try:
        with folder.log.open("rb") as file:
            file.seek(since if since <= _log_size(folder) else 0)
            lines = file.read(_MAX_LOG).decode("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    if not lines:
        return f"Its log {folder.log} is empty."
    return f"The end of its log, {folder.log}:\n" + "\n".join(lines[-_LOG_LINES:])
