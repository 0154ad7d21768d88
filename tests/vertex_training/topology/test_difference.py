from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given

from support.ground.jobs import EMPTY, REDUCTION_SERVER, package_pool, pool, pool_lists
from support.tables import every_row
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.topology.changes import HIDDEN, FieldChange, field_changes
from vertex_training.topology.difference import compare, in_words
from vertex_training.topology.normal import normal_pools
from vertex_training.topology.pools import (
    DiskSpec,
    EnvVar,
    LustreMount,
    MachineSpec,
    NfsMount,
    ReservationAffinity,
)
from vertex_training.topology.roles import Role

P = "worker_pool_specs"
A, B = "repo/a@sha256:" + "a" * 64, "repo/a@sha256:" + "b" * 64


def fields(old, new):
    return [field for change in compare(old, new) for field in change.fields]


@given(pool_lists)
def test_nothing_differs_from_itself_in_any_spelling(pools):
    assert compare(pools, pools) == []
    assert compare(pools, (*normal_pools(pools), EMPTY)) == []


@given(pool_lists, pool_lists)
def test_the_way_back_is_the_mirror_image(old, new):
    there, back = compare(old, new), compare(new, old)
    mirrored = {"added": "removed", "removed": "added"}
    assert [mirrored.get(change.change, change.change) for change in there] == [
        change.change for change in back
    ]
    assert {(f.path, f.old, f.new) for c in there for f in c.fields} == {
        (f.path, f.new, f.old) for c in back for f in c.fields
    }


@given(pool_lists, pool_lists)
def test_two_lists_differ_exactly_when_their_normal_forms_do(old, new):
    assert bool(compare(old, new)) == (normal_pools(old) != normal_pools(new))


@given(pool_lists, pool_lists)
def test_every_difference_has_words(old, new):
    assert bool(in_words(compare(old, new))) == bool(compare(old, new))


WORDS = {
    "more workers": (
        (pool(), pool(2)),
        (pool(), pool(4)),
        "workers: 2 -> 4 x n1-standard-4; chief unchanged",
    ),
    "more workers beside others": (
        (pool(), pool(2), EMPTY, pool()),
        (pool(), pool(4), EMPTY, pool()),
        "workers: 2 -> 4 x n1-standard-4; chief and evaluator unchanged",
    ),
    "three that stay": (
        (pool(), pool(2), pool(2), pool()),
        (pool(), pool(2), pool(3), pool()),
        "parameter servers: 2 -> 3 x n1-standard-4; chief, workers and evaluator unchanged",
    ),
    "workers added": (
        (pool(),),
        (pool(), pool(2, gpus=4)),
        "workers: added, 2 x n1-standard-4 with 4 x NVIDIA_TESLA_T4 each; chief unchanged",
    ),
    "evaluator removed": (
        (pool(), EMPTY, EMPTY, pool()),
        (pool(),),
        "evaluator: removed, was 1 x n1-standard-4; chief unchanged",
    ),
    "workers removed": (
        (pool(), pool(2), EMPTY, pool()),
        (pool(), replace(pool(), replica_count=0), EMPTY, pool()),
        "workers: removed, were 2 x n1-standard-4; chief and evaluator unchanged",
    ),
    "another machine": (
        (pool(),),
        (pool(machine="n1-standard-8"),),
        "chief: machine type n1-standard-4 -> n1-standard-8",
    ),
    "another machine and more": (
        (pool(), pool(2)),
        (pool(), pool(4, machine="n1-standard-8")),
        "workers: 2 -> 4 x n1-standard-8, machine type n1-standard-4 -> n1-standard-8; chief unchanged",
    ),
    "accelerators": ((pool(),), (pool(gpus=2),), "chief: accelerators none -> 2 x NVIDIA_TESLA_T4"),
    "disk": (
        (pool(),),
        (replace(pool(), disk_spec=DiskSpec(boot_disk_type="pd-standard", boot_disk_size_gb=200)),),
        "chief: boot disk pd-ssd 100 GB -> pd-standard 200 GB",
    ),
    "image": (
        (pool(image=A),),
        (pool(image=B),),
        "chief: image repo/a@sha256:aaaaaaaaaaaa -> repo/a@sha256:bbbbbbbbbbbb",
    ),
    "arguments": ((pool(args=["--key=hush"]),), (pool(args=["--key=sh"]),), "chief: argument --key changed"),
    "arguments of all forms": (
        (pool(args=["train", "--rate", "0.1", "-v", "--old", "--same=1", "--more", "1", "2"]),),
        (pool(args=["train", "--rate", "0.2", "-v", "--same=1", "--more", "1", "--new"]),),
        "chief: argument --new added, argument --old removed, arguments --rate and --more changed",
    ),
    "arguments without a flag": (
        (pool(args=["hush", "-phush", "--rate=1"]),),
        (pool(args=["sh", "-psh", "--rate=2"]),),
        "chief: argument --rate changed, arguments without a flag changed",
    ),
    "the order of arguments": (
        (pool(args=["-a", "-b"]),),
        (pool(args=["-b", "-a"]),),
        "chief: arguments changed",
    ),
    "variables": (
        (pool(env={"A": "hush", "B": "1", "C": "1", "E": "1"}),),
        (pool(env={"A": "sh", "C": "2", "D": "1", "E": "1"}),),
        "chief: environment variable D added, environment variable B removed, "
        "environment variables A and C changed",
    ),
    "variables in another order": (
        (pool(env={"A": "1", "B": "2"}),),
        (pool(env={"B": "2", "A": "1"}),),
        "chief: environment variables reordered",
    ),
    "package": (
        (package_pool(),),
        (package_pool(package_uris=("gs://staging/trainer-0.2.tar.gz",), python_module="trainer.main"),),
        "chief: packages changed, module trainer.task -> trainer.main",
    ),
    "another kind of task": (
        (pool(),),
        (package_pool(),),
        "chief: task container repo/trainer:1 -> Python package trainer.task",
    ),
    "another role": (
        (pool(), pool(), pool(2)),
        (pool(), pool(), pool(2, image=REDUCTION_SERVER)),
        f"reduction servers: were parameter servers, image repo/trainer:1 -> {REDUCTION_SERVER}; "
        "chief and workers unchanged",
    ),
    "a machine and its image": (
        (pool(image=A),),
        (pool(image=B, machine="n1-standard-8"),),
        "chief: machine type n1-standard-4 -> n1-standard-8, "
        "image repo/a@sha256:aaaaaaaaaaaa -> repo/a@sha256:bbbbbbbbbbbb",
    ),
    "what a machine has besides": (
        (replace(pool(), machine_spec=MachineSpec(machine_type="m", tpu_topology="2x2")),),
        (replace(pool(), machine_spec=MachineSpec(machine_type="m", gpu_partition_size="1g.5gb")),),
        "chief: GPU partition none -> 1g.5gb, TPU topology 2x2 -> none",
    ),
    "a reservation and mounts": (
        (pool(),),
        (
            replace(
                pool(
                    nfs_mounts=(NfsMount(server="10.0.0.2", path="/a", mount_point="b"),),
                    lustre_mounts=(
                        LustreMount(
                            instance_ip="10.0.0.3", volume_handle="v", filesystem="f", mount_point="c"
                        ),
                    ),
                ),
                machine_spec=MachineSpec(
                    machine_type="n1-standard-4",
                    reservation_affinity=ReservationAffinity(reservation_affinity_type="ANY_RESERVATION"),
                ),
            ),
        ),
        "chief: reservation changed, NFS mounts changed, Lustre mounts changed",
    ),
    "nothing": ((pool(),), (pool(), EMPTY), ""),
}


@every_row("case", WORDS)
def test_in_words(case):
    old, new, words = WORDS[case]
    assert in_words(compare(old, new)) == words


def test_a_resized_pool():
    chief, workers = compare((pool(), pool(2)), (pool(), pool(4)))
    assert (chief.index, chief.role, chief.change, chief.fields) == (0, Role.CHIEF, "unchanged", ())
    assert (workers.index, workers.role, workers.change) == (1, Role.WORKER, "resized")
    assert workers.fields == (FieldChange(path=f"{P}[1].replica_count", old=2, new=4),)


def test_an_added_pool_lists_what_it_has():
    assert [(field.path, field.old, field.new) for field in fields((pool(),), (pool(), pool(2)))] == [
        (f"{P}[1].machine_spec.machine_type", None, "n1-standard-4"),
        (f"{P}[1].replica_count", 0, 2),
        (f"{P}[1].container_spec.image_uri", None, "repo/trainer:1"),
    ]


def test_variables_have_their_name_in_the_path_and_no_value():
    assert fields((pool(env={"A": "1", "K": "old"}),), (pool(env={"K": "new"}),)) == [
        FieldChange(path=f"{P}[0].container_spec.env[A]", old=HIDDEN, new=None),
        FieldChange(path=f"{P}[0].container_spec.env[K]", old=HIDDEN, new=HIDDEN),
    ]


@given(pool_lists, pool_lists)
def test_no_value_of_a_variable_ever_shows(old, new):
    def with_secret(pools, secret):
        variable = EnvVar(name="API_KEY", value=secret)
        return [
            replace(each, container_spec=replace(each.container_spec, env=(variable,)))
            if each.container_spec
            else each
            for each in pools
        ]

    changes = compare(with_secret(old, "HUSH-1"), with_secret(new, "HUSH-2"))
    assert "HUSH" not in in_words(changes)
    assert "HUSH" not in str([change.fields for change in changes])


def test_an_unknown_value_counts_as_a_change():
    changes = compare((pool(), pool(2)), (pool(), pool(1)), unknown={f"{P}[1].replica_count"})
    assert in_words(changes) == f"workers: 2 -> {NOT_KNOWN} x n1-standard-4; chief unchanged"


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        ("container_spec.image_uri", "image repo/trainer:1 -> (not known yet)"),
        ("container_spec", "task changed"),
        ("container_spec.env", "environment variables changed"),
        ("container_spec.env[0].value", "environment variable K changed"),
        ("container_spec.args[0]", "arguments changed"),
        ("machine_spec", "machine type n1-standard-4 -> (not known yet)"),
        ("machine_spec.accelerator_count", "accelerators none -> (not known yet)"),
        ("disk_spec.boot_disk_size_gb", "boot disk pd-ssd 100 GB -> (not known yet)"),
    ],
)
def test_unknown_values_in_words(gap, words):
    same = (pool(env={"K": "1"}, args=["a"]),)
    assert in_words(compare(same, same, unknown={f"{P}[0].{gap}"})) == f"chief: {words}"


def test_pools_with_equal_changes_are_named_together():
    old = (pool(args=("--rate=1",)), pool(2, args=("--rate=1",)), EMPTY, pool(args=("x",)))
    new = (pool(args=("--rate=2",)), pool(2, args=("--rate=2",)), EMPTY, pool(args=("x",)))
    assert in_words(compare(old, new)) == "chief and workers: argument --rate changed; evaluator unchanged"
    assert in_words(compare(old[:2], new[:2])) == "all pools: argument --rate changed"
    grown = (new[0], pool(4, args=("--rate=2",)))
    words = "chief: argument --rate changed; workers: 2 -> 4 x n1-standard-4, argument --rate changed"
    assert in_words(compare(old[:2], grown)) == words
    assert in_words(compare(old[:1], new[:1])) == "chief: argument --rate changed"


def test_unknown_pools():
    old = (pool(), pool(2))
    assert in_words(compare(old, (), unknown={P})) == f"all pools: {NOT_KNOWN}"
    assert in_words(compare(old, old, unknown={f"{P}[1]"})) == f"workers: {NOT_KNOWN}; chief unchanged"


def test_an_added_pool_of_unknown_size():
    changes = compare((pool(),), (pool(), pool(1)), unknown={f"{P}[1].replica_count"})
    assert in_words(changes) == f"workers: added, {NOT_KNOWN} x n1-standard-4; chief unchanged"


def test_five_pools_are_rejected():
    with pytest.raises(ValueError, match="at most 4 worker pools"):
        compare((pool(),), (pool(),) * 5)


def test_a_disk_on_a_machine_that_no_table_has_is_a_difference():
    plain = pool(machine="n9-standard-4")
    with_disk = replace(plain, disk_spec=DiskSpec(boot_disk_type="pd-ssd"))
    [there] = compare([plain], [with_disk])
    [back] = compare([with_disk], [plain])
    assert [field.path for field in there.fields] == [field.path for field in back.fields]
    assert all(field.path.startswith("worker_pool_specs[0].disk_spec") for field in there.fields)


def test_the_disk_of_an_unknown_machine_is_no_difference():
    """Check that a default disk, which follows from the machine, is not reported."""
    unknown = {f"{P}[0].machine_spec.machine_type"}
    for before in (pool(machine="a3-ultragpu-8g"), pool()):
        for after in (pool(machine=""), pool(machine="n9-standard-4")):
            words = f"chief: machine type {before.machine_type} -> {NOT_KNOWN}"
            assert in_words(compare((before,), (after,), unknown=unknown)) == words


def test_a_third_pool_with_an_unknown_image_keeps_its_role():
    old = (pool(), pool(), pool(2, image=REDUCTION_SERVER))
    new = (pool(), pool(), pool(2))
    words = in_words(compare(old, new, unknown={f"{P}[2].container_spec.image_uri"}))
    assert words == (
        f"reduction servers: image {REDUCTION_SERVER} -> {NOT_KNOWN}; chief and workers unchanged"
    )


def test_unknown_arguments_hide_no_other_change():
    plain, servers = pool(machine="n9-standard-4"), (pool(), pool(), pool(2))
    with_disk = replace(plain, disk_spec=DiskSpec(boot_disk_type="pd-ssd"))
    [change] = compare((plain,), (with_disk,), unknown={f"{P}[0].container_spec.args"})
    assert f"{P}[0].disk_spec.boot_disk_type" in [each.path for each in change.fields]
    reducing = (pool(), pool(), pool(2, image=REDUCTION_SERVER))
    changes = compare(servers, reducing, unknown={f"{P}[2].container_spec.args"})
    assert changes[2].role is Role.REDUCTION_SERVER


@dataclass(frozen=True, kw_only=True)
class Empty:
    """A message that expresses something by its presence alone."""


@dataclass(frozen=True, kw_only=True)
class Inner:
    size: int | None = None
    key: str | None = field(default=None, metadata={"secret": True})


@dataclass(frozen=True, kw_only=True)
class Outer:
    labels: Mapping[str, str] = field(default_factory=dict)
    each: tuple[Inner, ...] = ()
    inner: Inner | None = None
    empty: Empty | None = None
    env: tuple[EnvVar, ...] = ()


K1, K2 = (EnvVar(name="K", value=value) for value in "12")


@pytest.mark.parametrize(
    ("old", "new", "unknown", "found"),
    [
        pytest.param(
            Outer(labels={"a": "1", "b": "2", "c": "3"}),
            Outer(labels={"a": "1", "b": "4", "d": "5"}),
            (),
            [("labels.b", "2", "4"), ("labels.c", "3", None), ("labels.d", None, "5")],
            id="a map, key by key",
        ),
        pytest.param(
            Outer(labels={"a": "1", "b": "2"}),
            Outer(labels={"a": "1", "b": "2"}),
            ("labels.b",),
            [("labels.b", "2", NOT_KNOWN)],
            id="a key that is not known yet",
        ),
        pytest.param(
            Outer(each=(Inner(size=1), Inner(size=2))),
            Outer(each=(Inner(size=1), Inner(size=3), Inner(size=4))),
            (),
            [("each[1].size", 2, 3), ("each[2].size", None, 4)],
            id="a longer list",
        ),
        pytest.param(
            Outer(each=(Inner(size=1),)), Outer(), (), [("each[0].size", 1, None)], id="an emptied list"
        ),
        pytest.param(None, Outer(labels={"a": "1"}), (), [("labels.a", None, "1")], id="from nothing"),
        pytest.param(Outer(labels={"a": "1"}), None, (), [("labels.a", "1", None)], id="to nothing"),
        pytest.param(Outer(), Outer(empty=Empty()), (), [("empty", None, {})], id="an empty message"),
        pytest.param(Outer(empty=Empty()), Outer(), (), [("empty", {}, None)], id="no empty message"),
        pytest.param(
            Outer(inner=Inner(key="a")),
            Outer(inner=Inner(key="b")),
            (),
            [("inner.key", HIDDEN, HIDDEN)],
            id="a secret",
        ),
        pytest.param(
            Outer(inner=Inner(size=1)),
            Outer(inner=Inner(size=1, key="b")),
            (),
            [("inner.key", None, HIDDEN)],
            id="a first secret",
        ),
        pytest.param(
            Outer(inner=Inner(size=1, key="b")),
            Outer(inner=Inner(size=1)),
            (),
            [("inner.key", HIDDEN, None)],
            id="no secret any more",
        ),
        pytest.param(
            Outer(inner=Inner(size=1, key="b")),
            Outer(inner=Inner(size=2, key="b")),
            (),
            [("inner.size", 1, 2)],
            id="beside a secret",
        ),
        pytest.param(
            Outer(inner=Inner(size=1, key="b")),
            Outer(inner=Inner(size=1, key="b")),
            ("inner.key",),
            [("inner.key", HIDDEN, HIDDEN)],
            id="a secret that is not known yet",
        ),
        pytest.param(
            Outer(inner=Inner(size=1)),
            Outer(inner=Inner(size=1)),
            ("inner",),
            [("inner", HIDDEN, NOT_KNOWN)],
            id="a message that is not known yet",
        ),
        pytest.param(Outer(), Outer(env=(K1,)), (), [("env[K]", None, HIDDEN)], id="a first variable"),
        pytest.param(Outer(env=(K1,)), Outer(), (), [("env[K]", HIDDEN, None)], id="no variable any more"),
        pytest.param(
            Outer(env=(K1,)),
            Outer(env=(K1,)),
            ("env",),
            [("env", HIDDEN, NOT_KNOWN)],
            id="variables that are not known yet",
        ),
        pytest.param(
            Outer(env=(K1, EnvVar(name="L", value="1"))),
            Outer(env=(K1, EnvVar(name="L", value="1"))),
            ("env[1].value",),
            [("env[L]", HIDDEN, HIDDEN)],
            id="one variable that is not known yet",
        ),
        pytest.param(
            Outer(env=(K1,)), Outer(env=(K2,)), (), [("env[K]", HIDDEN, HIDDEN)], id="another value"
        ),
    ],
)
def test_the_fields_that_differ(old, new, unknown, found):
    changes = [(each.path, each.old, each.new) for each in field_changes(old, new, unknown=unknown)]
    assert changes == found
