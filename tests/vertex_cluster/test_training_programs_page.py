"""The programs of docs/guides/frameworks/training-programs.md run unchanged, alone and in a replica."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import vertex_cluster

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "frameworks" / "training-programs.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
WORKER = {
    "cluster": {"workerpool0": ["chief-0:2222"], "workerpool1": ["worker-0:2222", "worker-1:2222"]},
    "environment": "cloud",
    "task": {"type": "workerpool1", "index": 1},
}


def run(program: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(Path(vertex_cluster.__file__).parents[1]),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("program", [pytest.param(one, id=f"{i}") for i, one in enumerate(PROGRAMS)])
def test_it_runs_alone(program: str) -> None:
    run(program)


def test_who_am_i() -> None:
    assert run(PROGRAMS[0], CLUSTER_SPEC=json.dumps(WORKER)) == [
        "worker workerpool1-1 worker-1:2222",
        "rank 2 of 3, the chief listens at chief-0:2222",
    ]


def test_the_variables_of_torch() -> None:
    shown = PROGRAMS[1] + "print(os.environ['RANK'], os.environ['WORLD_SIZE'], os.environ['MASTER_ADDR'])"
    assert run(shown, CLUSTER_SPEC=json.dumps(WORKER)) == ["2 3 chief-0"]


def test_the_model_directory_is_a_folder() -> None:
    assert run(PROGRAMS[2], AIP_MODEL_DIR="gs://b/run/model/") == ["/gcs/b/run/model/ gs://b/run/model/"]
