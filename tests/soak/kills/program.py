"""The Pulumi program of a lane: it declares the resources in `declared.json`, of all kinds.

The driver copies this file into the lane's project. `declared.json` has two numbers for each declared slot:
`version`, a change of which replaces the resource or runs the job again, and `note`, which changes in place.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pulumi

import pulumi_vertex_training as vt

FOLDER = pathlib.Path(__file__).parent
DECLARED: dict[str, dict[str, Any]] = json.loads((FOLDER / "declared.json").read_text())
MACHINE = {"machine_type": "n1-standard-4"}
STOCK = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
RUNS: dict[str, Any] = {"rerun": "on_failure", "rerun_limit": 1000, "wait": "none"}
"""A job whose supervisor was killed has failed: the next deployment runs it again."""


def source(slot: str, name: str, text: str) -> str:
    """Write a file below the program, in a folder of the slot's own, and return the folder."""
    folder = FOLDER / "sources" / slot
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return str(folder.relative_to(FOLDER))


def pool(salt: str, ends: bool, image: pulumi.Input[str] = STOCK) -> dict[str, Any]:
    """Return a pool of one replica that ends at once, or sleeps."""
    shell = "true" if ends else "exec sleep 86400"
    container = {
        "image_uri": image,
        "command": ["sh", "-c", shell, "soak"],
        "env": [{"name": "SALT", "value": salt}],
    }
    return {"machine_spec": MACHINE, "replica_count": 1, "container_spec": container}


def declare(made: dict[str, Any], slot: str, version: int, note: int, salt: str, ends: bool) -> Any:
    """Declare the resource of a slot; those that it needs are in `made`."""
    labels = {"note": f"note-{note}", "version": f"version-{version}"}
    match slot:
        case "staging":
            return vt.StagingBucket(slot, name=f"soak-staging-{version}", labels=labels, force_destroy=True)
        case "spare":
            return vt.StagingBucket(slot, labels=labels, force_destroy=True)
        case "file":
            folder = source(slot, "data.txt", f"version-{version} " * 500)
            return vt.StagedFile(slot, bucket=made["staging"], source=f"{folder}/data.txt", prefix="model")
        case "package":
            folder = source(slot, "task.py", f"print('version-{version}')\n")
            return vt.StagedPackage(slot, bucket=made["staging"], source=f"{folder}/task.py")
        case "trainers":
            return vt.ImageRepository(
                slot, repository_id=f"trainers-{version}", labels=labels, force_destroy=True
            )
        case "image":
            folder = source(slot, "task.py", f"print('version-{version}')\n")
            return vt.TrainingImage(
                slot,
                repository=made["trainers"],
                source=folder,
                base_image="python:3.11-slim",
                labels={"version": labels["version"]},
                tags=[f"note-{note}"],
                on_delete="delete",
            )
        case "short" | "long":
            return vt.CustomJob(
                slot, worker_pool_specs=[pool(salt, ends)], labels={"version": labels["version"]}, **RUNS
            )
        case "imaged":
            return vt.CustomJob(
                slot, worker_pool_specs=[pool(salt, ends, made["image"].id)], on_replace="delete", **RUNS
            )
        case "search":
            return vt.HyperparameterTuningJob(
                slot,
                study_spec={
                    "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
                    "parameters": [
                        {"parameter_id": "x", "discrete_value_spec": {"values": [1, 2]}}  # two trials
                    ],
                    "algorithm": "GRID_SEARCH",
                },
                max_trial_count=2,
                parallel_trial_count=1,
                trial_job_spec={"worker_pool_specs": [pool(salt, False)]},
                on_replace="delete",
                **RUNS,
            )
        case "pipeline":
            return vt.TrainingPipeline(
                slot,
                custom_task={"worker_pool_specs": [pool(salt, False)]},
                model_to_upload={"display_name": "made", "container_spec": {"image_uri": SERVING}},
                model_id="made",
                staging_bucket=made["staging"],
                on_replace="delete",
                on_delete="delete",
                **RUNS,
            )
        case "model":
            return vt.Model(
                slot,
                artifact_uri=pulumi.Output.format("gs://{0}/model", made["staging"].name),
                container_spec={
                    "image_uri": SERVING,
                    "env": [{"name": "VERSION", "value": labels["version"]}],
                },
                description=labels["note"],
                version_description=labels["note"],
                on_delete="delete",
                opts=pulumi.ResourceOptions(depends_on=[made["file"]]),
            )
        case "gpus":
            pools = [{"id": labels["version"], "machine_spec": MACHINE, "replica_count": 1 + note % 3}]
            return vt.PersistentResource(slot, resource_pools=pools, display_name=labels["note"])
        case "train":
            folder = source(slot, "task.py", f"print('version-{version}')\n")
            return vt.DistributedTraining(
                slot,
                chief={
                    "machine_spec": MACHINE,
                    "container_spec": {"args": ["chief"], "env": [{"name": "SALT", "value": salt}]},
                },
                workers={
                    "machine_spec": MACHINE,
                    "replica_count": 1,
                    "container_spec": {"args": ["worker"], "env": [{"name": "SALT", "value": salt}]},
                },
                bucket={"force_destroy": True, "labels": {"note": labels["note"]}},
                repository={"force_destroy": True, "labels": {"note": labels["note"]}},
                image={
                    "source": folder,
                    "base_image": "python:3.11-slim",
                    "entrypoint": ["sh", "-c", "exec sleep 86400"],
                },
                **RUNS,
            )
    raise ValueError(slot)


def main() -> None:
    made: dict[str, Any] = {}
    for slot, one in DECLARED.items():
        made[slot] = declare(made, slot, one["version"], one["note"], one["salt"], one["ends"])


main()
