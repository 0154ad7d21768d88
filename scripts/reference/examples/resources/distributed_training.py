"""A package, its bucket and a job of a chief, workers and parameter servers, in one declaration."""

import pulumi

import pulumi_vertex_training as vt

pool = vt.WorkerPoolSpecArgs(machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"))

training = vt.DistributedTraining(
    "digits",
    chief=pool,
    workers={"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 2},
    parameter_servers=pool,
    package={"source": "trainer", "requirements": ["numpy"], "vertex_cluster": True},
    executor_image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
    wait="done",
)
pulumi.export("model", training.completion.model_directory)
