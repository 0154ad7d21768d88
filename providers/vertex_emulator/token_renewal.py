"""The emulator's token: when a start renews it, and how an old one is recognised.

While the emulator does not run, another program of this machine can listen at its port, and clients that have
the token send it there. So a start makes a new token, unless jobs are live and the port is the one that their
programs know: those programs hold secrets that follow from the token, and would fail with others.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable

from vertex_emulator.kernel import data_folder
from vertex_emulator.kernel.clock import now
from vertex_emulator.kernel.data_folder import DataFolder
from vertex_emulator.kernel.database import Database

_KEPT = 16
"""Number of replaced tokens that are recognised."""

_PORT = "token_port"
_REPLACED = "replaced_secrets"


def token_for(folder: DataFolder, database: Database, *, port: int, live_jobs: int) -> str:
    """Return the token for a start that listens at `port`. Only the daemon calls this, under the lock.

    Raises `DataFolderError`.
    """
    last = _setting(database, _PORT)
    if live_jobs and last == str(port):
        return data_folder.ensure_token(folder)
    old = data_folder.read_token(folder)
    if old is not None:
        kept = [*json.loads(_setting(database, _REPLACED) or "[]"), [now(), *map(_digest, _secrets(old))]]
        _set(database, _REPLACED, json.dumps(kept[-_KEPT:]))
    new = secrets.token_urlsafe(32)
    data_folder.write_private(folder.token, new.encode("ascii"))
    _set(database, _PORT, str(port))
    return new


def replaced_secrets(database: Database) -> Callable[[str], str | None]:
    """Return a function from a secret to the time when it was replaced, or None for any other text."""
    times = {
        digest: time
        for time, *digests in json.loads(_setting(database, _REPLACED) or "[]")
        for digest in digests
    }
    return lambda secret: times.get(_digest(secret))


def _secrets(token: str) -> tuple[str, ...]:
    return (
        token,
        data_folder.service_token(token),
        data_folder.storage_secret(token),
        data_folder.metadata_secret(token),
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _setting(database: Database, name: str) -> str | None:
    row = database.row("SELECT value FROM settings WHERE name = ?", (name,))
    return None if row is None else str(row["value"])


def _set(database: Database, name: str, value: str) -> None:
    database.execute(
        "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )
