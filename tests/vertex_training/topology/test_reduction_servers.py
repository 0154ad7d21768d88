from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.ground.jobs import EMPTY, REDUCTION_SERVER, any_pools
from support.tables import every_row
from vertex_training.catalog.machines import MACHINES
from vertex_training.catalog.regions import REGIONS
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import known
from vertex_training.topology.pools import ContainerSpec, MachineSpec, PythonPackageSpec, WorkerPoolSpec
from vertex_training.topology.roles import is_reduction_server_image
from vertex_training.topology.rules.bandwidth import bandwidth_gbps
from vertex_training.topology.rules.reduction_servers import (
    DEFAULT_MACHINE,
    image_for,
    reduction_server_problems,
    size,
)


def trainers(replicas, machine="n1-highmem-96", kind="NVIDIA_TESLA_V100", count=8, image="repo/trainer:1"):
    return WorkerPoolSpec(
        machine_spec=MachineSpec(
            machine_type=machine, accelerator_type=kind, accelerator_count=count if kind else 0
        ),
        replica_count=replicas,
        container_spec=ContainerSpec(image_uri=image),
    )


def packaged(replicas, image):
    task = PythonPackageSpec(
        executor_image_uri=f"us-docker.pkg.dev/vertex-ai/training/{image}:latest",
        package_uris=("gs://b/p.whl",),
        python_module="trainer",
    )
    return replace(trainers(replicas), container_spec=None, python_package_spec=task)


def servers(replicas=16, machine=DEFAULT_MACHINE, image=REDUCTION_SERVER, **fields):
    return WorkerPoolSpec(
        machine_spec=MachineSpec(machine_type=machine, **fields),
        replica_count=replicas,
        container_spec=ContainerSpec(image_uri=image),
    )


def found(*pools, location=None):
    return list(reduction_server_problems(pools, "p", CheckOptions(location=location)))


A2 = {"machine": "a2-megagpu-16g", "kind": "NVIDIA_TESLA_A100", "count": 16}
SIZES = {
    "the document's example": (trainers(1), trainers(4), 500, 16),
    "the document's second example": (trainers(1, **A2), trainers(7, **A2), 800, 25),
    "without GPUs": (trainers(1, kind=None), trainers(4, kind=None), 160, 5),
    "a chief alone": (trainers(1), EMPTY, 100, 4),
    "workers alone": (EMPTY, trainers(3), 300, 10),
    "different machines": (trainers(1, kind=None), trainers(2), 232, 8),
    "one server": (trainers(1, "n1-standard-8", None), trainers(1, "n1-standard-8", None), 32, 1),
    "fewer than no workers, which is an error of its own": (trainers(1), trainers(-3), 100, 4),
}


@pytest.mark.parametrize(("chief", "workers", "gbps", "replicas"), SIZES.values(), ids=SIZES)
def test_sizes(chief, workers, gbps, replicas):
    sizing = size(chief, workers)
    assert (sizing.required_gbps, sizing.gbps_per_replica, sizing.replicas) == (gbps, 32, replicas)


def test_the_arithmetic_in_words():
    assert size(trainers(1), trainers(4)).arithmetic == (
        "The chief (n1-highmem-96 with 8 x NVIDIA_TESLA_V100) sends at most 100 Gbps.",
        "4 workers (n1-highmem-96 with 8 x NVIDIA_TESLA_V100) send at most 100 Gbps each, 400 together.",
        "Chief and workers together send at most 500 Gbps.",
        "A reduction server (n1-highcpu-16) sends at most 32 Gbps.",
        "16 reduction servers have 512 Gbps, enough for 500; 15 would have 480.",
    )


def test_the_arithmetic_of_a_chief_alone_and_one_server():
    assert size(trainers(1, "n1-standard-4", None), EMPTY).arithmetic == (
        "The chief (n1-standard-4) sends at most 10 Gbps.",
        "A reduction server (n1-highcpu-16) sends at most 32 Gbps.",
        "1 reduction server has 32 Gbps, enough for 10.",
    )


def test_another_machine_and_location():
    sizing = size(trainers(1), trainers(4), machine_type="n4-standard-80", location="asia-east1")
    assert (sizing.machine_type, sizing.gbps_per_replica, sizing.replicas) == ("n4-standard-80", 50, 10)
    assert sizing.image_uri == image_for("asia-east1")


@pytest.mark.parametrize(
    ("chief", "workers", "machine", "words"),
    [
        (
            trainers(1),
            trainers(1),
            "n1-tiny-1",
            "the bandwidth of 'n1-tiny-1' is not known; use n1-highcpu-16",
        ),
        (trainers(1, "ct6e-standard-4t", None), EMPTY, DEFAULT_MACHINE, "'ct6e-standard-4t' \\(chief\\)"),
        (trainers(1), trainers(2, "x", None), DEFAULT_MACHINE, "'x' \\(workers\\)"),
        (trainers(1), WorkerPoolSpec(replica_count=2), DEFAULT_MACHINE, "workers have no machine type"),
        (EMPTY, EMPTY, DEFAULT_MACHINE, "neither a chief nor workers"),
    ],
)
def test_sizes_that_cannot_be_calculated(chief, workers, machine, words):
    with pytest.raises(ValueError, match=words):
        size(chief, workers, machine_type=machine)


known_machines = st.sampled_from(
    [name for name in MACHINES if bandwidth_gbps(MachineSpec(machine_type=name))]
)


@given(known_machines, known_machines, known_machines, st.integers(1, 1000))
def test_the_number_is_the_smallest_that_suffices(chief, workers, server, count):
    sizing = size(trainers(1, chief, None), trainers(count, workers, None), machine_type=server)
    assert sizing.replicas * sizing.gbps_per_replica >= sizing.required_gbps
    assert (sizing.replicas - 1) * sizing.gbps_per_replica < sizing.required_gbps
    assert str(sizing.replicas) in sizing.arithmetic[-1]


@pytest.mark.parametrize(
    ("location", "multi_region"),
    [
        ("us-west4", "us"),
        ("northamerica-northeast1", "us"),
        ("southamerica-east1", "us"),
        ("europe-west4", "europe"),
        ("me-west1", "europe"),
        ("africa-south1", "europe"),
        ("asia-south2", "asia"),
        ("australia-southeast1", "asia"),
        (None, "us"),
        ("moon-west1", "us"),
    ],
)
def test_the_nearest_image(location, multi_region):
    path = "vertex-ai-restricted/training/reductionserver:latest"
    assert image_for(location) == f"{multi_region}-docker.pkg.dev/{path}"


@every_row("location", REGIONS)
def test_the_image_is_a_reduction_server_everywhere(location):
    assert is_reduction_server_image(image_for(location))


FINE = {
    "the document's example": (trainers(1), trainers(4), servers(16)),
    "more servers than are needed": (trainers(1), trainers(4), servers(40)),
    "prebuilt images": (packaged(1, "tf-gpu.2-3"), packaged(4, "pytorch-gpu.2-4.py310"), servers(16)),
    "a machine with as high a bandwidth": (trainers(1), trainers(4), servers(10, "n4-standard-80")),
    "parameter servers": (trainers(1, kind=None), trainers(1, kind=None), servers(1, image="repo/ps:1")),
    "none": (trainers(1), trainers(4)),
    "a skipped pool": (trainers(1), EMPTY, servers(0)),
    "machines of unknown bandwidth": (trainers(1, "x9-1"), trainers(4), servers(1)),
}


@pytest.mark.parametrize("pools", FINE.values(), ids=FINE)
def test_valid(pools):
    assert found(*pools) == []


WARNINGS = {
    "too few": (
        (trainers(1), trainers(4), servers(15)),
        "[2].replica_count",
        "reduction-bandwidth",
        "15 x n1-highcpu-16 send at most 480 Gbps together, chief and workers 500, "
        "so training would wait for the servers; set it to 16",
    ),
    "a slow machine": (
        (trainers(1), trainers(1), servers(20, "n1-standard-4")),
        "[2].machine_spec.machine_type",
        "reduction-machine",
        "n1-standard-4 sends at most 10 Gbps",
    ),
    "no workers": (
        (trainers(1), EMPTY, servers(16)),
        "[1]",
        "reduction-workers",
        "give the job workers, or leave the reduction servers out",
    ),
    "a chief without GPUs": (
        (trainers(1, kind=None), trainers(4), servers(16)),
        "[0].machine_spec.accelerator_type",
        "reduction-gpus",
        "the chief has no GPUs",
    ),
    "workers without GPUs": (
        (trainers(1), trainers(4, kind=None), servers(16)),
        "[1].machine_spec.accelerator_type",
        "reduction-gpus",
        "the workers have no GPUs",
    ),
    "workers with TPUs": (
        (trainers(1), trainers(1, "cloud-tpu", "TPU_V2", 8), servers(16)),
        "[1].machine_spec.accelerator_type",
        "reduction-gpus",
        "no GPUs",
    ),
    "an image of TensorFlow for CPUs": (
        (packaged(1, "tf-cpu.2-8"), trainers(4), servers(16)),
        "[0].python_package_spec.executor_image_uri",
        "reduction-trainers",
        "tf-cpu.2-8:latest is not an image for GPUs",
    ),
    "an image that is too old": (
        (trainers(1), packaged(4, "tf-gpu.2-2"), servers(16)),
        "[1].python_package_spec.executor_image_uri",
        "reduction-trainers",
        "tf-gpu.2-2:latest is too old",
    ),
    "an old PyTorch for TPUs": (
        (trainers(1), packaged(4, "pytorch-xla.1-11"), servers(16)),
        "[1].python_package_spec.executor_image_uri",
        "reduction-trainers",
        "not an image for GPUs",
    ),
    "another framework, as a container": (
        (trainers(1, image="gcr.io/cloud-aiplatform/training/xgboost-gpu.1-6"), trainers(4), servers(16)),
        "[0].container_spec.image_uri",
        "reduction-trainers",
        "neither TensorFlow nor PyTorch",
    ),
    "the image at another position": (
        (trainers(1), trainers(4, image=REDUCTION_SERVER)),
        "[1].container_spec.image_uri",
        "reduction-position",
        "move it to worker_pool_specs[2]",
    ),
}


@pytest.mark.parametrize(("pools", "path", "rule", "words"), WARNINGS.values(), ids=WARNINGS)
def test_warnings(pools, path, rule, words):
    (problem,) = found(*pools)
    assert (problem.path, problem.rule, problem.level) == (f"p{path}", rule, "warning")
    assert words in problem.message


def test_accelerators_on_reduction_servers_are_an_error():
    pools = trainers(1), trainers(4), servers(16, accelerator_type="NVIDIA_TESLA_T4", accelerator_count=1)
    (problem,) = found(*pools)
    assert (problem.path, problem.rule, problem.level) == (
        "p[2].machine_spec.accelerator_type",
        "reduction-accelerators",
        "error",
    )
    assert "NVIDIA_TESLA_T4 on reduction servers" in problem.message


def test_the_image_of_another_multi_region():
    (problem,) = found(trainers(1), trainers(4), servers(16), location="asia-east1")
    assert (problem.path, problem.rule) == ("p[2].container_spec.image_uri", "reduction-image")
    assert (
        "the image is in us, and the job runs in asia-east1; the nearest is asia-docker.pkg.dev"
        in problem.message
    )


@pytest.mark.parametrize("location", ["us-central1", "southamerica-east1", None])
def test_the_image_of_the_nearest_multi_region(location):
    assert found(trainers(1), trainers(4), servers(16), location=location) == []


@pytest.mark.parametrize(
    "unknown",
    [
        "p[0].machine_spec.machine_type",
        "p[1].replica_count",
        "p[1].machine_spec.accelerator_count",
        "p[2].replica_count",
        "p[2].machine_spec",
        "p[2].container_spec.image_uri",
    ],
)
def test_too_few_rests_on_all_that_is_counted(unknown):
    problems = found(trainers(1), trainers(4), servers(15))
    assert problems
    assert known(problems, {unknown}) == ()


@pytest.mark.parametrize(
    "case", [name for name in WARNINGS if name not in ("the image at another position",)]
)
def test_everything_rests_on_its_being_a_reduction_server(case):
    assert known(found(*WARNINGS[case][0]), {"p[2].container_spec.image_uri"}) == ()


@given(st.lists(any_pools, max_size=4), st.text(max_size=5) | st.none())
def test_any_pools_are_checked_without_an_exception(pools, location):
    for problem in found(*pools, location=location):
        assert problem.rule.startswith("reduction-")


@given(st.lists(any_pools, min_size=2, max_size=2), any_pools)
def test_any_trainers_are_checked_with_reduction_servers(trainers_, server):
    task = ContainerSpec(image_uri=REDUCTION_SERVER)
    for problem in found(*trainers_, replace(server, container_spec=task)):
        assert problem.message
