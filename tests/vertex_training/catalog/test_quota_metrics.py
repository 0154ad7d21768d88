"""The names of quota metrics, against those that documents and error texts of the service have."""

from __future__ import annotations

import pytest

from vertex_training.catalog import accelerators, quota_metrics


@pytest.mark.parametrize(
    ("accelerator", "metric"),
    [
        ("NVIDIA_TESLA_T4", "custom_model_training_nvidia_t4_gpus"),
        ("NVIDIA_L4", "custom_model_training_nvidia_l4_gpus"),
        ("NVIDIA_TESLA_A100", "custom_model_training_nvidia_a100_gpus"),
        ("NVIDIA_A100_80GB", "custom_model_training_nvidia_a100_80gb_gpus"),
        ("NVIDIA_H100_80GB", "custom_model_training_nvidia_h100_gpus"),
        ("TPU_V2", "custom_model_training_tpu_v2"),
    ],
)
def test_accelerators(accelerator: str, metric: str) -> None:
    short = quota_metrics.OF_ACCELERATORS[accelerator]
    assert quota_metrics.full_name(short, preemptible=False) == f"aiplatform.googleapis.com/{metric}"


def test_every_accelerator_has_a_metric_of_its_own() -> None:
    assert set(quota_metrics.OF_ACCELERATORS) == set(accelerators.NAMES)
    assert len(set(quota_metrics.OF_ACCELERATORS.values())) == len(accelerators.NAMES)


def test_spot_machines_have_metrics_of_their_own() -> None:
    name = quota_metrics.full_name("nvidia_h100_gpus", preemptible=True)
    assert name == "aiplatform.googleapis.com/custom_model_training_preemptible_nvidia_h100_gpus"


@pytest.mark.parametrize(
    ("machine", "metric"),
    [("n1-standard-4", "cpus"), ("e2-standard-4", "cpus"), ("a2-highgpu-1g", "a2_cpus")],
)
def test_vcpus(machine: str, metric: str) -> None:
    assert quota_metrics.of_vcpus(machine) == metric
