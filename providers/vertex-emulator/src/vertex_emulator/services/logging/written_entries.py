"""Log entries that programs write themselves (`entries:write`): parsed, stored and archived."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.logging.query import FIELDS, SEVERITIES

MAX_ENTRIES = 100_000
"""The most entries of all projects together; the oldest ones are removed first."""

MAX_ENTRY_BYTES = 256 * 1024
"""Bytes of one entry (Cloud Logging documentation, "Quotas and limits")."""

_SCHEMA = (
    """
    CREATE TABLE log_entries (
        number INTEGER PRIMARY KEY,
        project_number TEXT NOT NULL,
        log TEXT NOT NULL,
        time TEXT NOT NULL,
        insert_id TEXT NOT NULL,
        entry TEXT NOT NULL,
        UNIQUE (log, time, insert_id)
    );
    CREATE INDEX log_entries_by_time ON log_entries (project_number, time, insert_id);
    """,
)
LOG_NAME = re.compile(r"projects/([^/]+)/logs/([A-Za-z0-9/_.%-]{1,511})")
_PAYLOADS = ("textPayload", "jsonPayload", "protoPayload")
_TOP_LEVEL = frozenset({*(name.partition(".")[0] for name in FIELDS), "split", "errorGroups", "apphub"})
_BATCH = 500


class WrittenEntries:
    """The entries, by time. An entry that is written twice with its insert id is stored once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.migrate("log entries", _SCHEMA)

    def add(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Store entries that `read_entries` returned."""
        rows = [
            (
                project_number(each["logName"].split("/")[1]),
                each["logName"],
                each["timestamp"],
                each["insertId"],
                json.dumps(each, separators=(",", ":")),
            )
            for each in entries
        ]
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO log_entries (project_number, log, time, insert_id, entry) "
                "VALUES (?, ?, ?, ?, ?)",
                rows,
            )
            connection.execute(
                "DELETE FROM log_entries WHERE number <= (SELECT MAX(number) FROM log_entries) - ?",
                (MAX_ENTRIES,),
            )

    def read(
        self, projects: Collection[str], *, since: str, descending: bool
    ) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
        """Yield the entries of projects, by number, from a time on: position and the API's JSON."""
        order = "DESC" if descending else "ASC"
        marks = ", ".join("?" * len(projects))
        at = 0
        while True:
            rows = self._database.rows(
                f"SELECT time, insert_id, entry FROM log_entries WHERE project_number IN ({marks}) "  # noqa: S608
                f"AND time >= ? ORDER BY time {order}, insert_id {order} LIMIT ? OFFSET ?",
                (*projects, since, _BATCH, at),
            )
            for row in rows:
                yield (row["time"], row["insert_id"]), json.loads(row["entry"])
            if len(rows) < _BATCH:
                return
            at += _BATCH

    def last(self) -> int:
        """Return the number of the entry that was written last, or 0."""
        row = self._database.row("SELECT MAX(number) AS number FROM log_entries")
        return int(row["number"] or 0) if row else 0

    def read_new(self, projects: Collection[str], last: int) -> tuple[list[dict[str, Any]], int]:
        """Return the entries of projects, by number, that were written after one, and the new last number."""
        marks = ", ".join("?" * len(projects))
        until = self.last()
        rows = self._database.rows(
            f"SELECT entry FROM log_entries WHERE project_number IN ({marks}) "  # noqa: S608
            "AND number > ? AND number <= ? ORDER BY number",
            (*projects, last, until),
        )
        return [json.loads(row["entry"]) for row in rows], until

    def log_names(self, project: str) -> set[str]:
        """Return the names of the logs of a project, by its number."""
        rows = self._database.rows(
            "SELECT DISTINCT log FROM log_entries WHERE project_number = ?", (project,)
        )
        return {row["log"] for row in rows}

    def remove(self, project: str, log: str) -> bool:
        """Remove the entries of a log, by the number of its project and its id. Return whether it has any."""
        names = [each for each in self.log_names(project) if each.partition("/logs/")[2] == log]
        for name in names:
            self._database.execute("DELETE FROM log_entries WHERE log = ?", (name,))
        return bool(names)

    def remove_all(self) -> None:
        """Remove all entries."""
        self._database.execute("DELETE FROM log_entries")


def read_entries(document: object, *, clock: Clock) -> list[dict[str, Any]]:
    """Return the entries of a request, with its common fields and the service's defaults.

    Raises `RpcError`.
    """
    if not isinstance(document, dict) or not isinstance(document.get("entries"), list):
        raise _invalid("entries must be a list of entries.")
    document = _camel(document)
    known = {"entries", "logName", "resource", "labels", "partialSuccess", "dryRun"}
    if unknown := sorted(set(document) - known):
        raise _invalid(f'Invalid JSON payload received. Unknown name "{unknown[0]}": Cannot find field.')
    entries = [_entry(each, document, clock=clock) for each in document["entries"]]
    return [] if document.get("dryRun") else entries


def _entry(value: object, request: Mapping[str, Any], *, clock: Clock) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _invalid("An entry must be an object.")
    value = _camel(value)
    if unknown := sorted(set(value) - _TOP_LEVEL):
        raise _invalid(
            f'Invalid JSON payload received. Unknown name "{unknown[0]}" at entries: Cannot find field.'
        )
    entry = {name: item for name, item in value.items() if item is not None}
    log = entry.get("logName") or request.get("logName")
    match = LOG_NAME.fullmatch(log) if isinstance(log, str) else None
    if match is None:
        raise _invalid(f"The log name {log!r} is not of the form projects/PROJECT/logs/LOG.")
    if sum(name in entry for name in _PAYLOADS) > 1:
        raise _invalid("An entry has one payload: textPayload, jsonPayload or protoPayload.")
    now = times.now(clock)
    labels = {**_labels(request.get("labels")), **_labels(entry.get("labels"))}
    resource = entry.get("resource") or request.get("resource") or {"type": "global"}
    if not isinstance(resource, dict):
        raise _invalid("resource must be an object.")
    whole = {
        **entry,
        "logName": log,
        "resource": {**resource, "labels": {"project_id": match[1], **_labels(resource.get("labels"))}},
        "timestamp": _time(entry.get("timestamp"), now),
        "receiveTimestamp": now,
        "severity": _severity(entry.get("severity", "DEFAULT")),
        "insertId": str(entry.get("insertId") or secrets.token_hex(10)),
        **({"labels": labels} if labels else {}),
    }
    if len(json.dumps(whole)) > MAX_ENTRY_BYTES:
        raise _invalid(f"Log entry with size exceeding {MAX_ENTRY_BYTES} bytes.")
    return whole


def _camel(value: Mapping[str, Any]) -> dict[str, Any]:
    """Rename a message's fields to their JSON names; the API accepts the names of the definition as well."""
    return {
        re.sub(r"_([a-z])", lambda found: found[1].upper(), str(name)): item for name, item in value.items()
    }


def _labels(value: object) -> dict[str, str]:
    if value is not None and not isinstance(value, dict):
        raise _invalid("labels must be an object.")
    return {str(name): str(item) for name, item in (value or {}).items() if item is not None}


def _time(value: object, now: str) -> str:
    if value is None:
        return now
    try:
        return times.text(times.parse(str(value)))
    except ValueError:
        raise _invalid(f"Invalid value at 'entries.timestamp': {value!r} is not a time.") from None


def _severity(value: object) -> str:
    """Return a severity by its name, or by the number of google.logging.type.LogSeverity."""
    if isinstance(value, int) and value % 100 == 0 and 0 <= value // 100 < len(SEVERITIES):
        return SEVERITIES[value // 100]
    if value not in SEVERITIES:
        raise _invalid(f"Invalid value at 'entries.severity': {value!r}.")
    return str(value)


def _invalid(message: str) -> RpcError:
    return RpcError("INVALID_ARGUMENT", message)
