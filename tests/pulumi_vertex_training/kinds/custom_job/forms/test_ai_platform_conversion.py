from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cli.explain.documents import read_document
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import tables
from support.tables import every_row
from vertex_training.catalog.machines import MACHINES
from vertex_training.fields.decode import UNKNOWN
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import errors, warnings
from vertex_training.topology.pools import ContainerSpec, DiskSpec

IMAGE = {"masterConfig": {"imageUri": "repo/trainer:1"}}
CUSTOM = {"scaleTier": "CUSTOM", "masterType": "n1-standard-4", **IMAGE}
WORKERS = {"workerType": "n1-standard-8", "workerCount": "4"}
PACKAGE = {
    "packageUris": ["gs://bucket/trainer.tar.gz"],
    "pythonModule": "trainer.task",
    "runtimeVersion": "2.11",
}
LEGACY = CheckOptions(allow_legacy_types=True)


def read(options=LEGACY, **fields):
    return read_document({"trainingInput": fields}, options=options)


def convert(**fields):
    document = read(**fields)
    assert errors(document.problems) == ()
    return document.spec


def failures(**fields):
    return [str(problem) for problem in errors(read(**fields).problems)]


def remarks(**fields):
    document = read(**fields)
    assert errors(document.problems) == ()
    return {problem.path.removeprefix("training_input."): problem.message for problem in document.problems}


def sizes(spec):
    return [(pool.replica_count, pool.machine_type) for pool in spec.worker_pool_specs]


# Scale tiers.


@pytest.mark.parametrize(
    ("tier", "pools"),
    [
        pytest.param("BASIC", [(1, "n1-standard-4")], id="BASIC"),
        pytest.param(None, [(1, "n1-standard-4")], id="none is BASIC"),
        pytest.param(
            "STANDARD_1", [(1, "n1-standard-8"), (4, "n1-standard-8"), (3, "n1-standard-4")], id="STANDARD_1"
        ),
        pytest.param(
            "PREMIUM_1", [(1, "n1-highcpu-16"), (19, "n1-highcpu-16"), (11, "n1-highmem-8")], id="PREMIUM_1"
        ),
        pytest.param("BASIC_GPU", [(1, "n1-standard-8")], id="BASIC_GPU"),
        pytest.param("BASIC_TPU", [(1, "cloud-tpu")], id="BASIC_TPU"),
    ],
)
def test_a_tier_is_a_cluster(tier, pools):
    assert sizes(convert(scaleTier=tier, **IMAGE)) == pools


@pytest.mark.parametrize(
    ("tier", "accelerators"),
    [
        pytest.param("BASIC_GPU", ("NVIDIA_TESLA_K80", 1), id="BASIC_GPU"),
        pytest.param("BASIC_TPU", ("TPU_V2", 8), id="BASIC_TPU"),
        pytest.param("BASIC", (None, 0), id="BASIC"),
    ],
)
def test_a_tier_may_have_accelerators(tier, accelerators):
    machine = convert(scaleTier=tier, **IMAGE).worker_pool_specs[0].machine_spec
    assert (machine.accelerator_type, machine.accelerator_count) == accelerators


def test_the_words_of_a_tier_say_what_it_becomes():
    assert remarks(scaleTier="PREMIUM_1", **IMAGE)["scale_tier"] == (
        "PREMIUM_1 becomes chief 1 x n1-highcpu-16, workers 19 x n1-highcpu-16 and parameter servers "
        "11 x n1-highmem-8; to choose others, write CUSTOM with masterType, workerType, workerCount, "
        "parameterServerType and parameterServerCount"
    )


def test_the_words_of_a_tier_with_gpus_say_how_to_choose_others():
    assert remarks(scaleTier="BASIC_GPU", **IMAGE)["scale_tier"] == (
        "BASIC_GPU becomes chief 1 x n1-standard-8 with 1 x NVIDIA_TESLA_K80; to choose others, write CUSTOM "
        "with masterType and masterConfig.acceleratorConfig"
    )


def test_a_retired_accelerator_of_a_tier_is_refused_without_the_switch():
    document = read(options=CheckOptions(), scaleTier="BASIC_GPU", **IMAGE)
    (problem,) = errors(document.problems)
    assert problem.path == "training_input.scale_tier"
    assert "NVIDIA_TESLA_K80" in problem.message


# CUSTOM: types, counts, configs.


@pytest.mark.parametrize(
    ("fields", "pools"),
    [
        pytest.param({}, [(1, "n1-standard-4")], id="the master alone"),
        pytest.param(WORKERS, [(1, "n1-standard-4"), (4, "n1-standard-8")], id="workers"),
        pytest.param(
            {"parameterServerType": "n1-highmem-8", "parameterServerCount": 2},
            [(1, "n1-standard-4"), (0, ""), (2, "n1-highmem-8")],
            id="parameter servers",
        ),
        pytest.param(
            {"evaluatorType": "n1-highmem-8", "evaluatorCount": 1},
            [(1, "n1-standard-4"), (0, ""), (0, ""), (1, "n1-highmem-8")],
            id="an evaluator",
        ),
    ],
)
def test_types_and_counts_are_pools(fields, pools):
    assert sizes(convert(**CUSTOM, **fields)) == pools


def test_types_and_counts_without_a_tier_are_custom():
    fields = {key: value for key, value in CUSTOM.items() if key != "scaleTier"}
    assert sizes(convert(**fields, **WORKERS)) == [(1, "n1-standard-4"), (4, "n1-standard-8")]
    assert remarks(**fields, **WORKERS)["scale_tier"] == (
        "is missing; masterType, workerType and workerCount are read as with scaleTier CUSTOM. Write CUSTOM"
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("machine_type", "n1-highmem-96", id="machine"),
        pytest.param("accelerator_type", "NVIDIA_TESLA_V100", id="accelerator type"),
        pytest.param("accelerator_count", 8, id="accelerator count, a string there"),
    ],
)
@pytest.mark.parametrize(
    ("role", "position"), [("master", 0), ("worker", 1), ("parameterServer", 2), ("evaluator", 3)]
)
def test_each_role_has_a_machine(role, position, field, value):
    config = {"imageUri": "repo/trainer:1", "acceleratorConfig": {"type": "NVIDIA_TESLA_V100", "count": "8"}}
    fields = {**CUSTOM, f"{role}Type": "n1-highmem-96", f"{role}Config": config}
    if position:
        fields[f"{role}Count"] = "1"
    assert getattr(convert(**fields).worker_pool_specs[position].machine_spec, field) == value


def test_a_role_has_a_disk():
    config = {**IMAGE["masterConfig"], "diskConfig": {"bootDiskType": "pd-standard", "bootDiskSizeGb": 500}}
    pool = convert(**{**CUSTOM, "masterConfig": config}).worker_pool_specs[0]
    assert pool.disk_spec == DiskSpec(boot_disk_type="pd-standard", boot_disk_size_gb=500)


@pytest.mark.parametrize("name", [name for name in tables.MACHINES if name != tables.CLOUD_TPU])
def test_a_legacy_name_is_a_machine_of_vertex_ai(name):
    legacy = tables.MACHINES[name]
    machine = convert(**{**CUSTOM, "masterType": name}).worker_pool_specs[0].machine_spec
    assert (machine.machine_type, machine.accelerator_type, machine.accelerator_count) == (
        legacy.machine_type,
        legacy.accelerator_type,
        legacy.accelerator_count,
    )
    assert machine.machine_type in MACHINES


@pytest.mark.parametrize(
    ("name", "machine", "accelerator", "count"),
    [
        ("standard", "n1-standard-4", None, 0),
        ("large_model", "n1-highmem-8", None, 0),
        ("complex_model_s", "n1-standard-8", None, 0),
        ("complex_model_m", "n1-highcpu-16", None, 0),
        ("complex_model_l", "n1-highcpu-32", None, 0),
        ("standard_gpu", "n1-standard-8", "NVIDIA_TESLA_K80", 1),
        ("complex_model_m_gpu", "n1-standard-16", "NVIDIA_TESLA_K80", 4),
        ("complex_model_l_gpu", "n1-standard-32", "NVIDIA_TESLA_K80", 8),
        ("standard_p100", "n1-standard-8", "NVIDIA_TESLA_P100", 1),
        ("complex_model_m_p100", "n1-standard-16", "NVIDIA_TESLA_P100", 4),
        ("standard_v100", "n1-standard-8", "NVIDIA_TESLA_V100", 1),
        ("large_model_v100", "n1-highmem-8", "NVIDIA_TESLA_V100", 1),
        ("complex_model_m_v100", "n1-standard-16", "NVIDIA_TESLA_V100", 4),
        ("complex_model_l_v100", "n1-standard-32", "NVIDIA_TESLA_V100", 8),
        ("cloud_tpu", "cloud-tpu", "TPU_V2", 8),
    ],
)
def test_the_table_of_legacy_names(name, machine, accelerator, count):
    legacy = tables.MACHINES[name]
    assert (legacy.machine_type, legacy.accelerator_type, legacy.accelerator_count) == (
        machine,
        accelerator,
        count,
    )


PRICES = {  # US dollars an hour, "Pricing" of AI Platform Training, Americas
    "standard": 0.1900,
    "large_model": 0.4736,
    "complex_model_s": 0.2836,
    "complex_model_m": 0.5672,
    "standard_gpu": 0.8300,
    "cloud_tpu": 4.5000,
}


@pytest.mark.parametrize(
    ("tier", "price"),
    [
        ("BASIC", 0.1900),
        ("STANDARD_1", 1.9880),
        ("PREMIUM_1", 16.5536),
        ("BASIC_GPU", 0.8300),
        ("BASIC_TPU", 4.6900),
    ],
)
def test_a_tier_cost_what_its_machines_cost(tier, price):
    parts = tables.TIERS[tier]
    pairs = [(parts.master, 1), parts.worker, parts.parameter_server]
    assert sum(PRICES[name] * count for name, count in pairs) == pytest.approx(price, abs=1e-4)


def test_a_legacy_name_is_remarked_on():
    assert remarks(**{**CUSTOM, "masterType": "standard_v100"})["master_type"] == (
        "standard_v100 becomes n1-standard-8 with 1 x NVIDIA_TESLA_V100; to choose another GPU, write "
        "masterType n1-standard-8 with masterConfig.acceleratorConfig"
    )


def test_a_machine_that_vertex_ai_does_not_have_is_remarked_on():
    assert remarks(**{**CUSTOM, "masterType": "complex_model_s"})["master_type"] == (
        "complex_model_s becomes n1-standard-8; AI Platform ran it on n1-highcpu-8, which does not train on "
        "Vertex AI"
    )


# TPUs.

TPU_WORKER = {"workerType": "cloud_tpu", "workerCount": 1}


@pytest.mark.parametrize(
    ("config", "accelerators"),
    [
        pytest.param({}, ("TPU_V2", 8), id="eight cores of v2 unless given"),
        pytest.param({"acceleratorConfig": {"type": "TPU_V3", "count": 8}}, ("TPU_V3", 8), id="v3"),
        pytest.param({"acceleratorConfig": {"type": "TPU_V2_POD", "count": 32}}, ("TPU_V2", 32), id="a pod"),
    ],
)
def test_a_tpu_worker_is_the_chiefs_machine(config, accelerators):
    spec = convert(**CUSTOM, **TPU_WORKER, workerConfig=config)
    assert sizes(spec) == [(1, "cloud-tpu")]
    machine = spec.worker_pool_specs[0].machine_spec
    assert (machine.accelerator_type, machine.accelerator_count) == accelerators


def test_a_tpu_keeps_the_masters_task():
    assert convert(**CUSTOM, **TPU_WORKER).worker_pool_specs[0].task.image_uri == "repo/trainer:1"


def test_a_tpu_is_remarked_on():
    assert (
        "on Vertex AI the program runs on the TPU machine itself"
        in remarks(**CUSTOM, **TPU_WORKER)["worker_type"]
    )


def test_several_tpu_workers_are_refused():
    assert failures(**CUSTOM, workerType="cloud_tpu", workerCount=2)


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


COMMAND = {"imageUri": "repo/trainer:1", "containerCommand": ["python"], "containerArgs": ["-m", "train"]}


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


# What is wrong.


@every_row(
    ("fields", "finding"),
    [
        pytest.param(
            {**IMAGE, "scaleTier": "STANDARD_2"},
            "scale_tier: 'STANDARD_2' is not a scale tier; did you mean STANDARD_1?",
            id="an unknown tier",
        ),
        pytest.param(
            {**IMAGE, "scaleTier": "custom", "masterType": "standard"},
            "scale_tier: 'custom' is not a scale tier; did you mean CUSTOM?",
            id="a tier in lower case",
        ),
        pytest.param(
            {**IMAGE, "scaleTier": "CUSTOM"},
            "master_type: is missing; with scaleTier CUSTOM the master needs a machine type, for example "
            "n1-standard-4",
            id="no master",
        ),
        pytest.param(
            {**IMAGE, **WORKERS},
            "master_type: is missing; with scaleTier CUSTOM the master needs a machine type, for example "
            "n1-standard-4",
            id="no master and no tier",
        ),
        pytest.param(
            {**CUSTOM, "workerCount": 4},
            "worker_type: is missing while workerCount is 4; give the machine type",
            id="a count without a type",
        ),
        pytest.param(
            {**IMAGE, "scaleTier": "BASIC", "workerCount": 4},
            "worker_count: 4 does not go with scaleTier BASIC, whose machines are fixed; leave it out, or "
            "write scaleTier CUSTOM with masterType and workerType",
            id="a count with another tier",
        ),
        pytest.param(
            {**CUSTOM, "workerType": "n1-standard-4", "workerCount": -1},
            "worker_count: -1 replicas; give a whole number of 0 or more, 0 skips the pool",
            id="a negative count",
        ),
        pytest.param(
            {**CUSTOM, "masterConfig": {**IMAGE["masterConfig"], "acceleratorConfig": {"count": 2}}},
            "master_config.accelerator_config.type: is missing while accelerator_count is 2; give both "
            "accelerator_type and accelerator_count, or none",
            id="accelerators without a type",
        ),
        pytest.param(
            {**CUSTOM, "masterType": "standart"},
            "master_type: 'standart' is not a machine type; did you mean standard",
            id="a misspelt legacy name",
        ),
        pytest.param(
            {**CUSTOM, "masterType": "big"},
            "master_type: 'big' is not a machine type; write a Compute Engine type, for example "
            "n1-standard-4",
            id="an unknown name",
        ),
        pytest.param(
            {**IMAGE, **PACKAGE},
            "package_uris: 'gs://bucket/trainer.tar.gz' is given together with masterConfig.imageUri; a job "
            "runs a container, or a package on a runtime version. Keep one of them",
            id="a package and an image",
        ),
        pytest.param(
            {**IMAGE, "runtimeVersion": "2.1"},
            "runtime_version: '2.1' is given together with masterConfig.imageUri",
            id="a runtime version and an image",
        ),
        pytest.param(
            {**PACKAGE, "pythonModule": None},
            "python_module: is missing; a package needs pythonModule, for example 'trainer.task'",
            id="no module",
        ),
        pytest.param(
            {**PACKAGE, "runtimeVersion": None},
            "runtime_version: is missing; a package needs runtimeVersion, for example '2.11'",
            id="no runtime version",
        ),
        pytest.param(
            {**PACKAGE, "packageUris": []}, "package_uris: 0 packages; give 1 to 100", id="no package"
        ),
        pytest.param(
            {**PACKAGE, "runtimeVersion": "2.12"},
            "runtime_version: '2.12' is not a runtime version of AI Platform; the last one was 2.11: use "
            "that, or give worker pools",
            id="an unknown runtime version",
        ),
        pytest.param(
            {**PACKAGE, "runtimeVersion": "1.15", "scaleTier": "BASIC_TPU"},
            "runtime_version: 1.15 has TensorFlow 1, and Google has no prebuilt image with TensorFlow 1 "
            "for TPUs",
            id="TensorFlow 1 on a TPU",
        ),
        pytest.param(
            {**PACKAGE, "pythonVersion": "2.7"},
            "python_version: 2.7 is gone: the prebuilt images have Python 3.7.",
            id="Python 2",
        ),
        pytest.param(
            {**PACKAGE, "pythonVersion": "3.10"},
            "python_version: '3.10' is not a Python version of AI Platform, which had 2.7, 3.5 or 3.7",
            id="a Python that there was not",
        ),
        pytest.param(
            {**CUSTOM, "masterConfig": COMMAND, "args": ["x"]},
            "args: is given together with masterConfig.containerCommand and masterConfig.containerArgs; AI "
            "Platform accepts only one of them. Every replica gets args: move them to "
            "masterConfig.containerArgs",
            id="args and a command",
        ),
        pytest.param(
            {**PACKAGE, "masterConfig": {"containerArgs": ["x"]}},
            "master_config.container_args: is given without a container image",
            id="arguments without an image",
        ),
        pytest.param(
            {**CUSTOM, **WORKERS, "masterConfig": {}, "workerConfig": {"imageUri": "a/b"}},
            "master_config.image_uri: is missing while workerConfig.imageUri is given",
            id="an image for the workers alone",
        ),
        pytest.param(
            {**IMAGE, "scheduling": {"maxRunningTime": "1h"}},
            "scheduling.max_running_time: '1h' is not a duration; write it in seconds: 3600s",
            id="a duration",
        ),
        pytest.param(
            {**IMAGE, "jobDir": "/tmp/x"},
            "job_dir: '/tmp/x' is not a directory in a bucket; write gs://BUCKET/PREFIX",
            id="a local job directory",
        ),
        pytest.param(
            {**IMAGE, "region": "us-central9"}, "region: 'us-central9' is not a region", id="a region"
        ),
        pytest.param(
            {"masterConfig": {"imageUri": "a b"}},
            "master_config.image_uri: 'a b' is not a container image",
            id="image",
        ),
    ],
)
def test_a_finding_names_the_field(fields, finding):
    found = failures(**fields)
    assert any(message.startswith(f"training_input.{finding}") for message in found), found


@pytest.mark.parametrize("name", ["standard_gpu", "standard"])
def test_a_legacy_name_takes_no_accelerators(name):
    config = {"imageUri": "a/b", "acceleratorConfig": {"type": "NVIDIA_TESLA_T4", "count": 1}}
    (message,) = failures(scaleTier="CUSTOM", masterType=name, masterConfig=config)
    assert message.startswith(
        f"training_input.master_config.accelerator_config: does not go with {name}, whose accelerators are "
        "fixed"
    )


def test_an_image_that_several_roles_have_is_found_once():
    fields = {**CUSTOM, **WORKERS, "masterConfig": {"imageUri": "a b"}}
    assert len(failures(**fields)) == 1


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({**IMAGE, "scaleTier": "CUSTOM"}, id="no master"),
        pytest.param({**CUSTOM, "workerCount": 4}, id="no type"),
        pytest.param({**PACKAGE, "pythonModule": None}, id="no module"),
        pytest.param({**PACKAGE, "runtimeVersion": None}, id="no runtime version"),
        pytest.param({**PACKAGE, "runtimeVersion": "9.9"}, id="an unknown runtime version"),
        pytest.param({**CUSTOM, "masterType": "standart"}, id="a misspelt machine"),
        pytest.param(
            {**CUSTOM, **WORKERS, "masterConfig": {}, "workerConfig": {"imageUri": "a/b"}}, id="image"
        ),
        pytest.param({**CUSTOM, "workerCount": "many"}, id="a count that cannot be read"),
    ],
)
def test_one_mistake_is_one_finding(fields):
    assert len(failures(**fields)) == 1


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({**CUSTOM, "masterType": UNKNOWN}, id="a machine"),
        pytest.param({**CUSTOM, **WORKERS, "workerCount": UNKNOWN}, id="a count"),
        pytest.param({"masterConfig": {"imageUri": UNKNOWN}}, id="an image"),
        pytest.param({**PACKAGE, "packageUris": [UNKNOWN]}, id="a package"),
        pytest.param({**IMAGE, "jobDir": UNKNOWN}, id="a directory"),
    ],
)
def test_what_is_not_known_yet_is_not_judged(fields):
    assert failures(**fields) == []


# Properties.

machines = st.sampled_from(
    [*(n for n in tables.MACHINES if n != tables.CLOUD_TPU), "n1-standard-4", "n1-highmem-8"]
)
counts = st.integers(1, 30)
texts = st.lists(st.text(max_size=5), max_size=3)
images = st.sampled_from(["repo/a:1", "gcr.io/p/b@sha256:" + "0" * 64])
packages = st.fixed_dictionaries(
    {
        "packageUris": st.just(["gs://bucket/trainer.tar.gz"]),
        "pythonModule": st.just("trainer.task"),
        "runtimeVersion": st.sampled_from(tables.RUNTIME_VERSIONS),
        "args": texts,
    }
)
containers = st.fixed_dictionaries(
    {
        "masterConfig": st.fixed_dictionaries(
            {"imageUri": images}, optional={"containerCommand": texts, "containerArgs": texts}
        )
    }
)
roles = st.fixed_dictionaries({"workerType": machines, "workerCount": counts}).flatmap(
    lambda worker: st.fixed_dictionaries(
        {},
        optional={"parameterServerType": machines, "evaluatorType": machines},
    ).map(
        lambda others: {
            **worker,
            **others,
            **{key.replace("Type", "Count"): "2" for key in others},
        }
    )
)
sizes_of_inputs = st.one_of(
    st.sampled_from(["BASIC", "STANDARD_1", "PREMIUM_1", "BASIC_GPU"]).map(lambda tier: {"scaleTier": tier}),
    st.builds(
        lambda master, others: {"scaleTier": "CUSTOM", "masterType": master, **others},
        machines,
        st.one_of(st.just({}), roles),
    ),
)
inputs = st.builds(
    lambda size, task, other: {**size, **task, **other},
    sizes_of_inputs,
    st.one_of(packages, containers),
    st.fixed_dictionaries(
        {},
        optional={
            "jobDir": st.just("gs://bucket/out"),
            "scheduling": st.just({"maxRunningTime": "3600s", "maxWaitTime": "60s", "priority": 2}),
            "useChiefInTfConfig": st.booleans(),
            "hyperparameters": st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
        },
    ),
)


@given(inputs)
def test_a_sound_input_is_a_sound_job(fields):
    document = read(**fields)
    assert errors(document.problems) == ()
    assert document.spec.worker_pool_specs[0].replica_count == 1


@given(inputs)
def test_a_converted_input_has_no_findings_of_its_own(fields):
    """Expect only remarks on the conversion of a valid input; the resulting job has no findings."""
    spec = read(**fields).spec
    again = read_document({"workerPoolSpecs": encode_pools(spec)}, options=LEGACY)
    assert errors(again.problems) == ()
    assert again.spec.worker_pool_specs == spec.worker_pool_specs


def encode_pools(spec):
    from vertex_training.job.custom_job import to_wire

    return to_wire(spec)["jobSpec"]["workerPoolSpecs"]


@given(inputs)
def test_every_remark_is_about_the_input(fields):
    assert all(problem.path.startswith("training_input") for problem in warnings(read(**fields).problems))
