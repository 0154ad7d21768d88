from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.views.topology.mermaid import picture, picture_of_change
from support import mermaid
from support.ground.jobs import EMPTY, REDUCTION_SERVER, pool
from support.tables import every_row
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.topology.difference import compare
from vertex_training.topology.pools import WorkerPoolSpec

MACHINES = st.sampled_from(["n1-standard-4", "a2-highgpu-4g"])
ROOMY = st.builds(pool, st.integers(0, 200), MACHINES)
POOLS = st.lists(ROOMY, min_size=1, max_size=4).map(tuple)


@given(POOLS)
def test_a_picture_has_a_node_for_each_pool_with_replicas(pools):
    text = picture(pools)
    present = {f"p{i}": one for i, one in enumerate(pools) if one.replica_count}
    if not present:
        assert text == ""
        return
    chart = mermaid.read(text)
    assert set(chart.nodes) == set(present) and not chart.changes
    for name, one in present.items():
        assert f" {one.replica_count} x {one.machine_type}" in chart.nodes[name]


@given(POOLS, POOLS)
def test_a_picture_of_a_change_has_the_fate_of_each_pool(old, new):
    text = picture_of_change(compare(old, new))
    sizes = [
        [(one.replica_count, one.replica_count and one.machine_type) for one in side] for side in (old, new)
    ]
    for side in sizes:
        side += [(0, 0)] * (4 - len(side))
    before, after = sizes
    assert bool(text) == (before != after)
    chart = mermaid.read(text) if text else mermaid.Chart()
    for i, ((count, machine), (new_count, new_machine)) in enumerate(zip(before, after, strict=True)):
        if not text or not (count or new_count):
            continue
        fate = "resized" if count != new_count else ""
        fate = "changed" if machine != new_machine else fate
        if not count or not new_count:
            fate = "removed" if count else "added"
        assert chart.changes.get(f"p{i}", "") == fate
        words = chart.nodes[f"p{i}"]
        assert words.endswith(f"({fate})") == bool(fate)
        if count and new_count and count != new_count:
            assert f" {count} -> {new_count} x " in words


def test_a_change_of_a_program_alone_has_no_picture():
    assert picture_of_change(compare([pool(), pool(2)], [pool(), pool(2, args=["--rate"])])) == ""


def test_nodes_say_role_number_machine_and_accelerators_and_the_frame_says_the_totals():
    chart = mermaid.read(picture([pool(), pool(3, "n1-standard-8", gpus=2), pool(5, image=REDUCTION_SERVER)]))
    assert list(chart.nodes.values()) == [
        "chief 1 x n1-standard-4",
        "workers 3 x n1-standard-8 with 2 x NVIDIA_TESLA_T4 each",
        "reduction servers 5 x n1-standard-4",
    ]
    assert chart.title == "9 replicas · 48 vCPU · 6 GPUs"


@every_row(
    "pools, edges",
    (
        ([pool()], set()),
        ([pool(), pool(2)], {("p0", "---", "p1")}),
        ([pool(), pool(2), pool(2)], {("p0", "---", "p1"), ("p0", "---", "p2"), ("p1", "---", "p2")}),
        ([pool(), EMPTY, pool(2)], {("p0", "---", "p2")}),
        ([pool(), EMPTY, EMPTY, pool()], {("cluster", "-.->", "p3")}),
    ),
    ids=("chief", "workers", "servers", "no workers", "evaluator"),
)
def test_lines_join_the_cluster_and_a_dotted_arrow_leads_to_the_evaluator(
    pools: list[WorkerPoolSpec], edges: set[tuple[str, str, str]]
) -> None:
    chart = mermaid.read(picture(pools))
    assert chart.edges == edges
    assert set(chart.apart) == {"p3"} & set(chart.nodes)


def test_the_frame_counts_the_pools_inside_it():
    old, new = [pool(), pool(2), EMPTY, pool()], [pool(), pool(4), EMPTY, pool(machine="n1-standard-8")]
    assert mermaid.read(picture(old)).title == "3 x n1-standard-4 · 12 vCPU"
    change = mermaid.read(picture_of_change(compare(old, new)))
    assert change.title == "3 x n1-standard-4 · 12 vCPU -> 5 x n1-standard-4 · 20 vCPU"
    alone = mermaid.read(picture_of_change(compare(old, [*old[:3], EMPTY])))
    assert alone.title == "3 x n1-standard-4 · 12 vCPU"
    assert mermaid.read(picture([EMPTY, EMPTY, EMPTY, pool()])).title == "1 x n1-standard-4 · 4 vCPU"


def test_text_of_others_cannot_leave_its_label():
    machine = 'n1"] --> x["\n%%{init: {}}%% end `a` <script> #quot; ' + "long" * 50
    words = mermaid.read(picture([pool(machine=machine)])).nodes["p0"]
    assert words.startswith('chief 1 x n1"] --> x["\\n%%{init: {}}%% end `a` <script> #quot; long')
    assert len(words) == 120


def test_a_number_that_is_not_known_yet_is_not_invented():
    changes = compare([pool(), pool(2)], [pool(), pool(1)], unknown=["worker_pool_specs[1].replica_count"])
    chart = mermaid.read(picture_of_change(changes))
    assert chart.title == "replicas"
    assert chart.nodes["p1"] == f"workers {NOT_KNOWN} (changed)"


def test_the_title_of_a_change_has_the_totals_before_and_after():
    assert mermaid.read(picture_of_change(compare([pool(), pool(2)], [pool(), pool(4)]))).title == (
        "3 x n1-standard-4 · 12 vCPU -> 5 x n1-standard-4 · 20 vCPU"
    )
    new = mermaid.read(picture_of_change(compare((), [pool(), pool(2)])))
    assert new.title == "3 x n1-standard-4 · 12 vCPU"
    assert list(new.nodes.values()) == [
        "chief 1 x n1-standard-4 (added)",
        "workers 2 x n1-standard-4 (added)",
    ]
    gone = mermaid.read(picture_of_change(compare([pool()], ())))
    assert gone.nodes == {"p0": "chief 1 x n1-standard-4 (removed)"}
    assert picture_of_change([]) == picture([]) == picture([EMPTY]) == ""
