"""Two pictures of a tuning job's trials in plain numbers, which templates write as SVG.

Places are in the units of the picture, with the origin at the upper left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pulumi_vertex_training.ui.source.tuning import Tuning, value_in_words
from pulumi_vertex_training.views.study_view import ENDED
from vertex_training.study.study import ParameterSpec
from vertex_training.study.trials import Trial, Value

_WIDTH, _HEIGHT = 640.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 72.0, 14.0, 14.0, 44.0
_AXIS_GAP, _AXIS_TOP, _AXIS_HEIGHT = 128.0, 40.0, 236.0
_TICKS = 5
_MOST_POWERS = 8
_LEAST_GAP = 0.08
"""The least distance of two values at an axis of powers, as a share of it."""

_MOST_NAMES = 12
"""Values of a list that an axis names; of a longer list it names only some."""

_LEAST_RANGE = 0.02
"""The least range of an axis with results, of the largest of them."""

_SHADES = 5
_LONGEST = 15


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A value at an axis."""

    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Point:
    """A trial in the picture of the metric. `form` is done, early, running, unreported or infeasible.

    A trial that has reported nothing yet has its place at the axis, and no value.
    """

    trial: str
    x: float
    y: float
    form: str
    text: str


@dataclass(frozen=True, kw_only=True)
class MetricPlot:
    """The objective's value of each trial, and as a line the best value so far."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    points: tuple[Point, ...]
    best: str
    values: tuple[Tick, ...]
    numbers: tuple[Tick, ...]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A parameter, or the objective, in the picture of the parameters."""

    x: float
    name: str
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, kw_only=True)
class TrialLine:
    """A trial as a line through the axes.

    `shade` is 0 for the worst values to 4 for the best, or -1 without a value. `is_live` means that the trial
    may still report one.
    """

    trial: str
    path: str
    shade: int
    is_best: bool
    is_live: bool
    text: str


@dataclass(frozen=True, kw_only=True)
class ParameterPlot:
    """Each trial as a line through its parameters and its value of the objective."""

    width: float
    height: float
    top: float
    bottom: float
    axes: tuple[Axis, ...]
    lines: tuple[TrialLine, ...]

    @property
    def is_wide(self) -> bool:
        """True for a picture that scrolls, instead of being as wide as its place."""
        return self.width > _WIDTH


def metric_plot(tuning: Tuning) -> MetricPlot | None:
    """Return the picture of the objective over the trials, or None before a trial has a value."""
    objective = tuning.objective
    if objective is None:
        return None
    name = objective.metric_id
    known = [value for trial in tuning.trials if (value := trial.metrics.get(name)) is not None]
    if not known:
        return None
    low, high, values = _scale(*_apart(min(known), max(known)))
    last = max(len(tuning.trials), 2)
    inner = _WIDTH - _LEFT - _RIGHT

    def x_of(position: int) -> float:
        return round(_LEFT + inner * (position + 0.5) / last, 1)

    def y_of(value: float) -> float:
        return round(_TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - _share(value, low, high)), 1)

    step = max(math.ceil(last / 10), 1)
    return MetricPlot(
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        right=_WIDTH - _RIGHT,
        top=_TOP,
        bottom=_HEIGHT - _BOTTOM,
        points=tuple(
            _point(tuning, trial, name, x_of(position), y_of) for position, trial in enumerate(tuning.trials)
        ),
        best=_best_line(tuning, name, x_of, y_of),
        values=tuple(Tick(at=y_of(value), text=_short(value)) for value in values),
        numbers=tuple(
            Tick(at=x_of(position), text=trial.id)
            for position, trial in enumerate(tuning.trials)
            if position % step == 0
        ),
    )


def parameter_plot(tuning: Tuning) -> ParameterPlot | None:
    """Return the picture of the parameters, or None before a trial has some."""
    objective = tuning.objective
    started = [trial for trial in tuning.trials if trial.parameters]
    if not started:
        return None
    scales = [_axis_of(spec) for spec in tuning.parameters]
    names = [spec.parameter_id for spec in tuning.parameters]
    values = {trial.id: _objective(tuning, trial) for trial in started}
    known = [value for value in values.values() if value is not None]
    if objective is not None and known:
        scales.append(_numbers(*_scale(*_apart(min(known), max(known)))))
        names.append(objective.metric_id)
    bottom = _AXIS_TOP + _AXIS_HEIGHT
    gap = max(_AXIS_GAP, _WIDTH / len(scales))
    places = [round(gap / 2 + gap * position, 1) for position in range(len(scales))]
    order = sorted(known, reverse=tuning.objective is not None and tuning.objective.goal == "MINIMIZE")

    def line(trial: Trial) -> TrialLine:
        found: list[Value | None] = [trial.parameters.get(spec.parameter_id) for spec in tuning.parameters]
        value = values[trial.id]
        if len(scales) > len(found):
            found.append(value)
        return TrialLine(
            trial=trial.id,
            path=_path(
                (x, None if each is None else scale.place(each))
                for x, scale, each in zip(places, scales, found, strict=True)
            ),
            shade=-1 if value is None else min(order.index(value) * _SHADES // len(order), _SHADES - 1),
            is_best=tuning.best is not None and tuning.best.id == trial.id,
            is_live=trial.state not in ENDED,
            text=", ".join(
                f"{name} {value_in_words(each)}"
                for name, each in zip(names, found, strict=True)
                if each is not None
            ),
        )

    lines = [line(trial) for trial in started]
    return ParameterPlot(
        width=round(gap * len(scales), 1),
        height=bottom + 24,
        top=_AXIS_TOP,
        bottom=bottom,
        axes=tuple(
            Axis(x=x, name=_shortened(name), ticks=scale.ticks)
            for x, name, scale in zip(places, names, scales, strict=True)
        ),
        # The best lines come last, so that they lie above the others.
        lines=tuple(sorted(lines, key=lambda one: (one.is_best, one.shade))),
    )


@dataclass(frozen=True, kw_only=True)
class _Scale:
    """An axis: the place of a value, or None for a value that it does not have."""

    place: Callable[[Value], float | None]
    ticks: tuple[Tick, ...]


def _point(tuning: Tuning, trial: Trial, name: str, x: float, y_of: Callable[[float], float]) -> Point:
    value = trial.metrics.get(name)
    y = _HEIGHT - _BOTTOM if value is None else y_of(value)
    words = f"trial {trial.id}: {name} {value_in_words(value) or 'not reported'}"
    if trial.id in tuning.early:
        return Point(trial=trial.id, x=x, y=y, form="early", text=f"{words}, stopped early")
    if trial.has_succeeded:
        return Point(trial=trial.id, x=x, y=y, form="done", text=words)
    if trial.state == "INFEASIBLE":
        return Point(trial=trial.id, x=x, y=y, form="infeasible", text=f"{words}, infeasible")
    if value is None:
        return Point(
            trial=trial.id, x=x, y=y, form="unreported", text=f"trial {trial.id}: nothing reported yet"
        )
    return Point(trial=trial.id, x=x, y=y, form="running", text=f"{words}, so far")


def _best_line(
    tuning: Tuning, name: str, x_of: Callable[[int], float], y_of: Callable[[float], float]
) -> str:
    """Return the path of the best value so far: steps, over the trials that have succeeded."""
    sign = -1 if tuning.objective is not None and tuning.objective.goal == "MINIMIZE" else 1
    words: list[str] = []
    best: float | None = None
    for position, trial in enumerate(tuning.trials):
        value = trial.metrics.get(name) if trial.has_succeeded else None
        if value is not None and (best is None or sign * value > sign * best):
            best = value
            words.append(f"V{y_of(best)}" if words else f"M{x_of(position)} {y_of(best)}")
        if best is not None:
            after = len(tuning.trials) - 1
            words.append(f"H{x_of(min(position + 1, after))}")
    return " ".join(words)


def _objective(tuning: Tuning, trial: Trial) -> float | None:
    return trial.metrics.get(tuning.objective.metric_id) if tuning.objective is not None else None


def _path(places: Iterable[tuple[float, float | None]]) -> str:
    """Return a path through the axes; where a trial has no value, the line has a gap."""
    words: list[str] = []
    is_open = False
    for x, y in places:
        if y is None:
            is_open = False
            continue
        words.append(f"{'L' if is_open else 'M'}{x} {y}")
        is_open = True
    return " ".join(words)


def _axis_of(spec: ParameterSpec) -> _Scale:
    if spec.categorical_value_spec is not None:
        return _names(spec.categorical_value_spec.values)
    if spec.discrete_value_spec is not None:
        return _names(spec.discrete_value_spec.values)
    bounds = spec.double_value_spec or spec.integer_value_spec
    if bounds is None:
        return _names(())
    low, high = float(bounds.min_value), float(bounds.max_value)
    if spec.scale_type == "UNIT_LOG_SCALE" and 0 < low < high:
        return _powers(low, high)
    return _numbers(low, high, [low + (high - low) * part / (_TICKS - 1) for part in range(_TICKS)])


def _y(part: float) -> float:
    return round(_AXIS_TOP + _AXIS_HEIGHT * (1 - min(max(part, 0.0), 1.0)), 1)


def _numbers(low: float, high: float, ticks: Sequence[float]) -> _Scale:
    def place(value: Value) -> float | None:
        return None if isinstance(value, str) else _y(_share(value, low, high))

    return _Scale(
        place=place, ticks=tuple(Tick(at=_y(_share(value, low, high)), text=_short(value)) for value in ticks)
    )


def _share(value: float, low: float, high: float) -> float:
    """Return the place of a value between two bounds as a share; halves keep the largest numbers finite."""
    span = high / 2 - low / 2
    return (value / 2 - low / 2) / span if span else 0.5


def _powers(low: float, high: float) -> _Scale:
    span = math.log(high) - math.log(low)

    def place(value: Value) -> float | None:
        return None if isinstance(value, str) or value <= 0 else _y((math.log(value) - math.log(low)) / span)

    ticks = _round_powers(low, high) or [low * math.exp(span * part / (_TICKS - 1)) for part in range(_TICKS)]
    return _Scale(
        place=place,
        ticks=tuple(Tick(at=place(each) or 0.0, text=_short(each)) for each in ticks),
    )


def _round_powers(low: float, high: float) -> list[float]:
    """Return the bounds and the powers of ten between them that are not too close; empty if these are few."""
    bottom, top = math.log10(low), math.log10(high)
    least = _LEAST_GAP * (top - bottom)
    first, last = math.ceil(bottom + least), math.floor(top - least)
    step = max(math.ceil((last - first + 1) / _MOST_POWERS), 1)
    powers = [10.0**power for power in range(first, last + 1, step)]
    return [low, *powers, high] if powers and top - bottom >= 1 else []


def _names(values: Sequence[Value]) -> _Scale:
    last = max(len(values) - 1, 1)
    places = {value: _y(position / last if len(values) > 1 else 0.5) for position, value in enumerate(values)}
    step = max(math.ceil(len(values) / _MOST_NAMES), 1)
    return _Scale(
        place=places.get,
        ticks=tuple(
            Tick(at=places[value], text=_shortened(value_in_words(value)))
            for position, value in enumerate(values)
            if position % step == 0
        ),
    )


def _apart(low: float, high: float) -> tuple[float, float]:
    """Return bounds that are far enough apart for an axis, so that a small difference does not look large."""
    least = _LEAST_RANGE * max(abs(low), abs(high))
    missing = max(least - (high - low), 0.0) / 2
    return low - missing, high + missing


def _scale(low: float, high: float) -> tuple[float, float, list[float]]:
    """Return round bounds around two numbers, and round values between them."""
    if low == high:
        margin = abs(low) * 0.1 or 1.0
        low, high = low - margin, high + margin
    rough = (high - low) / (_TICKS - 1)
    if not math.isfinite(rough) or rough <= 0:
        return low, high, [low, high]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    values = [number * step for number in range(first, last + 1)]
    return values[0], values[-1], values


def _short(value: float) -> str:
    return f"{value:.4g}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
