"""The JSON Schema of `explain`, `diff` and `placement`: true examples, and every key."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main
from support import json_schema

DOCUMENTS = Path(__file__).with_name("documents")
WORDS = {
    "explain": "explain job.yaml --replica workerpool1-1 --framework pytorch --json",
    "explain of a tuning job": "explain search.yaml --json",
    "explain of a training pipeline": "explain pipeline.yaml --json",
    "diff": "diff job.yaml new.yaml --json",
    "placement": "placement --workers 3 --ps 2 --subnetworks 2 --json",
}
"""The commands whose examples in the schema are compared with their output."""

IMAGE = {"imageUri": "gcr.io/p/i:1"}
GPUS = {"machineType": "n1-highmem-96", "acceleratorType": "NVIDIA_TESLA_V100", "acceleratorCount": 8}
FILES: dict[str, Any] = {
    "auto": {
        "workerPoolSpecs": [
            {"machineSpec": GPUS, "replicaCount": 1, "containerSpec": IMAGE},
            {"machineSpec": GPUS, "replicaCount": 4, "containerSpec": IMAGE},
            {"replicaCount": "auto"},
        ]
    },
    "legacy": {
        "trainingInput": {
            "scaleTier": "CUSTOM",
            "masterType": "n1-standard-4",
            "masterConfig": {"imageUri": "gcr.io/p/i:1"},
            "region": "europe-west4",
            "jobDir": "gs://b/o",
        }
    },
    "slice": {
        "workerPoolSpecs": [
            {
                "machineSpec": {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "4x4"},
                "replicaCount": 1,
                "containerSpec": IMAGE,
            }
        ]
    },
    "machines": {
        "resourcePools": [{"id": "pool", "machineSpec": {"machineType": "n1-standard-8"}, "replicaCount": 3}]
    },
    "on-machines": {
        "persistentResourceId": "machines",
        "workerPoolSpecs": [
            {"machineSpec": {"machineType": "n1-standard-8"}, "replicaCount": 1, "containerSpec": IMAGE}
        ],
    },
    "wrong": {"workerPoolSpecs": [{"replicaCount": 2}]},
    "one": {"displayName": "a", "jobSpec": {"workerPoolSpecs": [{"replicaCount": 1}]}, "labels": {"a": "b"}},
}
RUNS: dict[str, list[str]] = {
    "explain": [
        "explain auto --json",
        "explain legacy --json",
        "explain slice --json",
        "explain wrong --json",
        "explain job.yaml --framework lightgbm --json",
        "explain on-machines --persistent-resource machines --json",
    ],
    "explain of a tuning job": ["explain search.yaml --json"],
    "explain of a training pipeline": ["explain pipeline.yaml --json"],
    "diff": [
        "diff job.yaml new.yaml --json",
        "diff wrong legacy --json",
        "diff legacy wrong --json",
        "diff one job.yaml --json",
    ],
    "placement": [
        "placement --workers 3 --ps 2 --subnetworks 2,3 --json",
        "placement --workers 3 --subnetworks 4 --drop-remainder --json",
    ],
}


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the output of a command that runs next to the documents."""
    monkeypatch.chdir(tmp_path)
    for document in DOCUMENTS.iterdir():
        shutil.copy(document, tmp_path)
    for name, value in FILES.items():
        Path(name).write_text(json.dumps(value))

    def run(words: list[str]) -> Any:
        main(words)
        captured = capsys.readouterr()
        assert captured.err == ""
        return json.loads(captured.out)

    return run


def shortened(full: Any, example: Any) -> Any:
    """Remove the keys that the example leaves out from the output."""
    if isinstance(full, dict) and isinstance(example, dict):
        return {key: shortened(full[key], example[key]) for key in example}
    if isinstance(full, list) and isinstance(example, list) and len(full) == len(example):
        return [shortened(*pair) for pair in zip(full, example, strict=True)]
    return full


@pytest.mark.parametrize("command", WORDS)
def test_the_example_of_the_schema(printed: Any, command: str) -> None:
    (example,) = json_schema.SCHEMA["$defs"][command]["examples"]
    assert shortened(printed(WORDS[command].split()), example) == example


def paths(value: Any, known: set[str], path: str = "") -> Iterator[str]:
    """Yield the paths of the keys, except below a key for which the schema has no keys."""
    if isinstance(value, dict):
        for key, item in value.items():
            here = f"{path}.{key}".lstrip(".")
            yield here
            if any(each.startswith((f"{here}.", f"{here}[].")) for each in known):
                yield from paths(item, known, here)
    elif isinstance(value, list):
        for item in value:
            yield from paths(item, known, f"{path}[]")


@pytest.mark.parametrize("command", RUNS)
def test_the_schema_has_every_key_and_no_other(printed: Any, command: str) -> None:
    """Check that the schema has every key; the schema of a kind adds to that of `explain`."""
    own = json_schema.keys(command)
    shared = json_schema.keys("explain") if command.startswith("explain ") else set()
    found = set()
    for words in RUNS[command]:
        document = printed(words.split())
        json_schema.check(command, document)
        found |= set(paths(document, own | shared))
    assert found - shared == own
