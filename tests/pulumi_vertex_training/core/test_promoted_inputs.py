"""Promoted images and packages with the providers alone: copied, kept, taken back, and gone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry.client import digest_of
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.objects import SHARED_KEY
from pulumi_vertex_training.core.promotion.entries import INPUT
from pulumi_vertex_training.core.state.hidden_input import KEY_INPUT
from pulumi_vertex_training.providers import (
    StagedPackageProvider,
    StagingBucketProvider,
    TrainingImageProvider,
)
from support.client.in_process.small_engine import Declared, SmallEngine
from support.client.registries.pushed_images import push_small_image

PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
DEV, PROD = "gcr.io/dev", "gcr.io/prod"
FILE = "digits-1.0-py3-none-any.whl"
ORIGIN = {"stack": "dev", "run": "train/1"}


@pytest.fixture
def engine(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallEngine:
    monkeypatch.chdir(tmp_path)
    Path("trainer").mkdir()
    Path("trainer/task.py").write_text("print(1)\n")
    return SmallEngine({"vertex-training:dataDir": str(data_dir)})


def image(used: ImageName | None, **inputs: Any) -> Declared:
    given = {**PLACE, "repository": PROD, "name": "digits", "source": "trainer", "tags": [], **inputs}
    entry = {"digest": used.digest, "source": used.repository, **ORIGIN} if used else None
    return Declared(
        name="image",
        provider=TrainingImageProvider(),
        inputs={**given, "base_image": "python:3.11-slim", **({INPUT: entry} if entry else {})},
    )


def package(bucket: str, content: bytes | None, **inputs: Any) -> list[Declared]:
    """Return a bucket, and in it a package with this content, promoted from the bucket `dev-packages`."""
    given = {**PLACE, "bucket": bucket, "source": "trainer", "prefix": "packages/code", **inputs}
    if content is not None:
        digest = digest_of(content).removeprefix("sha256:")
        source = f"gs://dev-packages/code/{digest[:16]}/{FILE}"
        entry = {"file": FILE, "sha256": digest, "size": len(content), "source": source, **ORIGIN}
        given[INPUT] = {**entry, "python_module": "digits.task"}
    named = {**PLACE, "name": bucket, "force_destroy": True}
    return [
        Declared(name="bucket", provider=StagingBucketProvider(), inputs=named),
        Declared(name="package", provider=StagedPackageProvider(), inputs=given),
    ]


def stage_in_dev(engine: SmallEngine, endpoint: Endpoint, *contents: bytes) -> None:
    """Make the objects that `package` promotes."""
    inputs = {**PLACE, "name": "dev-packages"}
    engine.up([Declared(name="dev", provider=StagingBucketProvider(), inputs=inputs)])
    engine.entries.clear()
    for content in contents:
        digest = digest_of(content).removeprefix("sha256:")
        objects.upload(endpoint, "dev-packages", f"code/{digest[:16]}/{FILE}", content, sha256=digest)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_an_image_is_copied_taken_over_and_built_again(
    engine: SmallEngine, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    first = push_small_image(endpoint, f"{DEV}/digits:1", b"first")
    assert engine.up([image(first)]) == 1
    (entry,) = engine.entries
    assert entry.id == f"{PROD}/digits@{first.digest}"
    assert (entry.outs["content_hash"], entry.outs["sent_bytes"]) == (first.digest, 0)
    assert f"promoted from stack dev, run train/1, and not built here: {first.digest}" in said(capsys)
    assert engine.up([image(first)]) == 0
    assert engine.refresh()
    Path("trainer/task.py").write_text("print(2)\n")
    assert engine.up([image(first, env={"A": "1"})]) == 0, "the source takes no part"
    assert engine.up([image(None)]) == 2
    built = engine.entries[0]
    assert built.id != entry.id
    assert INPUT not in built.outs


def test_a_promotion_of_what_was_built_here_replaces_nothing(engine: SmallEngine, endpoint: Endpoint) -> None:
    engine.up([image(None)])
    id_ = engine.entries[0].id
    assert engine.up([image(parse(id_))]) == 1
    assert engine.entries[0].id == id_
    assert engine.entries[0].outs[INPUT]["run"] == "train/1"
    assert engine.up([image(parse(id_))]) == 0


def test_an_image_that_is_nowhere_is_found_by_check_and_by_create(
    engine: SmallEngine, endpoint: Endpoint
) -> None:
    gone = parse(f"{DEV}/digits@sha256:{'0' * 64}")
    with pytest.raises(Exception, match=r"promoted: the image sha256:0+, promoted from stack dev.*no longer"):
        engine.up([image(gone)])
    there = push_small_image(endpoint, f"{DEV}/lost:1", b"lost")
    engine.up([image(there, name="lost")])
    for name in (there, parse(engine.entries[0].id)):
        registry.delete(endpoint, name)
    engine.refresh()
    assert engine.entries == []
    with pytest.raises(
        Exception, match=r"no longer exists, neither in gcr.io/prod/lost nor in gcr.io/dev/lost"
    ):
        engine.up([image(there, name="lost")])


def test_an_image_that_only_its_own_repository_still_has_is_used(
    engine: SmallEngine, endpoint: Endpoint
) -> None:
    there = push_small_image(endpoint, f"{DEV}/once:1", b"once")
    engine.up([image(there, name="once")])
    engine.entries.clear()
    registry.delete(endpoint, there)
    assert engine.up([image(there, name="once")]) == 1


def test_a_package_is_copied_and_kept_for_a_rollback(
    engine: SmallEngine, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    stage_in_dev(engine, endpoint, b"first", b"second")
    engine.up(package("prod-packages", b"first"))
    kept = engine.entries[1].outs
    assert kept["python_module"] == "digits.task"
    assert kept["sha256"] == digest_of(b"first").removeprefix("sha256:")
    assert engine.up(package("prod-packages", b"first")) == 0
    assert engine.refresh()
    assert engine.up(package("prod-packages", b"second")) == 2
    assert f"{kept['uri']} is kept: it was promoted, so a rollback may need it" in said(capsys)
    found = objects.find(endpoint, "prod-packages", kept["object_name"])
    assert found is not None
    assert found.metadata[SHARED_KEY] == "promoted"
    engine.destroy()


def test_a_package_that_was_packed_here_is_kept_once_it_is_promoted(
    engine: SmallEngine, endpoint: Endpoint
) -> None:
    engine.up(package("own-packages", None, **{KEY_INPUT: "key"}))
    outs = engine.entries[1].outs
    content = objects.read(endpoint, "own-packages", outs["object_name"])
    entry = {"file": outs["object_name"].rpartition("/")[2], "sha256": outs["sha256"], "size": len(content)}
    promoted = {**entry, "source": outs["uri"], **ORIGIN}
    assert engine.up(package("own-packages", None, **{INPUT: promoted})) == 1
    assert engine.entries[1].outs[INPUT]["stack"] == "dev"
    assert engine.up(package("own-packages", None, **{INPUT: promoted})) == 0
    engine.destroy()


def test_a_package_that_is_nowhere_is_an_error(engine: SmallEngine, endpoint: Endpoint) -> None:
    with pytest.raises(
        Exception, match=r"promoted: the package .*no longer exists, neither as gs://none-packages"
    ):
        engine.up(package("none-packages", b"never staged"))
    engine.destroy()


@pytest.mark.parametrize(
    ("declare", "wrong"),
    [
        (lambda: image(None, **{INPUT: {"digest": "sha256:1", "sorce": "x"}}), "promoted.sorce: is not"),
        (lambda: package("prod-packages", None, **{INPUT: "yes"})[1], "promoted: expected a mapping"),
    ],
)
def test_an_argument_of_this_name_is_refused(
    engine: SmallEngine, declare: Callable[[], Declared], wrong: str
) -> None:
    with pytest.raises(Exception, match=wrong):
        engine.up([declare()])
