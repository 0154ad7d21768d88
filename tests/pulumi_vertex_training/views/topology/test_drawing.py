from __future__ import annotations

from pulumi_vertex_training.views.topology.drawing import drawing_of
from support.ground.jobs import EMPTY, pool
from support.tables import every_row
from vertex_training.topology.pools import WorkerPoolSpec


@every_row(
    "pools, hourly, totals",
    (
        ([pool(50)], "$12.26", "50 x n1-standard-4 · 200 vCPU · $12.26/h"),
        ([pool(), pool(3, "n1-standard-8", gpus=2)], "$9", "4 replicas · 28 vCPU · 6 GPUs · $9/h"),
        ([pool(gpus=1)], "", "1 x n1-standard-4 · 4 vCPU · 1 GPU"),
        ([pool(machine="z9-strange")], "not known", "1 x z9-strange"),
        ([pool(), EMPTY, pool(1200, "z9-strange")], "at least $1", "1,201 replicas · at least $1/h"),
    ),
    ids=("one type", "two types", "a GPU", "a strange machine", "many"),
)
def test_totals_are_those_that_are_known(pools: list[WorkerPoolSpec], hourly: str, totals: str) -> None:
    assert drawing_of(pools, hourly=hourly).totals == totals


@every_row(
    "count, marks, columns",
    (
        (1, "names", 1),
        (4, "names", 4),
        (5, "squares", 5),
        (24, "squares", 8),
        (49, "squares", 16),
        (199, "squares", 40),
        (400, "squares", 48),
        (401, "number", 48),
    ),
    ids=str,
)
def test_a_box_is_as_wide_as_its_number_of_replicas_needs(count: int, marks: str, columns: int) -> None:
    box = drawing_of([pool(), pool(count)]).boxes[1]
    assert (box.marks, box.columns, len(box.names)) == (marks, columns, count)


def test_a_cluster_has_its_evaluator_apart() -> None:
    both = drawing_of([pool(), EMPTY, EMPTY, pool()])
    assert both.apart is not None and both.apart.index == 3 and [box.index for box in both.cluster] == [0]
    assert drawing_of([EMPTY, EMPTY, EMPTY, pool()]).apart is None
    assert drawing_of([pool(), pool(2)]).apart is None
    assert both.roles == "chief 1, evaluator 1"
