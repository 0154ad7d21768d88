"""Switches, disks, and properties of the rules of any machine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.ground.specs.machines import KEY, PLAIN, RESERVATION, affinity, found, machine, reserved
from vertex_training.catalog import accelerators, enumerations
from vertex_training.catalog.machines import BOOT_DISK_TYPES, MACHINES
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import errors, known
from vertex_training.topology.pools import DiskSpec, MachineSpec, ReservationAffinity
from vertex_training.topology.rules.machines import disk_problems

UNKNOWN_ALLOWED = CheckOptions(allow_unknown_types=True)
LEGACY_ALLOWED = CheckOptions(allow_legacy_types=True)


def test_the_end_of_an_accelerator_is_a_warning():
    (problem,) = found(machine(kind="NVIDIA_TESLA_P100", count=1))
    assert (problem.rule, problem.level) == ("accelerator-ending", "warning")
    assert "15 September 2026" in problem.message


@pytest.mark.parametrize(
    "spec", [machine("n5-standard-4"), machine(kind="NVIDIA_R300", count=3)], ids=["machine", "accelerator"]
)
def test_a_switch_makes_unknown_names_a_warning(spec):
    (problem,) = found(spec, UNKNOWN_ALLOWED)
    assert problem.level == "warning"


def test_the_switch_accepts_no_impossible_name():
    (problem,) = found(machine("n1 standard"), UNKNOWN_ALLOWED)
    assert problem.level == "error"


@pytest.mark.parametrize(
    "spec",
    [
        machine("a2-highgpu-1g", "NVIDIA_L4", 1),
        machine("n1-standard-4", "NVIDIA_TESLA_T4", 3),
        machine("ct6e-standard-4t", tpu_topology="32x32"),
    ],
    ids=["accelerator", "count", "topology"],
)
def test_the_switch_makes_an_unknown_combination_a_warning(spec):
    (problem,) = found(spec, UNKNOWN_ALLOWED)
    assert problem.level == "warning"


def test_accelerators_and_topology_of_an_unknown_machine_are_not_checked():
    spec = machine("a5-highgpu-3g", "NVIDIA_B200", 3, tpu_topology="9x9")
    assert [problem.rule for problem in found(spec)] == ["machine-type"]


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_the_switch_accepts_legacy_accelerators(count):
    assert found(machine(kind="NVIDIA_TESLA_K80", count=count), LEGACY_ALLOWED) == []


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        (machine(kind="NVIDIA_TESLA_K80", count=3), "accelerator-count"),
        (machine("n2-standard-4", "NVIDIA_TESLA_K80", 1), "accelerator-machine"),
    ],
)
def test_legacy_accelerators_keep_their_own_rules(spec, rule):
    assert [problem.rule for problem in found(spec, LEGACY_ALLOWED)] == [rule]


@pytest.mark.parametrize(
    ("location", "rules"),
    [
        (None, []),
        ("us-central1", []),
        ("us-central", ["reservation-region"]),
        ("us-west1", ["reservation-region"]),
    ],
)
def test_a_reservation_is_in_the_region_of_the_job(location, rules):
    spec = reserved("SPECIFIC_RESERVATION", KEY, RESERVATION)
    assert [problem.rule for problem in found(spec, CheckOptions(location=location))] == rules


@pytest.mark.parametrize(
    ("spec", "unknown"),
    [
        (machine("n1-standard-2"), "m.machine_type"),
        (machine("n2-standard-4", "NVIDIA_L4", 1), "m.machine_type"),
        (machine("n2-standard-4", "NVIDIA_L4", 1), "m.accelerator_type"),
        (machine("g2-standard-4", "NVIDIA_L4", 2), "m.machine_type"),
        (machine("g2-standard-4", "NVIDIA_L4", 2), "m.accelerator_count"),
        (machine("g2-standard-4"), "m.accelerator_type"),
        (machine("ct6e-standard-8t"), "m.tpu_topology"),
        (machine(tpu_topology="2x2"), "m.machine_type"),
        (machine(gpu_partition_size="1g"), "m.accelerator_type"),
        (machine("a4x-highgpu-4g", "NVIDIA_GB200", 4), "m.reservation_affinity"),
        (machine("a4x-highgpu-4g", "NVIDIA_GB200", 4), "m.machine_type"),
        (reserved("ANY_RESERVATION", KEY), "m.reservation_affinity.reservation_affinity_type"),
    ],
)
def test_no_finding_rests_on_an_unknown_value(spec, unknown):
    assert found(spec)
    assert known(found(spec), {unknown}) == ()


@pytest.mark.parametrize(
    ("machine_type", "disk", "path", "words"),
    [
        ("n1-standard-4", DiskSpec(boot_disk_size_gb=99), "boot_disk_size_gb", "100 to 64000"),
        ("n1-standard-4", DiskSpec(boot_disk_size_gb=64001), "boot_disk_size_gb", "64001 GB"),
        ("n1-standard-4", DiskSpec(boot_disk_type="floppy"), "boot_disk_type", "pd-standard"),
        (
            "n1-standard-4",
            DiskSpec(boot_disk_type="hyperdisk-balanced"),
            "boot_disk_type",
            "hyperdisk-balanced cannot be used on n1-standard-4; use pd-ssd or pd-standard",
        ),
        (
            "a4-highgpu-8g",
            DiskSpec(boot_disk_type="pd-standard"),
            "boot_disk_type",
            "pd-standard cannot be used on a4-highgpu-8g; use hyperdisk-balanced",
        ),
    ],
)
def test_disks(machine_type, disk, path, words):
    (problem,) = disk_problems(disk, machine_type, "p.disk_spec", PLAIN)
    assert (problem.path, problem.level) == (f"p.disk_spec.{path}", "error")
    assert words in problem.message


@pytest.mark.parametrize(
    "unknown", ["p.machine_spec.machine_type", "p.machine_spec", "p.disk_spec.boot_disk_type"]
)
def test_whether_a_disk_fits_rests_on_the_machine(unknown):
    disk = DiskSpec(boot_disk_type="hyperdisk-balanced")
    assert known(disk_problems(disk, "n1-standard-4", "p.disk_spec", PLAIN), {unknown}) == ()


@pytest.mark.parametrize("size", [100, 64000])
def test_sizes_at_the_limits_are_accepted(size):
    assert list(disk_problems(DiskSpec(boot_disk_size_gb=size), "n1-standard-4", "d", PLAIN)) == []


@pytest.mark.parametrize("kind", BOOT_DISK_TYPES)
def test_an_unknown_machine_takes_any_disk(kind):
    assert list(disk_problems(DiskSpec(boot_disk_type=kind), "n9-standard-4", "d", PLAIN)) == []


allowed = st.sampled_from(
    [
        machine(each.name, accelerator, count)
        for each in MACHINES.values()
        for accelerator, counts in each.accelerators.items()
        for count in counts
    ]
    + [machine(each.name, tpu_topology=shape) for each in MACHINES.values() for shape in each.tpu_topologies]
    + [
        machine(each.name)
        for each in MACHINES.values()
        if not each.accelerator_required and not each.tpu_topologies
    ]
)
words = st.text(max_size=20) | st.sampled_from(
    [
        "n1-standard-4",
        "n1-standard-9",
        "a2-highgpu-1g",
        "cloud-tpu",
        "ct5lp-hightpu-4t",
        "ct5lp-x",
        "-",
        "n1-",
        "n1-²",
    ]
)
kinds = st.none() | st.text(max_size=12) | st.sampled_from([*accelerators.NUMBERS, ""])
affinities = st.builds(
    ReservationAffinity,
    reservation_affinity_type=st.sampled_from([*enumerations.RESERVATION_NUMBERS, ""]) | st.text(max_size=5),
    key=st.sampled_from([None, "", KEY]) | st.text(max_size=5),
    values=st.lists(st.sampled_from([RESERVATION, ""]) | st.text(max_size=5), max_size=3).map(tuple),
)
any_machines = st.builds(
    MachineSpec,
    machine_type=words,
    accelerator_type=kinds,
    accelerator_count=st.integers(-2, 40) | st.integers(),
    gpu_partition_size=st.none() | st.text(max_size=5),
    tpu_topology=st.none() | st.sampled_from(["", "2x2", "9x9"]),
    reservation_affinity=st.none() | affinities,
)
any_options = st.builds(
    CheckOptions,
    location=st.sampled_from([None, "us-central1", ""]),
    allow_unknown_types=st.booleans(),
    allow_legacy_types=st.booleans(),
)


@given(allowed)
def test_every_machine_of_the_catalog_is_valid(spec):
    spec = replace(spec, reservation_affinity=affinity("ANY_RESERVATION"))
    assert errors(found(spec)) == ()


@given(any_machines, any_options)
def test_any_machine_is_checked_without_an_exception(spec, options):
    for problem in found(spec, options):
        assert problem.path.startswith("m.")
        assert problem.rule
        assert problem.message


@given(st.builds(DiskSpec, boot_disk_type=st.text(max_size=9), boot_disk_size_gb=st.integers()), words)
def test_any_disk_is_checked_without_an_exception(disk, machine_type):
    for problem in disk_problems(disk, machine_type, "disk_spec", PLAIN):
        assert problem.rule.startswith("disk-")


@pytest.mark.parametrize(
    ("spec", "path", "message"),
    [
        pytest.param(
            machine(count=1),
            "m.accelerator_type",
            "is missing while accelerator_count is 1; give both accelerator_type and accelerator_count, or "
            "none",
            id="one accelerator of no type",
        ),
        pytest.param(
            machine("e2-standard-4", count=1),
            "m.accelerator_type",
            "is missing while accelerator_count is 1; leave out accelerator_type and accelerator_count, "
            "since the machine has no accelerators",
            id="one accelerator on a machine without accelerators",
        ),
        pytest.param(
            machine(kind="NVIDIA_TESLA_T4"),
            "m.accelerator_count",
            "is missing or 0 while accelerator_type is 'NVIDIA_TESLA_T4'; give both accelerator_type and "
            "accelerator_count, or none",
            id="a type without a count",
        ),
    ],
)
def test_accelerator_type_or_count_alone_names_the_other(spec, path, message):
    [problem] = found(spec)
    assert (problem.path, problem.message) == (path, message)


def test_a_part_of_a_name_that_three_accelerators_share_finds_all_three():
    [hint] = [
        each.message
        for each in found(machine("n9-standard-4", "80gb", 1))
        if "accelerator of" in each.message
    ]
    names = ("NVIDIA_A100_80GB", "NVIDIA_H100_80GB", "NVIDIA_H100_MEGA_80GB")
    assert "did you mean" in hint and all(name in hint for name in names)
