from __future__ import annotations

import hashlib
import json
import math

import pytest

from support.tables import every_row
from vertex_training.catalog import accelerators, machines, regions
from vertex_training.catalog import accelerators as facts
from vertex_training.catalog.machines import BOOT_DISK_TYPES, MACHINES, TPU_FAMILIES, machine
from vertex_training.catalog.regions import REGIONS, regions_with
from vertex_training.topology.normal import default_disk
from vertex_training.topology.pools import MachineSpec
from vertex_training.topology.rules import bandwidth
from vertex_training.topology.rules.bandwidth import bandwidth_gbps


@pytest.mark.parametrize("module", [facts, bandwidth, machines, regions], ids=lambda module: module.__name__)
def test_every_table_has_a_date_a_source_and_a_way_to_refresh_it(module):
    assert module.AS_OF == "2026-08"
    assert "documentation" in module.SOURCE
    assert "To refresh:" in module.__doc__


def test_the_table_has_every_machine_of_the_document_once():
    """17 with A100 to GB200, 10 E2, 24 N4, 20 N2, 17 N1, 5 C2, 8 TPU, 4 M1, 8 G2 and 4 G4 are in its list."""
    assert len(MACHINES) == 17 + 10 + 24 + 20 + 17 + 5 + 8 + 4 + 8 + 4
    assert all(each.name == name for name, each in MACHINES.items())


def test_no_name_is_written_in_two_rows():
    rows = [name for name, *_ in (*machines._MEMORY_OPTIMISED, *machines._WITH_GPUS, *machines._WITH_TPUS)]
    kinds = [kind for kind, *_ in machines._GENERAL]
    assert len(set(rows)) == len(rows)
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine(name):
    each = MACHINES[name]
    assert 2 <= each.vcpus <= 384
    assert 0.5 <= each.memory_gb / each.vcpus <= 30
    assert each.default_boot_disk_type in each.boot_disk_types
    assert set(each.boot_disk_types) <= set(BOOT_DISK_TYPES)
    assert default_disk(name).boot_disk_type == each.default_boot_disk_type
    assert not (each.tpu_topologies and each.accelerators)
    assert machines.is_tpu(name) == bool(each.tpu_topologies or name == "cloud-tpu")
    chips = int(name[-2]) if each.tpu_topologies else 0
    for topology, count in each.tpu_topologies.items():
        assert math.prod(map(int, topology.split("x"))) == chips * count
    # The bandwidth of every machine but TPUs is known.
    assert (bandwidth_gbps(MachineSpec(machine_type=name)) is None) == machines.is_tpu(name)
    assert set(each.accelerators) <= set(accelerators.NAMES)
    for counts in each.accelerators.values():
        assert counts
        assert list(counts) == sorted(set(counts))
        assert counts[0] >= 1
    # A machine that comes with GPUs has one kind of them, and one number.
    if each.accelerator_required and name != "cloud-tpu":
        assert [len(counts) for counts in each.accelerators.values()] == [1]
    for accelerator in each.accelerators:
        assert regions_with(accelerator)


SIZES = {
    "e2-highmem-16": (16, 128),
    "n4-highcpu-80": (80, 160),
    "n2-highmem-80": (80, 640),
    "n1-standard-4": (4, 15),
    "n1-standard-32": (32, 120),
    "n1-highmem-64": (64, 416),
    "n1-highmem-96": (96, 624),
    "n1-highcpu-16": (16, 14.4),
    "n1-highcpu-64": (64, 57.6),
    "c2-standard-60": (60, 240),
    "m1-ultramem-160": (160, 3844),
    "a2-megagpu-16g": (96, 1360),
    "a3-ultragpu-8g": (224, 2952),
    "g2-standard-32": (32, 128),
    "g4-standard-384": (384, 1440),
    "ct5lp-hightpu-4t": (112, 192),
    "tpu7x-standard-4t": (224, 960),
}


@every_row(("name", "size"), SIZES.items(), ids=SIZES)
def test_vcpus_and_memory(name, size):
    assert (MACHINES[name].vcpus, MACHINES[name].memory_gb) == size


COUNTS = [
    ("n1-highmem-96", "NVIDIA_TESLA_V100", (8,)),
    ("n1-highmem-2", "NVIDIA_TESLA_V100", (1, 2, 4, 8)),
    ("n1-standard-16", "NVIDIA_TESLA_V100", (2, 4, 8)),
    ("n1-standard-32", "NVIDIA_TESLA_V100", (4, 8)),
    ("n1-standard-4", "NVIDIA_TESLA_T4", (1, 2, 4)),
    ("n1-highcpu-32", "NVIDIA_TESLA_T4", (2, 4)),
    ("n1-standard-64", "NVIDIA_TESLA_P4", (4,)),
    ("n1-standard-64", "NVIDIA_TESLA_P100", None),
    ("n1-highmem-64", "NVIDIA_TESLA_P100", None),
    ("n1-highcpu-64", "NVIDIA_TESLA_P100", (4,)),
    ("n1-highcpu-96", "NVIDIA_TESLA_P100", None),
    ("n1-standard-4", "NVIDIA_L4", None),
    ("n2-standard-4", "NVIDIA_TESLA_T4", None),
    ("a4x-highgpu-4g", "NVIDIA_GB200", (4,)),
    ("a3-megagpu-8g", "NVIDIA_H100_MEGA_80GB", (8,)),
    ("a3-megagpu-8g", "NVIDIA_H100_80GB", None),
    ("a2-highgpu-4g", "NVIDIA_TESLA_A100", (4,)),
    ("a2-ultragpu-4g", "NVIDIA_A100_80GB", (4,)),
    ("a2-megagpu-16g", "NVIDIA_TESLA_A100", (16,)),
    ("g2-standard-24", "NVIDIA_L4", (2,)),
    ("g2-standard-32", "NVIDIA_L4", (1,)),
    ("g4-standard-192", "NVIDIA_RTX_PRO_6000", (4,)),
]


@every_row(("name", "accelerator", "counts"), COUNTS)
def test_counts(name, accelerator, counts):
    assert MACHINES[name].accelerators.get(accelerator) == counts


@pytest.mark.parametrize(
    ("accelerator", "cores", "possible"),
    [
        ("TPU_V2", 8, True),
        ("TPU_V2", 16, False),
        ("TPU_V2", 32, True),
        ("TPU_V2", 96, True),
        ("TPU_V2", 1024, False),
        ("TPU_V3", 2048, True),
    ],
)
def test_cores_of_tpu_v2_and_v3(accelerator, cores, possible):
    assert (cores in MACHINES["cloud-tpu"].accelerators[accelerator]) is possible


@pytest.mark.parametrize(
    ("name", "topology", "count"),
    [
        ("ct5lp-hightpu-1t", "1x1", 1),
        ("ct5lp-hightpu-8t", "2x4", 1),
        ("ct5lp-hightpu-4t", "2x4", 2),
        ("ct6e-standard-4t", "16x16", 64),
        ("tpu7x-standard-4t", "8x8x16", 256),
        ("tpu7x-standard-4t", "2x2", None),
    ],
)
def test_machines_behind_a_topology(name, topology, count):
    assert MACHINES[name].tpu_topologies.get(topology) == count


@pytest.mark.parametrize(
    ("name", "disks"),
    [
        ("n1-standard-4", ("pd-ssd", "pd-standard")),
        ("a3-ultragpu-8g", ("hyperdisk-balanced",)),
        ("a4-highgpu-8g", ("hyperdisk-balanced",)),
        ("n4-standard-4", ("pd-ssd", "pd-standard", "hyperdisk-balanced")),
    ],
)
def test_boot_disks(name, disks):
    assert MACHINES[name].boot_disk_types == disks


@pytest.mark.parametrize(
    ("name", "reservation"),
    [("a4x-highgpu-4g", "required"), ("a3-megagpu-8g", "recommended"), ("a3-highgpu-8g", None)],
)
def test_reservations(name, reservation):
    assert MACHINES[name].reservation == reservation


@pytest.mark.parametrize("name", ["n1-standard-1", "n1-standard-2", "n1-highcpu-8", "e2-standard-2", ""])
def test_machines_that_are_too_small_for_training_are_not_there(name):
    assert machine(name) is None


REGIONAL = [
    ("us-central1", "NVIDIA_GB200", True),
    ("us-central1", "TPU_V2 pod", True),
    ("us-central1", "TPU_V3 pod", False),
    ("us-central1", "tpu7x", True),
    ("us-east5", "NVIDIA_A100_80GB", True),
    ("us-east5", "NVIDIA_TESLA_A100", False),
    ("us-south1", "ct5lp", False),
    ("us-west1", "ct5lp", True),
    ("europe-west4", "TPU_V3 pod", True),
    ("europe-west4", "ct5lp", False),
    ("europe-west1", "NVIDIA_L4", False),
    ("asia-northeast1", "NVIDIA_TESLA_A100", False),
    ("asia-south2", "NVIDIA_RTX_PRO_6000", True),
    ("me-west1", "NVIDIA_TESLA_A100", True),
    ("africa-south1", "NVIDIA_TESLA_T4", False),
]


@pytest.mark.parametrize(("region", "accelerator", "there"), REGIONAL)
def test_what_a_region_offers(region, accelerator, there):
    assert (accelerator in REGIONS[region]) is there


def test_the_regions_are_those_of_the_document():
    assert len(REGIONS) == 39
    assert "global" not in REGIONS


@every_row("region", REGIONS)
def test_a_region_offers_existing_accelerators(region):
    names = {*accelerators.NAMES, *TPU_FAMILIES, "TPU_V2 pod", "TPU_V3 pod"}
    assert REGIONS[region] <= names


@pytest.mark.parametrize("family", TPU_FAMILIES)
def test_every_family_of_tpus_is_offered_somewhere_and_has_machines(family):
    assert regions_with(family)
    assert any(name.startswith(f"{family}-") for name in MACHINES)


BANDWIDTHS = [
    ("n1-highmem-96", "NVIDIA_TESLA_V100", 8, 100),
    ("n1-standard-32", "NVIDIA_TESLA_V100", 4, 50),
    ("n1-standard-16", "NVIDIA_TESLA_V100", 8, 32),
    ("n1-standard-8", "NVIDIA_TESLA_V100", 1, 16),
    ("n1-highmem-2", "NVIDIA_TESLA_V100", 8, 10),
    ("n1-standard-96", "NVIDIA_TESLA_T4", 4, 100),
    ("n1-standard-32", "NVIDIA_TESLA_T4", 2, 50),
    ("n1-standard-16", "NVIDIA_TESLA_T4", 1, 32),
    ("n1-standard-96", "NVIDIA_TESLA_P4", 4, 32),
    ("n1-highmem-96", None, 0, 32),
    ("n1-highcpu-16", None, 0, 32),
    ("n1-standard-8", None, 0, 16),
    ("n1-standard-4", None, 0, 10),
    ("n2-standard-80", None, 0, 32),
    ("n4-standard-80", None, 0, 50),
    ("c2-standard-60", None, 0, 32),
    ("e2-standard-32", None, 0, 16),
    ("a2-megagpu-16g", "NVIDIA_TESLA_A100", 16, 100),
    ("a2-highgpu-1g", "NVIDIA_TESLA_A100", 1, 24),
    ("a3-highgpu-8g", "NVIDIA_H100_80GB", 8, 1000),
    ("a3-megagpu-8g", "NVIDIA_H100_MEGA_80GB", 8, 1800),
    ("a4-highgpu-8g", "NVIDIA_B200", 8, 3600),
    ("a4x-highgpu-4g", "NVIDIA_GB200", 4, 2000),
    ("g2-standard-96", "NVIDIA_L4", 8, 100),
    ("g4-standard-384", "NVIDIA_RTX_PRO_6000", 8, 400),
    ("cloud-tpu", "TPU_V2", 8, None),
    ("ct5lp-hightpu-4t", None, 0, None),
    ("z9-standard-4", None, 0, None),
]


@every_row(("name", "accelerator", "count", "gbps"), BANDWIDTHS)
def test_bandwidth(name, accelerator, count, gbps):
    spec = MachineSpec(machine_type=name, accelerator_type=accelerator, accelerator_count=count)
    assert bandwidth_gbps(spec) == gbps


@pytest.mark.parametrize("name", [*facts.RETIRED, *facts.END_OF_SUPPORT, *facts.INSTEAD])
def test_every_fact_is_about_an_accelerator_of_the_api(name):
    assert name in accelerators.NAMES


@every_row("name", accelerators.NAMES)
def test_every_accelerator_of_the_api_is_on_a_machine_or_is_said_not_to_be(name):
    assert bool(machines.machines_with(name)) != (name in facts.RETIRED or name in facts.INSTEAD)


def test_a_changed_bandwidth_is_announced():
    """Announce a changed bandwidth: it changes the number of reduction servers with the count "auto".

    A job whose number changes runs again after an upgrade. Put the new digest here, and a line into
    CHANGELOG.md.
    """
    figures = {
        f"{each.name} {kind} {count}": bandwidth_gbps(
            MachineSpec(machine_type=each.name, accelerator_type=kind, accelerator_count=count)
        )
        for each in MACHINES.values()
        for kind, count in [
            (None, 0),
            *((name, n) for name, counts in each.accelerators.items() for n in counts),
        ]
    }
    digest = hashlib.sha256(json.dumps(figures, sort_keys=True).encode()).hexdigest()
    assert (len(figures), digest[:16]) == (372, "0a814b30bd916ccd")
