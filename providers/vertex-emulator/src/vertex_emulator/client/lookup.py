"""Finds the running emulator of a data folder, and tells a busy or an outdated one from none.

An emulator is outdated if its code has changed since its start. The version stays the same while files
change, in a checkout that is edited, pulled or switched.

A server at a port is trusted only after it has proved that it knows the token. A stale emulator.json (killed
daemon, reboot, reused process ID or port) is therefore harmless, and no secret is sent to another program.
Whether an emulator runs is decided by the lock of its folder, not by its answer.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import http.client
import json
import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.disk import data_folder, locks
from vertex_emulator.kernel.disk.data_folder import DataFolder, DataFolderError, Record
from vertex_emulator.kernel.timeouts import CLIENT, ClientTimeouts
from vertex_training import __version__

FOLDER = Path(__file__).resolve().parents[1]
"""The folder of the emulator's package, which stands for the installation."""
PACKAGES = ("vertex_emulator", "vertex_training", "vertex_cluster")
"""The packages whose code the emulator and its supervisors run."""


def package_folders() -> tuple[Path, ...]:
    """Return the folders of PACKAGES as Python would import them here."""
    found = (util.find_spec(name) for name in PACKAGES)
    return tuple(Path(spec.origin).resolve().parent for spec in found if spec and spec.origin)


@functools.lru_cache(maxsize=1)
def code_of_this_process() -> str:
    """Return the code as of the first call in this process: `HASH FOLDER`, with the hash of `source_hash`."""
    return _marked()


def code_has_changed(recorded: str | None, *, own: str | None = None) -> bool:
    """Return whether the installed code has changed since a process recorded it as `recorded`.

    None means a process without such a record, and counts as changed. A record of another installation, or
    "", counts as unchanged. `own` is the code of this process, by default as first found.
    """
    if recorded is None:
        return True
    if not recorded or recorded.partition(" ")[2] != str(FOLDER):
        return False
    # Without this, a process that started before the change would replace a newer emulator.
    return recorded != (own or code_of_this_process()) and recorded != _marked()


def source_hash(folders: Iterable[Path]) -> str:
    """Return a hash of names, sizes and times of the source files of packages, without reading them."""
    found = sorted(line for folder in folders for line in _files(str(folder), f"{folder.name}/"))
    return hashlib.sha256("\n".join(found).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _marked() -> str:
    try:
        return f"{source_hash(package_folders())} {FOLDER}"
    except OSError:
        return ""  # not a folder: a zip file, which is not edited, or a folder that is being replaced


def _files(path: str, below: str) -> Iterator[str]:
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{below}{entry.name} {status.st_size} {status.st_mtime_ns}"
            elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, f"{below}{entry.name}/")


_POLL_SECONDS = 0.02


class LauncherError(Exception):
    """The emulator could not be started, reached or stopped; the message has the remedy."""


class EmulatorBusyError(LauncherError):
    """A process serves the data folder, but does not answer.

    `pid` is None if it is unknown. `why` is a clause, without a full stop.
    """

    def __init__(self, folder: DataFolder, *, pid: int | None, why: str) -> None:
        who, end = (f" (process {pid})", f", or end it with: kill {pid}") if pid else ("", "")
        super().__init__(
            f"The emulator of {folder.root}{who} is busy: {why}. Try again in a moment. If it stays busy, "
            f"see {folder.log}{end}"
        )
        self.folder = folder
        self.pid = pid
        self.why = why


@dataclass(frozen=True, kw_only=True)
class Emulator:
    """A running emulator.

    `storage_url` is the value of STORAGE_EMULATOR_HOST and contains the storage secret. `grpc` and `proxy`
    are host and port. `timeout_scale` is the scale of its timeouts: callers use theirs `at_least` with it.
    """

    url: str
    token: str = field(repr=False)
    storage_url: str = field(repr=False)
    pid: int
    data_dir: Path
    version: str
    code: str | None = None
    grpc: str | None = None
    proxy: str | None = None
    timeout_scale: float = 1.0

    @property
    def is_outdated(self) -> bool:
        """True if it runs another version than this one, or if its code has changed since it started."""
        return self.version != __version__ or code_has_changed(self.code)


def find(data_dir: Path | None = None, *, timeouts: ClientTimeouts = CLIENT) -> Emulator | None:
    """Return the emulator of the folder (default: the user's), or None if it does not run.

    Starts nothing. Raises `EmulatorBusyError` if a process serves the folder and does not answer in time, and
    `LauncherError` if the folder cannot be read.
    """
    folder = DataFolder(root=data_folder.chosen_data_dir(data_dir))
    began = machine_clock.monotonic()
    while True:
        record = _record(folder)
        seconds = (timeouts if record is None else timeouts.at_least(record.timeout_scale)).probe
        found = (
            ""
            if record is None
            else _ask(folder, record, seconds=max(began + seconds - machine_clock.monotonic(), 0.01))
        )
        if isinstance(found, Emulator):
            return found
        holder = lock_holder(folder)
        if holder is None:
            return None
        if machine_clock.monotonic() - began >= seconds:
            raise EmulatorBusyError(
                folder,
                pid=holder if holder > 0 else None,
                why=found or f"it has been starting or stopping for {seconds:g} seconds",
            )
        machine_clock.sleep(_POLL_SECONDS)


def _record(folder: DataFolder) -> Record | None:
    try:
        return data_folder.read_record(folder)
    except DataFolderError as error:
        raise LauncherError(str(error)) from error


def _ask(folder: DataFolder, record: Record, *, seconds: float) -> Emulator | str:
    """Return the emulator that emulator.json names, or why it did not answer; "" without its token."""
    try:
        token = data_folder.read_token(folder)
    except DataFolderError as error:
        raise LauncherError(str(error)) from error
    if token is None:
        return ""
    nonce = secrets.token_hex(16)
    status, answer = call(record.url, "GET", f"/_local/health?nonce={nonce}", timeout=seconds)
    expected = data_folder.health_proof(token, instance=record.instance, nonce=nonce)
    if status == 200 and hmac.compare_digest(str(answer.get("proof", "")).encode(), expected.encode()):
        return Emulator(
            url=record.url,
            token=token,
            storage_url=f"{record.url}/s/{data_folder.storage_secret(token)}",
            pid=record.pid,
            data_dir=folder.root,
            version=str(answer.get("version", "")),
            code=record.code,
            grpc=record.grpc,
            proxy=record.proxy,
            timeout_scale=record.timeout_scale,
        )
    if status == 503:
        return "all its connections are in use"
    return f"it did not answer at {record.url}"


def call(
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


def lock_holder(folder: DataFolder) -> int | None:
    """Return the process that serves the folder, None if no process does, or -1 if its ID is unknown.

    Raises `LauncherError`.
    """
    try:
        if not locks.is_held(folder.lock):
            return None
        text = folder.lock.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise LauncherError(str(data_folder.unusable(folder.lock, error))) from error
    return int(text) if text.isdigit() else -1
