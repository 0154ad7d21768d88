"""Finds, starts and stops the emulator of a data folder, from any process.

Any number of threads and processes may call `ensure` at once: one of them starts the only daemon. A server at
a port is trusted only after it has proved that it knows the token. A stale emulator.json (killed daemon,
reboot, reused process ID or port) is therefore harmless, and no secret is sent to another program.
"""

from __future__ import annotations

import hmac
import http.client
import json
import os
import re
import secrets
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vertex_emulator import extras, installed_code
from vertex_emulator.interpreter import VARIABLE, interpreter
from vertex_emulator.kernel import data_folder
from vertex_emulator.kernel.data_folder import DataFolder, DataFolderError
from vertex_emulator.kernel.locks import FileLock, LockHeldError, locked
from vertex_training import __version__

_PROBE_SECONDS = 5.0
_START_SECONDS = 30.0
_STOP_SECONDS = 20.0
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


class LauncherError(Exception):
    """The emulator could not be started, reached or stopped; the message has the remedy."""


@dataclass(frozen=True, kw_only=True)
class Emulator:
    """A running emulator.

    `storage_url` is the value of STORAGE_EMULATOR_HOST and contains the storage secret.
    """

    url: str
    token: str = field(repr=False)
    storage_url: str = field(repr=False)
    pid: int
    data_dir: Path
    version: str
    code: str | None = None

    @property
    def is_outdated(self) -> bool:
        """True if it runs another version than this one, or if its code has changed since it started."""
        return self.version != __version__ or installed_code.has_changed(self.code)


def find(data_dir: Path | None = None, *, probe_seconds: float = _PROBE_SECONDS) -> Emulator | None:
    """Return the emulator of the folder (default: the user's) if it responds within `probe_seconds`, or None.

    Starts nothing. Raises `LauncherError` if the folder cannot be read.
    """
    folder = _folder(data_dir)
    try:
        record = data_folder.read_record(folder)
        token = data_folder.read_token(folder) if record is not None else None
    except DataFolderError as error:
        raise LauncherError(str(error)) from error
    if record is None or token is None:
        return None
    version = _probe(record.url, token=token, instance=record.instance, seconds=probe_seconds)
    if version is None:
        return None
    return Emulator(
        url=record.url,
        token=token,
        storage_url=f"{record.url}/s/{data_folder.storage_secret(token)}",
        pid=record.pid,
        data_dir=folder.root,
        version=version,
        code=record.code,
    )


def ensure(
    data_dir: Path | None = None,
    *,
    port: int | None = None,
    idle_minutes: float | None = None,
    timeout: float = _START_SECONDS,
) -> Emulator:
    """Return the emulator of the folder (default: the user's), and start it if it is not running.

    An outdated emulator is replaced; its jobs keep running. `port` is the required port. `idle_minutes` is
    the idle time after which a daemon that this call starts stops. Raises `LauncherError`.
    """
    folder = _folder(data_dir)
    until = time.monotonic() + timeout
    running = find(folder.root)
    if running is not None and not running.is_outdated:
        return _at_port(running, port)
    # An interpreter that the variable names reports its own missing packages.
    if interpreter() == sys.executable and (problem := extras.problem(extras.EMULATOR)):
        raise LauncherError(problem)
    try:
        data_folder.prepare(folder.root)
        with locked(folder.start_lock, timeout=timeout):
            return _start(folder, port=port, idle_minutes=idle_minutes, until=until)
    except DataFolderError as error:
        raise LauncherError(str(error)) from error
    except LockHeldError as error:
        raise LauncherError(
            f"Process {error.holder or '(unknown)'} has been starting the emulator of {folder.root} for "
            f"{timeout:.0f} seconds. See {folder.log}. If that process hangs, end it and try again."
        ) from error


def stop(
    data_dir: Path | None = None, *, timeout: float = _STOP_SECONDS, probe_seconds: float = _PROBE_SECONDS
) -> bool:
    """Stop the emulator and wait until it has ended. Return False if none was running. Jobs keep running.

    Raises `LauncherError`.
    """
    folder = _folder(data_dir)
    running = find(folder.root, probe_seconds=probe_seconds)
    if running is None:
        if (holder := _lock_holder(folder)) is None:
            return False
        # The emulator may be starting or stopping.
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            if (running := find(folder.root, probe_seconds=probe_seconds)) is not None:
                break
            if _lock_holder(folder) is None:
                return False
            time.sleep(0.05)
        else:
            raise LauncherError(_not_responding(folder, holder))
    _shut_down(folder, running, timeout=timeout)
    return True


def _start(folder: DataFolder, *, port: int | None, idle_minutes: float | None, until: float) -> Emulator:
    """Start the daemon, or return the running one. Called under the start lock."""
    message: dict[str, Any] = {}
    while True:
        running = find(folder.root)
        if running is not None and not running.is_outdated:
            return _at_port(running, port)
        if running is not None:
            _shut_down(folder, running, timeout=max(until - time.monotonic(), 1.0))
        if time.monotonic() >= until:
            raise LauncherError(_not_responding(folder, message.get("held")))
        log_size = _log_size(folder)
        message = _spawn(folder, port=port, idle_minutes=idle_minutes, until=until)
        if "error" in message:
            raise LauncherError(str(message["error"]))
        if not message:
            raise LauncherError(
                f"The emulator of {folder.root} did not start. {_end_of_log(folder, since=log_size)}"
            )


def _spawn(
    folder: DataFolder, *, port: int | None, idle_minutes: float | None, until: float
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
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return message
    finally:
        os.close(reading)


def _read_line(descriptor: int, *, until: float) -> dict[str, Any]:
    data = b""
    while not data.endswith(b"\n"):
        left = until - time.monotonic()
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
    return {name: value for name, value in caller.items() if _PASSED_VARIABLES.fullmatch(name)}


def _probe(url: str, *, token: str, instance: str, seconds: float) -> str | None:
    """Return the version of the emulator at `url`, or None if there is no response or another server."""
    nonce = secrets.token_hex(16)
    status, answer = _call(url, "GET", f"/_local/health?nonce={nonce}", timeout=seconds)
    if status != 200 or answer.get("instance") != instance:
        return None
    expected = data_folder.health_proof(token, instance=instance, nonce=nonce)
    if not hmac.compare_digest(str(answer.get("proof", "")).encode(), expected.encode()):
        return None
    return str(answer.get("version", ""))


def _shut_down(folder: DataFolder, running: Emulator, *, timeout: float) -> None:
    until = time.monotonic() + timeout
    status, answer = _call(
        running.url, "POST", "/_local/shutdown", timeout=_PROBE_SECONDS, token=running.token
    )
    if status not in (0, 200):
        raise LauncherError(
            f"The emulator at {running.url} (process {running.pid}) refused to stop: {answer}. See "
            f"{folder.log}."
        )
    while _lock_holder(folder) == running.pid:
        if time.monotonic() >= until:
            raise LauncherError(
                f"The emulator of {folder.root} (process {running.pid}) has not stopped within "
                f"{timeout:.0f} seconds. See {folder.log}, or end it with: kill {running.pid}"
            )
        time.sleep(0.01)


def _call(
    url: str, method: str, path: str, *, timeout: float, token: str | None = None
) -> tuple[int, dict[str, Any]]:
    """Return status and JSON response, or status 0 without a response. Never uses a proxy."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    try:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        value = json.loads(response.read(1 << 20))
        return response.status, value if isinstance(value, dict) else {}
    except (OSError, OverflowError, http.client.HTTPException, ValueError):
        return 0, {}
    finally:
        connection.close()


def _lock_holder(folder: DataFolder) -> int | None:
    """Return the process that serves the folder, None if no process does, or -1 if its ID is unknown."""
    if not folder.lock.exists():
        return None
    try:
        FileLock(folder.lock, note=False).release()
    except LockHeldError as error:
        return error.holder or -1
    except DataFolderError as error:
        raise LauncherError(str(error)) from error
    return None


def _at_port(running: Emulator, port: int | None) -> Emulator:
    if port is not None and urlsplit(running.url).port != port:
        raise LauncherError(
            f"The emulator of {running.data_dir} already runs at {running.url}. Leave the port out, or stop "
            "it first: vertex-training emulator stop"
        )
    return running


def _not_responding(folder: DataFolder, holder: object) -> str:
    known = isinstance(holder, int) and holder > 0
    who, how = (f"Process {holder}", f" with: kill {holder}") if known else ("Another process", "")
    return (
        f"{who} serves the data folder {folder.root} but does not respond. See {folder.log}. If it hangs, "
        f"end it{how}, and try again."
    )


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
