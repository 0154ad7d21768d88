"""From a custom job to the plan of its supervisor. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_training.emulator.jobs import images
from vertex_training.emulator.jobs.plan import ReplicaPlan
from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.roles import Replica, is_reduction_server_image, replicas

_WAIT = (
    "python3",
    "-c",
    "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); signal.pause()",
)
"""In place of the reduction server, which needs GPUs and NCCL."""


def without_skipped_pools(job: Mapping[str, Any]) -> dict[str, Any]:
    """A job in its JSON form where every pool without replicas is `{}`, whatever else it was given."""
    spec = dict(job["jobSpec"])
    spec["workerPoolSpecs"] = [
        pool if int(pool.get("replicaCount", 0)) else {} for pool in spec["workerPoolSpecs"]
    ]
    return {**job, "jobSpec": spec}


def replica_plans(spec: CustomJobSpec) -> tuple[ReplicaPlan, ...]:
    """What each replica of a job runs."""
    return tuple(_plan(each, spec.worker_pool_specs[each.pool]) for each in replicas(spec.worker_pool_specs))


def _plan(replica: Replica, pool: WorkerPoolSpec) -> ReplicaPlan:
    package, container = pool.python_package_spec, pool.container_spec
    if container is not None:
        image = container.image_uri
        argv: tuple[str, ...] = (*container.command, *container.args)
        if is_reduction_server_image(image):
            argv = _WAIT
    elif package is not None:
        image = package.executor_image_uri
        argv = ("python3", "-m", package.python_module, *package.args)
    else:
        raise ValueError(f"worker pool {replica.pool} has no task")
    return ReplicaPlan(
        name=replica.name,
        role=str(replica.role),
        pool=replica.pool,
        index=replica.index,
        argv=argv,
        notice=images.notice(image, accelerators=_accelerators(pool)),
        package_uris=package.package_uris if package and not container else (),
    )


def _accelerators(pool: WorkerPoolSpec) -> str:
    machine = pool.machine_spec
    if machine is None or machine.accelerator_type is None or not machine.accelerator_count:
        return ""
    return f"{machine.accelerator_count} x {machine.accelerator_type}"
