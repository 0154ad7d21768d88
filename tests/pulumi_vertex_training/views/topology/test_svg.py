from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pulumi_vertex_training.views.topology.svg import picture
from support.ground.jobs import EMPTY, REDUCTION_SERVER, pool
from vertex_training.topology.pools import WorkerPoolSpec

SVG = "{http://www.w3.org/2000/svg}"
MACHINES = st.sampled_from(["n1-standard-4", "a2-highgpu-4g"])
POOLS = st.lists(st.builds(pool, st.integers(0, 200), MACHINES), min_size=1, max_size=4).map(tuple)
REPLICA = re.compile(r"workerpool(\d)-(\d+)")


def parsed(pools: Sequence[WorkerPoolSpec]) -> ElementTree.Element:
    return ElementTree.fromstring(picture(pools))


def texts(root: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in root.iter(f"{SVG}text")]


def replicas(root: ElementTree.Element) -> list[tuple[int, int]]:
    """Return the pool and index of each mark: a square with its name as title, or a box that has its name."""
    titles = [one.find(f"{SVG}title") for one in root.iter(f"{SVG}rect")]
    names = [one.text or "" for one in titles if one is not None] + texts(root)
    found = [match for name in names if (match := REPLICA.fullmatch(name))]
    return [(int(match[1]), int(match[2])) for match in found]


def rectangles(root: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    return [
        (
            float(one.get("x", 0)),
            float(one.get("y", 0)),
            float(one.get("width", 0)),
            float(one.get("height", 0)),
        )
        for one in root.iter(f"{SVG}rect")
    ]


@given(POOLS)
def test_each_replica_has_one_mark_for_any_number_of_replicas(pools: tuple[WorkerPoolSpec, ...]) -> None:
    expected = [(i, number) for i, one in enumerate(pools) for number in range(one.replica_count)]
    if not expected:
        assert picture(pools) == ""
        return
    assert sorted(replicas(parsed(pools))) == expected


@given(POOLS)
def test_every_shape_is_in_the_picture_and_marks_do_not_overlap(pools: tuple[WorkerPoolSpec, ...]) -> None:
    assume(picture(pools))
    root = parsed(pools)
    _, _, width, height = (float(one) for one in root.get("viewBox", "").split())
    shapes = rectangles(root)
    for x, y, wide, high in shapes:
        assert x >= 0 and y >= 0 and x + wide <= width and y + high <= height
    for one in root.iter(f"{SVG}text"):
        size = float(one.get("font-size", 12))
        assert float(one.get("x", 0)) + 0.58 * size * len(one.text or "") <= width
        assert size <= float(one.get("y", 0)) <= height
    marks = [one for one in shapes if one[3] <= 26]
    by_row: dict[float, list[tuple[float, float]]] = {}
    for x, y, wide, _ in marks:
        by_row.setdefault(y, []).append((x, x + wide))
    for row in by_row.values():
        ends = sorted(row)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(ends))


def test_boxes_have_role_number_machine_and_accelerators() -> None:
    root = parsed([pool(), pool(3, "n1-standard-8", gpus=2), pool(5, image=REDUCTION_SERVER)])
    shown = texts(root)
    assert shown[0] == "9 replicas · 48 vCPU · 6 GPUs"
    assert root.get("aria-label") == "9 replicas: chief 1, workers 3, reduction servers 5"
    for words in (
        "chief (1)",
        "workers (3)",
        "reduction servers (5)",
        "n1-standard-8",
        "2 x NVIDIA_TESLA_T4",
    ):
        assert words in shown
    assert "workerpool2-0 to -4" in shown


@pytest.mark.parametrize(
    ("pools", "framed", "dotted"),
    [
        ([pool()], False, False),
        ([pool(), pool(2)], True, False),
        ([pool(), EMPTY, EMPTY, pool()], False, True),
        ([pool(), pool(2), EMPTY, pool()], True, True),
        ([pool(), pool(2), pool(2), pool()], True, True),
    ],
)
def test_a_frame_joins_the_cluster_and_a_dotted_line_the_evaluator(
    pools: list[WorkerPoolSpec], framed: bool, dotted: bool
) -> None:
    root = parsed(pools)
    assert ("one cluster: each replica reaches every other" in texts(root)) is framed
    assert ("reads what the chief saves" in texts(root)) is dotted
    assert (root.find(f"{SVG}path") is not None) is dotted
    assert not any(one.endswith("...") for one in texts(root)), "no text is cut"


def test_text_of_others_is_text() -> None:
    machine = 'n1"/><script>alert(1)</script>&amp;\x1b]0;x\x07\x00\ufffe\ud800' + "long" * 50
    root = parsed([pool(machine=machine)])
    tags = {one.tag.removeprefix(SVG) for one in root.iter()}
    assert tags == {"svg", "title", "style", "text", "rect", "g"}
    titles = [one.text or "" for one in root.iter(f"{SVG}title")]
    assert any(
        r'n1"/><script>alert(1)</script>&amp;\x1b]0;x\x07\x00\ufffe\ud800long' in one for one in titles
    )
    assert max(map(len, texts(root))) < 80


def test_it_is_light_and_dark_and_changes_nothing_around_it() -> None:
    text = picture([pool(), pool(100)])
    (style,) = re.findall(r"<style>(.*?)</style>", text)
    assert set(re.findall(r"([^{}]+)\{color", style)) == {"svg:root"}
    assert "prefers-color-scheme:dark" in style
    assert 'fill="currentColor"' in text.split("\n")[0]
    assert not re.search(r"<text[^>]* fill=", text)
    assert not re.search(r"(?<!xmlns=\")https?:|href|url\(|\son\w+=|\sid=", text)


def test_a_pool_of_more_replicas_than_squares_fit_is_one_box_with_their_number() -> None:
    root = parsed([pool(), pool(5000)])
    assert "5,000 replicas" in texts(root)
    assert "workerpool1-0 to -4999" in texts(root)
    assert len(rectangles(root)) < 10


def test_no_box_is_much_larger_than_its_content_needs() -> None:
    """Draw 200 replicas: the box of the chief is narrow and low, the box of 193 workers is wide."""
    root = parsed([pool(), pool(193), pool(5), pool()])
    boxes = [one for one in rectangles(root) if one[3] > 60][1:]
    (_, _, chief, low), (_, _, workers, high) = boxes[:2]
    assert chief < 200 and low < 120 and workers > 600 and high < 190
    for x, y, wide, tall in boxes:
        inside = [
            one for one in rectangles(root) if x <= one[0] and one[0] + one[2] <= x + wide and one[3] <= 26
        ]
        lowest = max(one[1] + one[3] for one in inside)
        assert y + tall - lowest <= 50, "the box ends below its marks"
    assert float(root.get("height", 0)) < 300


def test_rows_of_squares_have_a_scale_and_the_cost_is_in_the_title() -> None:
    root = ElementTree.fromstring(picture([pool(), pool(193)], hourly="$36.80"))
    assert texts(root)[0] == "194 x n1-standard-4 · 776 vCPU · $36.80/h"
    assert {"0", "40", "80", "120", "160"} <= set(texts(root))
