from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.ground.jobs import EMPTY, any_pools, pool
from vertex_training.catalog.regions import REGIONS
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import known
from vertex_training.topology.pools import MachineSpec, WorkerPoolSpec
from vertex_training.topology.rules.regions import bucket_region_problems, region_problems


def test_a_misspelled_location_is_no_reason_to_move_the_other() -> None:
    def named(bucket: str, job: str) -> list[str]:
        return [one.message for one in bucket_region_problems("b", bucket_location=bucket, location=job)]

    assert named("us-east1", "us-central1")
    assert named("us-west8", "us-central1")  # newer than the list
    for bucket, job in (("us-east1", "us-centrall1"), ("US-CENTRALL1", "us-central1")):
        assert named(bucket, job) == []


def having(kind=None, machine="n1-standard-4", count=1, replicas=1):
    spec = MachineSpec(machine_type=machine, accelerator_type=kind, accelerator_count=count if kind else 0)
    return WorkerPoolSpec(machine_spec=spec, replica_count=replicas)


def found(*pools, location, **options):
    return list(region_problems(pools, "p", CheckOptions(location=location, **options)))


OFFERED = {
    "no accelerator": (having(), "africa-south1"),
    "a GPU of the region": (having("NVIDIA_TESLA_T4"), "us-central1"),
    "TPU v5e": (having(machine="ct5lp-hightpu-4t"), "us-west4"),
    "one TPU v3": (having("TPU_V3", "cloud-tpu", 8), "us-central1"),
    "a pod of TPU v3": (having("TPU_V3", "cloud-tpu", 32), "europe-west4"),
    "a name that the API does not have, which is not the region's fault": (having("ABACUS"), "us-central1"),
    "a name that no region has": (having("NVIDIA_TESLA_K80"), "us-central1"),
    "a skipped pool": (having("NVIDIA_B200", replicas=0), "africa-south1"),
    "a pool without a machine": (WorkerPoolSpec(replica_count=1), "us-central1"),
}


@pytest.mark.parametrize(("each", "location"), OFFERED.values(), ids=OFFERED)
def test_offered(each, location):
    assert found(each, location=location) == []


NOT_OFFERED = {
    "a GPU": (
        having("NVIDIA_TESLA_V100"),
        "us-east4",
        "accelerator_type",
        "NVIDIA_TESLA_V100 is not offered for training in us-east4; "
        "it is in us-central1, us-east1, us-west1, europe-west4 or asia-east1",
    ),
    "a GPU of many regions, those near first": (
        having("NVIDIA_B200", "a4-highgpu-8g", 8),
        "europe-west1",
        "accelerator_type",
        "it is in europe-west4, us-central1, us-east1, us-east4, us-south1 and 4 more",
    ),
    "the smaller A100": (
        having("NVIDIA_TESLA_A100", "a2-highgpu-1g"),
        "us-east5",
        "accelerator_type",
        "NVIDIA_TESLA_A100 is not offered",
    ),
    "the larger A100": (
        having("NVIDIA_A100_80GB", "a2-ultragpu-1g"),
        "me-west1",
        "accelerator_type",
        "NVIDIA_A100_80GB is not offered",
    ),
    "TPU v5e": (
        having(machine="ct5lp-hightpu-4t"),
        "europe-west4",
        "machine_type",
        "TPU v5e (ct5lp) is not offered for training in europe-west4; it is in us-central1",
    ),
    "TPU7x": (
        having(machine="tpu7x-standard-4t"),
        "us-east1",
        "machine_type",
        "TPU7x (tpu7x) is not offered for training in us-east1; it is in us-central1",
    ),
    "a pod where there are single TPUs": (
        having("TPU_V3", "cloud-tpu", 32),
        "us-central1",
        "accelerator_type",
        "TPU_V3 pod is not offered for training in us-central1; it is in europe-west4",
    ),
}


@pytest.mark.parametrize(("each", "location", "field", "words"), NOT_OFFERED.values(), ids=NOT_OFFERED)
def test_not_offered(each, location, field, words):
    (problem,) = found(EMPTY, each, location=location)
    assert problem.path == f"p[1].machine_spec.{field}"
    assert (problem.rule, problem.level) == ("region-accelerator", "error")
    assert words in problem.message


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("us-centrall", "did you mean us-central1"),
        ("us-central1-a", "it is a zone: write its region, us-central1"),
        ("global", "one is written like us-central1"),
        ("US", "not a region of Vertex AI"),
        ("", "not a region of Vertex AI"),
    ],
)
def test_a_region_that_does_not_exist(location, words):
    (problem,) = found(pool(), location=location)
    assert (problem.path, problem.rule, problem.level) == ("location", "region", "error")
    assert words in problem.message


@pytest.mark.parametrize("location", ["us-north1", "us-east4"])
def test_a_switch_makes_an_unknown_entry_a_warning(location):
    (problem,) = found(having("NVIDIA_TESLA_V100"), location=location, allow_unknown_types=True)
    assert problem.level == "warning"


def test_several_types_of_gpus_have_to_be_in_one_zone():
    pools = having("NVIDIA_TESLA_T4"), having("NVIDIA_TESLA_P4"), having("NVIDIA_TESLA_T4")
    (problem,) = found(*pools, location="australia-southeast1")
    assert (problem.path, problem.rule, problem.level) == ("p", "one-zone", "warning")
    assert (
        "NVIDIA_TESLA_T4 and NVIDIA_TESLA_P4, which must all be available in a single zone" in problem.message
    )


@pytest.mark.parametrize(
    "pools",
    [
        (having("NVIDIA_TESLA_T4"), having("NVIDIA_TESLA_T4")),
        (having("NVIDIA_TESLA_T4"), having()),
        (having("NVIDIA_TESLA_T4"), having("NVIDIA_TESLA_P4", replicas=0)),
        (having("NVIDIA_TESLA_T4"), having("ABACUS")),
    ],
    ids=["one type", "one with, one without", "a skipped pool", "a misspelt type"],
)
def test_one_type_of_gpus_is_valid(pools):
    assert found(*pools, location="us-central1") == []


@pytest.mark.parametrize("unknown", ["location", "p[0].machine_spec.machine_type", "p[0].machine_spec"])
def test_a_missing_offer_rests_on_location_and_machine(unknown):
    problems = found(having("NVIDIA_TESLA_V100"), location="us-east4")
    assert problems
    assert known(problems, {unknown}) == ()


def test_one_zone_rests_on_every_accelerator():
    problems = found(having("NVIDIA_TESLA_T4"), having("NVIDIA_TESLA_P4"), location="us-central1")
    assert problems
    assert known(problems, {"p[1].machine_spec.accelerator_type"}) == ()


@given(st.lists(any_pools, max_size=4))
def test_no_findings_without_a_location(pools):
    assert list(region_problems(pools, "p", CheckOptions())) == []


@given(st.lists(any_pools, max_size=4), st.text(max_size=12) | st.sampled_from(list(REGIONS)))
def test_any_location_is_checked_without_an_exception(pools, location):
    for problem in found(*pools, location=location):
        assert problem.path == "location" or problem.path.startswith("p")
        assert problem.message
