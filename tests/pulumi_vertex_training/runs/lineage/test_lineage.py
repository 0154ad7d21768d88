"""The lineage that the request of a job shows, and its file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pulumi_vertex_training.runs.lineage import lineage as lineages
from pulumi_vertex_training.runs.lineage.lineage import (
    Checkpoints,
    Commit,
    Data,
    Image,
    Lineage,
    Package,
    Price,
    RungOfRun,
    address_of,
)
from vertex_training.fields.document import json_of

KEY = "0123456789abcdef-2"
DIGEST = f"sha256:{'ab' * 32}"
PINNED = f"us-docker.pkg.dev/p/r/train@{DIGEST}"
MARKS = {"project": "digits", "stack": "dev", "resource": "train"}
FOLDER = "gs://b/train/checkpoints/0123456789abcdef-1/"


def of(wire: dict[str, Any], *, secrets: tuple[str, ...] = ()) -> Lineage:
    return lineages.of_request(
        wire,
        kind="custom job",
        project="p",
        location="us-central1",
        marks=MARKS,
        is_secret=lambda text: any(one in text for one in secrets),
    )


def pool(**task: Any) -> dict[str, Any]:
    return {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1", **task}


def request(*pools: dict[str, Any], **labels: str) -> dict[str, Any]:
    return {
        "labels": {"vertex-training-run": KEY, "vertex-training-reason": "spec", **labels},
        "jobSpec": {"workerPoolSpecs": list(pools)},
    }


def test_a_request_shows_run_program_images_and_packages() -> None:
    container = {"imageUri": PINNED, "env": [{"name": "VERTEX_CLUSTER_CHECKPOINT_DIR", "value": FOLDER}]}
    package = {"executorImageUri": "python:3", "packageUris": ["gs://b/p/two.whl", "gs://b/p/one.whl"]}
    found = of(request(pool(containerSpec=container), {}, pool(pythonPackageSpec=package)))
    assert (found.run, found.reason, found.program, found.stack, found.resource) == (
        *(KEY, "spec"),
        *MARKS.values(),
    )
    assert found.images == (Image(uri=PINNED, digest=DIGEST), Image(uri="python:3"))
    assert found.packages == (Package(uri="gs://b/p/one.whl"), Package(uri="gs://b/p/two.whl"))
    assert found.checkpoints == Checkpoints(folder=FOLDER, first_run="0123456789abcdef-1")
    assert (found.data, found.rung) == ((), None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--data=gs://b/files/1/train.csv", ["gs://b/files/1/train.csv"]),
        ("/gcs/b/files", ["gs://b/files"]),
        ("cp gs://b/x /tmp && train --of '/gcs/b/y z'", ["gs://b/x", "gs://b/y"]),
        ("gs://b/day=1/x,gs://b/day=2/x", ["gs://b/day=1/x", "gs://b/day=2/x"]),
        ("https://example.com/gcs", []),
        ("gs://$BUCKET/x", []),
    ],
)
def test_addresses_in_arguments_and_variables_are_data(text: str, expected: list[str]) -> None:
    in_argument = of(request(pool(containerSpec={"imageUri": "i", "args": [text]})))
    in_variable = of(request(pool(containerSpec={"imageUri": "i", "env": [{"name": "A", "value": text}]})))
    assert [one.uri for one in in_argument.data] == [one.uri for one in in_variable.data] == expected


def test_nothing_of_a_secret_argument_is_kept() -> None:
    args = ["--token=hunter22", "--data=gs://b/hunter22/x", "--other=gs://b/known"]
    container = {"imageUri": "i", "args": args, "env": [{"name": "A", "value": "gs://b/s3cret9"}]}
    found = of(request(pool(containerSpec=container)), secrets=("hunter22", "s3cret9"))
    assert [one.uri for one in found.data] == ["gs://b/known"]
    text = json.dumps(json_of(found))
    assert "hunter22" not in text
    assert "s3cret9" not in text


def test_each_text_is_masked_but_the_run() -> None:
    found = of(request(pool(containerSpec={"imageUri": "host/hunter22:1"})))
    masked = lineages.masked(found, lambda text: text.replace("hunter22", "[secret]").replace("-2", "-9"))
    assert masked.images == (Image(uri="host/[secret]:1"),)
    assert (masked.run, masked.stack) == (KEY, "dev")


def test_a_pipeline_names_its_dataset() -> None:
    wire = {
        "labels": {"vertex-training-run": KEY},
        "inputDataConfig": {"datasetId": "42"},
        "trainingTaskInputs": {"workerPoolSpecs": [pool(containerSpec={"imageUri": PINNED})]},
    }
    found = of(wire)
    assert found.data == (Data(uri="42", kind="dataset"),)
    assert [one.digest for one in found.images] == [DIGEST]


def test_the_rung_is_that_of_the_request() -> None:
    wire = request(pool(containerSpec={"imageUri": "i"}), **{"vertex-training-rung": "2-abcdef01_us-east1"})
    wire["jobSpec"]["scheduling"] = {"strategy": "SPOT"}
    assert of(wire).rung == RungOfRun(position=2, strategy="SPOT", machine="n1-standard-4")


def test_a_file_is_read_as_it_was_written() -> None:
    whole = Lineage(
        run=KEY,
        reason="spec",
        kind="custom job",
        project="p",
        location="l",
        images=(Image(uri=PINNED, digest=DIGEST),),
        packages=(Package(uri="gs://b/p.whl", sha256="1" * 64),),
        data=(Data(uri="gs://b/x", kind="file", version="7"),),
        commit=Commit(id="c" * 40, is_dirty=True),
        rung=RungOfRun(position=1),
        checkpoints=Checkpoints(folder=FOLDER),
        price=Price(hourly=1.25),
        versions={"python": "3.11.7"},
    )
    document = json.loads(json.dumps(json_of(whole)))
    assert lineages.parsed(document) == whole
    assert lineages.parsed({**document, "ofANewerVersion": 1}) == whole
    assert document["commit"] == {"id": "c" * 40, "isDirty": True}


@pytest.mark.parametrize("document", [None, [], {}, {"format": 2, "run": KEY}, {"format": 1, "run": 3}])
def test_other_documents_are_no_lineage(document: object) -> None:
    assert lineages.parsed(document) is None


def test_runs_that_share_a_directory_have_a_file_each() -> None:
    assert str(address_of(f"gs://b/train/{KEY}/", KEY)) == f"gs://b/train/{KEY}/lineage.json"
    assert str(address_of("gs://b/out/", KEY)) == f"gs://b/out/lineage-{KEY}.json"
    names = [f"lineage-{KEY}.json", "lineage.json", "lineage-x.json", "lineages.json", "a/lineage.json"]
    assert [lineages.is_name(name) for name in names] == [True, True, False, False, False]
