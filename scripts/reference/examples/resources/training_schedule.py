"""A job that runs again each night."""

import pulumi_vertex_training as vt

job = vt.CustomJob(
    "report",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            container_spec=vt.ContainerSpecArgs(
                image_uri="europe-docker.pkg.dev/my-project/training/report:1"
            ),
        )
    ],
    staging_bucket=vt.StagingBucket("reports"),
)

vt.TrainingSchedule(
    "nightly",
    job=job,
    schedule="0 3 * * *",
    time_zone="Europe/Berlin",
    service_account="schedules@my-project.iam.gserviceaccount.com",
)
