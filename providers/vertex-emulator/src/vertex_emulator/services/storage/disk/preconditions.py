"""Conditions that prevent a change: preconditions, retention and holds.

The messages are the service's ("Object holds", "Bucket Lock", "Object Retention Lock").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import rfc3339
from vertex_emulator.server.http.messages import Request
from vertex_emulator.services.storage.disk.records import Bucket, StoredObject
from vertex_emulator.services.storage.errors import StorageError, condition_not_met, invalid
from vertex_emulator.services.storage.fields import parameters

OBJECT = frozenset(
    {"ifGenerationMatch", "ifGenerationNotMatch", "ifMetagenerationMatch", "ifMetagenerationNotMatch"}
)
SOURCE = frozenset(name.replace("if", "ifSource", 1) for name in OBJECT)
BUCKET = frozenset({"ifMetagenerationMatch", "ifMetagenerationNotMatch"})


class Versioned(Protocol):
    """A bucket or object that preconditions are checked against."""

    @property
    def generation(self) -> int: ...
    @property
    def metageneration(self) -> int: ...
    @property
    def etags(self) -> frozenset[str]: ...


@dataclass(frozen=True, kw_only=True)
class Preconditions:
    """The preconditions of a request, which must all hold. Generation 0 means "no live object"."""

    generation_match: int | None = None
    generation_not_match: int | None = None
    metageneration_match: int | None = None
    metageneration_not_match: int | None = None
    etag_match: str | None = None
    etag_none_match: str | None = None

    def check(self, current: Versioned | None, *, reading: bool = False) -> None:
        """Check all preconditions. Raises `StorageError` 412, or 304 if a read fails a "not match"."""
        if self == _NONE:
            return
        generation = current.generation if current else 0
        metageneration = current.metageneration if current else None
        etags = current.etags | {"*"} if current else frozenset()
        if self.generation_match is not None and self.generation_match != generation:
            raise condition_not_met()
        if self.metageneration_match is not None and self.metageneration_match != metageneration:
            raise condition_not_met()
        if self.etag_match is not None and not etags & _etags(self.etag_match):
            raise condition_not_met()
        if (
            (self.generation_not_match is not None and self.generation_not_match == generation)
            or (self.metageneration_not_match is not None and self.metageneration_not_match == metageneration)
            or (self.etag_none_match is not None and etags & _etags(self.etag_none_match))
        ):
            raise StorageError(304, "notModified", "Not Modified") if reading else condition_not_met()

    def to_json(self) -> dict[str, int | str | None]:
        return asdict(self)


_NONE = Preconditions()


def from_request(request: Request) -> Preconditions:
    """Return the preconditions of a request. Raises `StorageError` 400."""
    etag_match, etag_none_match = request.headers.get("if-match"), request.headers.get("if-none-match")
    if not request.query and etag_match is None and etag_none_match is None:
        return _NONE
    return replace(_of_parameters(request, "if"), etag_match=etag_match, etag_none_match=etag_none_match)


def of_source(request: Request) -> Preconditions:
    """Return the preconditions on the source of a copy. Raises `StorageError` 400."""
    return _of_parameters(request, "ifSource")


def _of_parameters(request: Request, begin: str) -> Preconditions:
    return Preconditions(
        generation_match=parameters.integer(request, f"{begin}GenerationMatch"),
        generation_not_match=parameters.integer(request, f"{begin}GenerationNotMatch"),
        metageneration_match=parameters.integer(request, f"{begin}MetagenerationMatch"),
        metageneration_not_match=parameters.integer(request, f"{begin}MetagenerationNotMatch"),
    )


def _etags(header: str) -> set[str]:
    return {etag.strip().removeprefix("W/").strip('"') for etag in header.split(",")}


_HOLDS = (("temporaryHold", "Temporary"), ("eventBasedHold", "Event-Based"))


def check_deletable(stored: StoredObject, *, now: str) -> None:
    """Check that an object may be deleted or replaced at a time. Raises `StorageError` 403."""
    name = f"{stored.bucket}/{stored.name}"
    for field, kind in _HOLDS:
        if stored.settings.get(field):
            raise StorageError(
                403,
                "objectUnderActiveHold",
                f"Object '{name}' is under active {kind} hold and cannot be deleted, overwritten or archived "
                "until hold is removed.",
            )
    if stored.retained_until is not None and stored.retained_until > now:
        raise StorageError(
            403,
            "retentionPolicyNotMet",
            f"Object '{name}' is subject to bucket's retention policy and cannot be deleted, overwritten or "
            f"archived until {stored.retained_until}",
        )
    until = stored.settings.get("retention", {}).get("retainUntilTime")
    if until is not None and until > now:
        raise StorageError(
            403,
            "retentionPolicyNotMet",
            f"Object '{name}' is subject to bucket's retention policy or object retention and cannot be "
            f"deleted, overwritten or archived until {until}",
        )


def expiration(stored: StoredObject) -> str | None:
    """Return `retentionExpirationTime`, the later end of both retentions.

    It is None without retention, and during an event-based hold.
    """
    if stored.settings.get("eventBasedHold") and stored.retained_until is not None:
        return None
    until = (stored.retained_until, stored.settings.get("retention", {}).get("retainUntilTime"))
    return max((each for each in until if each is not None), default=None)


def retained_until(owner: Bucket, since: str) -> str | None:
    """Return the end of the bucket's retention period that begins at `since`, or None without a policy."""
    if owner.retention_seconds is None:
        return None
    start = times.parse(since)
    try:
        return rfc3339(start + timedelta(seconds=owner.retention_seconds))
    except OverflowError:
        return "9999-12-31T23:59:59.999Z"


def check_retention_allowed(settings: Mapping[str, Any], owner: Bucket) -> None:
    """Check that a bucket allows the retention of an object. Raises `StorageError` 400."""
    if "retention" in settings and "objectRetention" not in owner.settings:
        raise invalid(
            f"Object retention is not enabled for the bucket {owner.name}: it can only be enabled when a "
            "bucket is created, with enableObjectRetention=true."
        )


def check_retention_change(
    old: Mapping[str, Any], new: Mapping[str, Any], *, override: bool, now: str
) -> None:
    """Check a change of an object's retention. Raises `StorageError` 400, 403.

    `override` is the request's `overrideUnlockedRetention`.
    """
    before, after = old.get("retention"), new.get("retention")
    if before == after:
        return
    if after is not None and after["retainUntilTime"] <= now:
        raise invalid("retention.retainUntilTime must be in the future.")
    if before is None or before["retainUntilTime"] <= now:
        return
    is_less = after is None or after["retainUntilTime"] < before["retainUntilTime"]
    if before["mode"] == "Locked":
        if after is None or is_less or after["mode"] != "Locked":
            raise StorageError(
                403,
                "forbidden",
                f"The object's retention is locked until {before['retainUntilTime']}: it cannot be removed, "
                "unlocked or reduced.",
            )
    elif (is_less or (after is not None and after["mode"] == "Locked")) and not override:
        raise StorageError(
            403,
            "forbidden",
            "The object's retention cannot be reduced, removed or locked without "
            "overrideUnlockedRetention=true.",
        )
