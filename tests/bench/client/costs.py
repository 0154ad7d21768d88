"""Costs of topologies by the price table."""

from __future__ import annotations

from collections.abc import Iterator

from comparison import seconds
from figure import Figure

from vertex_training.cost.cost import cost_of_job
from vertex_training.cost.prices import built_in
from vertex_training.job.job_spec import JobSpec
from vertex_training.topology.pools import MachineSpec, WorkerPoolSpec

COUNT = 20_000
_ROUNDS = 3


def figures() -> Iterator[Figure]:
    """Measure topologies of a chief, workers, parameter servers and an evaluator, each of another size."""
    table = built_in()
    gpu = MachineSpec(machine_type="n1-standard-8", accelerator_type="NVIDIA_TESLA_T4", accelerator_count=2)
    server = MachineSpec(machine_type="n1-highmem-8")
    specs = [
        JobSpec(
            worker_pool_specs=(
                WorkerPoolSpec(machine_spec=gpu, replica_count=1),
                WorkerPoolSpec(machine_spec=gpu, replica_count=1 + number % 100),
                WorkerPoolSpec(machine_spec=server, replica_count=1 + number % 7),
                WorkerPoolSpec(machine_spec=gpu, replica_count=1),
            )
        )
        for number in range(COUNT)
    ]

    def count() -> None:
        known = [cost_of_job(spec, region="us-central1", table=table).hourly is not None for spec in specs]
        assert all(known)

    best = min(seconds(count) for _ in range(_ROUNDS))
    yield Figure(
        name="costs of topologies of four pools",
        value=COUNT / best,
        unit="/s",
        budget=10_000,
        higher_is_better=True,
        note=f"{len(table.rows):,} prices",
    )
