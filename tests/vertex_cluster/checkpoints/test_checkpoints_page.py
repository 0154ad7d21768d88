"""The program of docs/guides/frameworks/checkpoints.md runs, and continues when it is run again."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import vertex_cluster

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "frameworks" / "checkpoints.md"


def test_the_program_of_the_page_continues(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert '"/tmp/training"' in program

    def run(steps: int) -> str:
        text = program.replace("/tmp/training", str(tmp_path)).replace("101", str(steps + 1))
        done = subprocess.run(
            [sys.executable, "-c", text],
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(vertex_cluster.__file__).parents[1])},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert run(55) == "from step 1 to 27.5\n"
    assert run(100) == "from step 51 to 50.0\n"
