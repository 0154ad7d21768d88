"""Charts as the browser gets them, and the vendored library that draws them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.cloud.emulator_api import ReplicaUse, UsageSample
from pulumi_vertex_training.ui import command
from pulumi_vertex_training.ui.pages.curves.chart import (
    MOST_POINTS,
    Chart,
    Series,
    curves,
    number_in_words,
    spark,
    thinned,
)
from pulumi_vertex_training.ui.pages.job.charts import metric_charts, usage_charts
from pulumi_vertex_training.ui.server import rendering
from pulumi_vertex_training.ui.source.usage import ReplicaUsage, of_samples, since_last_gap
from pulumi_vertex_training.views.curve import Curve, Points
from pulumi_vertex_training.views.metrics.metrics import REPORTS, Metrics

ASSETS = Path(command.__file__).parent / "assets"
HOSTILE = "\"><img src=x onerror=alert(1)>'"


def test_the_vendored_files_are_those_of_the_version_that_is_named() -> None:
    [(name, library)] = json.loads((ASSETS / "vendored.json").read_text()).items()
    assert name == "uplot" and library["licence"] == "MIT"
    assert f"v{library['version']}" in (ASSETS / "uplot.js").read_text()
    assert "The MIT License" in (ASSETS / "uplot-license.txt").read_text()
    for file, known in library["files"].items():
        assert hashlib.sha256((ASSETS / file).read_bytes()).hexdigest() == known["sha256"], file
    assert {path.name for path in ASSETS.glob("uplot*")} == set(library["files"])


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=30), st.integers(2, 20))
def test_a_chart_has_only_finite_points_and_not_too_many(
    points: list[tuple[float, float]], most: int
) -> None:
    found = thinned(points, most=most)
    assert len(found) <= most and set(found) <= set(points)
    chart = Chart(key="k", title="t", series=(Series(name="s", points=tuple(points)),))
    json.loads(chart.document, parse_constant=lambda name: pytest_fail(name))


def test_a_value_that_is_not_finite_is_a_word() -> None:
    points = ((1.0, 0.5), (2.0, float("nan")), (3.0, float("-inf")))
    [chart] = metric_charts(Metrics(curves=(Curve(metric="loss", source=REPORTS, points=points),)))
    assert json.loads(chart.document)["series"][0]["points"] == [[1, 0.5], [2, "nan"], [3, "-inf"]]
    assert chart.summary == "-inf"


def pytest_fail(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def test_the_first_and_the_last_point_stay() -> None:
    points = [(float(step), 1 / (step + 1)) for step in range(10 * MOST_POINTS)]
    found = thinned(points)
    assert len(found) == MOST_POINTS and (found[0], found[-1]) == (points[0], points[-1])


def test_names_in_a_chart_are_text() -> None:
    metrics = Metrics(curves=(Curve(metric=HOSTILE, source=HOSTILE, points=((1.0, 2.0),)),))
    rows = rendering.rendered({"metrics": curves(metric_charts(metrics))})["metrics"]
    assert not isinstance(rows, str)
    [html] = rows.values()
    assert "<img" not in html and "&lt;img" in html


def test_times_begin_with_the_first_value_of_a_run() -> None:
    """Check that the third number of a point is its seconds, and that a curve has all times or none."""
    points = ((1.0, 0.5), (2.0, 0.4))
    one = Curve(metric="loss", source="a", points=points, times=(1000.0, 1002.5))
    other = Curve(metric="loss", source="b", points=points, times=(5000.0, 5001.0))
    untimed = Curve(metric="loss", source="c", points=points)

    def shown(*several: Curve, **options: bool) -> list[tuple[bool, list[list[float]]]]:
        (chart,) = metric_charts(Metrics(curves=several), **options)
        return [(each["timed"], each["points"]) for each in json.loads(chart.document)["series"]]

    first = (True, [[1, 0.5, 0], [2, 0.4, 2.5]])
    assert shown(one, other) == [first, (True, [[1, 0.5, 4000], [2, 0.4, 4001]])]
    assert shown(one, other, sources_are_runs=True) == [first, (True, [[1, 0.5, 0], [2, 0.4, 1]])]
    assert shown(one, untimed) == [first, (False, [[1, 0.5], [2, 0.4]])]
    curve = Points()
    known = []
    for step, time in ((1, 10.0), (2, None), (1, 20.0)):
        curve.add(step, 0.5, time)
        known.append(curve.times)
    assert known == [(10.0,), (), (20.0,)], "what a second start repeats is gone"


def test_sources_of_one_metric_share_a_chart() -> None:
    names = (("loss", "train"), ("accuracy", "train"), ("loss", "validation"))
    metrics = Metrics(curves=tuple(Curve(metric=m, source=s, points=((0.0, 1.0),)) for m, s in names))
    found = metric_charts(metrics)
    assert [(one.title, [each.name for each in one.series]) for one in found] == [
        ("loss", ["train", "validation"]),
        ("accuracy", ["train"]),
    ]


def test_cpus_are_the_time_between_two_samples_also_after_a_restart() -> None:
    times = ((10.0, 1.0), (12.0, 2.0), (13.0, 0.25), (14.0, 1.25), (15.0, None), (16.0, 9.0), (17.0, 9.5))
    samples = [
        UsageSample(
            at=at,
            replicas={} if cpu is None else {"a": ReplicaUse(cpu_seconds=cpu, memory_bytes=2**20)},
        )
        for at, cpu in times
    ]
    [found] = of_samples(samples)
    assert found.cpus == ((12.0, 0.5), (14.0, 1.0), (17.0, 0.5))
    assert len(found.memory) == 6 and found.memory[0] == (10.0, 1.0)


def test_replicas_beyond_the_eighth_share_a_band() -> None:
    usage = tuple(
        ReplicaUsage(replica=f"r{number:02}", cpus=((1.0, float(number)),), memory=((1.0, 10.0 + number),))
        for number in range(50)
    )
    cpu, memory = usage_charts(usage)
    assert [one.name for one in cpu.series] == [*(f"r{number}" for number in range(42, 50)), "42 others"]
    band = json.loads(cpu.document)["series"][-1]
    assert (band["shape"], band["points"]) == ("band", [[1, 0, 41]])
    assert memory.series[-1].points == ((1.0, 10.0, 51.0),)
    assert cpu.zero > 0 and memory.zero > 0, "both are drawn from zero"


def test_only_what_was_measured_since_the_page_is_open_is_shown() -> None:
    samples = [
        UsageSample(at=at, replicas={"a": ReplicaUse(cpu_seconds=at, memory_bytes=2**20)})
        for at in (0.0, 1.0, 90.0, 91.0)
    ]
    [found] = of_samples(since_last_gap(samples))
    assert found.memory == ((90.0, 1.0), (91.0, 1.0)) and found.cpus == ((91.0, 1.0),)


def test_numbers_have_about_four_digits() -> None:
    values = (0.84051, 0.0, 12345.6, 1e9, 0.00001234, -1500.4)
    assert [number_in_words(one) for one in values] == [
        "0.8405",
        "0",
        "12,346",
        "1e+09",
        "1.23e-05",
        "-1,500",
    ]


def test_memory_is_in_the_unit_that_is_readable() -> None:
    def memory(*values: float) -> tuple[str, str]:
        points = tuple((float(at), value) for at, value in enumerate(values))
        [chart] = usage_charts((ReplicaUsage(replica="a", cpus=(), memory=points),))
        return chart.unit, chart.summary

    assert memory(20.0, 900.0) == ("MiB", "900 MiB")
    assert memory(2560.0, 512.0) == ("GiB", "0.5 GiB")


def test_a_spark_line_spans_its_box_and_a_flat_one_is_in_its_middle() -> None:
    assert spark((3.0, 1.0, 2.0)) == "0,1 30,15 60,8"
    assert spark((5.0, 5.0)) == "0,8 60,8"
