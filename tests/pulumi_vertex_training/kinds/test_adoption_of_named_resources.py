"""`adopt=True` of buckets, repositories and persistent resources, on the engine in the test's process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pulumi_vertex_training.kinds.image_repository import gateway as repositories
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.persistent_resource import gateway as machines
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.client.engine import Result
from support.client.in_process.project import Project
from support.emulated import command

DECLARED = """
vt.StagingBucket("data", name="somebodys-data", labels={"team": %(team)r}, adopt=%(adopt)s)
vt.ImageRepository("images", %(id)s="images", description=%(text)r, adopt=%(adopt)s)
vt.PersistentResource(
    "gpus",
    persistent_resource_id="gpus",
    display_name=%(text)r,
    resource_pools=[{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}],
    adopt=%(adopt)s,
)
"""
OTHERS = {"pulumi-project": "another", "pulumi-stack": "dev", "pulumi-resource": "images"}
POOL = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1"}


def program(*, adopt: bool, team: str = "vision", text: str = "ours") -> str:
    given = {"adopt": adopt, "team": team, "text": text, "id": "repository_id"}
    return DECLARED % given


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The output of each deployment of one stack, and what the service has after it."""

    taken: Result
    different: Result
    owned: Result
    adopted: Result
    labels: Mapping[str, str]
    """The labels of the repository after its adoption."""
    kept: Result
    changed: Result
    description: str
    missing: Result


@pytest.fixture(scope="module")
def steps(project: Project) -> Steps:
    engine = project
    endpoint = engine.endpoint()
    name = f"{endpoint.parent}/repositories/images"
    bucket = {
        "name": "somebodys-data",
        "location": "us-central1",
        "labels": {"team": "vision"},
        "iamConfiguration": {
            "uniformBucketLevelAccess": {"enabled": True},
            "publicAccessPrevention": "enforced",
        },
    }
    buckets.create(endpoint, bucket)
    repositories.create(endpoint, name, {"format": "DOCKER", "description": "ours", "labels": OTHERS})
    machines.create(endpoint, "gpus", {"displayName": "ours", "resourcePools": [POOL]})

    engine.write(program(adopt=False))
    taken = engine.up("--continue-on-error")
    engine.write(program(adopt=True, team="speech", text="another"))
    different = engine.up("--continue-on-error")
    engine.write(program(adopt=True))
    owned = engine.up("--continue-on-error")
    repositories.patch(endpoint, name, {"labels": {}})
    adopted = engine.up()
    labels = repositories.get(endpoint, name).labels
    engine.write(program(adopt=False))
    kept = engine.up("--expect-no-changes")
    engine.write(program(adopt=False, text="changed"))
    changed = engine.up()
    description = str(repositories.get(endpoint, name).wire.get("description"))
    engine.write('vt.StagingBucket("other", name="nobodys-data", adopt=True)')
    return Steps(
        taken=taken,
        different=different,
        owned=owned,
        adopted=adopted,
        labels=labels,
        kept=kept,
        changed=changed,
        description=description,
        missing=engine.up("--continue-on-error"),
    )


def test_without_the_option_the_message_names_it(steps: Steps) -> None:
    assert steps.taken.failed().output.count("adopt=True") >= 3


def test_what_differs_is_listed_and_not_adopted(steps: Steps) -> None:
    output = " ".join(steps.different.failed().output.split())
    assert "labels.team: 'vision' -> 'speech'" in output
    assert "display_name: 'ours' -> 'another'" in output


def test_what_belongs_to_another_declaration_is_not_adopted(steps: Steps) -> None:
    output = " ".join(steps.owned.failed().output.split())
    assert "repository images belongs to resource images, stack dev and project another" in output
    assert "bucket somebodys-data: adopted with its objects" in output


def test_an_adopted_resource_gets_our_labels(steps: Steps) -> None:
    steps.adopted.ok()
    assert steps.labels["pulumi-resource"] == "images"
    assert steps.labels["pulumi-stack"] == "test"


def test_afterwards_the_option_can_go_and_changes_are_made_in_place(steps: Steps) -> None:
    assert "4 unchanged" in steps.kept.ok().output
    assert "2 updated" in steps.changed.ok().output
    assert steps.description == "changed"


def test_nothing_to_adopt_is_an_error(steps: Steps) -> None:
    output = " ".join(steps.missing.failed().output.split())
    assert "there is no bucket nobodys-data to adopt" in output


def test_import_prints_what_adopts_each_kind(data_dir: Path, tmp_path: Path) -> None:
    engine = Project(tmp_path, data_dir)
    endpoint = engine.endpoint()
    serving = {"imageUri": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"}
    labels = {"team": "vision"}
    buckets.create(endpoint, {"name": "theirs-data", "location": "us-central1", "labels": labels})
    repositories.create(endpoint, f"{endpoint.parent}/repositories/theirs-images", {"format": "DOCKER"})
    machines.create(endpoint, "theirs-gpus", {"resourcePools": [POOL]})
    model = {"displayName": "churn", "containerSpec": serving, "versionAliases": ["best"]}
    models.upload(endpoint, model, model_id="churn")
    names = (
        *("gs://theirs-data", "repositories/theirs-images"),
        *("persistentResources/theirs-gpus", "models/churn@best"),
    )
    env = command.environment(tmp_path)
    printed = [command.run("import", name, "--data-dir", str(data_dir), env=env) for name in names]
    assert [one.code for one in printed] == [0] * 4, printed
    engine.write("".join(one.out for one in printed))
    assert "5 created" in engine.up().ok().output
    engine.up("--refresh", "--expect-no-changes").ok()
