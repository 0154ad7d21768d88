"""The first line of a replica's log, where it mentions accelerators."""

from __future__ import annotations

from pathlib import Path

from support.tables import every_row
from vertex_emulator.jobs.custom.checks import image_rules
from vertex_emulator.replicas.images.image import ReplicaImage
from vertex_emulator.replicas.sandbox.mounts import masks
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

BASE = "us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310:latest"
STAND_IN = ReplicaImage(name=BASE, root="host", stand_in=BASE)
OWN = ReplicaImage(name="europe-docker.pkg.dev/p/r/i@sha256:0", root="own")


@every_row(
    "image, gpus, sentence",
    [
        (STAND_IN, 0, "It has no real 2 x NVIDIA_L4. JAX"),
        (STAND_IN, 1, "It has no real 2 x NVIDIA_L4, but it can use the NVIDIA GPU of this machine, as all"),
        (STAND_IN, 3, "but it can use the 3 NVIDIA GPUs of this machine, as all replicas can. JAX"),
        (OWN, 3, "It has no real 2 x NVIDIA_L4. JAX"),
    ],
)
def test_a_replica_on_a_stand_in_can_use_the_gpus_of_the_machine(
    image: ReplicaImage, gpus: int, sentence: str
) -> None:
    sandbox = Sandbox(kind="namespaces")
    found = image_rules.notice(BASE, image, sandbox, accelerators="2 x NVIDIA_L4", gpus=gpus)
    assert sentence in found


def test_a_machine_type_without_accelerators_is_not_mentioned() -> None:
    found = image_rules.notice(BASE, STAND_IN, Sandbox(kind="namespaces"), gpus=1)
    assert "GPU" not in found


def test_gpus_are_counted_by_their_devices(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "null", "dri", "sda"):
        (tmp_path / name).touch()
    (tmp_path / "nvidia-caps").mkdir()
    assert masks.nvidia_gpus(tmp_path) == 3
    shown = {path.name for path in masks.accelerators_of(tmp_path)}
    assert shown == {"nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "nvidia-caps", "dri"}
