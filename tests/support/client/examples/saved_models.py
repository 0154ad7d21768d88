"""TensorFlow in a process of the test's own, with the packages that the replicas of an example had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.client.examples.example import PYTHON, Example

_LAYER = "opt/vertex-training/site-packages"


def run(example: Example, program: str, *arguments: str | Path) -> Any:
    """Run a program that prints a JSON document as its last line. Return the document."""
    packages = next(
        each
        for pattern in (f"*/{_LAYER}", f"*/*/{_LAYER}", f"*/*/*/{_LAYER}")
        for each in (example.data_dir / "images").glob(pattern)
        if (each / "tensorflow").is_dir()
    )
    python = sys.executable if "{}.{}".format(*sys.version_info) == PYTHON else f"python{PYTHON}"
    done = subprocess.run(
        [python, "-c", program, *map(str, arguments)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(packages), "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def bucket(example: Example, name: str) -> Path:
    """Return the folder of a bucket."""
    return example.data_dir / "buckets" / name
