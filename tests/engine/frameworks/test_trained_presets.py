"""XGBoost and LightGBM train on three replicas with only `framework=`: all ranks get the same model."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud import logs
from support.client.engine import Engine
from support.tables import not_empty
from support.waiting import eventually

pytestmark = pytest.mark.slow  # it downloads 150 MB of wheels

SOURCE = Path(__file__).parent / "boosting"
PROGRAM = f"""
repository = vt.ImageRepository("images", force_destroy=True)
image = vt.TrainingImage(
    "boosting",
    repository=repository,
    source="boosting",
    base_image="python:3.11-slim",
    requirements="boosting/requirements.txt",
    python_version="{sys.version_info.major}.{sys.version_info.minor}",
)
machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
for framework in ("xgboost", "lightgbm"):
    task = vt.ContainerSpecArgs(image_uri=image.uri, args=["train.py", framework])
    job = vt.CustomJob(
        framework,
        worker_pool_specs=[
            vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task),
            vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task, replica_count=2),
        ],
        framework=framework,
        wait="done",
    )
    pulumi.export(framework, [job.state, job.id])
"""


def test_all_ranks_train_one_model(shared_engine: Engine) -> None:
    shutil.copytree(SOURCE, shared_engine.folder / "infra" / "boosting")
    shared_engine.write(PROGRAM)
    shared_engine.up().ok()
    for framework, (state, job) in not_empty(shared_engine.outputs().items()):
        assert state == "SUCCEEDED"

        def printed(job: str = job) -> list[list[str]]:
            entries = logs.newest(shared_engine.endpoint(), job.rpartition("/")[2], count=200)
            lines = [each.message.split()[1:] for each in entries if each.message.startswith("trained ")]
            return lines if len(lines) == 3 else []

        trained = eventually(printed)
        assert sorted(rank for rank, _, _ in trained) == ["0", "1", "2"], framework
        assert {size for _, size, _ in trained} == {"3"}
        assert len({digest for _, _, digest in trained}) == 1, framework
