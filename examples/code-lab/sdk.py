"""The cells of the code lab's notebook, for the images of `pulumi up`: python sdk.py PROJECT BUCKET."""

import sys

from google.cloud import aiplatform

PROJECT_ID, YOUR_BUCKET = sys.argv[1:]
IMAGE = f"us-central1-docker.pkg.dev/{PROJECT_ID}/flower-app/flower_image_distributed"
aiplatform.init(project=PROJECT_ID, location="us-central1")

job = aiplatform.CustomContainerTrainingJob(
    display_name="flowers-multi-gpu",
    container_uri=f"{IMAGE}:single_machine",
    staging_bucket=f"gs://{YOUR_BUCKET}",
)
job.run(
    replica_count=1,
    machine_type="n1-standard-4",
    accelerator_type="NVIDIA_TESLA_V100",
    accelerator_count=2,
)
print("single machine:", job.state.name)

worker_pool_specs = [
    {
        "replica_count": 1,
        "machine_spec": {"machine_type": "n1-standard-4"},
        "container_spec": {"image_uri": f"{IMAGE}:multi_machine"},
    },
    {
        "replica_count": 1,
        "machine_spec": {"machine_type": "n1-standard-4"},
        "container_spec": {"image_uri": f"{IMAGE}:multi_machine"},
    },
]
my_custom_job = aiplatform.CustomJob(
    display_name="flowers-multi-worker",
    worker_pool_specs=worker_pool_specs,
    staging_bucket=f"gs://{YOUR_BUCKET}",
)
my_custom_job.run()
print("two machines:", my_custom_job.state.name)

custom_job = job.gca_resource.training_task_metadata["backingCustomJob"]
job.delete()  # leaves the custom job that the training pipeline has run
aiplatform.CustomJob.get(custom_job).delete()
my_custom_job.delete()
