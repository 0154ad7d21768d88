"""`explain --persistent-resource`: whether a job fits on what a description of the resource says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main

DESCRIBED: dict[str, Any] = {
    "name": "projects/1/locations/us-central1/persistentResources/shared",
    "state": "RUNNING",
    "resourcePools": [
        {
            "id": "n1-standard-4",
            "machineSpec": {"machineType": "n1-standard-4"},
            "replicaCount": "4",
            "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100},
        }
    ],
}


def job(machine: str, workers: int) -> dict[str, Any]:
    task = {"machineSpec": {"machineType": machine}, "containerSpec": {"imageUri": "gcr.io/p/i:1"}}
    return {"workerPoolSpecs": [{**task, "replicaCount": 1}, {**task, "replicaCount": workers}]}


@pytest.mark.parametrize(
    ("declared", "rules"),
    [
        pytest.param(job("n1-standard-4", 3), set(), id="fits"),
        pytest.param(job("n1-standard-4", 4), {"resource-pool-size"}, id="too many"),
        pytest.param(job("n1-standard-8", 3), {"resource-pool-machine"}, id="other machines"),
        pytest.param(
            {**job("n1-standard-4", 3), "network": "projects/1/global/networks/n"},
            {"persistent-resource-network"},
            id="another network",
        ),
    ],
)
def test_whether_it_fits(
    declared: dict[str, Any], rules: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.json").write_text(json.dumps(declared))
    (tmp_path / "resource.json").write_text(json.dumps(DESCRIBED))
    words = ["explain", str(tmp_path / "job.json"), "--json"]
    code = main([*words, "--persistent-resource", str(tmp_path / "resource.json")])
    assert {error["rule"] for error in json.loads(capsys.readouterr().out)["errors"]} == rules
    assert code == (2 if rules else 0)


@pytest.mark.parametrize("unset", [0, "ACCELERATOR_TYPE_UNSPECIFIED"])
def test_a_description_that_spells_out_what_is_not_set(unset: object, tmp_path: Path) -> None:
    """Read a resource as `PersistentResource.to_json` of google-cloud-aiplatform writes it."""
    (pool,) = DESCRIBED["resourcePools"]
    spec = {"machineType": "n1-standard-4", "acceleratorType": unset, "acceleratorCount": 0}
    (tmp_path / "job.json").write_text(json.dumps(job("n1-standard-4", 3)))
    (tmp_path / "resource.json").write_text(json.dumps({"resourcePools": [{**pool, "machineSpec": spec}]}))
    words = ["explain", str(tmp_path / "job.json"), "--persistent-resource", str(tmp_path / "resource.json")]
    assert main(words) == 0


def test_a_resource_in_place_of_a_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "resource.json").write_text(json.dumps(DESCRIBED))
    assert main(["explain", str(tmp_path / "resource.json")]) == 2
    assert "this is a PersistentResource; pass a job, and this file as" in "".join(capsys.readouterr())


@pytest.mark.parametrize("text", ["[]", '{"resourcePools": 3}', "{", ""])
def test_what_is_no_description_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.json").write_text(json.dumps(job("n1-standard-4", 1)))
    (tmp_path / "resource.json").write_text(text)
    words = ["explain", str(tmp_path / "job.json"), "--json"]
    assert main([*words, "--persistent-resource", str(tmp_path / "resource.json")]) == 2
    [error] = json.loads(capsys.readouterr().out)["errors"]
    assert error["path"] == "--persistent-resource"


@pytest.mark.parametrize("text", ["{}", '{"resourcePools": []}', '{"workerPoolSpecs": []}'])
def test_a_file_without_resource_pools_is_named_with_the_remedy(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.json").write_text(json.dumps(job("n1-standard-4", 1)))
    (tmp_path / "resource.json").write_text(text)
    words = ["explain", str(tmp_path / "job.json")]
    assert main([*words, "--persistent-resource", str(tmp_path / "resource.json")]) == 2
    err = capsys.readouterr().err
    assert (
        "resource.json has no resourcePools; give the output of `gcloud ai persistent-resources describe`"
        in err
    )
