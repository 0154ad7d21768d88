"""Subscriptions: which ends of runs are reported, and to where. Each is a private file in the data folder.

A subscription may name a command, which runs outside of any sandbox. So it is a file, and no method of the
HTTP API: a replica, or a web page that got hold of the token, could call a method, but can write no file of
the data folder. Deployments write the files; the emulator only reads them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vertex_emulator.kernel.disk.data_folder import write_private
from vertex_training.fields.decode import decode, encode
from vertex_training.notifications.notification import Notification, Notifications, problems

log = logging.getLogger(__name__)

FOLDER = "notifications"
DECLARATION_LABEL = "vertex-training-declaration"
"""The label that all jobs of a declaration have, from its first run to its last."""

_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, kw_only=True)
class Subscription:
    """The notifications of one declared job.

    `collection` is its kind's, such as "customJobs". `declaration` is the value of `DECLARATION_LABEL`.
    `job` is the id of a job that was adopted, and may lack the label, or "".
    """

    id: str
    collection: str
    declaration: str
    job: str = ""
    notifications: tuple[Notification, ...] = field(default=(), repr=False)

    def is_for(self, collection: str, labels: Mapping[str, str], job_id: str) -> bool:
        """Return whether a job with these labels, or this id, is one of the declaration."""
        if collection != self.collection:
            return False
        if self.job and self.job == job_id:
            return True
        return bool(self.declaration) and labels.get(DECLARATION_LABEL) == self.declaration


def write(data_dir: Path, one: Subscription) -> None:
    """Write a subscription, in one step. Raises `DataFolderError`, `OSError`."""
    folder = data_dir / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    document = {
        "collection": one.collection,
        "declaration": one.declaration,
        "job": one.job,
        **encode(Notifications(notifications=one.notifications)),
    }
    write_private(_path(data_dir, one.id), json.dumps(document).encode())


def exists(data_dir: Path, subscription_id: str) -> bool:
    """Return whether there is a subscription with an id. Raises `OSError`."""
    return _path(data_dir, subscription_id).is_file()


def remove(data_dir: Path, subscription_id: str) -> None:
    """Remove a subscription; do nothing if it is gone. Raises `OSError`."""
    _path(data_dir, subscription_id).unlink(missing_ok=True)


def remove_others(data_dir: Path, one: Subscription) -> None:
    """Remove all other subscriptions for the jobs of a subscription. Raises `OSError`."""
    for path in (data_dir / FOLDER).glob("*.json"):
        other = _read(path) if path.stem != one.id else None
        if other and (other.collection, other.declaration) == (one.collection, one.declaration):
            path.unlink(missing_ok=True)


def remove_all(data_dir: Path) -> None:
    """Remove all subscriptions, and what commands printed. Raises `OSError`."""
    for path in (data_dir / FOLDER).glob("*.json"):
        if _ID.fullmatch(path.stem):
            path.unlink(missing_ok=True)
    for path in output_folder(data_dir).glob("*.log"):
        if _ID.fullmatch(path.stem):
            path.unlink(missing_ok=True)


def output_folder(data_dir: Path) -> Path:
    """Return the folder of what commands printed, a file for each delivery."""
    return data_dir / FOLDER / "output"


def _path(data_dir: Path, subscription_id: str) -> Path:
    if not _ID.fullmatch(subscription_id):
        raise ValueError(f"{subscription_id!r} is not the id of a subscription")
    return data_dir / FOLDER / f"{subscription_id}.json"


def _read(path: Path) -> Subscription | None:
    """Read a file. Return None, and log it, if it is no subscription or was removed just now."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        collection, declaration, job = (
            str(document.pop(name)) for name in ("collection", "declaration", "job")
        )
        decoded = decode(Notifications, document)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        log.error("The subscription %s cannot be read: its notifications are not sent", path)
        return None
    if decoded.spec is None or any(problems(decoded.spec, needs_target=False)):
        log.error("The subscription %s is not valid: its notifications are not sent", path)
        return None
    return Subscription(
        id=path.stem,
        collection=collection,
        declaration=declaration,
        job=job,
        notifications=decoded.spec.notifications,
    )


class Subscriptions:
    """The subscriptions of one data folder, read again when a file in it was added, replaced or removed."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER
        self._lock = threading.Lock()
        self._seen: tuple[tuple[str, int, int], ...] = ()
        self._found: tuple[Subscription, ...] = ()

    def all(self) -> Sequence[Subscription]:
        """Return all subscriptions, in the order of their ids; none if the folder cannot be read."""
        with self._lock:
            try:
                seen = tuple(sorted(self._files()))
            except OSError as error:
                log.error("The subscriptions in %s cannot be read: %s", self._folder, error.strerror)
                return ()
            if seen != self._seen:
                read = (_read(self._folder / name) for name, _, _ in seen)
                self._found, self._seen = tuple(one for one in read if one is not None), seen
            return self._found

    def of(self, collection: str, labels: Mapping[str, str], job_id: str) -> Sequence[Subscription]:
        """Return the subscriptions for a job with these labels and this id."""
        return [one for one in self.all() if one.is_for(collection, labels, job_id)]

    def _files(self) -> list[tuple[str, int, int]]:
        """Return name, time and inode of each file: a replaced one has another inode."""
        try:
            paths = list(self._folder.iterdir())
        except FileNotFoundError:
            return []
        found = []
        for path in paths:
            if path.suffix == ".json" and _ID.fullmatch(path.stem):
                with contextlib.suppress(FileNotFoundError):  # it was removed just now
                    status = path.stat()
                    found.append((path.name, status.st_mtime_ns, status.st_ino))
        return found
