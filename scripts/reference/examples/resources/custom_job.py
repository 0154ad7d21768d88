"""A job of four replicas that runs again once if it fails."""

import pulumi

import pulumi_vertex_training as vt

bucket = vt.StagingBucket("runs")
machine = vt.MachineSpecArgs(
    machine_type="n1-standard-8", accelerator_type="NVIDIA_TESLA_T4", accelerator_count=1
)
task = vt.ContainerSpecArgs(image_uri="europe-docker.pkg.dev/my-project/training/digits:1")

job = vt.CustomJob(
    "train",
    worker_pool_specs=vt.topology(
        chief=vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task),
        workers=vt.WorkerPoolSpecArgs(machine_spec=machine, replica_count=3, container_spec=task),
    ),
    staging_bucket=bucket,
    scheduling=vt.SchedulingArgs(timeout="7200s"),
    rerun="on_failure",
    wait="done",
)
pulumi.export("accuracy", job.completion.metrics["accuracy"])
