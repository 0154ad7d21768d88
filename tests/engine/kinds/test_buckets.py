"""Buckets on the real engine: what a change says and does, drift, and an emptying that is killed."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.kinds.staging_bucket.gateway import BucketRecord
from support.client.engine import Engine, Result
from support.client.shared_engine import mentions
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control
from vertex_training.fields.labels import KEY_LABEL

# Shown quicker in tests/pulumi_vertex_training: kinds/staging_bucket (test_full_buckets.py kills an
# emptying), dynamic/test_plugin_process.py
pytestmark = pytest.mark.slow

DAY = 24 * 60 * 60
HEAD = "made = {}\n"
REFRESH = ("refresh", "--non-interactive", "--yes", "--skip-preview")
CHECK = ("refresh", "--non-interactive", "--preview-only", "--expect-no-changes")
"""A refresh that fails if the service has anything that the state has not."""


def name_of(resource: str) -> str:
    return f"{resource}-bucket"


def declare(resource: str, **arguments: object) -> str:
    """Return the line of a program that declares a bucket."""
    text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"made[{resource!r}] = vt.StagingBucket({resource!r}, name={name_of(resource)!r}, {text})\n"


def stage(resource: str, bucket: str, more: str = "") -> str:
    """Return the line of a program that declares a staged file."""
    call = f'vt.StagedFile({resource!r}, bucket=made[{bucket!r}], source="data.txt", prefix="staged", {more})'
    return f"{resource} = {call}\n"


def write(engine: Engine, *lines: str) -> None:
    (engine.folder / "infra" / "data.txt").write_text("staged")
    engine.write(HEAD + "".join(lines))


def fill(engine: Engine, resource: str, count: int) -> None:
    endpoint, bucket = engine.endpoint(), name_of(resource)
    with ThreadPoolExecutor(max_workers=16) as pool:
        list(pool.map(lambda i: objects.upload(endpoint, bucket, f"data/{i}", b"x"), range(count)))


def left(engine: Engine, resource: str) -> int:
    return sum(1 for _ in objects.list_objects(engine.endpoint(), name_of(resource)))


def there(engine: Engine, resource: str) -> BucketRecord:
    return buckets.get(engine.endpoint(), name_of(resource))


def is_gone(engine: Engine, resource: str) -> bool:
    try:
        there(engine, resource)
    except NotFound:
        return True
    return False


SETTINGS: dict[str, object] = {
    "versioning": {"enabled": True},
    "labels": {"team": "vision"},
    "cors": [{"origins": ["https://example.com"], "methods": ["GET"], "max_age_seconds": 60}],
    "soft_delete_policy": {"retention_duration_seconds": 10 * DAY},
    "retention_policy": {"retention_period": 60},
    "website": {"main_page_suffix": "index.html"},
    "requester_pays": True,
    "default_event_based_hold": True,
    "autoclass": {"enabled": True, "terminal_storage_class": "ARCHIVE"},
    "logging": {"log_bucket": "settings-bucket", "log_object_prefix": "usage"},
}
PLAIN = declare(
    "typed",
    lifecycle_rules=[
        {"action": {"type": "Delete"}, "condition": {"age": 30, "matches_prefixes": ["train/"]}}
    ],
)
TYPED = """
made["typed"] = vt.StagingBucket(
    "typed",
    name="typed-bucket",
    lifecycle_rules=[
        vt.LifecycleRuleArgs(
            action=vt.LifecycleActionArgs(type="Delete"),
            condition=vt.LifecycleConditionArgs(age=30, matches_prefixes=["train/"]),
        )
    ],
)
"""


def locked(seconds: int) -> str:
    return declare("locked", retention_policy={"retention_period": seconds, "is_locked": True})


@dataclass(kw_only=True)
class Changes:
    """The output of deployments that change buckets, and the buckets after each."""

    first: dict[str, BucketRecord]
    drift: Result
    planned: Result
    changed: Result
    second: dict[str, BucketRecord]
    checks: list[Result]
    shortened: Result
    third: dict[str, BucketRecord]
    check: Result
    staged: int


@pytest.fixture(scope="module")
def changes(shared_engine: Engine) -> Changes:
    engine = shared_engine

    def live() -> dict[str, BucketRecord]:
        names = ("settings", "drifted", "moved", "emptied", "locked")
        return {name: there(engine, name) for name in names}

    steady = declare("drifted", labels={"team": "vision"}) + declare("twice", force_destroy=True)
    write(
        engine,
        declare("settings"),
        PLAIN,
        declare("emptied", force_destroy=True),
        declare("moved"),
        declare("locked", retention_policy={"retention_period": 60}),
        steady,
        stage("a", "twice"),
        stage("b", "twice", "opts=pulumi.ResourceOptions(depends_on=[a])"),
    )
    engine.up().ok()
    first = live()

    other = {"labels": {"team": "speech"}, "softDeletePolicy": {"retentionDurationSeconds": "0"}}
    buckets.patch(engine.endpoint(), name_of("drifted"), other)
    drift = engine.run(*REFRESH, "--diff").ok()

    unchanging = (
        TYPED,
        declare("emptied", force_destroy=True, location="europe-west4"),
        declare("moved", location="europe-west4"),
        steady,
        stage("a", "twice"),
    )
    write(engine, declare("settings", **SETTINGS), locked(60), *unchanging)
    planned, changed = engine.preview_and_up()
    second = live()
    checks = [engine.run(*CHECK), engine.preview("--expect-no-changes")]
    staged = left(engine, "twice")

    write(engine, declare("settings"), locked(30), *unchanging)
    shortened = engine.preview()
    write(engine, declare("settings"), locked(90), *unchanging)
    engine.up().ok()
    return Changes(
        first=first,
        drift=drift,
        planned=planned,
        changed=changed,
        second=second,
        checks=checks,
        shortened=shortened,
        third=live(),
        check=engine.run(*CHECK),
        staged=staged,
    )


def test_settings_change_in_place_and_back_and_the_preview_says_each(changes: Changes) -> None:
    planned = mentions(changes.planned.ok().output, "settings-bucket")
    for words in (
        "bucket settings-bucket: labels.team: not set -> vision; ",
        "versioning.enabled: off -> on",
        "cors: 0 CORS rules -> 1 CORS rule",
        "soft_delete_policy.retention_duration_seconds: 604800 (the default) -> 864000",
        "retention_policy.retention_period: not set -> 60",
        "changed in place",
    ):
        assert words in planned
    live = changes.second["settings"]
    assert live.wire["timeCreated"] == changes.first["settings"].wire["timeCreated"]
    assert live.wire["retentionPolicy"]["retentionPeriod"] == "60"
    assert live.wire["autoclass"]["terminalStorageClass"] == "ARCHIVE"

    again = changes.third["settings"].wire
    assert again["timeCreated"] == live.wire["timeCreated"]
    assert not {"retentionPolicy", "cors", "website", "logging"} & {k for k, v in again.items() if v}
    assert list(again["labels"]) == [KEY_LABEL]
    assert again["softDeletePolicy"]["retentionDurationSeconds"] == str(7 * DAY)


def test_after_each_change_neither_the_program_nor_the_service_has_another(changes: Changes) -> None:
    for each in (*changes.checks, changes.check):
        each.ok()


def test_typed_and_plain_rules_are_the_same(changes: Changes) -> None:
    for output in (changes.planned.output, changes.changed.output):
        assert "StagingBucket settings" in output
        assert "StagingBucket typed" not in output


def test_drift_shows_as_property_lines_and_is_put_right(changes: Changes) -> None:
    assert '~ team: "vision" => "speech"' in changes.drift.output
    assert "retention_duration_seconds" in changes.drift.output
    assert "1 updated" in changes.drift.output
    assert "labels.team: speech -> vision" in mentions(changes.planned.output, "drifted-bucket")
    live = changes.second["drifted"].wire
    assert {**live["labels"], KEY_LABEL: ""} == {"team": "vision", KEY_LABEL: ""}
    assert live["softDeletePolicy"]["retentionDurationSeconds"] == str(7 * DAY)


@pytest.mark.parametrize(
    ("resource", "loss"),
    [
        ("emptied", "all objects in the old bucket are deleted with it, because force_destroy is set"),
        ("moved", "the old bucket is deleted only if it is empty"),
    ],
)
def test_a_replacement_gives_the_reason_and_the_loss(changes: Changes, resource: str, loss: str) -> None:
    planned = mentions(changes.planned.output, name_of(resource))
    assert "location: us-central1 -> europe-west4" in planned
    assert "the bucket is replaced, because a bucket cannot move to another location" in planned
    assert loss in planned
    assert changes.first[resource].location == "US-CENTRAL1"
    assert changes.second[resource].location == "EUROPE-WEST4"


def test_a_lock_is_announced_before_it_is_set_and_holds(changes: Changes) -> None:
    assert "the retention policy is locked permanently" in mentions(changes.planned.output, "locked-bucket")
    assert "isLocked" not in changes.first["locked"].wire["retentionPolicy"]
    assert changes.second["locked"].wire["retentionPolicy"]["isLocked"] is True
    assert "can never be shortened: 60 -> 30 seconds" in changes.shortened.failed().output
    assert changes.third["locked"].wire["retentionPolicy"]["retentionPeriod"] == "90"


def test_an_object_that_two_resources_staged_is_deleted_with_neither(changes: Changes) -> None:
    assert changes.changed.ok()
    assert changes.staged == 1


def test_an_emptying_that_was_killed_is_continued(engine: Engine) -> None:
    write(engine, declare("large", force_destroy=True, versioning={"enabled": True}))
    engine.up().ok()
    fill(engine, "large", 1500)
    fill(engine, "large", 500)  # noncurrent versions of these
    emulator = launcher.ensure(engine.data_dir)
    control = Control(url=emulator.url, token=emulator.token)
    control.add_fault({"method": "storage.objects.delete", "nth": 600, "times": "always", "stall": 600})
    process = engine.start("destroy", "--yes", "--skip-preview", "--non-interactive")
    eventually(lambda: control.faults()[0]["held"])
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert 0 < left(engine, "large") < 1500
    control.clear_faults()
    engine.unlock()
    assert engine.state(), "the bucket is still in the state"
    engine.destroy().ok()
    assert engine.state() == []
    assert is_gone(engine, "large")
