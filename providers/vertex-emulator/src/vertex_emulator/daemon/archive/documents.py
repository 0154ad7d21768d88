"""The JSON documents of a snapshot. They are not trusted: every function raises `ArchiveError`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from vertex_emulator.daemon.archive.tar import ArchiveError, Member
from vertex_emulator.job_folder.logs import MAX_MESSAGE
from vertex_emulator.job_folder.progress import ReplicaProgress
from vertex_emulator.kernel import times
from vertex_emulator.server.http.messages import parse_json
from vertex_emulator.services.logging.query import SEVERITIES

FORMAT = "vertex-training emulator state"
VERSION = 3
"""3: with a copy of the database."""

MAX_DOCUMENT = 16 * 1024 * 1024
MAX_LINE = 8 * MAX_MESSAGE
"""Bytes of one line of a log: each byte of a message can become six in JSON."""

_MAX_NAME = 100
_LOG_TIME = re.compile(r"[0-9]{4}(?:-[0-9]{2}){2}T[0-9]{2}(?::[0-9]{2}){2}\.[0-9]{6}Z")
_STATES = ("pending", "running", "restarting", "succeeded", "failed", "stopped")
_MAX_NUMBER = 10**9
"""The highest number that fits into the id of a log entry (`logs.Entry.insert_id`)."""


def read(member: Member) -> dict[str, Any]:
    """Read a member that holds one JSON object."""
    try:
        value = parse_json(member.whole(most=MAX_DOCUMENT), bounded=False)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ArchiveError):
            raise
        raise ArchiveError(f"{member.name} is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise ArchiveError(f"{member.name} is not a JSON object.")
    return value


def lines(member: Member, *, most: int = MAX_LINE) -> Iterator[bytes]:
    """Yield the lines of a member. The last one need not end with a newline."""
    rest = b""
    while data := member.read(1 << 16):
        *whole, rest = (rest + data).split(b"\n")
        yield from whole
        if len(rest) > most:
            raise ArchiveError(f"{member.name} has a line that is too long.")
    if rest:
        yield rest


def check_manifest(value: Mapping[str, Any], tables: Mapping[str, int]) -> None:
    """Check that this emulator, whose tables have these versions, can read the snapshot."""
    if value.get("format") != FORMAT:
        raise ArchiveError("its manifest is not the manifest of an emulator's state.")
    package = str(value.get("package", "an earlier version"))[:_MAX_NAME]
    remedy = f"Import it with {package}, which wrote it, or a version that has the same tables"
    version = value.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise ArchiveError(
            f"it has version {version!r} of the format; this emulator reads {VERSION}. {remedy}."
        )
    if (given := value.get("tables")) != tables:
        known = given if isinstance(given, dict) else {}
        differs = next(name for name in (*tables, *known) if known.get(name) != tables.get(name))
        raise ArchiveError(
            f"its tables of {str(differs)[:_MAX_NAME]} have version {known.get(differs)!r}; here they have "
            f"{tables.get(differs)}. {remedy}; a newer version that starts with the data folder of the old "
            "one brings its tables up to date, and can export them again."
        )


def replicas(value: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the state file of a job's supervisor, reduced to the state of its replicas."""
    found = []
    listed = value.get("replicas")
    for each in listed if isinstance(listed, list) else ():
        try:
            one = ReplicaProgress(**{**each, "pid": None})
        except TypeError as error:
            raise ArchiveError(f"{path}: a replica cannot be read.") from error
        numbers = (one.attempt, one.job_attempt, 0 if one.exit_code is None else one.exit_code)
        if (
            not all(isinstance(text, str) for text in (one.name, one.role, one.state))
            or not all(_is_whole(number) for number in numbers)
            or not all(time is None or _is_time(time) for time in (one.started, one.ended))
            or one.state not in _STATES
        ):
            raise ArchiveError(f"{path}: a replica cannot be read.")
        found.append(vars(one))
    return {"events": [], "replicas": found}


def log_line(line: bytes, path: str) -> bytes:
    """Return a line of a log in canonical form, or b"" for an incomplete line."""
    try:
        value = parse_json(line, bounded=False)
        kept = {"t": value["t"], "s": value["s"], "n": value["n"], "m": value["m"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        return b""  # half a line, as a full disk leaves it
    texts = all(isinstance(kept[key], str) for key in ("t", "s", "m"))
    if (
        not texts
        or not _is_whole(kept["n"])
        or kept["s"] not in SEVERITIES
        or not _LOG_TIME.fullmatch(kept["t"])
        or not _is_time(kept["t"])
    ):
        raise ArchiveError(f"{path}: a line is not an entry of a log.")
    return json.dumps(kept, separators=(",", ":")).encode() + b"\n"


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_NUMBER


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(times.parse(value))
    except ValueError:
        return False
