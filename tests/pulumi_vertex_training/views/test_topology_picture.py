from __future__ import annotations

from collections.abc import Sequence

from hypothesis import assume, given
from hypothesis import strategies as st

from pulumi_vertex_training.views.topology_picture import picture, picture_of_change
from support import mermaid
from support.ground.jobs import EMPTY, REDUCTION_SERVER, pool
from support.tables import every_row
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.topology.difference import compare
from vertex_training.topology.pools import WorkerPoolSpec

MACHINES = st.sampled_from(["n1-standard-4", "a2-highgpu-4g"])
ROOMY = st.builds(pool, st.integers(0, 200), MACHINES)
POOLS = st.lists(ROOMY, min_size=1, max_size=4).map(tuple)


def expected(pools: Sequence[WorkerPoolSpec]) -> list[tuple[int, int]]:
    return [(i, number) for i, one in enumerate(pools) for number in range(one.replica_count)]


def drawn(replicas: list[tuple[int, int, str]]) -> list[tuple[int, int]]:
    return [(one, number) for one, number, _ in replicas]


@given(POOLS)
def test_a_picture_has_each_replica_once_for_any_number_of_replicas(pools):
    text = picture(pools)
    if not expected(pools):
        assert text == ""
        return
    chart = mermaid.read(text)
    assert drawn(chart.replicas) == expected(pools)
    assert len(text.split("\n")) < 60


@given(POOLS, POOLS)
def test_a_picture_of_a_change_has_each_replica_of_both_sides_with_its_fate(old, new):
    changes = compare(old, new)
    assume(changes)
    chart = mermaid.read(picture_of_change(changes))
    before, after = chart.boxes.get("before"), chart.boxes.get("after")
    assert drawn(before.all_replicas if before else []) == expected(old)
    assert drawn(after.all_replicas if after else []) == expected(new)
    assert (("before", "==>", "after") in chart.edges) == (before is not None and after is not None)
    for change in changes:
        both = min(change.old.replica_count, change.new.replica_count)
        for side, name, fate in (
            (before, f"b{change.index}", "removed"),
            (after, f"a{change.index}", "added"),
        ):
            if side is None or name not in side.boxes:
                continue
            box = side.boxes[name]
            own = chart.classes.get(name, "")
            assert own == {"resized": "", "unchanged": ""}.get(change.change, change.change)
            assert box.title.endswith(f"({own})") == bool(own)
            for _, number, shown in box.replicas:
                # The fate of a whole pool is not repeated at its replicas.
                assert shown == ("" if number < both or own == fate else fate), (name, number)


def test_few_replicas_are_drawn_one_by_one_and_many_as_one_node():
    few = mermaid.read(picture([pool(), pool(4)]))
    assert [len(box.nodes) for box in few.boxes.values()] == [1, 4]
    many = mermaid.read(picture([pool(), pool(199)]))
    assert [box.nodes for box in many.boxes.values()] == [
        ["workerpool0-0"],
        ["workerpool1-0 to workerpool1-198: 199 replicas"],
    ]


def test_titles_say_role_number_machine_and_accelerators():
    chart = mermaid.read(picture([pool(), pool(3, "n1-standard-8", gpus=2), pool(5, image=REDUCTION_SERVER)]))
    assert [box.title for box in chart.boxes.values()] == [
        "chief 1 x n1-standard-4",
        "workers 3 x n1-standard-8 with 2 x NVIDIA_TESLA_T4 each",
        "reduction servers 5 x n1-standard-4",
    ]


@every_row(
    "pools, edges",
    (
        ([pool()], set()),
        ([pool(), pool(2)], {("p0", "---", "p1")}),
        ([pool(), pool(2), pool(2)], {("p0", "---", "p1"), ("p0", "---", "p2"), ("p1", "---", "p2")}),
        ([pool(), EMPTY, pool(2)], {("p0", "---", "p2")}),
        ([pool(), EMPTY, EMPTY, pool()], {("p0", "-.-", "p3")}),
    ),
    ids=("chief", "workers", "servers", "no workers", "evaluator"),
)
def test_lines_join_the_cluster_and_a_dotted_line_the_evaluator(
    pools: list[WorkerPoolSpec], edges: set[tuple[str, str, str]]
) -> None:
    assert mermaid.read(picture(pools)).edges == edges


def test_text_of_others_cannot_leave_its_label():
    machine = 'n1"] --> x["\n%%{init: {}}%% end `a` <script> #quot; ' + "long" * 50
    chart = mermaid.read(picture([pool(machine=machine)]))
    (box,) = chart.boxes.values()
    assert box.title.startswith('chief 1 x n1"] --> x["\\n%%{init: {}}%% end `a` <script> #quot; long')
    assert len(box.title) == 120


def test_a_number_that_is_not_known_yet_is_not_invented():
    changes = compare([pool(), pool(2)], [pool(), pool(1)], unknown=["worker_pool_specs[1].replica_count"])
    chart = mermaid.read(picture_of_change(changes))
    assert chart.boxes["before"].title == "before: 3 replicas"
    assert chart.boxes["after"].title == "after: replicas"
    assert chart.boxes["after"].boxes["a1"].nodes == [NOT_KNOWN]


def test_a_new_job_has_no_before_and_a_removed_one_no_after():
    new = mermaid.read(picture_of_change(compare((), [pool(), pool(2)])))
    assert list(new.boxes) == ["after"]
    assert {box.title for box in new.boxes["after"].boxes.values()} == {
        "chief 1 x n1-standard-4 (added)",
        "workers 2 x n1-standard-4 (added)",
    }
    assert list(mermaid.read(picture_of_change(compare([pool()], ()))).boxes) == ["before"]
    assert picture_of_change([]) == picture([]) == picture([EMPTY]) == ""
