"""Rules of machines, accelerators and reservations, each broken."""

from __future__ import annotations

import pytest

from support.ground.specs.machines import KEY, RESERVATION, affinity, found, machine, reserved
from support.tables import every_row
from vertex_training.catalog import accelerators, enumerations
from vertex_training.findings.problems import errors

FINE = {
    "no accelerator": machine(),
    "the machine of the document's example": machine("n1-highmem-96", "NVIDIA_TESLA_V100", 8),
    "a machine with its own GPUs": machine("a2-megagpu-16g", "NVIDIA_TESLA_A100", 16),
    "no accelerator, in words of the API": machine(kind=accelerators.UNSPECIFIED),
    "no accelerator, as the wire has it": machine(kind=""),
    "one TPU v2": machine("cloud-tpu", "TPU_V2", 8),
    "a pod of TPU v3": machine("cloud-tpu", "TPU_V3", 64),
    "TPUs by topology": machine("ct5lp-hightpu-4t", tpu_topology="4x4"),
    "a partition": machine("a2-highgpu-8g", "NVIDIA_TESLA_A100", 8, gpu_partition_size="1g.5gb"),
    "a partition with the count of the API's comment": machine(
        "a2-highgpu-8g", "NVIDIA_TESLA_A100", 1, gpu_partition_size="1g.5gb"
    ),
    "no reservation": reserved("NO_RESERVATION"),
    "any reservation": reserved("ANY_RESERVATION"),
    "a reservation": reserved("SPECIFIC_RESERVATION", KEY, RESERVATION),
    "a block of a reservation": reserved("SPECIFIC_RESERVATION", KEY, f"{RESERVATION}/reservationBlocks/b"),
    "GB200 from any reservation": machine(
        "a4x-highgpu-4g", "NVIDIA_GB200", 4, reservation_affinity=affinity("ANY_RESERVATION")
    ),
}


@pytest.mark.parametrize("spec", FINE.values(), ids=FINE)
def test_valid(spec):
    assert found(spec) == []


BROKEN = {
    "an empty machine type": (machine(""), "machine_type", "machine-type", "written like n1-standard-4"),
    "a machine type in words": (
        machine("N1 standard 4"),
        "machine_type",
        "machine-type",
        "did you mean n1-standard-4",
    ),
    "a machine type from nowhere": (machine("???"), "machine_type", "machine-type", "written like"),
    "a series from nowhere": (
        machine("quantum-1q"),
        "machine_type",
        "machine-type",
        "the series for training are e2, n4, n2, n1, c2, m1",
    ),
    "a machine that is too small": (
        machine("n1-standard-2"),
        "machine_type",
        "machine-type",
        "'n1-standard-2' is not a machine type for training; "
        "the smallest n1-standard for training is n1-standard-4",
    ),
    "a machine that is too large": (
        machine("n2-standard-128"),
        "machine_type",
        "machine-type",
        "the largest n2-standard for training is n2-standard-80",
    ),
    "a size between two": (
        machine("n2-standard-24"),
        "machine_type",
        "machine-type",
        "did you mean n2-standard-16 or n2-standard-32?",
    ),
    "a misspelt GPU machine": (
        machine("a2-higpu-1g", "NVIDIA_TESLA_A100", 1),
        "machine_type",
        "machine-type",
        "did you mean a2-highgpu-1g",
    ),
    "a series that is not for training": (
        machine("c3-standard-8"),
        "machine_type",
        "machine-type",
        "did you mean c2-standard-8",
    ),
    "a misspelt accelerator": (
        machine(kind="nvidia_tesla_v10", count=1),
        "accelerator_type",
        "accelerator-type",
        "did you mean NVIDIA_TESLA_V100",
    ),
    "Compute Engine's name of an accelerator": (
        machine(kind="nvidia-tesla-t4", count=1),
        "accelerator_type",
        "accelerator-type",
        "did you mean NVIDIA_TESLA_T4",
    ),
    "an accelerator's short name": (
        machine(kind="T4", count=1),
        "accelerator_type",
        "accelerator-type",
        "'T4' is not an accelerator of Vertex AI; did you mean NVIDIA_TESLA_T4?",
    ),
    "a newer GPU with an older prefix": (
        machine("n1-standard-8", "NVIDIA_TESLA_L4", 1),
        "accelerator_type",
        "accelerator-type",
        "did you mean NVIDIA_L4? A machine that has NVIDIA_L4 is g2-standard-8.",
    ),
    "another spelling of the memory": (
        machine("a2-highgpu-8g", "NVIDIA_TESLA_A100_80GIB", 8),
        "accelerator_type",
        "accelerator-type",
        "did you mean NVIDIA_A100_80GB? A machine that has NVIDIA_A100_80GB is a2-ultragpu-8g.",
    ),
    "an accelerator from nowhere": (
        machine(kind="ABACUS", count=1),
        "accelerator_type",
        "accelerator-type",
        "the accelerators are NVIDIA_TESLA_K80",
    ),
    "a retired accelerator": (
        machine(kind="NVIDIA_TESLA_K80", count=2),
        "accelerator_type",
        "accelerator-retired",
        "allow_legacy_types",
    ),
    "an accelerator without a count": (
        machine(kind="NVIDIA_TESLA_T4"),
        "accelerator_count",
        "accelerator-both",
        "both accelerator_type and accelerator_count",
    ),
    "a count without an accelerator": (
        machine(count=2),
        "accelerator_type",
        "accelerator-both",
        "is missing while accelerator_count is 2",
    ),
    "fewer than no accelerators": (
        machine(kind="NVIDIA_TESLA_T4", count=-1),
        "accelerator_count",
        "accelerator-negative",
        "-1 accelerators",
    ),
    "an accelerator that is elsewhere": (
        machine(kind="NVIDIA_B200", count=8),
        "accelerator_type",
        "accelerator-machine",
        "NVIDIA_B200 cannot be used on n1-standard-4: the machine can have NVIDIA_TESLA_P4, "
        "NVIDIA_TESLA_P100, NVIDIA_TESLA_T4 or NVIDIA_TESLA_V100; a machine that has NVIDIA_B200 is "
        "a4-highgpu-8g",
    ),
    "fewer V100 than the memory of the machine needs": (
        machine("n1-standard-64", "NVIDIA_TESLA_V100", 4),
        "accelerator_count",
        "accelerator-count",
        "4 x NVIDIA_TESLA_V100 is not allowed on n1-standard-64, which can have 8; set it to 8",
    ),
    "a GPU on a machine without": (
        machine("n2-standard-8", "NVIDIA_TESLA_T4", 1),
        "accelerator_type",
        "accelerator-machine",
        "the machine has no accelerators; a machine that has NVIDIA_TESLA_T4 is n1-standard-8",
    ),
    "another GPU than the machine's own": (
        machine("a2-highgpu-1g", "NVIDIA_A100_80GB", 1),
        "accelerator_type",
        "accelerator-machine",
        "a2-highgpu-1g comes with 1 x NVIDIA_TESLA_A100; "
        "a machine that has NVIDIA_A100_80GB is a2-ultragpu-1g",
    ),
    "another number than the machine's own": (
        machine("a3-highgpu-8g", "NVIDIA_H100_80GB", 4),
        "accelerator_count",
        "accelerator-count",
        "which can have 8; set it to 8",
    ),
    "a GPU machine without its GPUs": (
        machine("g2-standard-24"),
        "accelerator_type",
        "accelerator-needed",
        "g2-standard-24 comes with 2 x NVIDIA_L4",
    ),
    "a number between two": (
        machine("n1-standard-8", "NVIDIA_TESLA_T4", 3),
        "accelerator_count",
        "accelerator-count",
        "3 x NVIDIA_TESLA_T4 is not allowed on n1-standard-8, which can have 1, 2 or 4; set it to 4",
    ),
    "a number that is too high": (
        machine("n1-standard-8", "NVIDIA_TESLA_T4", 8),
        "accelerator_count",
        "accelerator-count",
        "set it to 4",
    ),
    "half a TPU": (
        machine("cloud-tpu", "TPU_V2", 4),
        "accelerator_count",
        "accelerator-count",
        "which can have 8, or a multiple of 32 up to 512; set it to 8",
    ),
    "a pod of an impossible size": (
        machine("cloud-tpu", "TPU_V3", 40),
        "accelerator_count",
        "accelerator-count",
        "set it to 64",
    ),
    "cloud-tpu without a TPU": (
        machine("cloud-tpu"),
        "accelerator_type",
        "accelerator-needed",
        "cloud-tpu comes with TPU_V2 (8, or a multiple of 32 up to 512) or TPU_V3 (8, or",
    ),
    "cloud-tpu with a GPU": (
        machine("cloud-tpu", "NVIDIA_TESLA_T4", 1),
        "accelerator_type",
        "accelerator-machine",
        "NVIDIA_TESLA_T4 cannot be used on cloud-tpu",
    ),
    "TPU v5e by accelerator type": (
        machine("n1-standard-4", "TPU_V5_LITEPOD", 4),
        "accelerator_type",
        "accelerator-machine",
        "ct5lp-hightpu-4t",
    ),
    "TPU v4": (machine(kind="TPU_V4_POD", count=8), "accelerator_type", "accelerator-machine", "no machine"),
    "a TPU without a topology": (
        machine("ct6e-standard-8t"),
        "tpu_topology",
        "tpu-topology",
        "is missing; ct6e-standard-8t needs one: 2x4",
    ),
    "a topology of another TPU": (
        machine("tpu7x-standard-4t", tpu_topology="2x2"),
        "tpu_topology",
        "tpu-topology",
        "'2x2' is not a topology of tpu7x-standard-4t; use 2x2x1, 2x2x2",
    ),
    "a topology and an accelerator type": (
        machine("ct5lp-hightpu-1t", "TPU_V5_LITEPOD", 1, tpu_topology="1x1"),
        "accelerator_type",
        "tpu-accelerator",
        "leave accelerator_type and accelerator_count out",
    ),
    "a topology and an accelerator count": (
        machine("ct5lp-hightpu-1t", count=1, tpu_topology="1x1"),
        "accelerator_count",
        "tpu-accelerator",
        "1 is not allowed with ct5lp-hightpu-1t",
    ),
    "a topology without a TPU": (
        machine(tpu_topology="2x2"),
        "tpu_topology",
        "tpu-topology",
        "'2x2' is not allowed on n1-standard-4, which has no topology; leave it out",
    ),
    "a topology of a TPU v2": (
        machine("cloud-tpu", "TPU_V2", 8, tpu_topology="2x2"),
        "tpu_topology",
        "tpu-topology",
        "accelerator_type and accelerator_count say which TPU it is",
    ),
    "a partition of no GPU": (
        machine(gpu_partition_size="1g.5gb"),
        "gpu_partition_size",
        "gpu-partition",
        "needs a GPU to divide",
    ),
    "a partition of a TPU": (
        machine("cloud-tpu", "TPU_V2", 8, gpu_partition_size="1g.5gb"),
        "gpu_partition_size",
        "gpu-partition",
        "needs a GPU",
    ),
    "a reservation of no type": (
        reserved("SOME_RESERVATION"),
        "reservation_affinity.reservation_affinity_type",
        "reservation-type",
        "'SOME_RESERVATION' is not a type of reservation affinity; did you mean",
    ),
    "an unspecified reservation": (
        reserved(enumerations.RESERVATION_UNSPECIFIED, KEY, RESERVATION),
        "reservation_affinity.reservation_affinity_type",
        "reservation-type",
        "NO_RESERVATION, ANY_RESERVATION or SPECIFIC_RESERVATION",
    ),
    "a reservation without a key": (
        reserved("SPECIFIC_RESERVATION", None, RESERVATION),
        "reservation_affinity.key",
        "reservation-name",
        f"needs the key {KEY}",
    ),
    "a reservation with another key": (
        reserved("SPECIFIC_RESERVATION", "name", RESERVATION),
        "reservation_affinity.key",
        "reservation-name",
        "'name' is not a reservation key",
    ),
    "a reservation without a name": (
        reserved("SPECIFIC_RESERVATION", KEY),
        "reservation_affinity.values",
        "reservation-name",
        "projects/PROJECT/zones/ZONE/reservations/NAME",
    ),
    "a reservation's short name": (
        reserved("SPECIFIC_RESERVATION", KEY, RESERVATION, "mine"),
        "reservation_affinity.values[1]",
        "reservation-name",
        "'mine' is not a reservation",
    ),
    "a key without a reservation": (
        reserved("NO_RESERVATION", KEY),
        "reservation_affinity.key",
        "reservation-name",
        "is not allowed with the type NO_RESERVATION",
    ),
    "names of any reservation": (
        reserved("ANY_RESERVATION", None, RESERVATION),
        "reservation_affinity.values",
        "reservation-name",
        "is not allowed with the type ANY_RESERVATION",
    ),
    "GB200 without a reservation": (
        machine("a4x-highgpu-4g", "NVIDIA_GB200", 4),
        "reservation_affinity",
        "reservation-needed",
        "is missing; a4x-highgpu-4g is only available from shared reservations",
    ),
    "GB200 with no reservation": (
        machine("a4x-highgpu-4g", "NVIDIA_GB200", 4, reservation_affinity=affinity("NO_RESERVATION")),
        "reservation_affinity",
        "reservation-needed",
        "NO_RESERVATION; a4x-highgpu-4g",
    ),
}


@every_row(("spec", "path", "rule", "words"), BROKEN.values(), ids=BROKEN)
def test_rules_that_are_broken(spec, path, rule, words):
    (problem,) = found(spec)
    assert (problem.path, problem.rule, problem.level) == (f"m.{path}", rule, "error")
    assert words in problem.message


def test_p100_is_rejected_with_too_much_memory():
    problems = errors(found(machine("n1-standard-64", "NVIDIA_TESLA_P100", 4)))
    assert [problem.rule for problem in problems] == ["accelerator-machine"]
    assert problems[0].message.endswith("a machine that has NVIDIA_TESLA_P100 is n1-highcpu-64")
