"""Find the answer to one question about Vertex AI, and leave it in the bucket. Runs in replicas.

Every file has a name of its own and is closed at once: that is what publishes it on Google Cloud.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

question = os.environ["VERIFY_QUESTION"]
folder = Path(os.environ["VERIFY_FOLDER"])
task = json.loads(os.environ.get("CLUSTER_SPEC", "{}")).get("task", {"type": "chief", "index": 0})
name = f"{task['type']}-{task['index']}"
began = time.time()


def leave(file: str, **values: object) -> None:
    """Write a file with what is known by now, and the seconds since this program started."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {"seconds": round(time.time() - began, 1), **values}
    (folder / f"{file}.json").write_text(json.dumps(known))


def ends_slowly(_signal: int, _frame: object) -> None:
    """Count the seconds between SIGTERM and SIGKILL, each with a file."""
    for second in range(120):
        leave(f"after-sigterm-{second:03}")
        time.sleep(1)
    sys.exit(0)


def rewrite() -> None:
    """Rewrite an object twice as the chief. Note the sizes that this replica sees, and the mount."""
    shared = folder / "shared.txt"
    is_chief = task["type"] in ("chief", "workerpool0")
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if "gcs" in line]
    sizes = []
    for step in range(20):
        if is_chief and step in (2, 8):
            folder.mkdir(parents=True, exist_ok=True)
            shared.write_text("x" * (step + 1))
        sizes.append(shared.stat().st_size if shared.exists() else -1)
        time.sleep(3)
    leave(f"seen-{name}", sizes=sizes, mounts=mounts)
    until = time.time() + 60
    while len(list(folder.glob("seen-*.json"))) < 2 and time.time() < until:
        time.sleep(1)  # a job ends with its chief, so it waits for the other file


starts = len(list(folder.glob(f"start-{name}-*.json"))) + 1
leave(f"start-{name}-{starts}", checkpoints=os.environ.get("AIP_CHECKPOINT_DIR", ""))
if question == "cancel":
    signal.signal(signal.SIGTERM, ends_slowly)
    leave("ready")
if question == "restart" and starts == 1:
    time.sleep(20)
    os.abort()
if question == "rewrite":
    rewrite()
elif question in ("timeout", "cancel", "restart"):
    time.sleep(1200)
