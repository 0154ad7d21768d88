from __future__ import annotations

import pytest

from pulumi_vertex_training.kinds.custom_job.forms.ai_platform.training_input import (
    AcceleratorConfig,
    DiskConfig,
    EncryptionConfig,
    LegacyJob,
    LegacyScheduling,
    ReplicaConfig,
    TrainingInput,
    read_job,
)
from support.tables import every_row
from vertex_training.fields.decode import UNKNOWN


def read(**fields):
    decoded = read_job({"trainingInput": fields})
    assert decoded.problems == ()
    return decoded.spec.training_input


def found(value):
    return [str(problem) for problem in read_job(value).problems]


@every_row(
    ("key", "value", "attribute", "read_as"),
    [
        pytest.param("scaleTier", "CUSTOM", "scale_tier", "CUSTOM", id="tier"),
        pytest.param("masterType", "standard", "master_type", "standard", id="master"),
        pytest.param("workerType", "standard", "worker_type", "standard", id="workers' type"),
        pytest.param(
            "parameterServerType", "standard", "parameter_server_type", "standard", id="servers' type"
        ),
        pytest.param("evaluatorType", "standard", "evaluator_type", "standard", id="evaluators' type"),
        pytest.param("workerCount", "4", "worker_count", 4, id="a count is a string"),
        pytest.param("workerCount", 4, "worker_count", 4, id="or a number"),
        pytest.param("parameterServerCount", "3", "parameter_server_count", 3, id="servers' count"),
        pytest.param("evaluatorCount", "1", "evaluator_count", 1, id="evaluators' count"),
        pytest.param("packageUris", ["gs://b/x"], "package_uris", ("gs://b/x",), id="packages"),
        pytest.param("pythonModule", "trainer.task", "python_module", "trainer.task", id="module"),
        pytest.param("args", ["--a", "1"], "args", ("--a", "1"), id="args"),
        pytest.param("runtimeVersion", "2.1", "runtime_version", "2.1", id="runtime version"),
        pytest.param("pythonVersion", "3.7", "python_version", "3.7", id="Python version"),
        pytest.param("region", "us-central1", "region", "us-central1", id="region"),
        pytest.param("jobDir", "gs://b/d", "job_dir", "gs://b/d", id="job directory"),
        pytest.param(
            "network", "projects/1/global/networks/n", "network", "projects/1/global/networks/n", id="network"
        ),
        pytest.param("serviceAccount", "a@b", "service_account", "a@b", id="service account"),
        pytest.param("useChiefInTfConfig", True, "use_chief_in_tf_config", True, id="chief"),
        pytest.param(
            "useChiefInTfConfig", "True", "use_chief_in_tf_config", True, id="a boolean as a string"
        ),
        pytest.param("enableWebAccess", "false", "enable_web_access", False, id="false as a string"),
        pytest.param(
            "masterConfig",
            {"acceleratorConfig": {"type": "NVIDIA_TESLA_T4", "count": "2"}},
            "master_config",
            ReplicaConfig(accelerator_config=AcceleratorConfig(type="NVIDIA_TESLA_T4", count=2)),
            id="accelerators",
        ),
        pytest.param(
            "workerConfig",
            {"diskConfig": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 200}},
            "worker_config",
            ReplicaConfig(disk_config=DiskConfig(boot_disk_type="pd-ssd", boot_disk_size_gb=200)),
            id="disk",
        ),
        pytest.param(
            "evaluatorConfig",
            {"imageUri": "a/b", "containerCommand": ["x"], "containerArgs": ["y"], "tpuTfVersion": "2.1"},
            "evaluator_config",
            ReplicaConfig(
                image_uri="a/b", container_command=("x",), container_args=("y",), tpu_tf_version="2.1"
            ),
            id="container",
        ),
        pytest.param(
            "scheduling",
            {"maxRunningTime": "3600s", "maxWaitTime": 60, "priority": 1},
            "scheduling",
            LegacyScheduling(max_running_time="3600s", max_wait_time="60s", priority=1),
            id="scheduling",
        ),
        pytest.param(
            "encryptionConfig",
            {"kmsKeyName": "k"},
            "encryption_config",
            EncryptionConfig(kms_key_name="k"),
            id="encryption",
        ),
        pytest.param(
            "hyperparameters",
            {"goal": "MAXIMIZE", "params": [{"type": "DOUBLE"}]},
            "hyperparameters",
            {"goal": "MAXIMIZE", "params": [{"type": "DOUBLE"}]},
            id="hyperparameters as they are",
        ),
    ],
)
def test_a_field_is_read(key, value, attribute, read_as):
    assert getattr(read(**{key: value}), attribute) == read_as


def test_every_field_of_the_old_api_is_read():
    """Read the fields of GoogleCloudMlV1__TrainingInput, in the old API's order."""
    of_api = (
        "scaleTier masterType masterConfig workerType workerConfig parameterServerType parameterServerConfig "
        "evaluatorType evaluatorConfig workerCount parameterServerCount evaluatorCount packageUris "
        "pythonModule "
        "args hyperparameters region jobDir runtimeVersion pythonVersion encryptionConfig scheduling network "
        "serviceAccount useChiefInTfConfig enableWebAccess"
    )
    assert read(**dict.fromkeys(of_api.split())) == TrainingInput()


def test_the_jobs_own_fields_are_outside_of_it():
    decoded = read_job({"jobId": "j1", "labels": {"team": "a"}, "trainingInput": {}})
    assert decoded.spec == LegacyJob(job_id="j1", labels={"team": "a"})


@pytest.mark.parametrize(
    "field",
    ["createTime", "startTime", "endTime", "state", "errorMessage", "etag", "jobPosition", "trainingOutput"],
)
def test_what_the_service_set_is_passed_over(field):
    assert found({"trainingInput": {}, field: {"any": 1}}) == []


@pytest.mark.parametrize(
    ("value", "finding"),
    [
        pytest.param(
            {"trainingInput": {"wokerCount": 3}},
            "training_input.woker_count: is not a known field; did you mean worker_count",
            id="a misspelt field",
        ),
        pytest.param(
            {"trainingInput": {"runtimeVersion": 2.1}},
            "training_input.runtime_version: expected a string, got the number 2.1; write it in quotes",
            id="a version without quotes",
        ),
        pytest.param(
            {"trainingInput": {"workerCount": "many"}},
            "training_input.worker_count: expected a whole number, got the string 'many'",
            id="no number",
        ),
        pytest.param(
            {"trainingInput": [1]},
            "training_input: expected a mapping with the fields of TrainingInput, got a list",
            id="no mapping",
        ),
        pytest.param(
            {"trainingInput": {"hyperparameters": 3}},
            "training_input.hyperparameters: expected a mapping, got a number",
            id="invalid hyperparameters",
        ),
        pytest.param(
            {"trainingInput": {}, "predictionInput": {}},
            "prediction_input: is not a known field",
            id="prediction",
        ),
    ],
)
def test_what_cannot_be_read_is_reported(value, finding):
    (message,) = found(value)
    assert message.startswith(finding)


def test_a_value_that_is_not_known_yet_is_remembered():
    decoded = read_job({"trainingInput": {"region": UNKNOWN, "hyperparameters": UNKNOWN}})
    assert decoded.problems == ()
    assert decoded.unknown == {"training_input.region"}
    assert decoded.draft.training_input.hyperparameters == {}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(None, False, id="none"),
        pytest.param({}, False, id="empty"),
        pytest.param({"imageUri": "a/b"}, True, id="an image"),
    ],
)
def test_an_input_may_have_a_container(config, expected):
    assert read(masterConfig=config).has_container is expected
