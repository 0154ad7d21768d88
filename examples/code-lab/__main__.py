"""Both parts of the code lab: two accelerators on one machine, then two machines.

The programs and Dockerfiles in `flowers-multi-gpu` and `flowers-multi-machine` are the code lab's own.
"""

import pulumi

import pulumi_vertex_training as vt

bucket = vt.StagingBucket("flowers", force_destroy=True)
repository = vt.ImageRepository("flower-app", repository_id="flower-app", force_destroy=True)


def training_image(name: str, source: str, tag: str) -> vt.TrainingImage:
    """Return an image of the code lab. Its base has TensorFlow; the emulator's stand-in for it has not."""
    on_google = vt.on_google()
    return vt.TrainingImage(
        name,
        repository=repository,
        name="flower_image_distributed",
        tags=[tag],
        source=source,
        env={"BUCKET": bucket.name},
        requirements=None if on_google else "../tensorflow/requirements.txt",
        python_version=None if on_google else "3.11",
    )


single_machine = training_image("single-machine", "flowers-multi-gpu", "single_machine")
multi_machine = training_image("multi-machine", "flowers-multi-machine", "multi_machine")
drawing = vt.TrainingImage(
    "drawing",
    repository=repository,
    name="drawing",
    source="draw",
    base_image="python:3.11-slim",
    entrypoint=["python3", "draw.py"],
)
machine = vt.MachineSpecArgs(machine_type="n1-standard-4")


def after(job: vt.CustomJob) -> pulumi.ResourceOptions:
    """Let a job begin when another one has succeeded."""
    return pulumi.ResourceOptions(depends_on=job.completion.apply(lambda _: [job]))


pictures = vt.CustomJob(
    "draw",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=machine,
            replica_count=1,
            container_spec=vt.ContainerSpecArgs(
                image_uri=drawing.uri, args=[pulumi.Output.concat("/gcs/", bucket.name, "/flower_photos")]
            ),
        )
    ],
    wait="done",
)
multi_gpu = vt.CustomJob(
    "flowers-multi-gpu",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(
                machine_type="n1-standard-4", accelerator_type="NVIDIA_TESLA_V100", accelerator_count=2
            ),
            replica_count=1,
            container_spec=vt.ContainerSpecArgs(image_uri=single_machine.uri),
        )
    ],
    wait="done",
    opts=after(pictures),
)
pool = vt.WorkerPoolSpecArgs(
    machine_spec=machine,
    replica_count=1,
    container_spec=vt.ContainerSpecArgs(image_uri=multi_machine.uri),
)
multi_worker = vt.CustomJob(
    "flowers-multi-worker",
    framework="MultiWorkerMirroredStrategy",
    worker_pool_specs=[pool, pool],
    wait="done",
    opts=after(multi_gpu),
)
pulumi.export("bucket", bucket.name)
pulumi.export("project", vt.project())
pulumi.export("states", [multi_gpu.state, multi_worker.state])
pulumi.export("logs", [multi_gpu.logs_command, multi_worker.logs_command])
