from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.kinds.custom_job.kind import read
from vertex_training.fields.decode import UNKNOWN
from vertex_training.findings.problems import errors
from vertex_training.job.auto_replicas import AUTO, fill_in
from vertex_training.topology.roles import is_reduction_server_image

US = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
EUROPE = "europe-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"


def trainers(replicas, **machine):
    gpus = {"machine_type": "n1-highmem-96", "accelerator_type": "NVIDIA_TESLA_V100", "accelerator_count": 8}
    return {
        "machine_spec": {**gpus, **machine},
        "replica_count": replicas,
        "container_spec": {"image_uri": "repo/trainer:1"},
    }


def job(*servers, chief=None, workers=None):
    chief, workers = chief or trainers(1), workers or trainers(4)
    return {"display_name": "digits", "worker_pool_specs": [chief, workers, *servers]}


def servers_of(filled):
    return filled.value["worker_pool_specs"][2]


def test_everything_is_filled_in():
    filled = fill_in(job({"replica_count": "auto"}))
    assert filled.problems == ()
    assert servers_of(filled) == {
        "replica_count": 16,
        "machine_spec": {"machine_type": "n1-highcpu-16"},
        "container_spec": {"image_uri": US},
    }
    assert filled.sizing.required_gbps == 500
    assert filled.sizing.replicas == 16


def test_a_filled_in_declaration_is_a_job():
    decoded = read(job({"replica_count": "auto"}))
    assert decoded.problems == ()
    assert decoded.spec.worker_pool_specs[2].replica_count == 16


def test_keys_in_either_spelling():
    chief = {"machineSpec": {"machineType": "n1-highmem-96"}, "replicaCount": "1"}
    value = {
        "workerPoolSpecs": [
            chief,
            {},
            {"replicaCount": "auto", "machineSpec": {"machineType": "n4-standard-80"}},
        ]
    }
    filled = fill_in(value, location="europe-west4")
    assert filled.value["workerPoolSpecs"][2] == {
        "replicaCount": 1,
        "machineSpec": {"machineType": "n4-standard-80"},
        "container_spec": {"image_uri": EUROPE},
    }


def test_given_values_are_kept():
    given_pool = {
        "replica_count": "auto",
        "machine_spec": {"machine_type": "n1-highcpu-16"},
        "container_spec": {"image_uri": EUROPE, "env": [{"name": "A", "value": "b"}]},
        "disk_spec": {"boot_disk_size_gb": 200},
    }
    filled = fill_in(job(given_pool), location="us-central1")
    assert servers_of(filled) == {**given_pool, "replica_count": 16}


def test_a_container_without_an_image_gets_one():
    filled = fill_in(job({"replica_count": "auto", "container_spec": {"args": ["-v"]}}))
    assert servers_of(filled)["container_spec"] == {"args": ["-v"], "image_uri": US}


def test_a_machine_without_a_type_gets_one():
    filled = fill_in(job({"replica_count": "auto", "machine_spec": {}}))
    assert servers_of(filled)["machine_spec"] == {"machine_type": "n1-highcpu-16"}


def test_the_pools_after_it_stay():
    filled = fill_in(job({"replica_count": "auto"}, trainers(1)))
    assert filled.value["worker_pool_specs"][3] == trainers(1)


def test_the_declaration_itself_is_not_changed():
    value = job({"replica_count": "auto"})
    before = copy.deepcopy(value)
    fill_in(value)
    assert value == before


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"worker_pool_specs": None},
        {"worker_pool_specs": "auto"},
        {"worker_pool_specs": UNKNOWN},
        {"worker_pool_specs": [None, "auto", UNKNOWN, {"replica_count": 3}]},
        {"replica_count": "auto"},
        job({"replica_count": "automatic"}),
    ],
)
def test_a_declaration_without_auto_is_unchanged(value):
    filled = fill_in(value)
    assert filled.value is value
    assert (filled.problems, filled.sizing) == ((), None)


NOT_YET = {
    "the chief's machine": job({"replica_count": AUTO}, chief=trainers(1, machine_type=UNKNOWN)),
    "the number of workers": job({"replica_count": AUTO}, workers=trainers(UNKNOWN)),
    "the workers' accelerators": job({"replica_count": AUTO}, workers=trainers(4, accelerator_count=UNKNOWN)),
    "the workers": job({"replica_count": AUTO}, workers=UNKNOWN),
    "the servers' machine type": job({"replica_count": AUTO, "machine_spec": {"machine_type": UNKNOWN}}),
    "the servers' machine": job({"replica_count": AUTO, "machine_spec": UNKNOWN}),
}


@pytest.mark.parametrize("value", NOT_YET.values(), ids=NOT_YET)
def test_the_number_is_unknown_while_a_counted_field_is(value):
    filled = fill_in(value)
    assert servers_of(filled)["replica_count"] == UNKNOWN
    assert (filled.problems, filled.sizing) == ((), None)
    assert errors(read(value).problems) == ()


def test_an_unknown_image_does_not_change_the_number():
    filled = fill_in(job({"replica_count": "auto", "container_spec": {"image_uri": UNKNOWN}}))
    assert servers_of(filled)["replica_count"] == 16
    assert servers_of(filled)["container_spec"] == {"image_uri": UNKNOWN}


def test_fields_that_do_not_count_may_be_unknown():
    chief = {**trainers(1), "container_spec": UNKNOWN, "disk_spec": UNKNOWN}
    assert fill_in(job({"replica_count": "auto"}, chief=chief)).sizing.replicas == 16


REFUSED = {
    "auto workers": (
        job(workers={**trainers(1), "replica_count": "auto"}),
        "worker_pool_specs[1].replica_count",
        "auto-position",
        '"auto" counts reduction servers, which are the third worker pool; give a number here',
    ),
    "auto evaluators": (
        job({}, {**trainers(1), "replica_count": "auto"}),
        "worker_pool_specs[3].replica_count",
        "auto-position",
        "give a number here",
    ),
    "parameter servers": (
        job({"replica_count": "auto", "container_spec": {"image_uri": "repo/ps:1"}}),
        "worker_pool_specs[2].container_spec.image_uri",
        "auto-image",
        "'repo/ps:1' is not a reduction server",
    ),
    "a Python package": (
        job(
            {
                "replica_count": "auto",
                "python_package_spec": {
                    "executor_image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-8:latest",
                    "package_uris": ["gs://b/p.whl"],
                    "python_module": "p",
                },
            }
        ),
        "worker_pool_specs[2].python_package_spec",
        "auto-image",
        "is not a reduction server",
    ),
    "TPUs": (
        job(
            {"replica_count": "auto"},
            chief={
                **trainers(1),
                "machine_spec": {"machine_type": "ct6e-standard-1t", "tpu_topology": "1x1"},
            },
        ),
        "worker_pool_specs[2].replica_count",
        "auto-size",
        "\"auto\" cannot be calculated: the bandwidth of 'ct6e-standard-1t' (chief) is not known",
    ),
    "an unknown machine": (
        job({"replica_count": "auto", "machine_spec": {"machine_type": "n9-highcpu-16"}}),
        "worker_pool_specs[2].replica_count",
        "auto-size",
        "use n1-highcpu-16, or give a number",
    ),
}


@pytest.mark.parametrize(("value", "path", "rule", "words"), REFUSED.values(), ids=REFUSED)
def test_rejected(value, path, rule, words):
    filled = fill_in(value)
    (problem,) = filled.problems
    assert (problem.path, problem.rule, problem.level) == (path, rule, "error")
    assert words in problem.message
    assert filled.sizing is None


@pytest.mark.parametrize("case", REFUSED)
def test_a_rejected_count_has_one_finding(case):
    value, *_ = REFUSED[case]
    decoded = read(value)
    assert decoded.spec is None
    assert not any("expected a whole number" in problem.message for problem in decoded.problems)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (job({"replica_count": "auto"}, chief=trainers("one")), "worker_pool_specs[0].replica_count"),
        (job({"replica_count": "auto"}, workers=["x"]), "worker_pool_specs[1]"),
        (
            job({"replica_count": "auto"}, workers=trainers(2, machine_type=["n1"])),
            "worker_pool_specs[1].machine_spec.machine_type",
        ),
        (
            job({"replica_count": "auto", "machine_spec": {"machine_type": 16}}),
            "worker_pool_specs[2].machine_spec.machine_type",
        ),
        (job({"replica_count": "auto", "container_spec": "image"}), "worker_pool_specs[2].container_spec"),
    ],
)
def test_invalid_values_are_left_to_the_decoder(value, path):
    assert fill_in(value).problems == ()
    assert path in [problem.path for problem in errors(read(value).problems)]


def test_accelerators_on_the_servers_are_rejected():
    gpus = {"machine_type": "n1-highcpu-16", "accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 1}
    decoded = read(job({"replica_count": "auto", "machine_spec": gpus}))
    (problem,) = errors(decoded.problems)
    assert problem.path == "worker_pool_specs[2].machine_spec.accelerator_type"
    assert "reduction servers, which use no accelerators" in problem.message


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["auto", UNKNOWN]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "replica_count",
                    "replicaCount",
                    "machine_spec",
                    "machineSpec",
                    "machine_type",
                    "container_spec",
                    "image_uri",
                ]
            )
            | st.text(max_size=3)
            | st.integers(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
auto_pools = st.dictionaries(
    st.sampled_from(["machine_spec", "containerSpec", "container_spec", "python_package_spec", "disk_spec"]),
    anything,
    max_size=3,
).map(lambda pool: {**pool, "replica_count": "auto"})


@given(st.lists(anything, max_size=2), auto_pools, anything)
def test_any_value_is_filled_in_without_an_exception(before, pool, location):
    where = location if isinstance(location, str) else None
    filled = fill_in({"worker_pool_specs": [*before, pool]}, location=where)
    count = filled.value["worker_pool_specs"][len(before)]["replica_count"]
    assert count == UNKNOWN or (isinstance(count, int) and count > 0)
    assert (filled.sizing is None) == (count == UNKNOWN)


@given(anything)
def test_any_pools_are_read_without_an_exception(pools):
    fill_in({"workerPoolSpecs": pools})


@given(st.sampled_from(["us-west1", "europe-west4", "asia-east1", None, "x"]))
def test_the_image_that_is_filled_in_makes_them_reduction_servers(location):
    filled = fill_in(job({"replica_count": "auto"}), location=location)
    assert is_reduction_server_image(servers_of(filled)["container_spec"]["image_uri"])
