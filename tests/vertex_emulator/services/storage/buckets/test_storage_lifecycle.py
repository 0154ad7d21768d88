"""Lifecycle rules: what is due, as a table; and that it is done."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.emulated.emulator import running, storage_client
from support.emulated.services.storage import advance, ask, path_of
from support.tables import every_row
from support.waiting import eventually
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.services.storage.buckets.housekeeper import (
    Action,
    ObjectProperties,
    aborts,
    action_on,
    due,
)

NOW = datetime(2026, 3, 11, 10, tzinfo=timezone.utc)
DAY = timedelta(days=1)
OLD = ObjectProperties(name="logs/a.txt", created=NOW - 10 * DAY)
NONCURRENT = replace(OLD, is_live=False, newer_versions=2, noncurrent=NOW - 4 * DAY)
STAMPED = replace(OLD, custom_time=NOW - 6 * DAY)


def rule(kind: str = "Delete", to: str | None = None, /, **condition: Any) -> dict[str, Any]:
    action = {"type": kind} if to is None else {"type": kind, "storageClass": to}
    return {"action": action, "condition": condition}


@every_row(
    ("condition", "properties", "expected"),
    [
        pytest.param({"age": 10}, OLD, True, id="just of that age"),
        pytest.param({"age": 11}, OLD, False, id="too young"),
        pytest.param({"age": 0}, replace(OLD, created=NOW), True, id="age 0"),
        pytest.param({"age": 10**15}, OLD, False, id="an age beyond all calendars"),
        pytest.param({"createdBefore": "2026-03-02"}, OLD, True, id="created the day before"),
        pytest.param({"createdBefore": "2026-03-01"}, OLD, False, id="created on that day"),
        pytest.param({"customTimeBefore": "2026-03-06"}, STAMPED, True, id="custom time before"),
        pytest.param({"customTimeBefore": "2026-03-05"}, STAMPED, False, id="custom time on that day"),
        pytest.param({"customTimeBefore": "2030-01-01"}, OLD, False, id="no custom time, before"),
        pytest.param({"daysSinceCustomTime": 6}, STAMPED, True, id="days since custom time"),
        pytest.param({"daysSinceCustomTime": 7}, STAMPED, False, id="too few days since custom time"),
        pytest.param({"daysSinceCustomTime": 0}, OLD, False, id="no custom time, days"),
        pytest.param({"daysSinceNoncurrentTime": 4}, NONCURRENT, True, id="days since noncurrent"),
        pytest.param({"daysSinceNoncurrentTime": 5}, NONCURRENT, False, id="too few since noncurrent"),
        pytest.param({"daysSinceNoncurrentTime": 0}, OLD, False, id="live, days since noncurrent"),
        pytest.param({"noncurrentTimeBefore": "2026-03-08"}, NONCURRENT, True, id="noncurrent before"),
        pytest.param({"noncurrentTimeBefore": "2026-03-07"}, NONCURRENT, False, id="noncurrent that day"),
        pytest.param({"noncurrentTimeBefore": "2030-01-01"}, OLD, False, id="live, noncurrent before"),
        pytest.param({"isLive": True}, OLD, True, id="live"),
        pytest.param({"isLive": True}, NONCURRENT, False, id="live asked, noncurrent found"),
        pytest.param({"isLive": False}, NONCURRENT, True, id="noncurrent"),
        pytest.param({"isLive": False}, OLD, False, id="noncurrent asked, live found"),
        pytest.param({"matchesPrefix": ["x", "logs/"]}, OLD, True, id="prefix"),
        pytest.param({"matchesPrefix": ["log/"]}, OLD, False, id="other prefix"),
        pytest.param({"matchesSuffix": [".bin", ".txt"]}, OLD, True, id="suffix"),
        pytest.param({"matchesSuffix": [".bin"]}, OLD, False, id="other suffix"),
        pytest.param({"matchesStorageClass": ["STANDARD", "ARCHIVE"]}, OLD, True, id="class"),
        pytest.param({"matchesStorageClass": ["ARCHIVE"]}, OLD, False, id="other class"),
        pytest.param({"numNewerVersions": 2}, NONCURRENT, True, id="newer versions"),
        pytest.param({"numNewerVersions": 3}, NONCURRENT, False, id="too few newer versions"),
        pytest.param({"numNewerVersions": 1}, OLD, False, id="the newest"),
        pytest.param({"age": 10, "matchesSuffix": [".bin"]}, OLD, False, id="one of two holds"),
        pytest.param({"age": 10, "matchesSuffix": [".txt"]}, OLD, True, id="two of two hold"),
    ],
)
def test_conditions(condition: dict[str, Any], properties: ObjectProperties, expected: bool) -> None:
    assert due(rule(**condition), properties, NOW) is expected


NEARLINE, ARCHIVE = rule("SetStorageClass", "NEARLINE", age=1), rule("SetStorageClass", "ARCHIVE", age=1)


@pytest.mark.parity("Cloud Storage: lifecycle rules")
@pytest.mark.parametrize(
    ("rules", "properties", "expected"),
    [
        pytest.param([], OLD, None, id="no rules"),
        pytest.param([ARCHIVE, rule(age=1)], OLD, Action(type="Delete"), id="deletion first"),
        pytest.param(
            [ARCHIVE, NEARLINE],
            OLD,
            Action(type="SetStorageClass", storage_class="ARCHIVE"),
            id="the cheapest",
        ),
        pytest.param([NEARLINE], replace(OLD, storage_class="NEARLINE"), None, id="it is so already"),
        pytest.param([NEARLINE], replace(OLD, storage_class="COLDLINE"), None, id="never back"),
        pytest.param(
            [NEARLINE],
            replace(OLD, storage_class="MULTI_REGIONAL"),
            Action(type="SetStorageClass", storage_class="NEARLINE"),
            id="from an old class",
        ),
        pytest.param([rule("AbortIncompleteMultipartUpload", age=1)], OLD, None, id="of uploads only"),
    ],
)
def test_one_action_is_taken(rules: list[Any], properties: ObjectProperties, expected: Action | None) -> None:
    assert action_on(rules, properties, NOW) == expected


@pytest.mark.parametrize(("age", "expected"), [(10, True), (11, False)])
def test_unfinished_uploads(age: int, expected: bool) -> None:
    abort = rule("AbortIncompleteMultipartUpload", age=age)
    assert aborts([rule(age=0), abort], OLD, NOW) is expected


@given(days=st.integers(0, 100_000), seconds=st.integers(0, 10**9))
def test_age_is_a_threshold(days: int, seconds: int) -> None:
    properties = ObjectProperties(name="a", created=NOW - timedelta(seconds=seconds))
    assert due(rule(age=days), properties, NOW) is (seconds >= days * 86400)


@given(st.permutations([rule(age=5), NEARLINE, ARCHIVE, rule(age=50)]), st.integers(0, 60))
def test_the_order_of_rules_does_not_count(rules: list[Any], age: int) -> None:
    properties = ObjectProperties(name="a", created=NOW - age * DAY)
    assert action_on(rules, properties, NOW) == action_on(sorted(rules, key=str), properties, NOW)


# --- carried out


def made(client: Any, *rules: dict[str, Any], **fields: Any) -> Any:
    bucket = client.bucket("ruled")
    bucket.lifecycle_rules = rules
    for field, value in fields.items():
        setattr(bucket, field, value)
    return client.create_bucket(bucket)


def put(bucket: Any, name: str, data: bytes = b"x") -> Any:
    blob = bucket.blob(name)
    blob.upload_from_string(data)
    return blob


def names(bucket: Any, **options: Any) -> list[str]:
    return [blob.name for blob in bucket.list_blobs(**options)]


@pytest.mark.parity("Cloud Storage: lifecycle rules", same="exactly on time, by the emulator's clock")
def test_old_objects_are_deleted(daemon: Daemon, client: Any) -> None:
    bucket = made(client, rule(age=3, matchesPrefix=["tmp/"]))
    put(bucket, "tmp/a")
    put(bucket, "kept")
    (daemon.folder.buckets / "ruled" / "tmp" / "by-a-replica").write_text("x")
    advance(daemon, days=2.9)
    assert names(bucket) == ["kept", "tmp/a", "tmp/by-a-replica"]
    put(bucket, "tmp/young")
    advance(daemon, days=0.2)
    assert names(bucket) == ["kept", "tmp/young"]
    assert names(bucket, soft_deleted=True) == ["tmp/a", "tmp/by-a-replica"]


def test_classes_are_changed(daemon: Daemon, client: Any) -> None:
    bucket = made(client, rule("SetStorageClass", "COLDLINE", age=3))
    before = put(bucket, "a")
    advance(daemon, days=4)
    after = bucket.get_blob("a")
    assert (after.storage_class, after.metageneration, after.generation) == ("COLDLINE", 2, before.generation)
    resource = ask(daemon, "GET", path_of("ruled", "a")).json()
    assert resource["timeStorageClassUpdated"] > resource["timeCreated"]
    advance(daemon, days=4)
    assert bucket.get_blob("a").metageneration == 2


def test_old_versions_are_deleted(daemon: Daemon, client: Any) -> None:
    bucket = made(client, rule(numNewerVersions=2), versioning_enabled=True)
    kept = [put(bucket, "a", b"%d" % number).generation for number in range(5)][-2:]
    advance(daemon, days=1)
    assert [blob.generation for blob in bucket.list_blobs(versions=True)] == kept


def test_a_live_object_becomes_noncurrent(daemon: Daemon, client: Any) -> None:
    bucket = made(client, rule(age=3, isLive=True), versioning_enabled=True)
    put(bucket, "a")
    advance(daemon, days=4)
    assert (names(bucket), names(bucket, versions=True)) == ([], ["a"])


@pytest.mark.parametrize("field", ["temporary_hold", "event_based_hold"])
def test_holds_are_respected(daemon: Daemon, client: Any, field: str) -> None:
    bucket = made(client, rule(age=1))
    blob = put(bucket, "a")
    setattr(blob, field, True)
    blob.patch()
    advance(daemon, days=2)
    assert names(bucket) == ["a"]
    setattr(blob, field, False)
    blob.patch()
    advance(daemon, days=1)
    assert names(bucket) == []


def test_retention_is_respected(daemon: Daemon, client: Any) -> None:
    bucket = made(client, rule(age=1), retention_period=3 * 86400)
    put(bucket, "a")
    advance(daemon, days=2)
    assert names(bucket) == ["a"]
    advance(daemon, days=2)
    assert names(bucket) == []


def test_what_became_due_while_the_emulator_was_away(tmp_path: Path) -> None:
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        put(made(client, rule(createdBefore="2100-01-01")), "a")
        folder = daemon.folder.buckets / "ruled"
    with running(tmp_path):
        eventually(lambda: not list(folder.iterdir()), what=lambda: "nothing was deleted after the start")
