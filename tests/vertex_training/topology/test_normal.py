from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from support.ground.jobs import EMPTY, pool, pool_lists
from vertex_training.topology.normal import normal_pool, normal_pools
from vertex_training.topology.pools import DiskSpec, MachineSpec, ReservationAffinity, WorkerPoolSpec


@given(pool_lists)
def test_the_normal_form_of_a_normal_form_is_itself(pools):
    assert normal_pools(normal_pools(pools)) == normal_pools(pools)


@given(pool_lists)
def test_trailing_empty_pools_make_no_difference(pools):
    assert normal_pools([*pools, EMPTY, replace(pool(), replica_count=0)]) == normal_pools(pools)


def test_an_empty_pool_in_the_middle_keeps_its_place():
    skipped = WorkerPoolSpec(machine_spec=MachineSpec(machine_type="n1-standard-4"), replica_count=0)
    assert normal_pools([pool(), skipped, pool()])[1] == EMPTY


@pytest.mark.parametrize(
    ("disk", "normal"),
    [
        (None, DiskSpec(boot_disk_type="pd-ssd", boot_disk_size_gb=100)),
        (
            DiskSpec(boot_disk_type="", boot_disk_size_gb=0),
            DiskSpec(boot_disk_type="pd-ssd", boot_disk_size_gb=100),
        ),
        (DiskSpec(boot_disk_size_gb=200), DiskSpec(boot_disk_type="pd-ssd", boot_disk_size_gb=200)),
    ],
)
def test_the_boot_disk_that_the_service_fills_in_is_explicit(disk, normal):
    assert normal_pool(replace(pool(), disk_spec=disk)).disk_spec == normal


def test_some_machines_come_with_another_disk():
    assert normal_pool(pool(machine="a3-ultragpu-8g")).disk_spec == DiskSpec(
        boot_disk_type="hyperdisk-balanced"
    )


@pytest.mark.parametrize("spelling", ["", "ACCELERATOR_TYPE_UNSPECIFIED", None])
def test_no_accelerator_has_one_spelling(spelling):
    machine = MachineSpec(machine_type="n1-standard-4", accelerator_type=spelling)
    assert normal_pool(replace(pool(), machine_spec=machine)).machine_spec == MachineSpec(
        machine_type="n1-standard-4"
    )


def test_empty_values_of_a_machine_are_dropped():
    kept = MachineSpec(
        machine_type="n1-standard-4",
        accelerator_type="NVIDIA_TESLA_T4",
        accelerator_count=2,
        gpu_partition_size="1g.5gb",
        tpu_topology="2x2",
    )
    assert normal_pool(replace(pool(), machine_spec=kept)).machine_spec == kept
    emptied = replace(kept, gpu_partition_size="", tpu_topology="")
    assert normal_pool(replace(pool(), machine_spec=emptied)).machine_spec == replace(
        kept, gpu_partition_size=None, tpu_topology=None
    )


@pytest.mark.parametrize(
    ("affinity", "normal"),
    [
        (ReservationAffinity(reservation_affinity_type=""), None),
        (ReservationAffinity(reservation_affinity_type="TYPE_UNSPECIFIED", key=""), None),
        (
            ReservationAffinity(reservation_affinity_type="ANY_RESERVATION", key=""),
            ReservationAffinity(reservation_affinity_type="ANY_RESERVATION"),
        ),
        (
            ReservationAffinity(reservation_affinity_type="SPECIFIC_RESERVATION", key="k", values=("v",)),
            ReservationAffinity(reservation_affinity_type="SPECIFIC_RESERVATION", key="k", values=("v",)),
        ),
        (
            ReservationAffinity(reservation_affinity_type="TYPE_UNSPECIFIED", key="k"),
            ReservationAffinity(reservation_affinity_type="TYPE_UNSPECIFIED", key="k"),
        ),
    ],
)
def test_no_reservation_has_one_spelling(affinity, normal):
    machine = MachineSpec(machine_type="n1-standard-4", reservation_affinity=affinity)
    found = normal_pool(replace(pool(), machine_spec=machine)).machine_spec
    assert found == replace(machine, reservation_affinity=normal)


@pytest.mark.parametrize(
    ("disk", "normal"),
    [
        (None, None),
        (DiskSpec(boot_disk_size_gb=100), None),
        (DiskSpec(boot_disk_size_gb=200), DiskSpec(boot_disk_type="", boot_disk_size_gb=200)),
        (DiskSpec(boot_disk_type="pd-ssd"), DiskSpec(boot_disk_type="pd-ssd", boot_disk_size_gb=100)),
    ],
)
def test_the_boot_disk_of_an_unknown_machine_is_not_filled_in(disk, normal):
    assert normal_pool(replace(pool(machine="n9-standard-4"), disk_spec=disk)).disk_spec == normal
