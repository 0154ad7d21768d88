"""One job of each kind in an environment, each with a program that leaves what it saw in the bucket.

Each has a timeout and no retries, so that its cost has a limit.
"""

from pathlib import Path

import pulumi

import pulumi_vertex_training as vt

IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
SEEN = Path(__file__).with_name("seen.py")
SCHEDULING = vt.SchedulingArgs(timeout="600s", disable_retries=True)

environment = vt.get_training_environment(pulumi.Config().require("environment"))
machine = vt.MachineSpecArgs(machine_type="n1-standard-4")


def variables(name: str, *, replicas: int = 1, code: int = 0) -> dict[str, pulumi.Input[str]]:
    """Return the variables of a job's program: where it leaves what it saw, and how it ends."""
    return {
        "VERIFY_SEEN": environment.bucket.apply(lambda bucket: f"/gcs/{bucket}/seen/{name}"),
        "VERIFY_REPLICAS": str(replicas),
        "VERIFY_EXIT": str(code),
        "VERIFY_REFERRING": "$(VERIFY_EXIT)-$(VERIFY_MISSING)-$$(VERIFY_EXIT)",
    }


def pool(name: str, *, replicas: int = 1, code: int = 0) -> vt.WorkerPoolSpecArgs:
    """Return a pool of one replica that runs the program in a container, in a job of so many replicas."""
    values = variables(name, replicas=replicas, code=code)
    container = vt.ContainerSpecArgs(
        image_uri=IMAGE,
        command=["python3", "-c", SEEN.read_text()],
        args=["--name", "a b"],
        env=[vt.EnvVarArgs(name=key, value=value) for key, value in values.items()],
    )
    return vt.WorkerPoolSpecArgs(machine_spec=machine, replica_count=1, container_spec=container)


vt.CustomJob(
    "distributed",
    worker_pool_specs=vt.topology(
        chief=pool("distributed", replicas=3),
        workers=pool("distributed", replicas=3),
        evaluator=pool("distributed", replicas=3),
    ),
    scheduling=SCHEDULING,
    staging_bucket=environment.bucket,
    wait="done",
)
failing = vt.CustomJob(
    "failing",
    worker_pool_specs=vt.topology(chief=pool("failing", code=3)),
    scheduling=SCHEDULING,
    staging_bucket=environment.bucket,
    wait="none",
)
tuning = vt.HyperparameterTuningJob(
    "tuning",
    study_spec=vt.StudySpecArgs(
        metrics=[vt.minimize("loss")],
        parameters=[vt.discrete_parameter("x", [1, 2])],
        algorithm="GRID_SEARCH",
    ),
    max_trial_count=2,
    parallel_trial_count=2,
    trial_job_spec=vt.TrialJobSpecArgs(
        worker_pool_specs=vt.topology(chief=pool("tuning")), scheduling=SCHEDULING
    ),
    staging_bucket=environment.bucket,
    wait="done",
)
pipeline = vt.TrainingPipeline(
    "pipeline",
    custom_task=vt.task_from_script(
        "verify-pipeline",
        str(SEEN),
        bucket=environment.bucket,
        container_uri=IMAGE,
        args=["--name", "a b"],
        environment_variables=variables("pipeline"),
        timeout=600,
        disable_retries=True,
    ),
    model_to_upload=vt.ModelArgs(
        display_name="verify", container_spec=vt.ModelContainerSpecArgs(image_uri=SERVING)
    ),
    staging_bucket=environment.bucket,
    on_delete="delete",
    wait="done",
)
pulumi.export("parameters", tuning.best_parameters)
pulumi.export("model", pipeline.model)
