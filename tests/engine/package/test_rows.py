"""The rows of a deployment of the package on terminals of 80, 100 and 120 columns."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import vertex_cluster
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.client import terminal as terminals
from support.client.engine import Engine
from support.client.package_plugin import with_plugin
from support.client.terminal import Terminal
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client import launcher

REPORTING = f"""
import sys, time
sys.path.append({str(Path(vertex_cluster.__file__).parents[1])!r})
import vertex_cluster
vertex_cluster.report(step=0, total=100)
time.sleep(1)
vertex_cluster.report(step=28, total=100, loss=1.7123)
time.sleep(600)
"""


def job(script: str, wait: str, **more: Any) -> dict[str, Any]:
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": 1,
        "containerSpec": {
            "imageUri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
            "command": ["python3", "-c", script],
        },
    }
    properties = {"workerPoolSpecs": [pool, pool], "wait": wait, **more}
    return {"type": "vertex-training:CustomJob", "properties": properties}


def has_shown(terminal: Terminal, name: str, text: str) -> bool:
    """Return whether a row has shown the text, or all but its end: after ten seconds the status is longer."""
    shown = terminal.infos(name)
    return any(info == text or (text.startswith(info) and len(info) >= len(text) - 2) for info in shown)


def test_rows_show_progress_at_every_width(engine: Engine, request: pytest.FixtureRequest) -> None:
    """Deploy the stack digits-dev, and then a change of one of its jobs.

    Before the first report, its Info column has seven characters at 80.
    """
    record = request.config.getoption("--record")
    engine = with_plugin(engine, is_cold=True)
    resources = {
        "train": job(REPORTING, "done", baseOutputDirectory="gs://reports-bucket/run"),
        "live": job("import time; time.sleep(600)", "running"),
    }
    document = {
        "name": "digits",
        "runtime": "yaml",
        "config": {"vertex-training:endpoint": "emulator", "vertex-training:dataDir": str(engine.data_dir)},
        "resources": resources,
    }
    (engine.folder / "Pulumi.yaml").write_text(json.dumps(document))
    engine.environment["PULUMI_STACK"] = "dev"
    engine.run("stack", "init", "dev", "--non-interactive").ok()
    launcher.ensure(engine.data_dir)
    buckets.create(engine.endpoint(), {"name": "reports-bucket", "location": "us-central1"})
    with terminals.running(engine, "up", "--yes", "--skip-preview", columns=80) as terminal:
        eventually(lambda: has_shown(terminal, "live", "running"), what=lambda: terminal.infos("live"))
        rows = ("vertex-training watch", "Ctrl-C leaves it running", "28%", "created (")
        for columns in (80, 100, 120):
            terminal.capture("package", columns, *rows, record=record)
        os.killpg(terminal.process.pid, signal.SIGINT)
        terminal.process.wait(timeout=TIMEOUT)
        eventually(
            lambda: [info for info in terminal.infos("train") if info.startswith("keeps run")],
            what=lambda: terminal.infos("train"),
        )
    resources["train"]["properties"]["labels"] = {"team": "vision"}
    resources["train"]["properties"]["scheduling"] = {"timeout": "3600s"}
    (engine.folder / "Pulumi.yaml").write_text(json.dumps(document))
    with terminals.running(engine, "up", "--yes", "--skip-preview", columns=80) as terminal:
        rows = ("vertex-training watch", "Ctrl-C leaves it running", "28%")
        for columns in (80, 100, 120):
            terminal.capture("package-replaced", columns, *rows, record=record)
