"""The buckets and repositories that a deployment deletes with their content, by a preview's steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.teams.plan.losses import Loss, losses
from pulumi_vertex_training.timeouts import ORDINARY

STORES = {"StagingBucket": "gs://a", "ImageRepository": "us-central1-docker.pkg.dev/local/a"}


def step(op: str, resource: str, *, force: bool = True, **state: Any) -> dict[str, Any]:
    inputs = {"endpoint": "emulator", "project": "local", "location": "us-central1", "force_destroy": force}
    old = {"id": "a", "inputs": {**inputs, "url": STORES[resource]}, "outputs": {}, **state}
    return {"op": op, "urn": f"urn:pulumi:dev::digits::{registry.type_token(resource)}::a", "oldState": old}


@pytest.mark.parametrize("op", ["delete", "replace"])
@pytest.mark.parametrize("resource, entries", [("StagingBucket", "objects"), ("ImageRepository", "images")])
def test_a_service_that_does_not_answer_hides_the_number_alone(
    op: str, resource: str, entries: str, tmp_path: Path
) -> None:
    (found,) = losses([step(op, resource)], tmp_path, ORDINARY).values()
    assert (found.address, found.count) == (STORES[resource], None)
    assert f"is deleted with all its {entries} (force_destroy): " in found.sentence()


@pytest.mark.parametrize(
    "kept",
    [
        step("delete", "StagingBucket", force=False),
        step("delete", "StagingBucket", retainOnDelete=True),
        step("discard", "StagingBucket"),
        step("update", "StagingBucket"),
    ],
    ids=["not forced", "retained", "read only", "updated"],
)
def test_what_is_not_emptied_is_no_loss(kept: dict[str, Any], tmp_path: Path) -> None:
    assert losses([kept], tmp_path, ORDINARY) == {}


def test_a_bucket_that_another_resource_adopts_is_no_loss(tmp_path: Path) -> None:
    old = step("delete", "StagingBucket")
    adopting = {
        "op": "create",
        "urn": old["urn"].replace("::a", "::b"),
        "newState": {"inputs": old["oldState"]["inputs"]},
    }
    assert losses([adopting, old], tmp_path, ORDINARY) == {}


def test_a_long_list_is_counted_to_the_end_of_its_page() -> None:
    loss = Loss(name="a", type="StagingBucket", address="gs://a", count=1000, has_more=True)
    assert loss.words == "deleted with all its objects, at least 1,000 objects now"
