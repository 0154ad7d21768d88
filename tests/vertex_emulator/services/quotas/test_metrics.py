"""The ids and words of quotas, which Google's pages show for some metrics."""

from __future__ import annotations

import pytest
from google.cloud.aiplatform_v1.types import CustomJob

from vertex_emulator.services.quotas import metrics


@pytest.mark.parametrize(
    ("metric", "found"),
    [
        ("nvidia_t4_gpus", "CustomModelTrainingT4GPUsPerProjectPerRegion"),
        ("nvidia_a100_80gb_gpus", "CustomModelTrainingA10080GBGPUsPerProjectPerRegion"),
        ("cpus", "CustomModelTrainingCPUsPerProjectPerRegion"),
        ("preemptible_nvidia_h100_gpus", "CustomModelTrainingPreemptibleH100GPUsPerProjectPerRegion"),
        ("tpu_v5e", "CustomModelTrainingTPUV5EPerProjectPerRegion"),
    ],
)
def test_the_id_of_a_quota(metric: str, found: str) -> None:
    assert metrics.quota_id(metric) == found


def test_a_tpu_slice_takes_the_vcpus_of_all_its_machines() -> None:
    pools = [
        {"machine_spec": {"machine_type": "ct5lp-hightpu-4t", "tpu_topology": "4x8"}, "replica_count": 1},
        {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 2},
    ]
    job = CustomJob({"job_spec": {"worker_pool_specs": pools}})
    assert metrics.demand(job, strategy="STANDARD") == {"ct5lp_cpus": 8 * 112, "cpus": 8}


def test_the_words_for_a_metric() -> None:
    words = metrics.display_name("preemptible_nvidia_t4_gpus")
    assert words == "Custom model training Preemptible Nvidia T4 GPUs"


def test_ids_are_distinct() -> None:
    found = [metrics.quota_id(metric) for metric in metrics.all_metrics()]
    assert len(set(found)) == len(found)
    assert {"cpus", "n2_cpus", "preemptible_tpu_v2"} <= set(metrics.all_metrics())
