"""The environment of a stage, and a job in it."""

import pulumi_vertex_training as vt

environment = vt.TrainingEnvironment(
    "dev",
    bucket={"force_destroy": True},
    repository={"force_destroy": True},
    deployer_account=False,
)

vt.CustomJob(
    "first",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            container_spec=vt.ContainerSpecArgs(
                image_uri="europe-docker.pkg.dev/my-project/training/digits:1"
            ),
        )
    ],
    **environment.job_options(),
)
