"""The JSON documents of an archive. They are not trusted: every function raises `ArchiveError`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from google.protobuf import json_format

from vertex_emulator.archive.tar import ArchiveError, Member
from vertex_emulator.custom_jobs import store
from vertex_emulator.custom_jobs.store import CUSTOM_JOB
from vertex_emulator.http.messages import HttpError, parse_json
from vertex_emulator.job_folder.logs import MAX_MESSAGE
from vertex_emulator.job_folder.progress import ReplicaProgress
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import rfc3339
from vertex_emulator.kernel.projects import Place
from vertex_emulator.logging.query import SEVERITIES
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import RpcError
from vertex_emulator.storage import access
from vertex_emulator.storage.disk.records import Bucket
from vertex_emulator.storage.fields import bucket as bucket_fields
from vertex_emulator.storage.fields import object as object_fields
from vertex_emulator.storage.names import check_bucket_name, check_object_name
from vertex_emulator.vertex import names

FORMAT = "vertex-training emulator state"
VERSION = 2
"""2: with `resources`."""

_READ = (1, 2)

MAX_DOCUMENT = 16 * 1024 * 1024
MAX_LINE = 8 * MAX_MESSAGE
"""Bytes of one line of a log: each byte of a message can become six in JSON."""

_ID = re.compile(r"[0-9]{1,19}")
_LOG_TIME = re.compile(r"[0-9]{4}(?:-[0-9]{2}){2}T[0-9]{2}(?::[0-9]{2}){2}\.[0-9]{6}Z")
_STATES = ("pending", "running", "restarting", "succeeded", "failed", "stopped")
_MAX_NUMBER = 10**9
"""The highest number that fits into the id of a log entry (`logs.Entry.insert_id`)."""
_MAX_GENERATION = 1 << 62


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


def check_manifest(value: Mapping[str, Any]) -> None:
    """Check that this emulator can read the archive."""
    if value.get("format") != FORMAT:
        raise ArchiveError("its manifest is not the manifest of an emulator's state.")
    version = value.get("version")
    if isinstance(version, bool) or version not in _READ:
        raise ArchiveError(
            f"it has version {version!r}; this emulator reads up to {VERSION}. Import it with the "
            "version of this package that exported it, or a newer one."
        )


def job(value: Mapping[str, Any], job_id: str, path: str) -> tuple[Place, Any]:
    """Return the location of a job, and its message unchanged."""
    if not _ID.fullmatch(job_id):
        raise ArchiveError(f"{path}: {job_id!r} is not the id of a job.")
    project = _text(value, "project", path)
    message = descriptors.message(CUSTOM_JOB)
    try:
        place = names.read_place(project, _text(value, "location", path))
        json_format.ParseDict(value["job"], message, descriptor_pool=descriptors.pool())
    except RpcError as error:
        raise ArchiveError(f"{path}: {error.message}") from error
    except (json_format.ParseError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ArchiveError(f"{path} has no custom job: {error}.") from error
    if message.name != names.name_of(place, "customJobs", job_id):
        raise ArchiveError(f"{path}: the job's name is {message.name!r}, which is the name of another job.")
    if store.state_of(message) not in store.TRANSITIONS:
        raise ArchiveError(f"{path}: the emulator has no jobs in the state {store.state_of(message)}.")
    if not message.HasField("create_time"):
        raise ArchiveError(f"{path}: the job has no create_time.")
    return place, message


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


def bucket(value: Mapping[str, Any], path: str) -> Bucket:
    """Return a bucket. Its settings are checked like those in a request."""
    project = _text(value, "project", path)
    name = _text(value, "name", path)
    sent = _settings(value, path)
    _checked(path, lambda: check_bucket_name(name))
    created = _time(value, "created", path)
    settings = _checked(path, lambda: bucket_fields.imported(sent, moment=created))
    policy = value.get("policy")
    if policy is not None:
        sent_policy = {"version": 3, "bindings": policy}
        policy = _checked(path, lambda: access.checked(sent_policy, uniform=True, enforced=False))
    return Bucket(
        name=name,
        project=project,
        generation=_generation(value, "generation", path),
        metageneration=_generation(value, "metageneration", path),
        created=created,
        updated=_time(value, "updated", path),
        settings=settings,
        policy=policy,
        chose_soft_delete=value.get("chose_soft_delete") is True,
    )


def stored(value: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the fields of a `StoredObject`, except for its file."""
    name, owner = _text(value, "name", path), _text(value, "bucket", path)
    live = value.get("live")
    if not isinstance(live, bool):
        raise ArchiveError(f"{path}: live must be true or false.")
    settings = _settings(value, path)
    components = value.get("components")
    if components is not None:
        components = _generation(value, "components", path)
    _checked(path, lambda: check_object_name(name))
    return {
        "bucket": owner,
        "name": name,
        "generation": _generation(value, "generation", path),
        "metageneration": _generation(value, "metageneration", path),
        "live": live,
        "crc32c": _text(value, "crc32c", path),
        "md5": "" if components is not None and value.get("md5") == "" else _text(value, "md5", path),
        "components": components,
        "class_updated": _time_or_none(value, "class_updated", path),
        "retained_from": _time_or_none(value, "retained_from", path),
        "retained_until": _time_or_none(value, "retained_until", path),
        "created": _time(value, "created", path),
        "updated": _time(value, "updated", path),
        "deleted": None if live else _time(value, "deleted", path),
        "settings": _checked(
            path,
            lambda: object_fields.imported(settings, bucket=owner),
        ),
    }


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_NUMBER


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(times.parse(value))
    except ValueError:
        return False


def _checked(path: str, check: Callable[[], Any]) -> Any:
    try:
        return check()
    except HttpError as error:
        raise ArchiveError(f"{path}: {error.message}") from error
    except UnicodeEncodeError as error:
        raise ArchiveError(f"{path}: it has text that is not Unicode.") from error


def _settings(value: Mapping[str, Any], path: str) -> dict[str, Any]:
    settings = value.get("settings")
    if not isinstance(settings, dict):
        raise ArchiveError(f"{path}: settings must be an object.")
    return settings


def _text(value: Mapping[str, Any], name: str, path: str) -> str:
    given = value.get(name)
    if not isinstance(given, str) or not given:
        raise ArchiveError(f"{path}: {name} must be a string.")
    return given


def _generation(value: Mapping[str, Any], name: str, path: str) -> int:
    given = value.get(name)
    if not isinstance(given, int) or isinstance(given, bool) or not 0 < given < _MAX_GENERATION:
        raise ArchiveError(f"{path}: {name} must be a whole number from 1.")
    return given


def _time_or_none(value: Mapping[str, Any], name: str, path: str) -> str | None:
    return None if value.get(name) is None else _time(value, name, path)


def _time(value: Mapping[str, Any], name: str, path: str) -> str:
    given = _text(value, name, path)
    try:
        return rfc3339(times.parse(given))
    except (ValueError, OverflowError):
        raise ArchiveError(f"{path}: {name} is {given!r}, which is not a time.") from None
