"""Ids of resources that declare none, on the real engine: renamed stacks, and two stacks of one program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from support.client.engine import Engine, Result

# Shown quicker in tests/pulumi_vertex_training: core/test_names.py, kinds/model/test_life_of_models.py
pytestmark = pytest.mark.slow

PROGRAM = """
import os

bucket = vt.StagingBucket("data", force_destroy=True)
files = vt.StagedFile("files", bucket=bucket, source="model.txt", prefix="model")
options = pulumi.ResourceOptions(depends_on=[files])
serving = {"image_uri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"}
source = bucket.url.apply(lambda url: f"{url}/model")
vt.Model("digits", artifact_uri=source, container_spec=serving, opts=options)
if pulumi.get_stack() != "second":
    vt.Model("named", model_id="named", artifact_uri=source, container_spec=serving, opts=options)
vt.ImageRepository("images")
pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}
vt.PersistentResource("pool", resource_pools=[pool], wait=False)
"""
IDS = {
    "data": "local-engine-test-{stack}-data",
    "digits": "engine-test-{stack}-digits@1",
    "images": "engine-test-{stack}-images",
    "pool": "engine-test-{stack}-pool",
}


@dataclass(kw_only=True)
class Life:
    """The output of each deployment, and the state's ids by resource after it."""

    created: dict[str, Any]
    renamed: Result
    replaced: Result
    after: dict[str, Any]
    again: Result
    second: dict[str, Any]


@pytest.fixture(scope="module")
def life(shared_engine: Engine) -> Life:
    engine = shared_engine
    (engine.folder / "infra" / "model.txt").write_text("model")
    engine.write(PROGRAM)

    def ids() -> dict[str, Any]:
        return {one["urn"].rpartition("::")[2]: one["id"] for one in engine.state()}

    engine.up().ok()
    created = ids()
    engine.run("stack", "rename", "other").ok()
    engine.environment["PULUMI_STACK"] = "other"
    renamed = engine.preview("--expect-no-changes")
    urns = [one["urn"] for one in engine.state() if one["urn"].endswith(("::digits", "::named"))]
    replaced = engine.up(*[word for urn in urns for word in ("--replace", urn)])
    after = ids()
    again = engine.preview("--expect-no-changes")
    engine.add_stack("second")
    engine.environment["PULUMI_STACK"] = "second"
    engine.up().ok()
    return Life(created=created, renamed=renamed, replaced=replaced, after=after, again=again, second=ids())


def test_an_id_contains_program_and_stack(life: Life) -> None:
    for name, id_ in IDS.items():
        assert life.created[name].rpartition("/")[2] == id_.format(stack="test")


def test_renaming_the_stack_changes_nothing(life: Life) -> None:
    life.renamed.ok()


def test_a_model_is_replaced_on_demand_after_the_stack_was_renamed(life: Life) -> None:
    """Check that a declared id stays, though its labels have the old name. Another id gets the new name."""
    assert "2 replaced" in life.replaced.ok().output
    assert life.after["named"].rpartition("/")[2] == "named@1"
    assert life.after["digits"].rpartition("/")[2] == "engine-test-other-digits@1"
    life.again.ok()


def test_two_stacks_of_one_program_do_not_collide(life: Life) -> None:
    for name, id_ in IDS.items():
        assert life.second[name].rpartition("/")[2] == id_.format(stack="second")
