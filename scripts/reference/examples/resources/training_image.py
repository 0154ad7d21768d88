"""An image of a base and a folder, without Docker, and the task that runs it."""

import pulumi_vertex_training as vt

image = vt.TrainingImage(
    "trainer-image",
    repository=vt.ImageRepository("trainers"),
    source="trainer",
    base_image="python:3.11-slim",
    entrypoint=["python", "-m", "trainer.task"],
    vertex_cluster=True,
)

task = vt.ContainerSpecArgs(image_uri=image, args=["--epochs=20"])
