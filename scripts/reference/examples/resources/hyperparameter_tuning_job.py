"""A search for the best learning rate and depth."""

import pulumi

import pulumi_vertex_training as vt

pool = vt.WorkerPoolSpecArgs(
    machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
    container_spec=vt.ContainerSpecArgs(image_uri="europe-docker.pkg.dev/my-project/training/digits:1"),
)

search = vt.HyperparameterTuningJob(
    "search",
    study_spec=vt.StudySpecArgs(
        metrics=[vt.maximize("accuracy")],
        parameters=[
            vt.double_parameter("rate", 0.001, 0.1, scale="log"),
            vt.integer_parameter("depth", 2, 6),
        ],
    ),
    max_trial_count=20,
    parallel_trial_count=4,
    trial_job_spec=vt.TrialJobSpecArgs(worker_pool_specs=vt.topology(chief=pool)),
    staging_bucket=vt.StagingBucket("trials"),
    wait="done",
)
pulumi.export("parameters", search.best_parameters)
