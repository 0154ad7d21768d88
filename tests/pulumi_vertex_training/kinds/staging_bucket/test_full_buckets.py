"""How a full bucket is replaced and deleted, on the engine in the test's process and an emulator."""

from __future__ import annotations

import itertools
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from pulumi_vertex_training.cloud import objects, rest
from pulumi_vertex_training.cloud.clients import storage_url
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.client.engine import Result
from support.client.in_process.project import Project
from support.client.in_process.small_engine import kills
from support.client.shared_engine import diagnostics

DAY = 24 * 60 * 60


def declare(resource: str, **arguments: object) -> str:
    """Return the lines of a program that declare a bucket, as a variable of the same name."""
    return f"{resource} = vt.StagingBucket({resource!r}, name='{resource}-bucket', **{arguments!r})\n"


STAGED = 'vt.StagedFile("data", bucket=full, source="data.txt", prefix="staged")\n'


def write(engine: Project, *lines: str) -> None:
    (engine.folder / "infra" / "data.txt").write_text("staged")
    engine.write("".join(lines))


def fill(engine: Project, resource: str, count: int) -> None:
    endpoint, bucket = engine.endpoint(), f"{resource}-bucket"
    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(lambda i: objects.upload(endpoint, bucket, f"data/{i}", b"x"), range(count)))


def hold(engine: Project, resource: str, name: str) -> None:
    url = f"{storage_url(engine.endpoint())}/storage/v1/b/{resource}-bucket/o/{name}"
    rest.call(engine.endpoint(), "PATCH", url, body={"temporaryHold": True})


def is_gone(engine: Project, resource: str) -> bool:
    try:
        buckets.get(engine.endpoint(), f"{resource}-bucket")
    except NotFound:
        return True
    return False


@dataclass(kw_only=True)
class Deletions:
    """The output of deployments that delete full buckets, and the objects that were left."""

    before: list[str]
    replacing: Result
    after: list[str]
    refused: Result
    kept: int
    location: str
    destroyed: Result
    gone: list[bool]


@pytest.fixture(scope="module")
def deletions(project: Project) -> Deletions:
    engine = project
    retention = {"retention_period": DAY}
    names = ("held", "retained", "full")
    lines = [
        declare("held", force_destroy=True),
        declare("retained", force_destroy=True, retention_policy=retention),
    ]
    write(engine, *lines, declare("full"), STAGED)
    engine.up().ok()
    fill(engine, "held", 3)
    fill(engine, "retained", 1)
    fill(engine, "full", 1)
    hold(engine, "held", "data%2F1")
    before = sorted(one["id"] for one in engine.state())

    moved = declare("full", location="europe-west4") + STAGED
    write(engine, *lines, moved)
    refused_replacement = engine.up()
    after = sorted(one["id"] for one in engine.state())

    refused = engine.destroy(goes_on=True)
    kept = sum(1 for _ in objects.list_objects(engine.endpoint(), "held-bucket"))

    objects.delete(engine.endpoint(), "full-bucket", "data/0")
    released = declare("held", force_destroy=True, release_holds=True)
    write(engine, released, declare("retained", force_destroy=True), moved)
    engine.up().ok()
    location = buckets.get(engine.endpoint(), "full-bucket").location
    destroyed = engine.destroy()
    return Deletions(
        before=before,
        replacing=refused_replacement,
        after=after,
        refused=refused,
        kept=kept,
        location=location,
        destroyed=destroyed,
        gone=[is_gone(engine, name) for name in names],
    )


def test_a_full_bucket_is_not_replaced_and_its_dependents_stay(deletions: Deletions) -> None:
    replacing = deletions.replacing.failed().output
    assert "would be replaced, but is not empty: it has data/0." in replacing
    assert deletions.after == deletions.before
    assert len(deletions.before) == 4
    assert deletions.location == "EUROPE-WEST4", "it is replaced once it is empty"


def test_objects_on_hold_keep_the_bucket_until_release_holds_is_set(deletions: Deletions) -> None:
    refused = diagnostics(deletions.refused.failed().output, "held")
    assert (
        "1 object in bucket held-bucket is on hold, so nothing was deleted: data/1 (temporary hold)"
        in refused
    )
    assert "set release_holds=True with force_destroy=True" in refused
    assert deletions.kept == 3
    assert "deleted 3 objects" in deletions.destroyed.ok().output


def test_retained_objects_are_listed_with_their_dates(deletions: Deletions) -> None:
    refused = diagnostics(deletions.refused.failed().output, "retained")
    assert "cannot be deleted yet, because it is retained: data/0 until 20" in refused
    assert "remove retention_policy" in refused


def test_a_bucket_that_is_full_stays_without_force_destroy(deletions: Deletions) -> None:
    refused = diagnostics(deletions.refused.failed().output, "full")
    command = "`pulumi up --target '**:StagingBucket::*'`"
    assert f"Set force_destroy=True, run {command}, and try again" in refused


def test_once_nothing_keeps_the_buckets_they_are_deleted(deletions: Deletions) -> None:
    deletions.destroyed.ok()
    assert deletions.gone == [True, True, True]


def test_an_emptying_that_was_killed_is_continued(project: Project) -> None:
    """Kill it after ten deletions in a bucket that has older versions of its objects, too."""
    write(project, declare("large", force_destroy=True, versioning={"enabled": True}))
    project.up().ok()
    fill(project, "large", 30)
    fill(project, "large", 10)
    numbers = itertools.count(1)

    def is_tenth(text: str) -> bool:
        return re.match("after DELETE .*/large-bucket/o/", text) is not None and next(numbers) == 10

    assert kills(project.engine, project.engine.destroy, is_tenth)
    assert 0 < sum(1 for _ in objects.list_objects(project.endpoint(), "large-bucket")) < 30
    assert [one["urn"].rpartition("::")[2] for one in project.state()] == ["large"]
    project.destroy().ok()
    assert project.state() == []
    assert is_gone(project, "large")
