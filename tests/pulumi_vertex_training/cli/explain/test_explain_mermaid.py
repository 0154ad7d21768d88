from __future__ import annotations

import json
from pathlib import Path

import pytest

from pulumi_vertex_training.cli.main import main
from support import mermaid

TASK = {"imageUri": "europe-docker.pkg.dev/my-project/training/digits:1"}


def pools(*counts: int, machine: str = "n1-standard-4") -> list[dict[str, object]]:
    return [
        {"machineSpec": {"machineType": machine}, "replicaCount": count, "containerSpec": TASK}
        for count in counts
    ]


def written(folder: Path, document: object) -> str:
    file = folder / "job.json"
    file.write_text(json.dumps(document))
    return str(file)


def test_the_output_is_the_picture_of_the_pools_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", written(tmp_path, {"workerPoolSpecs": pools(1, 4)}), "--mermaid"]) == 0
    chart = mermaid.read(capsys.readouterr().out.removesuffix("\n"))
    assert list(chart.nodes.values()) == ["chief 1 x n1-standard-4", "workers 4 x n1-standard-4"]


def test_a_job_with_errors_has_a_picture_and_the_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {"workerPoolSpecs": pools(1, 2, machine="n1-standard-5")}
    assert main(["explain", written(tmp_path, document), "--mermaid"]) == 2
    out, err = capsys.readouterr()
    assert len(mermaid.read(out.removesuffix("\n")).nodes) == 2
    assert "machine_type" in err


def test_it_is_not_combined_with_another_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, {"workerPoolSpecs": pools(1)})
    for more in (["--json"], ["--replica", "workerpool0-0"]):
        assert main(["explain", file, "--mermaid", *more]) == 2
        out, err = capsys.readouterr()
        assert "--mermaid" in out + err
