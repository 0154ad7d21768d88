"""The programs of docs/guides/frameworks/checkpoints.md run, and continue when they are run again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import vertex_cluster

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "frameworks" / "checkpoints.md"


def test_the_program_of_the_page_continues(tmp_path: Path) -> None:
    program, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert '"/tmp/training"' in program

    def run(steps: int) -> str:
        text = program.replace("/tmp/training", str(tmp_path)).replace("101", str(steps + 1))
        return program_output(text)

    assert run(55) == "from step 1 to 27.5\n"
    assert run(100) == "from step 51 to 50.0\n"


def test_replicas_with_folders_of_their_own_continue_without_a_barrier(tmp_path: Path) -> None:
    _, example = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    cluster = {"workerpool0": ["chief:2222"], "workerpool1": ["worker:2222"]}

    def run(pool: str, step: int) -> str:
        """Run the lines of the page in a replica, and save a step. Return the step that it resumed from."""
        spec = {"cluster": cluster, "environment": "cloud", "task": {"type": pool, "index": 0}}
        text = (
            f"import vertex_cluster\nfrom vertex_cluster import checkpoints\nbase = {str(tmp_path)!r}\n"
            f"{example}print(store.resume(lambda folder: None))\n"
            f"store.save({step}, lambda folder: (folder / 'w.txt').write_text({pool!r}))\n"
        )
        return program_output(text, CLUSTER_SPEC=json.dumps(spec), CLOUD_ML_JOB_ID="1")

    assert [run("workerpool0", 10), run("workerpool1", 20)] == ["0\n", "0\n"]
    assert [run("workerpool0", 30), run("workerpool1", 30)] == ["10\n", "20\n"]
    saved = {file.parent.parent.name: file.read_text() for file in tmp_path.rglob("w.txt")}
    assert saved == {"rank-0": "workerpool0", "rank-1": "workerpool1"}


def program_output(text: str, **variables: str) -> str:
    """Run a program in a process with `vertex_cluster` alone. Return what it printed."""
    path = str(Path(vertex_cluster.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": path, **variables},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
