"""`vertex-training plan` on the real engine: buckets that are deleted with all their objects."""

from __future__ import annotations

import json

import pytest

from pulumi_vertex_training.cloud import objects
from support.client.engine import Engine

FIRST = """
vt.StagingBucket("runs", name="loss-runs", force_destroy=True)
vt.StagingBucket("moved", name="loss-moved", force_destroy=True)
vt.StagingBucket("empty", name="loss-empty", force_destroy=True)
vt.StagingBucket("safe", name="loss-safe")
retained = pulumi.ResourceOptions(retain_on_delete=True)
vt.StagingBucket("kept", name="loss-kept", force_destroy=True, opts=retained)
"""
SECOND = """
vt.StagingBucket("moved", name="loss-moved", location="EU", force_destroy=True)
"""
LOSS = "is deleted with all its objects (force_destroy)"
EARLIER = "models and metrics of earlier runs too"


@pytest.fixture(scope="module")
def filled(shared_engine: Engine) -> Engine:
    engine = shared_engine
    engine.write(FIRST)
    engine.up().ok()
    for bucket, count in (("runs", 3), ("moved", 1), ("kept", 1)):
        for number in range(count):
            objects.upload(engine.endpoint(), f"loss-{bucket}", f"model/{number}", b"x")
    engine.write(SECOND)
    return engine


def test_a_deleted_and_a_replaced_bucket_lose_their_objects(filled: Engine) -> None:
    document = json.loads(filled.plan("--json").stdout)
    losses = {one["name"]: one["loss"] for one in document["changes"] if one["loss"]}
    assert {name: (loss["address"], loss["count"]) for name, loss in losses.items()} == {
        "runs": ("gs://loss-runs", 3),
        "moved": ("gs://loss-moved", 1),
    }
    assert losses["runs"]["message"] == (f"runs: the bucket gs://loss-runs {LOSS}, 3 objects now: {EARLIER}")


def test_a_loss_is_a_warning_of_the_comment_and_of_the_table(filled: Engine) -> None:
    text = filled.plan("--markdown").stdout
    assert (
        "> [!WARNING]\n"
        f"> - `moved`: the bucket `gs://loss-moved` {LOSS}, 1 object now: {EARLIER}.\n"
        f"> - `runs`: the bucket `gs://loss-runs` {LOSS}, 3 objects now: {EARLIER}.\n"
    ) in text
    assert "| delete | `runs` | StagingBucket | deleted with all its objects, 3 objects now |" in text
    table = " ".join(filled.plan().stdout.split())
    assert f"! runs: the bucket gs://loss-runs {LOSS}, 3 objects now: {EARLIER}" in table
