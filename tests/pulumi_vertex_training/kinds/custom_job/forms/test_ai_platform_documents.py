"""Whole documents of AI Platform: one mistake is one finding, in the words of the document."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.cli.explain.documents import read_document
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import tables
from vertex_training.fields.decode import encode
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import errors

IMAGE = {"masterConfig": {"imageUri": "repo/trainer:1"}}
CUSTOM = {"scaleTier": "CUSTOM", "masterType": "n1-standard-4", **IMAGE}
COMMAND = "gcloud ai-platform jobs submit training digits"
PACKAGE = {"packageUris": ["gs://bucket/t.tar.gz"], "pythonModule": "trainer.task", "runtimeVersion": "2.11"}


def read(**fields):
    return read_document({"trainingInput": fields})


def words(document):
    return [str(problem) for problem in document.problems]


def rules(document):
    return [problem.rule for problem in document.problems]


# A scale tier that is not known.

MISSPELT = {**CUSTOM, "scaleTier": "STANDARD1", "workerCount": 4}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"scaleTier": "STANDARD1", **IMAGE}, id="alone"),
        pytest.param(MISSPELT, id="with a count"),
        pytest.param({**MISSPELT, "workerType": "n2"}, id="with an unknown type"),
        pytest.param({**MISSPELT, "workerConfig": {"acceleratorConfig": {"type": "T4"}}}, id="with GPUs"),
        pytest.param(
            {**MISSPELT, "masterConfig": {"imageUri": "a/b", "containerArgs": ["x"]}}, id="with a command"
        ),
        pytest.param({"scaleTier": "STANDARD1", **PACKAGE}, id="with a package"),
    ],
)
def test_a_misspelt_tier_is_all_that_is_said(fields):
    document = read(**fields)
    assert rules(document) == ["legacy-scale-tier"]
    assert "worker_pool_specs" in document.damaged


def test_a_tier_that_cannot_be_read_hides_what_follows_from_it():
    assert words(read(**{**MISSPELT, "scaleTier": 5})) == [
        "training_input.scale_tier: expected a string, got the number 5; write it in quotes"
    ]


def test_the_rest_is_checked_despite_a_misspelt_tier():
    document = read(**{**MISSPELT, "region": "us-central", "workerConfig": {"imageUri": "a b"}})
    assert [problem.path for problem in errors(document.problems)] == [
        "training_input.scale_tier",
        "training_input.worker_config.image_uri",
        "training_input.region",
    ]


# Runtime versions.


@pytest.mark.parametrize(
    ("version", "nearest"),
    [
        pytest.param("2.12", "2.11", id="newer"),
        pytest.param("3.0", "2.11", id="of a new TensorFlow"),
        pytest.param("2.0", "2.1", id="before the first of its TensorFlow"),
        pytest.param("1.16", "1.15", id="after the last of its TensorFlow"),
        pytest.param("1.3", "1.4", id="between two, the newer"),
        pytest.param("0.12", "1.0", id="older"),
        pytest.param("2.8.1", "2.8", id="with a patch"),
        pytest.param("1.10", "1.10", id="itself"),
        pytest.param("latest", None, id="no version"),
        pytest.param("2", None, id="half a version"),
    ],
)
def test_the_nearest_runtime_version(version, nearest):
    assert tables.nearest_runtime(version) == nearest


@pytest.mark.parametrize(
    ("version", "hint"),
    [
        pytest.param("2.12", "the last one was 2.11: use that", id="newer"),
        pytest.param("latest", "the last one was 2.11: use that", id="no version"),
        pytest.param("1.3", "use the nearest, 1.4", id="between two"),
    ],
)
def test_an_unknown_runtime_version_has_a_hint_of_a_known_one(version, hint):
    (message,) = [p.message for p in errors(read(**{**PACKAGE, "runtimeVersion": version}).problems)]
    assert message == (
        f"'{version}' is not a runtime version of AI Platform; {hint}, or give worker pools with "
        "pythonPackageSpec and a prebuilt image of Vertex AI"
    )


# Remedies that lead to a job without the finding.

WITH_WORKERS = {**CUSTOM, "workerType": "n1-standard-8", "workerCount": 2}


def test_args_with_a_command_go_to_every_role():
    config = {"imageUri": "repo/trainer:1", "containerArgs": ["--a"]}
    before = read(**{**WITH_WORKERS, "masterConfig": config}, args=["--b"])
    assert errors(before.problems)[0].message.endswith(
        "move them to masterConfig.containerArgs and workerConfig.containerArgs"
    )
    both = {"containerArgs": ["--a", "--b"]}
    after = read(**{**WITH_WORKERS, "masterConfig": {**config, **both}, "workerConfig": both})
    assert not {"legacy-args-twice", "legacy-command-not-inherited"} & set(rules(after))


@pytest.mark.parametrize(
    ("fields", "start", "end"),
    [
        pytest.param({"workerCount": 2}, "2 does", "CUSTOM with masterType and workerType", id="a count"),
        pytest.param(
            {"workerType": "standard"},
            "'standard' does",
            "CUSTOM with masterType and workerCount",
            id="a type",
        ),
        pytest.param({"masterType": "standard"}, "'standard' does", "write scaleTier CUSTOM", id="a master"),
        pytest.param(
            {
                "masterConfig": {
                    "imageUri": "a/b",
                    "acceleratorConfig": {"type": "NVIDIA_TESLA_T4", "count": 2},
                }
            },
            "2 x NVIDIA_TESLA_T4 does",
            "CUSTOM with masterType",
            id="accelerators",
        ),
    ],
)
def test_what_only_custom_has_is_named_with_what_custom_needs(fields, start, end):
    (problem,) = errors(read(scaleTier="BASIC", **{**IMAGE, **fields}).problems)
    assert problem.message.startswith(start)
    assert problem.message.endswith(end)


def test_accelerators_without_a_tier():
    config = {"imageUri": "a/b", "acceleratorConfig": {"type": "NVIDIA_TESLA_T4", "count": 1}}
    (problem,) = errors(read(masterConfig=config).problems)
    assert "scaleTier BASIC, the tier of a job that names none" in problem.message


def test_underscores_in_a_compute_engine_type():
    (problem,) = errors(read(**{**CUSTOM, "masterType": "n1_standard_4"}).problems)
    assert problem.message == "'n1_standard_4' is not a machine type; did you mean n1-standard-4?"


# Commands.


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("gcloud ai-platform predict --model m", id="another command"),
        pytest.param(f'{COMMAND} --region "us', id="no words"),
        pytest.param(5, id="no command"),
    ],
)
def test_nothing_is_said_of_a_job_that_is_not_there(command):
    document = read_document({"gcloud": command})
    assert len(document.problems) == 1
    assert (document.spec, document.damaged) == (None, {""})


def test_a_job_with_another_command_is_read():
    document = read_document({"gcloud": "gcloud ai-platform predict", "trainingInput": CUSTOM})
    assert rules(document) == ["gcloud-command"]
    assert document.spec is not None


def test_a_file_of_config_that_is_not_there_may_have_the_rest():
    document = read_document({"gcloud": f"{COMMAND} --worker-count=2 --master-image-uri=a/b --config=c.yaml"})
    assert rules(document) == ["gcloud-config"]
    assert "worker_pool_specs" in document.damaged


def test_what_the_flags_say_is_judged_without_the_file_of_config():
    document = read_document(
        {"gcloud": f"{COMMAND} --scale-tier=custom --master-machine-type=n1-standard-5 --config=c.yaml"}
    )
    assert rules(document) == ["gcloud-config", "machine-type"]


@pytest.mark.parametrize(
    ("flags", "finding"),
    [
        pytest.param(
            "--scale-tier=custom --master-machine-type=n1-standard-4 --worker-count=2 --master-image-uri=a/b",
            "gcloud.--worker-machine-type: is missing while --worker-count is 2; give the machine type",
            id="a count",
        ),
        pytest.param(
            "--module-name=a.b --master-image-uri=a/b",
            "gcloud.--module-name: 'a.b' is given together with --master-image-uri; a job runs a container, "
            "or a package on a runtime version. Keep one of them",
            id="an image",
        ),
        pytest.param(
            "--region=us-central1",
            "gcloud: has no task, so tasks are not checked; give --master-image-uri, or "
            "--packages, --module-name and --runtime-version",
            id="nothing to run",
        ),
    ],
)
def test_a_finding_about_a_command_speaks_of_flags(flags, finding):
    assert finding in words(read_document({"gcloud": f"{COMMAND} {flags}"}))


def test_a_field_of_a_small_word_is_left_in_the_sentence():
    (finding,) = errors(read_document({"gcloud": f"{COMMAND} --region=us --master-image-uri=a/b"}).problems)
    assert finding.message.startswith("'us' is not a region of Vertex AI")


# What could not be read, by the paths of the custom job.


@pytest.mark.parametrize(
    ("fields", "damaged"),
    [
        pytest.param({"workerCount": "x"}, "worker_pool_specs[1].replica_count", id="a count"),
        pytest.param({"workerCuont": 2}, "worker_pool_specs[1].replica_count", id="a misspelt count"),
        pytest.param({"workerType": 5}, "worker_pool_specs[1].machine_spec.machine_type", id="a type"),
        pytest.param(
            {"workerConfig": {"diskConfig": {"bootDiskSizeGb": "x"}}},
            "worker_pool_specs[1].disk_spec.boot_disk_size_gb",
            id="a size of a disk",
        ),
        pytest.param(
            {"workerConfig": {"acceleratorConfig": {"type": "NVIDIA_TESLA_T4", "count": "x"}}},
            "worker_pool_specs[1].machine_spec.accelerator_count",
            id="a count of GPUs",
        ),
        pytest.param({"jobDir": 5}, "base_output_directory", id="a directory"),
        pytest.param({"scheduling": {"maxRunningTime": True}}, "scheduling.timeout", id="a time"),
    ],
)
def test_what_could_not_be_read(fields, damaged):
    document = read(**{**WITH_WORKERS, **fields})
    assert damaged in document.damaged
    assert "worker_pool_specs[1]" not in document.damaged
    assert ("worker_pool_specs[1].replica_count" in document.damaged) == damaged.endswith("replica_count")


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"workerType": "n1-standard-5"}, id="an unknown machine"),
        pytest.param({"workerConfig": {"imageUri": "a b"}}, id="an invalid image"),
        pytest.param({"pythonModule": "a.b"}, id="two tasks"),
    ],
)
def test_what_is_wrong_could_be_read(fields):
    assert read(**{**WITH_WORKERS, **fields}).damaged == frozenset()


def test_counts_with_another_tier_leave_open_which_one_is_meant():
    document = read(scaleTier="STANDARD_1", workerCount=9, **IMAGE)
    assert document.damaged == {"worker_pool_specs[1].replica_count"}


# Frameworks.


def test_a_framework_chooses_for_a_training_input_as_for_its_worker_pools():
    fields = {
        **CUSTOM,
        "workerType": "n1-standard-4",
        "workerCount": 2,
        "parameterServerType": "n1-standard-4",
        "parameterServerCount": 1,
        "args": ["python3", "-m", "trainer.task"],
    }
    mxnet = CheckOptions(framework="mxnet")
    document = read_document({"trainingInput": fields}, options=mxnet)
    pools = encode(read(**fields).spec)["worker_pool_specs"]
    same = read_document({"workerPoolSpecs": pools}, options=mxnet)
    assert [choice.path for choice in document.choices] == [
        f"worker_pool_specs[{position}].container_spec.command" for position in range(3)
    ]
    assert document.choices == same.choices
    assert document.chosen == same.chosen
    assert document.spec.worker_pool_specs == same.spec.worker_pool_specs


def test_a_framework_leaves_the_image_of_a_runtime_version():
    document = read_document(
        {"trainingInput": {"scaleTier": "BASIC", **PACKAGE}}, options=CheckOptions(framework="pytorch")
    )
    task = document.spec.worker_pool_specs[0].python_package_spec
    assert task.executor_image_uri.endswith("/tf-cpu.2-11:latest")
    assert document.choices == ()
    assert "starts no launcher" in " ".join(document.chosen)
