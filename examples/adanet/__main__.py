"""AdaNet's estimator on a chief, workers, parameter servers and an evaluator."""

from collections.abc import Sequence
from typing import Any

import pulumi

import pulumi_vertex_training as vt
import vertex_cluster as vc

STRATEGIES: dict[str, vc.PlacementStrategy] = {
    "replication": vc.ReplicationStrategy(),
    "round-robin": vc.RoundRobinStrategy(),
}

config = pulumi.Config()
servers = config.require_int("parameterServers")
subnetworks = config.require_int("subnetworks")
bucket = vt.StagingBucket("staging", force_destroy=True)
digits = vt.StagedFile("digits", bucket=bucket, source="../digits/data/digits.csv.gz")
repository = vt.ImageRepository("images", force_destroy=True)
image = vt.TrainingImage(
    "adanet-trainer",
    repository=repository,
    source="trainer",
    base_image="python:3.11-slim",
    python_version="3.11",
    requirements="../tensorflow/requirements.txt",
    entrypoint=["python3", "-W", "ignore", "task.py"],
)


def training(
    name: str,
    strategy: str,
    workers: int,
    *options: pulumi.Input[str],
    evaluator: bool = False,
    after: vt.CustomJob | None = None,
) -> vt.CustomJob:
    """Return a job with this many workers, the chief among them, which starts when another one has ended."""

    def pool(replica_count: int = 1) -> vt.WorkerPoolSpecArgs:
        return vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            replica_count=replica_count,
            container_spec=vt.ContainerSpecArgs(
                image_uri=image.uri,
                args=[
                    pulumi.Output.concat("--data=", digits.path),
                    f"--strategy={strategy}",
                    f"--subnetworks={subnetworks}",
                    *options,
                ],
            ),
        )

    return vt.CustomJob(
        name,
        framework="adanet",
        worker_pool_specs=vt.topology(
            chief=pool(),
            workers=pool(workers - 1) if workers > 1 else None,
            parameter_servers=pool(servers),
            evaluator=pool() if evaluator else None,
        ),
        staging_bucket=bucket,
        wait="done",
        opts=pulumi.ResourceOptions(depends_on=after.completion.apply(lambda _: [after])) if after else None,
    )


def table(jobs: Sequence[tuple[str, int]], metrics: Sequence[dict[str, Any]]) -> str:
    """Return the measured seconds of a step of all subnetworks, beside the order that AdaNet documents."""
    rows = [
        f"{'STRATEGY':12} {'WORKERS':>7} {'ORDER':>6} {'SPEED-UP':>9} {'S/STEP':>7} {'TIMES AS FAST':>14}"
    ]
    alone: dict[str, float] = {}
    for (strategy, workers), found in zip(jobs, metrics, strict=True):
        order = STRATEGIES[strategy].costs(workers, servers, subnetworks)[0]
        seconds = float(found["seconds_per_step"])
        faster = alone.setdefault(strategy, seconds) / seconds
        rows.append(
            f"{strategy:12} {workers:7} {order.formula:>6} {order.figure:9.2f} {seconds:7.2f} {faster:14.1f}"
        )
    return "\n".join(rows)


sizes = config.require_object("measuredWorkers")
if sizes:
    measured = [(strategy, size) for strategy in STRATEGIES for size in sizes]
    ended: list[vt.CustomJob] = []
    for strategy, size in measured:
        last = ended[-1] if ended else None
        simulated = f"--simulated-seconds={config.require('simulatedSeconds')}"
        ended.append(training(f"{strategy}-{size}", strategy, size, "--iterations=1", simulated, after=last))
    metrics = pulumi.Output.all(*(each.completion.metrics for each in ended))
    pulumi.export("steps", metrics.apply(lambda found: table(measured, found)))
else:
    strategy = config.require("strategy")
    job = training(
        "adanet",
        strategy,
        config.require_int("workers"),
        f"--iterations={config.require_int('iterations')}",
        # The same folder in every run: a larger cluster continues what a smaller one has trained.
        pulumi.Output.concat("--checkpoints=/gcs/", bucket.name, "/checkpoints/", strategy),
        evaluator=True,
    )
    pulumi.export("state", job.completion.state)
    pulumi.export("metrics", job.completion.metrics)
    pulumi.export("model", job.completion.model_directory)
    pulumi.export("logs", job.logs_command)
