from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables import every_row
from vertex_training.catalog import accelerators, enumerations
from vertex_training.catalog.machines import BOOT_DISK_TYPES, MACHINES
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import errors, known
from vertex_training.topology.pools import DiskSpec, MachineSpec, ReservationAffinity
from vertex_training.topology.rules.machines import disk_problems, machine_problems

PLAIN = CheckOptions()
UNKNOWN_ALLOWED = CheckOptions(allow_unknown_types=True)
LEGACY_ALLOWED = CheckOptions(allow_legacy_types=True)
RESERVATION = "projects/p/zones/us-central1-a/reservations/r"
KEY = "compute.googleapis.com/reservation-name"


def machine(machine_type="n1-standard-4", kind=None, count=0, **other):
    return MachineSpec(machine_type=machine_type, accelerator_type=kind, accelerator_count=count, **other)


def affinity(kind, key=None, *values):
    return ReservationAffinity(reservation_affinity_type=kind, key=key, values=values)


def reserved(kind, key=None, *values):
    return machine(reservation_affinity=affinity(kind, key, *values))


def found(spec, options=PLAIN):
    return list(machine_problems(spec, "m", options))


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
