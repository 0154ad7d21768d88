"""The metrics of runs side by side: the last and the best value of each, from wherever it was reported."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pulumi_vertex_training.views.curve import Point

Better = Literal["lower", "higher"]

_LOWER = "loss error err mae mse rmse mape perplexity ppl nll cer wer fid brier logloss crossentropy entropy"
_HIGHER = (
    "accuracy acc auc f1 precision recall score bleu rouge r2 iou map reward return psnr ssim ndcg mrr dice"
)
_DIRECTIONS: Mapping[str, Better] = {
    **dict.fromkeys(_LOWER.split(), "lower"),
    **dict.fromkeys(_HIGHER.split(), "higher"),
}


def better_of(name: str) -> Better | None:
    """Return which values of a metric are better, by the last word of its name that says so; else None."""
    words = re.findall(r"[a-z]+[0-9]*", name.lower())
    return next((_DIRECTIONS[word] for word in reversed(words) if word in _DIRECTIONS), None)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric of several runs. `last` and `best` have an entry for each run, None for a run without it.

    `better` is None if the name does not say which values are better; then there is no best.
    """

    name: str
    better: Better | None
    last: tuple[Any, ...]
    best: tuple[Point | None, ...]


@dataclass(frozen=True, kw_only=True)
class MetricRow:
    """A row of a table: a cell for each run, and the position of the best of them, None without one."""

    name: str
    cells: tuple[str, ...]
    winner: int | None


def metrics_of(
    values: Sequence[Mapping[str, Any]], curves: Sequence[Mapping[str, Sequence[Point]]]
) -> tuple[Metric, ...]:
    """Return the metrics of runs, by their results and the curves that they have reported.

    A result, such as the contents of metrics.json, is the last value of its metric.
    """
    names = dict.fromkeys(name for each in (*values, *curves) for name in each)
    return tuple(_metric(name, values, curves) for name in names)


def _metric(
    name: str, values: Sequence[Mapping[str, Any]], curves: Sequence[Mapping[str, Sequence[Point]]]
) -> Metric:
    better = better_of(name)
    points = [each.get(name) or () for each in curves]
    last = tuple(
        result.get(name, reported[-1][1] if reported else None)
        for result, reported in zip(values, points, strict=True)
    )
    return Metric(name=name, better=better, last=last, best=tuple(_best(each, better) for each in points))


def _best(points: Sequence[Point], better: Better | None) -> Point | None:
    finite = [point for point in points if math.isfinite(point[1])]
    if better is None or not finite:
        return None
    choose = min if better == "lower" else max
    return choose(finite, key=lambda point: point[1])


def rows_of(metrics: Sequence[Metric]) -> list[MetricRow]:
    """Return the rows of metrics that are numbers or texts, with the differences to the base.

    A metric whose best value is not its last has a second row, with the best values and their steps.
    """
    rows: list[MetricRow] = []
    for metric in metrics:
        if not any(map(is_plain, metric.last)):
            continue
        base = metric.last[0]
        cells = (metric_text(base), *(_with_difference(base, value) for value in metric.last[1:]))
        rows.append(MetricRow(name=metric.name, cells=cells, winner=winner(metric.last, metric.better)))
        if any(
            best is not None and best[1] != last for best, last in zip(metric.best, metric.last, strict=True)
        ):
            values = tuple(None if best is None else best[1] for best in metric.best)
            cells = tuple(f"{best[1]:.6g} at {best[0]:g}" if best else "" for best in metric.best)
            rows.append(
                MetricRow(name=f"{metric.name}, best", cells=cells, winner=winner(values, metric.better))
            )
    return rows


def winner(values: Sequence[object], better: Better | None) -> int | None:
    """Return the position of the best number; None without a direction, or if all numbers are equal."""
    numbers = {
        position: number for position, value in enumerate(values) if (number := _number(value)) is not None
    }
    if better is None or len(set(numbers.values())) < 2:
        return None
    choose = min if better == "lower" else max
    return choose(numbers, key=lambda position: numbers[position])


def difference(old: object, new: object) -> float | None:
    """Return the difference of two numbers, rounded to what doubles can show; None for anything else."""
    before, after = _number(old), _number(new)
    if before is None or after is None:
        return None
    found = after - before
    return float(f"{found:.12g}") if math.isfinite(found) else None


def _number(value: object) -> float | None:
    """Return a finite number as a float, None for anything else."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        found = float(value)
    except OverflowError:  # JSON has whole numbers of any size
        return None
    return found if math.isfinite(found) else None


def _with_difference(old: object, new: object) -> str:
    found = difference(old, new)
    return f"{metric_text(new)} ({found:+.4g})" if found else metric_text(new)


def is_plain(value: object) -> bool:
    """Return whether a metric is a number or a text, which a table can show."""
    return isinstance(value, (bool, int, float, str))


def metric_text(value: object) -> str:
    """Return a metric as a cell, "" for one that is not a number or text."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value) if is_plain(value) else ""
