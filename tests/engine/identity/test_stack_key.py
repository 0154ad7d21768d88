"""The key of a stack on the real Pulumi CLI: what has it, what leaves it alone, and what it finds again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.staging_bucket import gateway
from pulumi_vertex_training.registry import type_token
from support.client.engine import Engine, Result
from support.client.shared_engine import mentions
from vertex_training.fields.labels import KEY_LABEL

pytestmark = pytest.mark.slow

URN = f"urn:pulumi:test::engine-test::{type_token('StagingBucket')}::"
PROGRAM = """
class Part(pulumi.ComponentResource):
    def __init__(self, name):
        super().__init__("test:index:Part", name)
        parent = pulumi.ResourceOptions(parent=self)
        vt.StagingBucket(name, name=f"inner-{name}", opts=parent)


vt.StagingBucket("first", labels={"team": "vision"})
vt.StagingBucket("second", name="the-second")
Part("first")
Part("second")
"""
FIRST = "local-engine-test-test-first"
BUCKETS = (FIRST, "the-second", "inner-first", "inner-second")


@dataclass(kw_only=True)
class Steps:
    """The output of deployments of one stack, and the labels of the buckets after each."""

    targeted: Result
    without_key: dict[str, str]
    everything: Result
    labels: dict[str, dict[str, str]]
    keys: list[dict[str, Any]]
    """The records of the key in the state."""
    recorded: str
    """The inputs and outputs of the buckets, as a text."""
    refreshed: Result
    relabelled: Result
    after_relabelling: dict[str, str]
    preview: Result
    """A preview when a bucket is not in the state any more, although nobody has touched it."""
    found: Result
    taken: Result
    """The same with a bucket of another key."""
    unchanged: Result
    forced: Result
    """The replacement on demand of an untouched bucket."""
    destroyed: Result
    left: list[str]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    endpoint = engine.endpoint()

    def labels(name: str) -> dict[str, str]:
        return dict(gateway.labels_of(endpoint, name))

    def forget(name: str) -> None:
        engine.forget(f"{URN}{name}")

    engine.write(PROGRAM)
    targeted = engine.up("--target", f"{URN}second")
    without_key = labels("the-second")
    everything = engine.up()
    all_labels = {name: labels(name) for name in BUCKETS}
    resources = engine.checkpoint()["resources"]
    keys = [one for one in resources if one["type"] == type_token("StackKey")]
    buckets = [one for one in resources if one["type"] == type_token("StagingBucket")]
    refreshed = engine.up("--refresh", "--expect-no-changes")
    forget("first")
    preview, found = engine.preview_and_up()
    forced = engine.up("--replace", f"{URN}first")
    gateway.patch(endpoint, FIRST, {"labels": {"team": "speech", "mine": "yes"}})
    relabelled = engine.up("--refresh")
    after_relabelling = labels(FIRST)
    unchanged = engine.up("--refresh", "--expect-no-changes")
    forget("second")
    taken = engine.preview()
    gateway.delete(endpoint, "the-second")
    destroyed = engine.destroy()
    return Steps(
        targeted=targeted,
        without_key=without_key,
        everything=everything,
        labels=all_labels,
        keys=keys,
        recorded=str([(one["inputs"], one["outputs"]) for one in buckets]),
        refreshed=refreshed,
        relabelled=relabelled,
        after_relabelling=after_relabelling,
        preview=preview,
        found=found,
        taken=taken,
        unchanged=unchanged,
        forced=forced,
        destroyed=destroyed,
        left=[one for one in BUCKETS if _exists(engine, one)],
    )


def _exists(engine: Engine, name: str) -> bool:
    try:
        gateway.get(engine.endpoint(), name)
    except NotFound:
        return False
    return True


def test_a_stack_has_one_key(steps: Steps) -> None:
    steps.everything.ok()
    (record,) = steps.keys
    assert record["id"] == record["outputs"]["key"]


def test_every_bucket_has_a_key_of_its_own(steps: Steps) -> None:
    keys = {name: labels.get(KEY_LABEL, "") for name, labels in steps.labels.items()}
    id_ = steps.keys[0]["id"]
    assert {key.partition("-")[0] for name, key in keys.items() if name != "the-second"} == {id_}
    assert len(set(keys.values())) == len(BUCKETS)


def test_the_state_of_a_bucket_has_no_key(steps: Steps) -> None:
    assert "__key" not in steps.recorded
    assert KEY_LABEL not in steps.recorded


def test_a_targeted_first_deployment_needs_no_key(steps: Steps) -> None:
    steps.targeted.ok()
    assert steps.without_key == {}


def test_a_refresh_does_not_show_the_key(steps: Steps) -> None:
    steps.refreshed.ok()


def test_a_change_of_labels_leaves_the_key_alone(steps: Steps) -> None:
    steps.relabelled.ok()
    assert steps.after_relabelling == steps.labels[FIRST]
    steps.unchanged.ok()


def test_an_untouched_bucket_that_no_state_has_is_adopted(steps: Steps) -> None:
    assert "+ pulumi-python:dynamic:StagingBucket first create" in " ".join(steps.preview.ok().output.split())
    assert mentions(steps.found.ok().output, f"bucket {FIRST}: adopted; an interrupted deployment")


def test_an_untouched_bucket_is_its_own_replacement(steps: Steps) -> None:
    assert mentions(steps.forced.ok().output, f"bucket {FIRST}: adopted")


def test_a_bucket_without_the_key_is_taken(steps: Steps) -> None:
    assert "'the-second' is taken: bucket names are global" in steps.taken.failed().output
    assert "set adopt=True" in steps.taken.output


def test_nothing_is_left(steps: Steps) -> None:
    steps.destroyed.ok()
    assert steps.left == []
