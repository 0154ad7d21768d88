"""PyTorch's DistributedDataParallel twice: one process on each machine, and torchrun with two."""

import pulumi

import pulumi_vertex_training as vt

config = pulumi.Config()
workers = config.require_int("workers")
torch_folder = config.get("torchFolder")
bucket = vt.StagingBucket("staging", force_destroy=True)
digits = vt.StagedFile("digits", bucket=bucket, source="../digits/data/digits.csv.gz")
repository = vt.ImageRepository("images", force_destroy=True)
image = vt.TrainingImage(
    "pytorch-trainer",
    repository=repository,
    source="trainer",
    base_image="us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310:latest",
    # The base has PyTorch; the emulator's stand-in for it has not.
    env={"PYTHONPATH": torch_folder} if torch_folder and not vt.on_google() else None,
)


def training(name: str, machine: vt.MachineSpecArgs, framework: str | None) -> vt.CustomJob:
    """Return a job that runs the program on a chief and the workers."""
    command: list[pulumi.Input[str]] = ["python3", "task.py"]
    arguments: list[pulumi.Input[str]] = [pulumi.Output.concat("--data=", digits.path)]
    # With a framework, a launcher is the command and starts the program in the arguments.
    task = (
        vt.ContainerSpecArgs(image_uri=image.uri, args=["task.py", *arguments])
        if framework
        else vt.ContainerSpecArgs(image_uri=image.uri, command=command, args=arguments)
    )
    return vt.CustomJob(
        name,
        framework=framework,
        worker_pool_specs=vt.topology(
            chief=vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task),
            workers=vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task, replica_count=workers),
        ),
        staging_bucket=bucket,
        wait="done",
    )


environment = training("environment", vt.MachineSpecArgs(machine_type="n1-standard-4"), None)
torchrun = training(
    "torchrun",
    vt.MachineSpecArgs(machine_type="n1-standard-8", accelerator_type="NVIDIA_TESLA_T4", accelerator_count=2),
    "pytorch",
)
for job_name, job in (("environment", environment), ("torchrun", torchrun)):
    pulumi.export(
        job_name,
        {
            "state": job.completion.state,
            "metrics": job.completion.metrics,
            "model": job.completion.model_directory,
            "logs": job.logs_command,
        },
    )
