"""The life of repositories, on the engine in the test's process and an emulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.image_repository import gateway as artifact_registry
from pulumi_vertex_training.kinds.image_repository.gateway import RepositoryRecord
from pulumi_vertex_training.kinds.image_repository.spec import from_wire
from support.client.engine import Result
from support.client.in_process.project import Project

PARENT = "projects/local/locations/us-central1/repositories"
KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
USES = """
image = vt.TrainingImage(
    "digits", repository=used, source="trainer", base_image="python:3.11-slim", command=["python3", "task.py"]
)
vt.CustomJob(
    "train",
    worker_pool_specs=[
        {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": 1,
            "container_spec": {"image_uri": image},
        }
    ],
)
"""


def declare(name: str, /, **arguments: Any) -> str:
    """Return the lines of a program that declare a repository, as a variable of the same name."""
    arguments = {"repository_id": name, **arguments}
    return f"{name} = vt.ImageRepository({name!r}, **{arguments!r})\n"


def there(engine: Project, name: str) -> RepositoryRecord:
    return artifact_registry.get(engine.endpoint(), f"{PARENT}/{name}")


Repositories = dict[str, RepositoryRecord]
NAMES = ("trainers", "drifting", "lost", "demanded", "used")


@dataclass(kw_only=True)
class Steps:
    """The output of deployments of one stack, and the repositories after each."""

    live: list[Repositories]
    unchanged: Result
    drift: Result
    drifted: str
    """The description in the state after a refresh."""
    refused: Result
    job: str
    """The state of the job after the refused deployments."""
    updated: Result
    replaced: Result
    state: list[Any]


@pytest.fixture(scope="module")
def steps(project: Project) -> Steps:
    engine = project
    endpoint = engine.endpoint()
    live: list[Repositories] = []

    def note() -> None:
        live.append({name: there(engine, name) for name in NAMES})

    (engine.folder / "infra" / "trainer").mkdir()
    (engine.folder / "infra" / "trainer" / "task.py").write_text("import time\ntime.sleep(600)\n")
    steady = declare("drifting", labels={"team": "a"}) + declare("lost") + declare("demanded")
    trainers = declare("trainers", description="what we train with")
    engine.write(steady + trainers + declare("used") + USES)
    engine.up().ok()
    note()
    unchanged = engine.up("--refresh").ok()

    engine.write(steady + trainers + declare("used", kms_key_name=KEY) + USES)
    refused = engine.up()
    (job,) = (one["id"] for one in engine.state() if one["urn"].endswith("::train"))
    state_of_job = custom_jobs.get(endpoint, job).state.name

    change = {"labels": {"team": "b"}, "description": "theirs"}
    artifact_registry.patch(endpoint, f"{PARENT}/drifting", change)
    artifact_registry.delete(endpoint, f"{PARENT}/lost")
    drift = engine.refresh().ok()
    (drifted,) = (one["outputs"] for one in engine.state() if one["urn"].endswith("::drifting"))
    policies = [{"id": "new", "action": "DELETE", "condition": {"older_than": "30d"}}]
    changed: dict[str, Any] = {"labels": {"team": "a"}, "cleanup_policies": policies}
    engine.write(steady + declare("trainers", **changed) + declare("used", force_destroy=True) + USES)
    updated = engine.up().ok()
    note()

    keyed = declare("trainers", kms_key_name=KEY)
    engine.write(steady + keyed + declare("used", force_destroy=True, kms_key_name=KEY) + USES)
    (urn,) = (one["urn"] for one in engine.state() if one["urn"].endswith("::demanded"))
    replaced = engine.up("--replace", urn).ok()
    note()
    engine.destroy().ok()
    return Steps(
        live=live,
        unchanged=unchanged,
        drift=drift,
        drifted=drifted["description"],
        refused=refused,
        job=state_of_job,
        updated=updated,
        replaced=replaced,
        state=engine.state(),
    )


def test_a_repository_is_made_as_declared(steps: Steps) -> None:
    assert from_wire(steps.live[0]["trainers"].wire).description == "what we train with"


def test_unchanged_resources_are_left_alone(steps: Steps) -> None:
    assert "unchanged" in steps.unchanged.output
    assert not {"updated", "replaced"} & set(steps.unchanged.output.split())


def test_labels_words_and_policies_change_in_place(steps: Steps) -> None:
    # This one, the one that somebody else changed, and the one that may be deleted from then on.
    assert "3 updated" in steps.updated.output
    assert "replaced" not in steps.updated.output
    live = from_wire(steps.live[1]["trainers"].wire)
    assert (live.labels, live.description) == ({"team": "a"}, "")
    assert live.cleanup_policies[0].condition.older_than == "2592000s"


def test_another_key_replaces_it(steps: Steps) -> None:
    # This one, the one whose replacement is demanded, and the one that is used.
    assert "3 replaced" in steps.replaced.output
    for name in ("trainers", "used"):
        assert from_wire(steps.live[2][name].wire).kms_key_name == KEY


def test_replacing_on_demand_loses_no_repository(steps: Steps) -> None:
    # The replacement adopts the existing repository.
    before, after = (each["demanded"] for each in steps.live[1:])
    assert (after.name, after.wire["createTime"]) == (before.name, before.wire["createTime"])


def test_a_refresh_shows_what_somebody_else_changed(steps: Steps) -> None:
    assert steps.drifted == "theirs"
    live = from_wire(steps.live[1]["drifting"].wire)
    assert (live.labels, live.description) == ({"team": "a"}, "")
    assert "1 deleted" in steps.drift.output
    assert steps.live[1]["lost"].name == f"{PARENT}/lost"


def test_a_repository_with_images_is_not_replaced_and_no_job_is_cancelled(steps: Steps) -> None:
    output = steps.refused.failed().output
    assert "would be replaced, because kms_key_name changes, but it has images, such as digits" in output
    assert steps.job == "JOB_STATE_RUNNING"


def test_destroying_leaves_no_resource(steps: Steps) -> None:
    assert steps.state == []
