"""Conversion of legacy AI Platform: tasks, images and the other fields of a job."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.cli.explain.documents import read_document
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import tables
from support.client.specs.training_inputs import (
    COMMAND,
    CUSTOM,
    IMAGE,
    PACKAGE,
    WORKERS,
    convert,
    read,
    remarks,
    sizes,
)
from support.tables import every_row
from vertex_training.topology.pools import ContainerSpec

# Tasks.


@pytest.mark.parametrize(("role", "position"), [("worker", 1), ("parameterServer", 2), ("evaluator", 3)])
def test_a_role_falls_back_to_the_masters_image(role, position):
    spec = convert(**CUSTOM, **{f"{role}Type": "n1-standard-4", f"{role}Count": 1})
    assert spec.worker_pool_specs[position].container_spec == ContainerSpec(image_uri="repo/trainer:1")


@pytest.mark.parametrize(("role", "position"), [("worker", 1), ("parameterServer", 2), ("evaluator", 3)])
def test_a_role_may_have_an_image_of_its_own(role, position):
    fields = {
        f"{role}Type": "n1-standard-4",
        f"{role}Count": 1,
        f"{role}Config": {"imageUri": "repo/other:1"},
    }
    assert convert(**CUSTOM, **fields).worker_pool_specs[position].task.image_uri == "repo/other:1"


def test_command_and_arguments_are_the_masters():
    task = convert(**{**CUSTOM, "masterConfig": COMMAND}).worker_pool_specs[0].task
    assert (task.command, task.args) == (("python",), ("-m", "train"))


def test_command_and_arguments_are_not_inherited():
    fields = {**CUSTOM, **WORKERS, "masterConfig": COMMAND}
    assert convert(**fields).worker_pool_specs[1].task == ContainerSpec(image_uri="repo/trainer:1")
    assert remarks(**fields)["worker_config"] == (
        "takes the master's image but not its containerCommand and containerArgs: these replicas run the "
        "image's own entry point. Repeat containerCommand and containerArgs in workerConfig to run the "
        "same command as the master"
    )


@pytest.mark.parametrize(
    "config",
    [
        pytest.param({"imageUri": "repo/other:1"}, id="another image"),
        pytest.param({"containerCommand": ["sh"]}, id="a command"),
        pytest.param({"containerArgs": ["x"]}, id="arguments"),
    ],
)
def test_a_role_that_says_what_it_runs_is_not_remarked_on(config):
    assert "worker_config" not in remarks(
        **{**CUSTOM, **WORKERS, "masterConfig": COMMAND, "workerConfig": config}
    )


def test_args_go_to_every_container():
    spec = convert(**CUSTOM, **WORKERS, args=["--epochs", "3"])
    assert [pool.task.args for pool in spec.worker_pool_specs] == [("--epochs", "3")] * 2


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("package_uris", ("gs://bucket/trainer.tar.gz",)),
        ("python_module", "trainer.task"),
        ("args", ("--epochs=3",)),
        ("executor_image_uri", "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11:latest"),
    ],
)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_package_runs_in_every_pool(position, attribute, value):
    task = convert(scaleTier="STANDARD_1", args=["--epochs=3"], **PACKAGE).worker_pool_specs[position].task
    assert getattr(task, attribute) == value


@pytest.mark.parametrize(
    ("runtime", "image"),
    [
        ("1.0", "tf-cpu.1-15"),
        ("1.4", "tf-cpu.1-15"),
        ("1.15", "tf-cpu.1-15"),
        ("2.1", "tf-cpu.2-1"),
        ("2.9", "tf-cpu.2-9"),
        ("2.10", "tf-cpu.2-11"),
        ("2.11", "tf-cpu.2-11"),
    ],
)
def test_a_runtime_version_is_an_image(runtime, image):
    task = convert(**{**PACKAGE, "runtimeVersion": runtime}).worker_pool_specs[0].task
    assert task.executor_image_uri == f"us-docker.pkg.dev/vertex-ai/training/{image}:latest"


@pytest.mark.parametrize(
    ("accelerator", "location", "uri"),
    [
        (None, None, "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11:latest"),
        ("NVIDIA_TESLA_T4", None, "us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-11:latest"),
        ("TPU_V2", None, "us-docker.pkg.dev/vertex-ai/training/tf-tpu.2-12:latest"),
        (None, "europe-west4", "europe-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11:latest"),
        (None, "asia-east1", "asia-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11:latest"),
        (None, "us-east1", "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11:latest"),
    ],
)
def test_an_image_is_for_an_accelerator_and_a_region(accelerator, location, uri):
    assert tables.training_image("2.11", accelerator_type=accelerator, location=location).uri == uri


@pytest.mark.parametrize("runtime", ["", "2.0", "2.12", "1.16", "3.0", "latest", "2.1.0"])
def test_an_unknown_runtime_version_has_no_image(runtime):
    assert tables.training_image(runtime) is None


def test_tensorflow_1_has_no_image_for_tpus():
    assert tables.training_image("1.15", accelerator_type="TPU_V2") is None


@every_row("runtime", tables.RUNTIME_VERSIONS)
@every_row("accelerator", [None, "NVIDIA_TESLA_T4"])
def test_every_runtime_version_has_an_image(runtime, accelerator):
    assert tables.training_image(runtime, accelerator_type=accelerator) is not None


def test_each_pool_has_the_image_of_its_accelerators():
    gpus = {"acceleratorConfig": {"type": "NVIDIA_TESLA_T4", "count": 1}}
    fields = {
        "scaleTier": "CUSTOM",
        "masterType": "n1-standard-4",
        **WORKERS,
        "workerConfig": gpus,
        **PACKAGE,
    }
    images = [pool.task.executor_image_uri for pool in convert(**fields).worker_pool_specs]
    assert ["tf-cpu" in images[0], "tf-gpu" in images[1]] == [True, True]


def test_an_input_without_a_task_is_checked_without_it():
    assert sizes(convert(scaleTier="BASIC")) == [(1, "n1-standard-4")]
    assert remarks(scaleTier="BASIC")["training_input"].startswith("has no task")


# The other fields.


@pytest.mark.parametrize(
    ("field", "value", "attribute", "converted"),
    [
        pytest.param("jobDir", "gs://bucket/out", "base_output_directory", "gs://bucket/out/", id="jobDir"),
        pytest.param(
            "network", "projects/1/global/networks/n", "network", "projects/1/global/networks/n", id="network"
        ),
        pytest.param(
            "serviceAccount",
            "a@p.iam.gserviceaccount.com",
            "service_account",
            "a@p.iam.gserviceaccount.com",
            id="serviceAccount",
        ),
        pytest.param("enableWebAccess", True, "enable_web_access", True, id="enableWebAccess"),
    ],
)
def test_a_field_is_a_field_of_the_job(field, value, attribute, converted):
    assert getattr(convert(**{field: value}, **IMAGE), attribute) == converted


def test_a_running_time_is_a_timeout():
    assert convert(scheduling={"maxRunningTime": "3600.0s"}, **IMAGE).scheduling.timeout == "3600s"


def test_a_key_is_a_key():
    key = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
    spec = convert(encryptionConfig={"kmsKeyName": key}, **IMAGE)
    assert spec.encryption_spec.kms_key_name == key


def test_the_id_is_the_display_name():
    assert read_document({"jobId": "digits_1", "trainingInput": IMAGE}).spec.display_name == "digits_1"


def test_labels_are_labels():
    document = read_document({"labels": {"team": "a"}, "trainingInput": IMAGE})
    assert document.spec.labels == {"team": "a"}


def test_the_input_is_kept():
    assert read(**CUSTOM).training_input.master_type == "n1-standard-4"


@pytest.mark.parametrize(
    ("fields", "path", "part"),
    [
        pytest.param(
            {**IMAGE, "jobDir": "gs://bucket/out"},
            "job_dir",
            "passed --job-dir gs://bucket/out to the program, but Vertex AI does not",
            id="jobDir",
        ),
        pytest.param(
            {**IMAGE, "scheduling": {"maxWaitTime": "60s"}},
            "scheduling.max_wait_time",
            "left out",
            id="waiting",
        ),
        pytest.param(
            {**IMAGE, "scheduling": {"priority": 3}}, "scheduling.priority", "left out", id="priority"
        ),
        pytest.param(
            {**IMAGE, "useChiefInTfConfig": True},
            "use_chief_in_tf_config",
            "Vertex AI always uses chief",
            id="useChiefInTfConfig",
        ),
        pytest.param(
            {**CUSTOM, **WORKERS},
            "use_chief_in_tf_config",
            "Vertex AI calls it chief",
            id="master becomes chief",
        ),
        pytest.param(
            {**IMAGE, "hyperparameters": {"goal": "MAXIMIZE"}},
            "hyperparameters",
            "HyperparameterTuningJob",
            id="hyperparameters",
        ),
        pytest.param(
            {"masterConfig": {**IMAGE["masterConfig"], "tpuTfVersion": "2.1"}},
            "master_config.tpu_tf_version",
            "left out",
            id="tpuTfVersion",
        ),
        pytest.param(PACKAGE, "runtime_version", "2.11 becomes us-docker.pkg.dev/", id="runtime version"),
        pytest.param(
            {**PACKAGE, "runtimeVersion": "1.4"},
            "runtime_version",
            "with TensorFlow 1.15, the nearest version",
            id="no image of its own",
        ),
        pytest.param(
            {**PACKAGE, "pythonVersion": "3.5"}, "python_version", "3.5 becomes 3.7", id="Python 3.5"
        ),
        pytest.param(
            {**CUSTOM, "workerType": "n1-standard-4"}, "worker_type", "workerCount is 0", id="a type alone"
        ),
        pytest.param(
            {**CUSTOM, "workerConfig": {"imageUri": "a/b"}},
            "worker_config",
            "workerCount is 0",
            id="a config alone",
        ),
    ],
)
def test_what_is_not_the_same_is_remarked_on(fields, path, part):
    assert part in remarks(**fields)[path]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param(
            {**IMAGE, "jobDir": "gs://bucket/o", "args": ["--job-dir=gs://bucket/o"]},
            "job_dir",
            id="job-dir passed",
        ),
        pytest.param(
            {**IMAGE, "jobDir": "gs://bucket/o", "args": ["--job_dir", "x"]}, "job_dir", id="job_dir passed"
        ),
        pytest.param({**PACKAGE, "pythonVersion": "3.7"}, "python_version", id="Python 3.7"),
        pytest.param(
            {
                **CUSTOM,
                **WORKERS,
                "useChiefInTfConfig": False,
                "evaluatorCount": 1,
                "evaluatorType": "n1-standard-4",
            },
            "use_chief_in_tf_config",
            id="chief with an evaluator",
        ),
        pytest.param({**IMAGE}, "use_chief_in_tf_config", id="one replica"),
        pytest.param(
            {"scaleTier": "STANDARD_1", **PACKAGE}, "use_chief_in_tf_config", id="runtime version 2.1 on"
        ),
        pytest.param({**CUSTOM}, "scale_tier", id="CUSTOM"),
    ],
)
def test_what_is_the_same_is_not_remarked_on(fields, path):
    assert path not in remarks(**fields)


def test_a_job_of_tensorflow_1_had_a_master():
    fields = {**PACKAGE, "scaleTier": "STANDARD_1", "runtimeVersion": "1.15"}
    found = [str(problem) for problem in read(**fields).problems]
    assert (
        "training_input.runtime_version: 1.15 called the first replica master in TF_CONFIG; Vertex AI "
        "calls it chief. Change a program that looks for master"
    ) in found
