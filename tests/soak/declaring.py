"""The Pulumi program of a stack, and the inputs and requests of one declaration."""

from __future__ import annotations

from typing import Any

from pulumi_vertex_training.registry import type_token
from soak.model import Declared

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
PROGRAM = """
import json
import pathlib

for one in json.loads(pathlib.Path(__file__).with_name("declarations.json").read_text()):
    aliases = [pulumi.Alias(name=name) for name in one.pop("aliases")]
    vt.CustomJob(**one, opts=pulumi.ResourceOptions(aliases=aliases))
"""
_COMMANDS = {"succeeds": ["true"], "fails": ["false"], "runs": ["sleep", "3600"]}


def urn(kind: str, declared: Declared) -> str:
    return f"urn:pulumi:test::engine-test::{type_token(kind)}::{declared.names[0]}"


def _env(declared: Declared) -> list[dict[str, str]]:
    return [
        {"name": "PROGRAM", "value": declared.spec.program},
        {"name": "SALT", "value": str(declared.spec.salt)},
    ]


def resource(declared: Declared, *, waits: bool) -> dict[str, Any]:
    """Return the arguments of `CustomJob`; the program does not wait for a job that keeps its old spec."""
    container = {"image_uri": IMAGE, "command": _COMMANDS[declared.spec.program], "env": _env(declared)}
    return {
        "resource_name": declared.names[0],
        "aliases": list(declared.names[1:]),
        "worker_pool_specs": [
            {
                "machine_spec": {"machine_type": "n1-standard-4"},
                "replica_count": 1,
                "container_spec": container,
            }
        ],
        "run_token": declared.run_token,
        "rerun": declared.rerun,
        "rerun_limit": declared.rerun_limit,
        "protect_running": declared.protect_running,
        "on_delete": declared.on_delete,
        "wait": declared.wait if waits and declared.rerun != "never" else "none",
    }


def pool_on_the_wire(declared: Declared) -> dict[str, Any]:
    container = {"imageUri": IMAGE, "command": _COMMANDS[declared.spec.program], "env": _env(declared)}
    return {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1", "containerSpec": container}
