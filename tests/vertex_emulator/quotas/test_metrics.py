"""The ids and words of quotas, which Google's pages show for some metrics."""

from __future__ import annotations

import pytest

from vertex_emulator.quotas import metrics


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


def test_the_words_for_a_metric() -> None:
    words = metrics.display_name("preemptible_nvidia_t4_gpus")
    assert words == "Custom model training Preemptible Nvidia T4 GPUs"


def test_ids_are_distinct() -> None:
    found = [metrics.quota_id(metric) for metric in metrics.all_metrics()]
    assert len(set(found)) == len(found)
    assert {"cpus", "n2_cpus", "preemptible_tpu_v2"} <= set(metrics.all_metrics())
