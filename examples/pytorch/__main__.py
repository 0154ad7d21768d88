"""PyTorch's DistributedDataParallel twice: one process on each machine, and torchrun with two."""

import pulumi

import pulumi_vertex_training as vt

OLD_TORCHRUN = {"PET_REDIRECTS": "1", "PET_TEE": "1", "PYTHONUNBUFFERED": "1"}
"""torchrun 1.13 fails on Python 3.11 unless it copies the output of its processes, which it then buffers."""

config = pulumi.Config()
workers = config.require_int("workers")
torch_folder = config.get("torchFolder")
bucket = vt.StagingBucket("staging", force_destroy=True)
digits = vt.StagedFile("digits", bucket=bucket, source="../digits/data/digits.csv.gz")
repository = vt.ImageRepository("images", force_destroy=True)
on_google = vt.on_google()
image = vt.TrainingImage(
    "pytorch-trainer",
    repository=repository,
    source="trainer",
    vertex_cluster=True,
    base_image="us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310:latest",
    # The base has PyTorch. The emulator's stand-in for it takes a folder of this machine, or the lock file.
    env={"PYTHONPATH": torch_folder, **OLD_TORCHRUN} if torch_folder and not on_google else None,
    requirements=None if torch_folder or on_google else "requirements.txt",
    python_version=None if torch_folder or on_google else "3.11",
)
arguments: list[pulumi.Input[str]] = [
    "task.py",
    pulumi.Output.concat("--data=", digits.path),
    f"--epochs={config.require_int('epochs')}",
]


def training(
    name: str,
    machine: vt.MachineSpecArgs,
    task: vt.ContainerSpecArgs,
    scheduling: vt.SchedulingArgs,
    framework: str | None = None,
) -> vt.CustomJob:
    """Return a job that runs the program on a chief and the workers."""
    return vt.CustomJob(
        name,
        framework=framework,
        worker_pool_specs=vt.topology(
            chief=vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task),
            workers=vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=task, replica_count=workers),
        ),
        scheduling=scheduling,
        staging_bucket=bucket,
        wait="done",
    )


environment = training(
    "environment",
    vt.MachineSpecArgs(machine_type="n1-standard-4"),
    vt.ContainerSpecArgs(image_uri=image.uri, command=["python3"], args=arguments),
    vt.SchedulingArgs(restart_job_on_worker_restart=True),
)
# With a framework, a launcher is the command and starts the program in the arguments.
torchrun = training(
    "torchrun",
    vt.MachineSpecArgs(machine_type="n1-standard-8", accelerator_type="NVIDIA_TESLA_T4", accelerator_count=2),
    vt.ContainerSpecArgs(image_uri=image.uri, args=arguments),
    vt.SchedulingArgs(disable_retries=True),
    framework="pytorch",
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
