from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from support.jobs import EMPTY, REDUCTION_SERVER, package_pool, pool, pool_lists
from support.tables import every_row
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.topology.changes import HIDDEN, FieldChange
from vertex_training.topology.difference import compare, in_words
from vertex_training.topology.normal import normal_pools
from vertex_training.topology.pools import DiskSpec, EnvVar
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
    "accelerators": (
        (pool(),),
        (pool(gpus=2),),
        "chief: accelerators none -> 2 x NVIDIA_TESLA_T4",
    ),
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
    "arguments": ((pool(args=["--key=hush"]),), (pool(args=["--key=sh"]),), "chief: arguments changed"),
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


def test_a_value_that_is_not_known_yet_counts_as_a_change():
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


def test_whole_pools_that_are_not_known_yet():
    old = (pool(), pool(2))
    assert in_words(compare(old, (), unknown={P})) == f"chief: {NOT_KNOWN}; workers: {NOT_KNOWN}"
    assert in_words(compare(old, old, unknown={f"{P}[1]"})) == f"workers: {NOT_KNOWN}; chief unchanged"


def test_an_added_pool_whose_size_is_not_known_yet():
    changes = compare((pool(),), (pool(), pool(1)), unknown={f"{P}[1].replica_count"})
    assert in_words(changes) == f"workers: added, {NOT_KNOWN} x n1-standard-4; chief unchanged"


def test_five_pools_are_refused():
    with pytest.raises(ValueError, match="at most 4 worker pools"):
        compare((pool(),), (pool(),) * 5)


def test_a_disk_on_a_machine_that_no_table_has_is_a_difference():
    plain = pool(machine="n9-standard-4")
    with_disk = replace(plain, disk_spec=DiskSpec(boot_disk_type="pd-ssd"))
    [there] = compare([plain], [with_disk])
    [back] = compare([with_disk], [plain])
    assert [field.path for field in there.fields] == [field.path for field in back.fields]
    assert all(field.path.startswith("worker_pool_specs[0].disk_spec") for field in there.fields)
