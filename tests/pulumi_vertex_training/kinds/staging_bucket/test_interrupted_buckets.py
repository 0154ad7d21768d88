"""Buckets of interrupted deployments, on an emulator: which are adopted, and which are somebody else's."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import AlreadyExists
from pulumi_vertex_training.kinds.staging_bucket import gateway
from pulumi_vertex_training.kinds.staging_bucket.interrupted import create_or_adopt, needs_lock
from pulumi_vertex_training.kinds.staging_bucket.settings import BucketVersioning, RetentionPolicy
from pulumi_vertex_training.kinds.staging_bucket.spec import BucketSpec, normalise
from pulumi_vertex_training.kinds.staging_bucket.wire import as_live
from vertex_training.fields.labels import KEY_LABEL

KEY = "0123456789abcdef-01234567"
_NUMBERS = itertools.count(1)


def spec(**more: Any) -> BucketSpec:
    name = more.pop("name", None) or f"interrupted-{next(_NUMBERS)}"
    return normalise(BucketSpec(**{"name": name, "location": "us-central1", **more}))


def made(endpoint: Endpoint, **more: Any) -> BucketSpec:
    """Create a bucket whose creation no state has."""
    declared = spec(**more)
    create_or_adopt(endpoint, declared, KEY)
    return declared


def created(endpoint: Endpoint, name: str) -> str:
    return str(gateway.get(endpoint, name).wire["timeCreated"])


def test_an_untouched_bucket_is_adopted(endpoint: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    declared = made(endpoint, labels={"team": "vision"})
    before = gateway.get(endpoint, declared.name)
    found = create_or_adopt(endpoint, declared, KEY)
    assert found.wire == before.wire
    assert found.wire["labels"] == {"team": "vision", KEY_LABEL: KEY}
    assert as_live(declared, found.wire) is declared
    assert capsys.readouterr().out == (
        f"bucket {declared.name}: adopted; an interrupted deployment of this stack created it\n"
    )


def test_one_with_other_settings_is_created_again(endpoint: Endpoint) -> None:
    declared = made(endpoint)
    moved = spec(name=declared.name, location="europe-west4", labels={"team": "vision"})
    found = create_or_adopt(endpoint, moved, KEY)
    assert (found.location, found.metageneration) == ("EUROPE-WEST4", 1)
    assert found.wire["labels"] == {"team": "vision", KEY_LABEL: KEY}


def test_a_lock_that_was_interrupted_is_completed(endpoint: Endpoint) -> None:
    locked = RetentionPolicy(retention_period=60, is_locked=True)
    declared = made(endpoint, retention_policy=locked)
    found = create_or_adopt(endpoint, declared, KEY)
    assert needs_lock(found, declared)
    gateway.lock_retention_policy(endpoint, declared.name, if_metageneration_match=found.metageneration)
    found = create_or_adopt(endpoint, declared, KEY)
    assert not needs_lock(found, declared)


@pytest.mark.parametrize("key", ["", "0123456789abcdef-76543210", "fedcba9876543210-01234567"])
def test_without_the_key_a_bucket_is_somebody_elses(endpoint: Endpoint, key: str) -> None:
    declared = made(endpoint)
    with pytest.raises(AlreadyExists) as caught:
        create_or_adopt(endpoint, declared, key)
    assert str(caught.value).startswith(f"bucket {declared.name}: the name is taken")
    assert "set adopt=True" in str(caught.value)
    assert "own it" not in str(caught.value)


def test_a_bucket_without_a_key_is_nobodys(endpoint: Endpoint) -> None:
    declared = spec()
    create_or_adopt(endpoint, declared, "")
    assert "labels" not in gateway.get(endpoint, declared.name).wire
    with pytest.raises(AlreadyExists, match="the name is taken"):
        create_or_adopt(endpoint, declared, "")


def test_a_filled_bucket_is_not_adopted(endpoint: Endpoint) -> None:
    declared = made(endpoint)
    before = created(endpoint, declared.name)
    objects.upload(endpoint, declared.name, "an object", b"1")
    with pytest.raises(AlreadyExists, match="changed or filled"):
        create_or_adopt(endpoint, declared, KEY)
    assert created(endpoint, declared.name) == before


def test_a_bucket_with_an_older_version_of_an_object_is_not_adopted(endpoint: Endpoint) -> None:
    declared = made(endpoint, versioning=BucketVersioning(enabled=True))
    objects.upload(endpoint, declared.name, "an object", b"1")
    objects.delete(endpoint, declared.name, "an object")
    with pytest.raises(AlreadyExists, match="changed or filled"):
        create_or_adopt(endpoint, declared, KEY)


def test_a_changed_bucket_is_not_adopted(endpoint: Endpoint) -> None:
    declared = made(endpoint)
    gateway.patch(endpoint, declared.name, {"labels": {"mine": "yes"}})
    with pytest.raises(AlreadyExists, match="changed or filled"):
        create_or_adopt(endpoint, declared, KEY)
