"""Write the arguments and variables of a replica into the bucket, and report a metric. Runs in replicas."""

import json
import os
import sys
import time
from pathlib import Path

NAMES = ("AIP_", "CLOUD_ML_", "MASTER_", "VERIFY_", "CLUSTER_SPEC", "TF_CONFIG", "RANK", "WORLD_SIZE")
"""Beginnings of the variables that are compared. All others stay in the replica."""

variables = {name: value for name, value in sorted(os.environ.items()) if name.startswith(NAMES)}
task = json.loads(os.environ.get("CLUSTER_SPEC", "{}")).get("task", {"type": "job", "index": 0})
trial = os.environ.get("CLOUD_ML_TRIAL_ID", "0")
folder = Path(os.environ["VERIFY_SEEN"])
folder.mkdir(parents=True, exist_ok=True)
file = folder / f"{task['type']}-{task['index']}-{trial}.json"
file.write_text(json.dumps({"arguments": sys.argv[1:], "variables": variables}))
model = Path("/gcs", os.environ["AIP_MODEL_DIR"].removeprefix("gs://"))
model.mkdir(parents=True, exist_ok=True)
model.joinpath("model.json").write_text("{}")  # a pipeline uploads no empty model

if metric := os.environ.get("CLOUD_ML_HP_METRIC_FILE"):  # the form of the package cloudml-hypertune
    line = {
        "timestamp": time.time(),
        "trial": trial,
        "global_step": "1",
        "loss": str(float(len(sys.argv) - 1)),
    }
    Path(metric).parent.mkdir(parents=True, exist_ok=True)
    with Path(metric).open("a") as stream:
        stream.write(json.dumps(line) + "\n")

replicas = int(os.environ.get("VERIFY_REPLICAS", "1"))
until = time.monotonic() + 200
while len(list(folder.iterdir())) < replicas and time.monotonic() < until:
    time.sleep(1)  # a job ends with its chief, so each replica waits for the files of all
sys.exit(int(os.environ.get("VERIFY_EXIT", "0")))
