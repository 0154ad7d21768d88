"""Holds, retention policies of buckets, and retention of single objects."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from google.api_core.exceptions import BadRequest, Forbidden

from support.emulated.services.storage import BUCKETS, advance, ask, path_of, reason
from vertex_emulator.daemon.daemon import Daemon


def put(bucket: Any, name: str, data: bytes = b"x") -> Any:
    blob = bucket.blob(name)
    blob.upload_from_string(data)
    return blob


def held(bucket: Any, blob: Any) -> None:
    blob.temporary_hold = True
    blob.patch()


def event(bucket: Any, blob: Any) -> None:
    blob.event_based_hold = True
    blob.patch()


def retained(bucket: Any, blob: Any) -> None:
    bucket.retention_period = 100
    bucket.patch()


def retained_alone(bucket: Any, blob: Any) -> None:
    blob.retention.mode = "Unlocked"
    blob.retention.retain_until_time = datetime.now(timezone.utc) + timedelta(days=1)
    blob.patch()


CHANGES = {
    "deletion": lambda bucket: bucket.blob("a").delete(),
    "overwriting": lambda bucket: put(bucket, "a", b"y"),
    "copy over it": lambda bucket: bucket.blob("a").rewrite(bucket.blob("b")),
    "composition over it": lambda bucket: bucket.blob("a").compose([bucket.blob("b")]),
    "move away": lambda bucket: bucket.move_blob(bucket.blob("a"), "c"),
}


@pytest.mark.parity(
    "Cloud Storage: holds, retention, soft deletion",
    own_way="by the emulator's clock; a deleted bucket can be restored if its owner had set a policy",
)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(
    ("protect", "says"),
    [
        pytest.param(held, "Object 'b1b/a' is under active Temporary hold and cannot be", id="hold"),
        pytest.param(event, "Object 'b1b/a' is under active Event-Based hold and cannot be", id="event"),
        pytest.param(retained, "Object 'b1b/a' is subject to bucket's retention policy and", id="policy"),
        pytest.param(retained_alone, "retention policy or object retention and cannot be", id="retention"),
    ],
)
def test_a_protected_object(
    client: Any, protect: Callable[[Any, Any], None], says: str, change: Callable[[Any], None]
) -> None:
    bucket = client.create_bucket("b1b", enable_object_retention=True)
    blob = put(bucket, "a")
    put(bucket, "b")
    protect(bucket, blob)
    with pytest.raises(Forbidden, match=says):
        change(bucket)
    assert bucket.blob("a").download_as_bytes() == b"x"
    assert not bucket.blob("c").exists()


def test_the_words_for_both(daemon: Daemon, client: Any) -> None:
    bucket = client.create_bucket("b1b")
    retained(bucket, None)
    blob = put(bucket, "a")
    assert reason(ask(daemon, "DELETE", path_of("b1b", "a"))) == "retentionPolicyNotMet"
    held(bucket, blob)
    assert reason(ask(daemon, "DELETE", path_of("b1b", "a"))) == "objectUnderActiveHold"


def test_a_hold_is_lifted(client: Any) -> None:
    bucket = client.create_bucket("b1b")
    blob = put(bucket, "a")
    held(bucket, blob)
    blob.temporary_hold = False
    blob.patch()
    blob.delete()
    assert not blob.exists()


def test_a_version_becomes_noncurrent_under_a_hold_and_is_not_deleted(client: Any) -> None:
    bucket = client.create_bucket("b1b")
    bucket.versioning_enabled = True
    bucket.patch()
    blob = put(bucket, "a")
    held(bucket, blob)
    put(bucket, "a", b"y")
    with pytest.raises(Forbidden):
        bucket.blob("a", generation=blob.generation).delete()


@pytest.mark.parity("Cloud Storage: holds, retention, soft deletion")
def test_retention_ends_with_the_clock(daemon: Daemon, client: Any) -> None:
    bucket = client.create_bucket("b1b")
    bucket.retention_period = 5 * 86400
    bucket.patch()
    blob = put(bucket, "a")
    assert blob.retention_expiration_time - blob.time_created == timedelta(days=5)
    advance(daemon, days=4.9)
    with pytest.raises(Forbidden):
        blob.delete()
    advance(daemon, days=0.2)
    blob.delete()


def test_a_policy_counts_for_objects_that_are_there(client: Any) -> None:
    bucket = client.create_bucket("b1b")
    put(bucket, "a")
    bucket.retention_period = 100
    bucket.patch()
    read = bucket.get_blob("a")
    assert read.retention_expiration_time - read.time_created == timedelta(seconds=100)
    bucket.retention_period = None
    bucket.patch()
    assert bucket.get_blob("a").retention_expiration_time is None
    read.delete()


def test_a_policy_counts_for_files_of_replicas(daemon: Daemon, client: Any) -> None:
    bucket = client.create_bucket("b1b")
    retained(bucket, None)
    (daemon.folder.buckets / "b1b" / "f").write_text("x")
    with pytest.raises(Forbidden):
        bucket.blob("f").delete()


def test_retention_begins_when_the_event_has_come(daemon: Daemon, client: Any) -> None:
    bucket = client.create_bucket("b1b")
    bucket.default_event_based_hold = True
    bucket.retention_period = 2 * 86400
    bucket.patch()
    blob = put(bucket, "a")
    assert (blob.event_based_hold, blob.retention_expiration_time) == (True, None)
    advance(daemon, days=3)
    blob.event_based_hold = False
    blob.patch()
    with pytest.raises(Forbidden, match="retention policy"):
        blob.delete()
    advance(daemon, days=2.1)
    blob.delete()


# --- the policy itself


def test_a_locked_policy(client: Any) -> None:
    bucket = client.create_bucket("b1b")
    bucket.retention_period = 100
    bucket.patch()
    assert bucket.retention_policy_effective_time is not None
    bucket.lock_retention_policy()
    assert client.get_bucket("b1b").retention_policy_locked
    for period, says in (
        (50, "Cannot reduce retention duration of a locked"),
        (None, "Cannot remove a locked"),
    ):
        bucket.retention_period = period
        with pytest.raises(Forbidden, match=says):
            bucket.patch()
    bucket = client.get_bucket("b1b")
    bucket.retention_period = 200
    bucket.patch()
    assert client.get_bucket("b1b").retention_policy_locked


@pytest.mark.parametrize(
    ("query", "status"),
    [("", 400), ("?ifMetagenerationMatch=7", 412), ("?ifMetagenerationMatch=1", 400)],
    ids=["without metageneration", "another metageneration", "without policy"],
)
def test_locks_that_are_refused(daemon: Daemon, client: Any, query: str, status: int) -> None:
    client.create_bucket("b1b")
    assert ask(daemon, "POST", f"{BUCKETS}/b1b/lockRetentionPolicy{query}").status == status


@pytest.mark.parametrize("period", ["0", "-1", "3155760001", "x", None])
def test_periods_that_are_refused(daemon: Daemon, client: Any, period: str | None) -> None:
    client.create_bucket("b1b")
    body = {"retentionPolicy": {"retentionPeriod": period, "isLocked": False}}
    assert ask(daemon, "PATCH", f"{BUCKETS}/b1b", body).status == 400


def test_a_policy_is_not_locked_by_a_patch(daemon: Daemon, client: Any) -> None:
    client.create_bucket("b1b")
    body = {"retentionPolicy": {"retentionPeriod": "10", "isLocked": True}}
    assert "lockRetentionPolicy only" in ask(daemon, "PATCH", f"{BUCKETS}/b1b", body).message


# --- retention of one object


def until(days: float) -> str:
    return (datetime.now(timezone.utc) + timedelta(days=days)).isoformat()


def retention(mode: str, days: float) -> dict[str, Any]:
    return {"retention": {"mode": mode, "retainUntilTime": until(days)}}


@pytest.mark.parametrize(
    ("before", "after", "plain", "override"),
    [
        pytest.param(retention("Unlocked", 5), retention("Unlocked", 9), 200, 200, id="longer"),
        pytest.param(retention("Unlocked", 5), retention("Unlocked", 2), 403, 200, id="shorter"),
        pytest.param(retention("Unlocked", 5), {"retention": None}, 403, 200, id="removed"),
        pytest.param(retention("Unlocked", 5), retention("Locked", 5), 403, 200, id="locked"),
        pytest.param(retention("Locked", 5), retention("Locked", 9), 200, 200, id="locked, longer"),
        pytest.param(retention("Locked", 5), retention("Locked", 2), 403, 403, id="locked, shorter"),
        pytest.param(retention("Locked", 5), retention("Unlocked", 9), 403, 403, id="unlocked"),
        pytest.param(retention("Locked", 5), {"retention": None}, 403, 403, id="locked, removed"),
        pytest.param({}, retention("Unlocked", -1), 400, 400, id="in the past"),
        pytest.param({}, {"retention": {"mode": "Unlocked"}}, 400, 400, id="without time"),
        pytest.param({}, {"retention": {"mode": "Open", "retainUntilTime": until(1)}}, 400, 400, id="mode"),
    ],
)
def test_changes_of_a_retention(
    daemon: Daemon, client: Any, before: Any, after: Any, plain: int, override: int
) -> None:
    bucket = client.create_bucket("b1b", enable_object_retention=True)
    assert bucket.object_retention_mode == "Enabled"
    for query, status in (("", plain), ("?overrideUnlockedRetention=true", override)):
        name = f"o{query[1:5]}"
        put(bucket, name)
        assert ask(daemon, "PATCH", path_of("b1b", name), before).status == 200
        assert ask(daemon, "PATCH", path_of("b1b", name) + query, after).status == status


def test_a_bucket_without_retention_of_objects(client: Any) -> None:
    blob = put(client.create_bucket("b1b"), "a")
    with pytest.raises(BadRequest, match="not enabled for the bucket b1b"):
        retained_alone(None, blob)


def test_retention_of_an_object_ends(daemon: Daemon, client: Any) -> None:
    bucket = client.create_bucket("b1b", enable_object_retention=True)
    blob = put(bucket, "a")
    retained_alone(bucket, blob)
    assert blob.retention.mode == "Unlocked"
    assert bucket.get_blob("a").retention_expiration_time == blob.retention.retain_until_time
    advance(daemon, days=1.1)
    blob.delete()
