"""`docs/reference/json.md`: its examples are what the commands print, its tables have every key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "json.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
EXAMPLES = [
    (command.split()[1:], json.loads(printed))
    for (_, command), (language, printed) in pairwise(BLOCKS)
    if language == "json"
]
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
KEYS = {
    section.partition("\n")[0]: set(re.findall(r"^\| `([\w.\[\]]+)` \|", section, re.MULTILINE))
    for section in PAGE.split("\n## ")[1:]
}


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the output of a command that runs next to the files of the page."""
    monkeypatch.chdir(tmp_path)
    for language, text in BLOCKS:
        if language == "yaml":
            Path(text.splitlines()[0].removeprefix("# ")).write_text(text)
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


@pytest.mark.parametrize(("words", "example"), EXAMPLES, ids=[" ".join(words) for words, _ in EXAMPLES])
def test_an_example(printed: Any, words: list[str], example: Any) -> None:
    assert shortened(printed(words), example) == example


def paths(value: Any, known: set[str], path: str = "") -> Iterator[str]:
    """Yield the paths of the keys, except below a key for which the page lists no keys."""
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
def test_the_table_has_every_key_and_no_other(printed: Any, command: str) -> None:
    """Check that the page has every key; the table of a kind adds to that of `explain`."""
    shared = KEYS["explain"] if command.startswith("explain ") else set()
    known = KEYS[command] | shared
    found = {path for words in RUNS[command] for path in paths(printed(words.split()), known)}
    assert found - shared == KEYS[command]
