"""The three kinds of tasks that Google's SDK has, for `TrainingPipeline`."""

import pulumi_vertex_training as vt

bucket = vt.StagingBucket("tasks")
SKLEARN = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"

script = vt.task_from_script("script", "train.py", bucket=bucket, container_uri=SKLEARN, args=["--epochs", 3])
package = vt.task_from_package(
    "gs://my-bucket/trainer-1.0.tar.gz", container_uri=SKLEARN, python_module="trainer.task", replica_count=2
)
image = vt.task_from_image("europe-docker.pkg.dev/my-project/training/digits:1", machine_type="n1-standard-8")
