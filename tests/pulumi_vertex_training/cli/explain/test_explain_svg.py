from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pulumi_vertex_training.cli.main import main

DOCS = Path(__file__).parents[4] / "docs"
POOL = {
    "machineSpec": {"machineType": "n1-standard-5"},
    "replicaCount": 1,
    "containerSpec": {"imageUri": "europe-docker.pkg.dev/my-project/training/digits:1"},
}


def test_the_picture_of_the_page_is_what_the_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (DOCS / "guides" / "running" / "watching.md").read_text()
    (block,) = re.findall(r"```yaml\n(# topology\.yaml\n.*?)```", page, re.DOTALL)
    file = tmp_path / "topology.yaml"
    file.write_text(block)
    assert main(["explain", str(file), "--svg"]) == 0
    assert capsys.readouterr().out == (DOCS / "pictures" / "topology.svg").read_text()


def test_a_job_with_errors_has_a_picture_and_the_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"workerPoolSpecs": [POOL]}))
    assert main(["explain", str(file), "--svg"]) == 2
    out, err = capsys.readouterr()
    assert ElementTree.fromstring(out).get("aria-label") == "1 replica: chief 1"
    assert "machine_type" in err


def test_it_is_not_combined_with_another_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"workerPoolSpecs": [POOL]}))
    for more in (["--json"], ["--replica", "workerpool0-0"], ["--mermaid"]):
        assert main(["explain", str(file), "--svg", *more]) == 2
        out, err = capsys.readouterr()
        assert "--svg" in out + err
