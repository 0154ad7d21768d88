"""Two machines with GPUs that stay, and a job on them."""

import pulumi_vertex_training as vt

machine = vt.MachineSpecArgs(
    machine_type="n1-standard-8", accelerator_type="NVIDIA_TESLA_T4", accelerator_count=1
)
machines = vt.PersistentResource(
    "gpus",
    resource_pools=[vt.ResourcePoolArgs(machine_spec=machine, replica_count=2)],
    labels={"team": "vision"},
)

vt.CustomJob(
    "experiment",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=machine,
            container_spec=vt.ContainerSpecArgs(
                image_uri="europe-docker.pkg.dev/my-project/training/vision:1"
            ),
        )
    ],
    persistent_resource=machines,
    staging_bucket=vt.StagingBucket("experiments"),
)
