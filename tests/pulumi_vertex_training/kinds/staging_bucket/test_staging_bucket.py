"""The bucket's provider in the engine's real provider process: its state, messages and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.output import Unknown

from pulumi_vertex_training.kinds.staging_bucket.provider import soft_delete_notice
from pulumi_vertex_training.providers import StagedPackageProvider, StagingBucketProvider
from support.builds import built_packages
from support.client.plugin import UNKNOWN, PluginProcess

BUCKET = StagingBucketProvider()
PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
BASE = {**PLACE, "name": "a-bucket"}
LOCKED = {"retention_policy": {"retention_period": 60.0, "is_locked": True}}


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[PluginProcess]:
    with PluginProcess(tmp_path) as process:
        yield process


def test_the_state_has_the_fields_of_the_first_version(plugin: PluginProcess) -> None:
    inputs, _ = plugin.check(BUCKET, BASE)
    assert inputs == {
        **BASE,
        "storage_class": "STANDARD",
        "uniform_bucket_level_access": True,
        "public_access_prevention": "enforced",
        "versioning": {"enabled": False},
        "force_destroy": False,
        "url": "gs://a-bucket",
    }


def test_the_state_has_declared_defaults(plugin: PluginProcess) -> None:
    declared = {"soft_delete_policy": {"retention_duration_seconds": 604800.0}}
    inputs, _ = plugin.check(BUCKET, {**BASE, **declared})
    assert inputs["soft_delete_policy"] == declared["soft_delete_policy"]


@pytest.mark.parametrize(
    "default",
    [
        {"soft_delete_policy": {"retention_duration_seconds": 604800.0}},
        {"rpo": "DEFAULT"},
        {"autoclass": {"enabled": False}},
        {"requester_pays": False},
        {"cors": []},
        {"website": {}},
    ],
    ids=lambda default: next(iter(default)),
)
def test_declaring_a_default_is_no_change(plugin: PluginProcess, default: dict[str, Any]) -> None:
    old, _ = plugin.check(BUCKET, BASE)
    new, failures = plugin.check(BUCKET, {**BASE, **default})
    assert not failures
    assert plugin.diff(BUCKET, old, new) == (False, [])


@pytest.mark.parametrize(
    ("change", "replaces"),
    [
        ({"requester_pays": True}, []),
        ({"retention_policy": {"retention_period": 60.0}}, []),
        ({"release_holds": True, "force_destroy": True}, []),
        ({"hierarchical_namespace": True}, ["hierarchical_namespace"]),
        ({"enable_object_retention": True}, ["enable_object_retention"]),
        ({"project": "another"}, ["project"]),
        ({"name": UNKNOWN}, ["name"]),
        ({"labels": UNKNOWN}, []),
    ],
    ids=str,
)
def test_replacing_changes(plugin: PluginProcess, change: dict[str, Any], replaces: list[str]) -> None:
    old, _ = plugin.check(BUCKET, BASE)
    new, failures = plugin.check(BUCKET, {**BASE, **change})
    assert not failures
    assert plugin.diff(BUCKET, old, new) == (True, replaces)


def test_an_unknown_value_stays_unknown(plugin: PluginProcess) -> None:
    key = {"encryption": {"default_kms_key_name": UNKNOWN}}
    inputs, failures = plugin.check(BUCKET, {**BASE, **key})
    assert not failures
    assert isinstance(inputs["encryption"]["default_kms_key_name"], Unknown)


MARKS = {"project": "digits", "stack": "dev", "resource": "staging"}
OWN = {**PLACE, "marks": MARKS}


def checked(declared: dict[str, Any], olds: dict[str, Any] | None = None) -> dict[str, Any]:
    result = BUCKET.check(olds or {}, declared)
    assert not result.failures
    return result.inputs


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        pytest.param({}, "local-digits-dev-staging", id="made of project, program, stack and resource"),
        pytest.param({"project": "Acme.com:Net"}, "acme-com-net-digits-dev-staging", id="other characters"),
        pytest.param(
            {"marks": {**MARKS, "stack": "s" * 60}},
            f"local-digits-{'s' * 41}-31e0faf2",
            id="too long: ends in a hash",
        ),
        pytest.param({"name": "given"}, "given", id="given"),
    ],
)
def test_the_name_of_a_bucket(declared: dict[str, Any], name: str) -> None:
    inputs = checked({**OWN, **declared})
    assert inputs.get("name") == name


def test_a_derived_name_is_in_the_url() -> None:
    inputs = checked(OWN)
    assert inputs["url"] == "gs://local-digits-dev-staging"


def test_a_name_derived_from_an_unknown_project_is_unknown(plugin: PluginProcess) -> None:
    inputs, _ = plugin.check(BUCKET, {**OWN, "project": UNKNOWN})
    assert isinstance(inputs["name"], Unknown)


@pytest.mark.parametrize("renamed", [{"resource": "other"}, {"stack": "prod"}], ids=str)
def test_a_rename_keeps_the_name(renamed: dict[str, str]) -> None:
    old = checked(OWN)
    new = checked({**OWN, "marks": {**MARKS, **renamed}}, old)
    assert not BUCKET.diff("id", old, new).changes


def test_a_second_rename_keeps_the_name() -> None:
    old = checked(OWN)
    once = checked({**OWN, "marks": {**MARKS, "resource": "other"}}, old)
    twice = checked({**OWN, "marks": {**MARKS, "resource": "third"}}, once)
    assert twice["name"] == "local-digits-dev-staging"


def test_declaring_the_derived_name_is_no_change() -> None:
    old = checked(OWN)
    new = checked({**PLACE, "name": "local-digits-dev-staging"}, old)
    assert not BUCKET.diff("id", old, new).changes


def test_another_project_derives_another_name() -> None:
    old = checked(OWN)
    new = checked({**OWN, "project": "another"}, old)
    assert BUCKET.diff("id", old, new).replaces == ["project", "name"]


def test_a_problem_of_a_derived_name_explains_its_origin() -> None:
    (failure,) = BUCKET.check({}, {**OWN, "marks": {**MARKS, "project": "google-demo"}}).failures
    assert "must not begin with goog or contain google" in failure.reason
    assert (
        "is derived from the names of project, program, stack and resource; to choose another name, set name="
    ) in failure.reason


def test_a_new_lock_is_reported(tmp_path: Path) -> None:
    process = PluginProcess(tmp_path)
    process.check(BUCKET, {**BASE, **LOCKED})
    assert "bucket a-bucket: the retention policy is locked permanently" in process.stop()


def test_an_existing_lock_is_not_reported(tmp_path: Path) -> None:
    process = PluginProcess(tmp_path)
    process.check(BUCKET, {**BASE, **LOCKED}, {**BASE, **LOCKED})
    assert "locked" not in process.stop()


def test_a_locked_policy_cannot_be_removed(plugin: PluginProcess) -> None:
    new, _ = plugin.check(BUCKET, BASE, {**BASE, **LOCKED})
    with pytest.raises(grpc.RpcError) as caught:
        plugin.diff(BUCKET, {**BASE, **LOCKED}, new)
    assert "Failure: bucket a-bucket: its retention policy is locked" in caught.value.details()  # type: ignore[attr-defined]


def test_a_refresh_is_never_refused(plugin: PluginProcess) -> None:
    """Compare without a check, as a refresh does, which only reads."""
    assert plugin.diff(BUCKET, {**BASE, **LOCKED}, BASE) == (True, [])


def test_the_default_format_is_not_in_the_state(plugin: PluginProcess, tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text("print()")
    inputs, _ = plugin.check(StagedPackageProvider(), {**PLACE, "bucket": "a-bucket", "source": "task.py"})
    assert "format" not in inputs


def test_a_wheel_is_known_in_a_preview(plugin: PluginProcess, tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text("print()")
    declared = {**PLACE, "bucket": "a-bucket", "source": "task.py"}
    inputs, _ = plugin.check(StagedPackageProvider(), declared)
    assert inputs["uri"].endswith("/trainer-0.1.0-py3-none-any.whl")
    assert (inputs["content_type"], inputs["python_module"]) == ("application/zip", "trainer.task")


def test_another_format_replaces_the_object(plugin: PluginProcess, tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text("print()")
    declared = {**PLACE, "bucket": "a-bucket", "source": "task.py"}
    provider = StagedPackageProvider()
    old, _ = plugin.check(provider, declared)
    new, _ = plugin.check(provider, {**declared, "format": "sdist"})
    assert plugin.diff(provider, old, new) == (True, ["object_name", "sha256"])


def test_a_finished_wheel_of_another_version_is_refused(plugin: PluginProcess, tmp_path: Path) -> None:
    built_packages.wheel(tmp_path)
    declared = {**PLACE, "bucket": "a-bucket", "source": "net-1.0-py3-none-any.whl", "version": "2.0"}
    _, failures = plugin.check(StagedPackageProvider(), declared)
    assert list(failures) == ["version"]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (
            {"retentionDurationSeconds": "604800"},
            "soft delete keeps the objects for 7 days: until then they are billed",
        ),
        ({"retentionDurationSeconds": "129600"}, "soft delete keeps the objects for 1.5 days"),
        ({"retentionDurationSeconds": "0"}, ""),
        (None, ""),
    ],
)
def test_the_soft_delete_notice(policy: dict[str, str] | None, words: str) -> None:
    said = soft_delete_notice({"softDeletePolicy": policy})
    assert said.startswith(words)
    assert bool(said) == bool(words)
