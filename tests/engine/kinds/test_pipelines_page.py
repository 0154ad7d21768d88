"""The example of docs/guides/jobs/pipelines.md, on the real Pulumi CLI and an emulator."""

from __future__ import annotations

import re
from pathlib import Path

from pulumi_vertex_training.kinds.model import gateway as models
from support.client.engine import Engine

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "jobs" / "pipelines.md"
TRAIN = """
import os, sys
folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/", 1)
os.makedirs(folder, exist_ok=True)
open(folder + "model.txt", "w").write(" ".join(sys.argv[1:]))
print("trained with", *sys.argv[1:])
"""


def test_the_example_runs(engine: Engine) -> None:
    (example, *_) = re.findall(r"```python\n(import pulumi\n.*?)```", PAGE.read_text(), re.DOTALL)
    (engine.folder / "infra" / "train.py").write_text(TRAIN)
    engine.write(example)
    output = engine.up().ok().output
    assert "trained with --epochs 3" in output
    found = engine.outputs()
    (version,) = models.versions(engine.endpoint(), found["model"])
    assert set(version.aliases) == {"default", "newest"}
    assert (version.version, found["version"]) == ("1", "1")
