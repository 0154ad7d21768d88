"""Persistent resources of an emulator, and jobs on them."""

from __future__ import annotations

from typing import Any

from support.emulated.job_emulator import PARENT, SLEEP, JobEmulator, job, pool
from vertex_emulator.kernel.projects import project_number

PLACE = f"projects/{project_number('local')}/locations/us-central1"
COLLECTION = f"{PARENT}/persistentResources"
N1 = {"machineType": "n1-standard-4"}


def machines(count: int = 2, machine: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"machineSpec": machine or N1, "replicaCount": count, **more}


def begin(emulator: JobEmulator, *pools: dict[str, Any], name: str = "gpus", **more: Any) -> dict[str, Any]:
    """Create a resource. Return the operation."""
    body = {"resourcePools": list(pools) or [machines()], **more}
    return emulator.call("POST", f"{COLLECTION}?persistentResourceId={name}", body).ok().json()


def finished(emulator: JobEmulator, operation: dict[str, Any]) -> dict[str, Any]:
    """Return the operation when it is done."""
    answer = emulator.call("POST", f"/v1/{operation['name']}:wait", {"timeout": "20s"})
    found: dict[str, Any] = answer.json()
    assert found["done"], found
    return found


def made(emulator: JobEmulator, *pools: dict[str, Any], name: str = "gpus", **more: Any) -> dict[str, Any]:
    """Create a resource and wait until it runs."""
    response: dict[str, Any] = finished(emulator, begin(emulator, *pools, name=name, **more))["response"]
    return response


def get(emulator: JobEmulator, name: str = "gpus") -> dict[str, Any]:
    return emulator.get(f"{PLACE}/persistentResources/{name}")


def used(emulator: JobEmulator, name: str = "gpus") -> list[int]:
    return [int(each.get("usedReplicaCount", 0)) for each in get(emulator, name)["resourcePools"]]


def sizes(emulator: JobEmulator, name: str = "gpus") -> list[int]:
    return [int(each.get("replicaCount", 0)) for each in get(emulator, name)["resourcePools"]]


def patched(emulator: JobEmulator, body: dict[str, Any], mask: str, name: str = "gpus") -> Any:
    return emulator.call("PATCH", f"{COLLECTION}/{name}?updateMask={mask}", body)


def on_it(*pools: dict[str, Any], name: str = "gpus", **spec: Any) -> dict[str, Any]:
    return job(*(pools or (pool(SLEEP),)), persistentResourceId=name, **spec)


def submit(emulator: JobEmulator, *pools: dict[str, Any], name: str = "gpus", **spec: Any) -> str:
    answer = emulator.call("POST", f"{PARENT}/customJobs", on_it(*pools, name=name, **spec))
    assert answer.status == 200, answer.body
    return str(answer.json()["name"])


def state(emulator: JobEmulator, name: str) -> str:
    return str(emulator.get(name)["state"])
