"""Conversion of legacy AI Platform: scale tiers, machines, accelerators and TPUs become worker pools."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.kinds.custom_job.forms.ai_platform import tables
from support.client.specs.training_inputs import (
    CUSTOM,
    IMAGE,
    WORKERS,
    convert,
    failures,
    read,
    remarks,
    sizes,
)
from vertex_training.catalog.machines import MACHINES
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import errors
from vertex_training.topology.pools import DiskSpec

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


TPU_WORKER = {"workerType": "cloud_tpu", "workerCount": 1}


# TPUs.


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
