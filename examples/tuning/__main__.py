"""A tuning job looks for XGBoost's best settings. Each trial is a distributed training of two replicas."""

import pathlib

import pulumi

import pulumi_vertex_training as vt

config = pulumi.Config()
bucket = vt.StagingBucket("staging", force_destroy=True)
digits = vt.StagedFile("digits", bucket=bucket, source="../digits/data/digits.csv.gz")
package = vt.StagedPackage(
    "trainer",
    bucket=bucket,
    source="trainer",
    requirements=pathlib.Path(__file__).with_name("requirements.txt").read_text().split(),
    vertex_cluster=True,
)

pool = vt.WorkerPoolSpecArgs(
    machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
    python_package_spec=vt.PythonPackageSpecArgs(
        executor_image_uri="us-docker.pkg.dev/vertex-ai/training/xgboost-cpu.2-1:latest",
        package_uris=[package.uri],
        python_module=package.python_module,
        args=[pulumi.Output.concat("--data=", digits.path)],
    ),
)
search = vt.HyperparameterTuningJob(
    "search",
    study_spec=vt.StudySpecArgs(
        metrics=[vt.maximize("accuracy")],
        parameters=[
            vt.double_parameter("eta", 0.1, 1, scale="log"),
            vt.integer_parameter("max_depth", 2, 6),
        ],
    ),
    max_trial_count=config.require_int("trials"),
    parallel_trial_count=config.require_int("parallelTrials"),
    trial_job_spec=vt.TrialJobSpecArgs(worker_pool_specs=vt.topology(chief=pool, workers=pool)),
    staging_bucket=bucket,
    wait="done",
)
pulumi.export("state", search.completion.state)
pulumi.export("accuracy", search.best_metric)
pulumi.export("parameters", search.best_parameters)
pulumi.export("model", search.best_trial["model_directory"])
