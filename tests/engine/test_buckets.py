"""Buckets on the real engine: what a change says and does, drift, and how a full bucket goes."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.engine import Engine
from support.waiting import eventually
from vertex_training.cloud import buckets, objects, rest
from vertex_training.cloud.clients import storage_url
from vertex_training.cloud.errors import NotFound

NAME = "bucket-under-test"
DAY = 24 * 60 * 60


def declare(engine: Engine, **arguments: object) -> None:
    given = {"name": NAME, **arguments}
    text = ", ".join(f"{name}={value!r}" for name, value in given.items())
    engine.write(f'vt.StagingBucket("staging", {text})\n')


def fill(engine: Engine, count: int) -> None:
    endpoint = engine.endpoint()
    with ThreadPoolExecutor(max_workers=16) as pool:
        list(pool.map(lambda i: objects.upload(endpoint, NAME, f"data/{i}", b"x"), range(count)))


def hold(engine: Engine, name: str) -> None:
    url = f"{storage_url(engine.endpoint())}/storage/v1/b/{NAME}/o/{name}"
    rest.call(engine.endpoint(), "PATCH", url, body={"temporaryHold": True})


def left(engine: Engine) -> int:
    return sum(1 for _ in objects.list_objects(engine.endpoint(), NAME))


CHANGES: dict[str, object] = {
    "versioning": True,
    "labels": {"team": "vision"},
    "cors": [{"origin": ["https://example.com"], "method": ["GET"], "max_age_seconds": 60}],
    "soft_delete_policy": {"retention_duration_seconds": 10 * DAY},
    "retention_policy": {"retention_period": 60},
    "website": {"main_page_suffix": "index.html"},
    "requester_pays": True,
    "default_event_based_hold": True,
    "autoclass": {"enabled": True, "terminal_storage_class": "ARCHIVE"},
    "logging": {"log_bucket": NAME, "log_object_prefix": "usage"},
}


def test_settings_change_in_place_and_back_and_the_preview_says_each(engine: Engine) -> None:
    declare(engine)
    engine.up().ok()
    made = buckets.get(engine.endpoint(), NAME)
    declare(engine, **CHANGES)
    planned = engine.preview().ok().output
    for words in (
        f"bucket {NAME}: labels.team: not set -> vision; ",
        "versioning: off -> on",
        "cors: 0 CORS rules -> 1 CORS rule",
        "soft_delete_policy.retention_duration_seconds: 604800 (the default) -> 864000",
        "retention_policy.retention_period: not set -> 60",
        "changed in place",
    ):
        assert words in planned
    engine.up().ok()
    live = buckets.get(engine.endpoint(), NAME)
    assert live.wire["timeCreated"] == made.wire["timeCreated"]
    assert live.wire["retentionPolicy"]["retentionPeriod"] == "60"
    assert live.wire["autoclass"]["terminalStorageClass"] == "ARCHIVE"
    engine.run("refresh", "--non-interactive", "--preview-only", "--expect-no-changes").ok()
    engine.preview("--expect-no-changes").ok()

    declare(engine)
    engine.up().ok()
    again = buckets.get(engine.endpoint(), NAME).wire
    assert not {"retentionPolicy", "cors", "website", "logging", "labels"} & {
        k for k, v in again.items() if v
    }
    assert again["softDeletePolicy"]["retentionDurationSeconds"] == str(7 * DAY)
    engine.run("refresh", "--non-interactive", "--preview-only", "--expect-no-changes").ok()


def test_typed_and_plain_rules_are_the_same(engine: Engine) -> None:
    plain = [{"action": {"type": "Delete"}, "condition": {"age": 30, "matches_prefix": ["train/"]}}]
    declare(engine, lifecycle_rules=plain)
    engine.up().ok()
    engine.write(
        f"""
        rule = vt.LifecycleRuleArgs(
            action=vt.LifecycleActionArgs(type="Delete"),
            condition=vt.LifecycleConditionArgs(age=30, matches_prefix=["train/"]),
        )
        vt.StagingBucket("staging", name="{NAME}", lifecycle_rules=[rule])
        """
    )
    engine.preview("--expect-no-changes").ok()


def test_drift_shows_as_property_lines_and_is_put_right(engine: Engine) -> None:
    declare(engine, labels={"team": "vision"})
    engine.up().ok()
    other = {"labels": {"team": "speech"}, "softDeletePolicy": {"retentionDurationSeconds": "0"}}
    buckets.patch(engine.endpoint(), NAME, other)
    shown = engine.run("refresh", "--non-interactive", "--preview-only", "--diff").ok().output
    assert '~ team: "vision" => "speech"' in shown
    assert "retention_duration_seconds" in shown
    engine.run("refresh", "--non-interactive", "--yes", "--skip-preview").ok()
    assert "labels.team: speech -> vision" in engine.preview().ok().output
    engine.up().ok()
    live = buckets.get(engine.endpoint(), NAME).wire
    assert live["labels"] == {"team": "vision"}
    assert live["softDeletePolicy"]["retentionDurationSeconds"] == str(7 * DAY)


@pytest.mark.parametrize(
    ("force", "loss"),
    [
        (True, "everything in the old bucket is deleted with it, because force_destroy is set"),
        (False, "the old bucket is deleted only if it is empty"),
    ],
)
def test_a_replacement_says_why_and_what_is_lost(engine: Engine, force: bool, loss: str) -> None:
    declare(engine, force_destroy=force)
    engine.up().ok()
    declare(engine, force_destroy=force, location="europe-west4")
    planned = engine.preview().ok().output
    assert "location: us-central1 -> europe-west4" in planned
    assert "the bucket is replaced, because a bucket cannot move to another location" in planned
    assert loss in planned
    engine.up().ok()
    assert buckets.get(engine.endpoint(), NAME).location == "EUROPE-WEST4"


def test_a_full_bucket_is_not_replaced_and_what_uses_it_stays(engine: Engine) -> None:
    (engine.folder / "infra" / "data.txt").write_text("staged")
    program = """
    bucket = vt.StagingBucket("staging", name="bucket-under-test", **{arguments!r})
    vt.StagedFile("data", bucket=bucket, source="data.txt")
    """
    engine.write(program.format(arguments={}))
    engine.up().ok()
    fill(engine, 1)
    before = engine.state()
    engine.write(program.format(arguments={"location": "europe-west4"}))
    for command in (engine.preview, engine.up):
        assert "is to be replaced and is not empty: it holds data/0." in command().failed().output
    assert [one["id"] for one in engine.state()] == [one["id"] for one in before]
    objects.delete(engine.endpoint(), NAME, "data/0")
    engine.up().ok()
    assert buckets.get(engine.endpoint(), NAME).location == "EUROPE-WEST4"


def test_a_lock_is_said_before_it_is_set_and_holds(engine: Engine) -> None:
    declare(engine, retention_policy={"retention_period": 60})
    engine.up().ok()
    declare(engine, retention_policy={"retention_period": 60, "is_locked": True})
    assert "the retention policy is locked for good" in engine.preview().ok().output
    engine.up().ok()
    assert buckets.get(engine.endpoint(), NAME).wire["retentionPolicy"]["isLocked"] is True
    engine.run("refresh", "--non-interactive", "--preview-only", "--expect-no-changes").ok()
    declare(engine, retention_policy={"retention_period": 30, "is_locked": True})
    assert "can never be shortened: 60 -> 30 seconds" in engine.preview().failed().output
    declare(engine)
    assert "can never be taken off" in engine.preview().failed().output
    declare(engine, retention_policy={"retention_period": 90, "is_locked": True})
    engine.up().ok()
    assert buckets.get(engine.endpoint(), NAME).wire["retentionPolicy"]["retentionPeriod"] == "90"


def test_what_is_held_keeps_the_bucket_until_holds_are_to_be_released(engine: Engine) -> None:
    declare(engine, force_destroy=True)
    engine.up().ok()
    fill(engine, 3)
    hold(engine, "data%2F1")
    refused = engine.destroy().failed().output
    assert f"1 object in bucket {NAME} is held, so nothing was deleted: data/1 (temporary hold)" in refused
    assert "set release_holds=True beside force_destroy" in refused
    assert left(engine) == 3
    declare(engine, force_destroy=True, release_holds=True)
    engine.up().ok()
    assert "deleted 3 objects" in engine.destroy().ok().output
    with pytest.raises(NotFound):
        buckets.get(engine.endpoint(), NAME)


def test_what_is_retained_says_until_when(engine: Engine) -> None:
    declare(engine, force_destroy=True, retention_policy={"retention_period": DAY})
    engine.up().ok()
    fill(engine, 1)
    refused = engine.destroy().failed().output
    assert "cannot be deleted yet, because it is retained: data/0 until 20" in refused
    assert "take retention_policy out of the program" in refused
    declare(engine, force_destroy=True)
    engine.up().ok()
    engine.destroy().ok()


def test_an_emptying_that_was_killed_goes_on(engine: Engine) -> None:
    declare(engine, force_destroy=True, versioning=True)
    engine.up().ok()
    fill(engine, 1500)
    fill(engine, 500)  # noncurrent versions of these
    process = engine.start("destroy", "--yes", "--skip-preview", "--non-interactive")
    eventually(lambda: left(engine) < 1400)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert left(engine) > 0
    engine.run("cancel", "--yes").ok()
    assert engine.state(), "the bucket is still in the state"
    engine.destroy().ok()
    assert engine.state() == []
    with pytest.raises(NotFound):
        buckets.get(engine.endpoint(), NAME)


def test_a_bucket_that_is_full_stays_without_force_destroy(engine: Engine) -> None:
    declare(engine)
    engine.up().ok()
    fill(engine, 1)
    refused = engine.destroy().failed().output
    assert "set force_destroy=True, `pulumi up`, try again" in refused
    assert "`pulumi up --target` with its URN" in refused
    objects.delete(engine.endpoint(), NAME, "data/0")


def test_an_object_that_two_resources_staged_goes_with_neither(engine: Engine) -> None:
    (engine.folder / "infra" / "data.txt").write_text("the same")
    bucket = f'bucket = vt.StagingBucket("staging", name="{NAME}", force_destroy=True)\n'
    first = 'a = vt.StagedFile("a", bucket=bucket, source="data.txt", prefix="data")\n'
    second = (
        'vt.StagedFile("b", bucket=bucket, source="data.txt", prefix="data", '
        "opts=pulumi.ResourceOptions(depends_on=[a]))\n"
    )
    engine.write(bucket + first + second)
    engine.up().ok()
    engine.write(bucket + first)
    assert "is left: it was staged more than once" in engine.up().ok().output
    assert left(engine) == 1
    engine.run("refresh", "--non-interactive", "--preview-only", "--expect-no-changes").ok()
