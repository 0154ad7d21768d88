"""Conversion of legacy AI Platform: mistakes, and properties of any input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cli.explain.documents import read_document
from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import tables
from support.client.specs.training_inputs import (
    COMMAND,
    CUSTOM,
    IMAGE,
    LEGACY,
    PACKAGE,
    WORKERS,
    failures,
    read,
)
from support.tables import every_row
from vertex_training.fields.decode import UNKNOWN
from vertex_training.findings.problems import errors, warnings

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
        {}, optional={"parameterServerType": machines, "evaluatorType": machines}
    ).map(lambda others: {**worker, **others, **{key.replace("Type", "Count"): "2" for key in others}})
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


# Properties.


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
