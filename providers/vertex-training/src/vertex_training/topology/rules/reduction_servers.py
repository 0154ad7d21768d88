"""Reduction servers: their rules, and how many a job needs.

They sum the gradients of GPU workers that use NCCL. Source: Vertex AI documentation, "Distributed training",
section "Reduce training time with Reduction Server", called the page below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vertex_training.catalog.accelerators import is_gpu
from vertex_training.catalog.prebuilt_images import prebuilt_image
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.topology.pools import EMPTY_POOL, MachineSpec, WorkerPoolSpec
from vertex_training.topology.roles import (
    CHIEF,
    SERVERS,
    WORKERS,
    Role,
    is_reduction_server_image,
    role_of,
)
from vertex_training.topology.rules.bandwidth import bandwidth_gbps

DEFAULT_MACHINE = "n1-highcpu-16"
"""The machine that the page recommends: "relatively high bandwidth for its resources"."""

_GOOD_GBPS = 32
"""The bandwidth that the page recommends: "at least 16 vCPU that provides 32 Gbps"."""

_PAGE = 'Vertex AI documentation, "Distributed training", section "Reduction Server"'

REDUCTION_ACCELERATORS = Rule(
    name="reduction-accelerators", says="reduction servers have no accelerators", source=_PAGE
)
REDUCTION_POSITION = Rule(
    name="reduction-position",
    says="reduction servers are the third worker pool",
    source=_PAGE,
    level="warning",
)
REDUCTION_WORKERS = Rule(
    name="reduction-workers",
    says="reduction servers are for a job of several machines: a chief and workers",
    source=_PAGE + ", Prerequisites",
    level="warning",
)
REDUCTION_GPUS = Rule(
    name="reduction-gpus",
    says="with reduction servers, chief and workers have GPUs",
    source=_PAGE + ", Prerequisites",
    level="warning",
)
REDUCTION_TRAINERS = Rule(
    name="reduction-trainers",
    says="with reduction servers, a prebuilt image has TensorFlow 2.3 or PyTorch 1.4, or newer, for GPUs",
    source=_PAGE + ", Prerequisites",
    level="warning",
)
REDUCTION_BANDWIDTH = Rule(
    name="reduction-bandwidth",
    says="reduction servers can send as much as chief and workers together",
    source=_PAGE + ", Train using Reduction Server",
    level="warning",
)
REDUCTION_MACHINE = Rule(
    name="reduction-machine",
    says="a reduction server is a machine with a high bandwidth",
    source=_PAGE + ", Machine type and count",
    level="warning",
)
REDUCTION_IMAGE = Rule(
    name="reduction-image",
    says="the image of a reduction server is that of the nearest multi-region",
    source=_PAGE + ', "Choosing the multi-region closest to where you are"; which is the closest is ours',
    level="warning",
)

_MULTI_REGIONS = {
    **dict.fromkeys(("us", "northamerica", "southamerica"), "us"),
    **dict.fromkeys(("europe", "me", "africa"), "europe"),
    **dict.fromkeys(("asia", "australia"), "asia"),
}
_OLDEST = {"tf": (2, 3), "pytorch": (1, 4)}


@dataclass(frozen=True, kw_only=True)
class Sizing:
    """The number of reduction servers that a job needs; `arithmetic` has the calculation as sentences."""

    required_gbps: int
    gbps_per_replica: int
    replicas: int
    machine_type: str
    image_uri: str
    arithmetic: tuple[str, ...]


def image_for(location: str | None) -> str:
    """Return the image of the reduction server nearest to a region; by default the one in the US."""
    multi_region = _MULTI_REGIONS.get((location or "").partition("-")[0], "us")
    return f"{multi_region}-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"


def size(
    chief: WorkerPoolSpec,
    workers: WorkerPoolSpec,
    *,
    machine_type: str = DEFAULT_MACHINE,
    location: str | None = None,
) -> Sizing:
    """Return the fewest reduction servers that can send as much as chief and workers together.

    Raises ValueError, with the remedy, if a bandwidth is not known or there are no replicas to count for.
    """
    per_replica = bandwidth_gbps(MachineSpec(machine_type=machine_type))
    if per_replica is None:
        raise ValueError(
            f"the bandwidth of {shown(machine_type)} is not known; use {DEFAULT_MACHINE}, or give a number"
        )
    parts = [_bandwidth_of_pool("chief", chief), _bandwidth_of_pool("workers", workers)]
    required = sum(gbps for gbps, _ in parts)
    if required == 0:
        raise ValueError("there are neither a chief nor workers to count for; declare them, or give a number")
    replicas = -(-required // per_replica)
    total = f"chief and workers together send at most {required} Gbps" if parts[1][0] else ""
    spare = f"; {replicas - 1} would have {(replicas - 1) * per_replica}" if replicas > 1 else ""
    servers = "reduction server has" if replicas == 1 else "reduction servers have"
    sentences = (
        *(sentence for _, sentence in parts),
        total,
        f"a reduction server ({machine_type}) sends at most {per_replica} Gbps",
        f"{replicas} {servers} {replicas * per_replica} Gbps, enough for {required}{spare}",
    )
    return Sizing(
        required_gbps=required,
        gbps_per_replica=per_replica,
        replicas=replicas,
        machine_type=machine_type,
        image_uri=image_for(location),
        arithmetic=tuple(sentence[0].upper() + sentence[1:] + "." for sentence in sentences if sentence),
    )


def _bandwidth_of_pool(role: str, pool: WorkerPoolSpec) -> tuple[int, str]:
    """Return the bandwidth of a pool in Gbps, and a sentence about it; 0 and "" for an empty pool."""
    machine, count = pool.machine_spec, max(0, pool.replica_count)
    if count == 0:
        return 0, ""
    if machine is None:
        raise ValueError(f"the {role} have no machine type; declare it, or give a number")
    gbps = bandwidth_gbps(machine)
    if gbps is None:
        raise ValueError(
            f"the bandwidth of {shown(machine.machine_type)} ({role}) is not known; give a number of your own"
        )
    equipped = machine.accelerator_type is not None and machine.accelerator_count > 0
    equipment = f" with {machine.accelerator_count} x {machine.accelerator_type}" if equipped else ""
    if count == 1:
        return (
            gbps,
            f"the {role.removesuffix('s')} ({machine.machine_type}{equipment}) sends at most {gbps} Gbps",
        )
    sends = f"send at most {gbps} Gbps each, {gbps * count} together"
    return gbps * count, f"{count} {role} ({machine.machine_type}{equipment}) {sends}"


def reduction_server_problems(
    pools: Sequence[WorkerPoolSpec], path: str, options: CheckOptions
) -> Iterator[Problem]:
    """Yield every finding about reduction servers; at most four pools, in normal form."""
    for position, pool in enumerate(pools):
        image = pool.container_spec.image_uri if pool.container_spec else ""
        if position != SERVERS and not pool.is_empty and is_reduction_server_image(image):
            yield REDUCTION_POSITION.broken(
                f"{path}[{position}].container_spec.image_uri",
                "the reduction server's image does nothing outside the third worker pool; move it to "
                f"worker_pool_specs[{SERVERS}]",
            )
    chief, workers, servers = (_pool(pools, position) for position in (CHIEF, WORKERS, SERVERS))
    if servers.is_empty or role_of(SERVERS, servers) is not Role.REDUCTION_SERVER:
        return
    image_path = f"{path}[{SERVERS}].container_spec.image_uri"
    if servers.machine_spec is not None:
        yield from _machine_problems(servers.machine_spec, f"{path}[{SERVERS}].machine_spec", image_path)
    if workers.is_empty:
        yield REDUCTION_WORKERS.broken(
            f"{path}[{WORKERS}]",
            "the pool is empty, so reduction servers have no gradients to sum between machines; give "
            "the job workers, or leave the reduction servers out",
            rests_on=(f"{path}[{WORKERS}].replica_count", image_path),
        )
    yield from _trainer_problems((chief, workers), path, image_path)
    yield from _bandwidth_problems(chief, workers, servers, path)
    yield from _image_problems(servers, image_path, options)


def _pool(pools: Sequence[WorkerPoolSpec], position: int) -> WorkerPoolSpec:
    return pools[position] if position < len(pools) else EMPTY_POOL


def _machine_problems(machine: MachineSpec, path: str, image_path: str) -> Iterator[Problem]:
    if machine.accelerator_type is not None:
        below = f"{path}.accelerator_type"
        yield REDUCTION_ACCELERATORS.broken(
            below,
            f"{machine.accelerator_type} on reduction servers, which use no accelerators; "
            "leave accelerator_type and accelerator_count out",
            rests_on=(below, image_path),
        )
    gbps = bandwidth_gbps(MachineSpec(machine_type=machine.machine_type))
    if gbps is not None and gbps < _GOOD_GBPS:
        below = f"{path}.machine_type"
        yield REDUCTION_MACHINE.broken(
            below,
            f"{machine.machine_type} sends at most {gbps} Gbps; every worker connects to every reduction "
            f"server, so use few with a high bandwidth: Google recommends {DEFAULT_MACHINE}, "
            f"with {_GOOD_GBPS} Gbps",
            rests_on=(below, image_path),
        )


def _trainer_problems(trainers: Sequence[WorkerPoolSpec], path: str, image_path: str) -> Iterator[Problem]:
    for position, pool in enumerate(trainers):
        if pool.is_empty:
            continue
        role = role_of(position, pool).in_words(max(1, pool.replica_count))
        machine = pool.machine_spec
        if machine is not None and not (
            is_gpu(machine.accelerator_type or "") and machine.accelerator_count > 0
        ):
            below = f"{path}[{position}].machine_spec"
            yield REDUCTION_GPUS.broken(
                f"{below}.accelerator_type",
                f"the {role} {'has' if role == 'chief' else 'have'} no GPUs; reduction servers only speed "
                "up training on GPUs with NCCL. Give the machine GPUs, or leave the reduction servers out",
                rests_on=(f"{below}.accelerator_type", f"{below}.accelerator_count", image_path),
            )
        field, image = next(iter(pool.images), ("", ""))
        fault = _fault_of_prebuilt(image)
        if fault:
            below = f"{path}[{position}].{field}"
            yield REDUCTION_TRAINERS.broken(
                below,
                f"{fault}, which does not work with reduction servers; use a prebuilt GPU image of "
                "TensorFlow 2.3 or PyTorch 1.4, or newer, or one of your own with NCCL 2.7 and the package "
                "google-reduction-server",
                rests_on=(below, image_path),
            )


def _fault_of_prebuilt(image: str) -> str:
    """Return why a prebuilt image does not work with reduction servers; "" if it does, or is not prebuilt."""
    prebuilt = prebuilt_image(image)
    if prebuilt is None:
        return ""
    if prebuilt.framework not in _OLDEST:
        return f"{prebuilt.name} is an image of neither TensorFlow nor PyTorch"
    if prebuilt.device != "gpu":
        return f"{prebuilt.name} is not an image for GPUs"
    return f"{prebuilt.name} is too old" if prebuilt.version < _OLDEST[prebuilt.framework] else ""


def _bandwidth_problems(
    chief: WorkerPoolSpec, workers: WorkerPoolSpec, servers: WorkerPoolSpec, path: str
) -> Iterator[Problem]:
    try:
        needed = size(chief, workers, machine_type=servers.machine_type)
    except ValueError:
        return
    if 0 < servers.replica_count < needed.replicas:
        counted = (
            *(f"machine_spec.{name}" for name in ("machine_type", "accelerator_type", "accelerator_count")),
            *("replica_count", "container_spec.image_uri"),
        )
        have = servers.replica_count * needed.gbps_per_replica
        alone = servers.replica_count == 1
        sends = f"{'sends' if alone else 'send'} at most {have} Gbps{'' if alone else ' together'}"
        yield REDUCTION_BANDWIDTH.broken(
            f"{path}[{SERVERS}].replica_count",
            f"{servers.replica_count} x {servers.machine_type} {sends}, chief and "
            f"workers {needed.required_gbps}, so training would wait for the servers; set it to "
            f"{needed.replicas}",
            rests_on=tuple(f"{path}[{i}].{name}" for i in (CHIEF, WORKERS, SERVERS) for name in counted),
        )


def _image_problems(servers: WorkerPoolSpec, path: str, options: CheckOptions) -> Iterator[Problem]:
    if options.location is None or servers.container_spec is None:
        return
    image, nearest = servers.container_spec.image_uri, image_for(options.location)
    given, wanted = (uri.partition("-docker.pkg.dev/")[0] for uri in (image, nearest))
    if given != wanted:
        yield REDUCTION_IMAGE.broken(
            path,
            f"the image is in {given}, and the job runs in {options.location}; the nearest is {nearest}",
            rests_on=(path, "location"),
        )
