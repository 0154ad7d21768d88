"""Plain requests to Cloud Storage and to the clock of an emulator in this process."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from support.emulated.emulator import Answer, call
from vertex_emulator.daemon.daemon import Daemon

DAY = 24 * 60 * 60
BUCKETS = "/storage/v1/b"


def path_of(bucket: str, name: str) -> str:
    return f"{BUCKETS}/{bucket}/o/{quote(name, safe='')}"


def ask(emulator: Daemon, method: str, path: str, body: Any = None, **options: Any) -> Answer:
    """Send a request with the storage secret."""
    return call(emulator.storage_url, method, path, body=body, **options)


def advance(emulator: Daemon, *, days: float) -> None:
    """Advance the emulator's clock by so many days."""
    body = {"seconds": days * DAY}
    call(emulator.url, "POST", "/_local/clock/advance", body=body, token=emulator.token).ok()


def reason(answer: Answer) -> str:
    """Return the `reason` of a Cloud Storage error."""
    return str(answer.json()["error"]["errors"][0]["reason"])
