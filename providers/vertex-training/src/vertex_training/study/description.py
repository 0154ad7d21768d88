"""A study in words: objectives, search, end of the study; and its parameters as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.words import all_of, one_of
from vertex_training.study.search_space import TYPES, condition_values, points, points_in_words
from vertex_training.study.study import (
    ConditionalParameterSpec,
    ConvexAutomatedStoppingSpec,
    MetricSpec,
    ParameterSpec,
    StudySpec,
    StudyStoppingConfig,
    StudyTimeConstraint,
)

_SCALES = {
    "UNIT_LINEAR_SCALE": "linear",
    "UNIT_LOG_SCALE": "logarithmic",
    "UNIT_REVERSE_LOG_SCALE": "reverse logarithmic",
}
_GOALS = {"MAXIMIZE": "maximize", "MINIMIZE": "minimize"}
_MOST_VALUES = 12


@dataclass(frozen=True, kw_only=True)
class ParameterRow:
    """A parameter as a row of a table.

    `depth` is the number of conditions above it. `when` is the nearest of them in words, "" if every trial
    has the parameter; `default` is "" without a default.
    """

    id: str
    depth: int
    type: str
    values: str
    scale: str = ""
    default: str = ""
    when: str = ""

    @property
    def argument(self) -> str:
        """The argument that a trial gets, in brackets if only some trials get it."""
        text = f"--{self.id}=..."
        return f"[{text}]" if self.depth else text


def parameter_rows(parameters: Sequence[ParameterSpec]) -> list[ParameterRow]:
    """Return the row of every parameter, conditional ones below their parents."""
    return [row for spec in parameters for row in _rows(spec, depth=0, when="")]


def _rows(spec: ParameterSpec, *, depth: int, when: str) -> Iterator[ParameterRow]:
    kind = next((name for name in TYPES if getattr(spec, f"{name}_value_spec") is not None), "")
    yield ParameterRow(
        id=_known(spec.parameter_id),
        depth=depth,
        type=kind or "?",
        values=_values(spec, kind),
        scale=_SCALES.get(spec.scale_type or "", spec.scale_type or ""),
        default=_default(spec, kind),
        when=when,
    )
    for condition in spec.conditional_parameter_specs:
        yield from _rows(condition.parameter_spec, depth=depth + 1, when=_condition(spec, condition))


def _values(spec: ParameterSpec, kind: str) -> str:
    if kind in ("double", "integer"):
        bounds = getattr(spec, f"{kind}_value_spec")
        return f"{number(bounds.min_value)} to {number(bounds.max_value)}"
    values = getattr(spec, f"{kind}_value_spec").values if kind else ()
    texts = [number(value) for value in values]
    if len(texts) > _MOST_VALUES:
        return f"{', '.join(texts[: _MOST_VALUES - 1])} ... {texts[-1]} ({len(texts)} in total)"
    return ", ".join(texts) or "?"


def _default(spec: ParameterSpec, kind: str) -> str:
    value = getattr(spec, f"{kind}_value_spec").default_value if kind else None
    return "" if value is None else number(value)


def _condition(parent: ParameterSpec, condition: ConditionalParameterSpec) -> str:
    values = [number(value) for value in condition_values(condition)]
    return f"{_known(parent.parameter_id)} is {one_of(values) if values else '?'}"


def number(value: float | str) -> str:
    """Format a value as a trial may get it; whole numbers without a point."""
    return _known(value) if isinstance(value, str) else f"{value:.12g}"


def goals(metrics: Sequence[MetricSpec]) -> str:
    """Describe the objectives of a study: "maximize accuracy and minimize loss"."""
    lines = [
        f"{goal_in_words(metric.goal)} {_known(metric.metric_id)}"
        for metric in metrics
        if metric.safety_config is None
    ]
    return all_of(lines) if lines else "improve nothing"


def goal_in_words(goal: str) -> str:
    """Return "maximize" or "minimize", or "improve" for any other goal."""
    return _GOALS.get(goal, "improve")


def study_sentences(study: StudySpec) -> list[str]:
    """Describe the study, except for its parameters, a sentence each."""
    return [
        f"It is to {goals(study.metrics)}, by {_search(study)}.",
        *(_safety(metric) for metric in study.metrics if metric.safety_config is not None),
        "The best measurement of each trial counts."
        if study.measurement_selection_type == "BEST_MEASUREMENT"
        else "The last measurement of each trial counts.",
        _early_stopping(study),
        *_ends(study.study_stopping_config),
    ]


def _search(study: StudySpec) -> str:
    if study.algorithm == "RANDOM_SEARCH":
        return "random search"
    if study.algorithm == "GRID_SEARCH":
        count = points(study.parameters) if study.parameters else None
        return "grid search" + (
            f" over {points_in_words(count)} point{'' if count == 1 else 's'}" if count else ""
        )
    if study.algorithm:
        return f"the algorithm {_known(study.algorithm)}"
    return "Bayesian optimization, which learns from the trials that have ended"


def _safety(metric: MetricSpec) -> str:
    """Describe a safety metric; the goal decides which way the threshold counts.

    Source: Vertex AI API, `SafetyMetricConfig`.
    """
    config = metric.safety_config
    bound = "at most" if metric.goal == "MINIMIZE" else "at least"
    threshold = number(config.safety_threshold) if config else "?"
    fraction = config.desired_min_safe_trials_fraction if config else None
    more = "" if fraction is None else f"; {number(100 * fraction)} % of the trials or more should keep that"
    return f"{_known(metric.metric_id)} must be {bound} {threshold} in the best trial{more}."


def _early_stopping(study: StudySpec) -> str:
    if study.median_automated_stopping_spec is not None:
        by = _by(study.median_automated_stopping_spec.use_elapsed_duration)
        return f"A trial is stopped early where it is worse than the median of the others{by}."
    if study.decay_curve_stopping_spec is not None:
        by = _by(study.decay_curve_stopping_spec.use_elapsed_duration)
        return f"A trial is stopped early where its curve will hardly reach the best so far{by}."
    if study.convex_automated_stopping_spec is not None:
        return _convex(study.convex_automated_stopping_spec)
    return "No trial is stopped early."


def _by(elapsed: bool) -> str:
    return ", compared by elapsed time" if elapsed else ", compared step by step"


def _convex(convex: ConvexAutomatedStoppingSpec) -> str:
    unit = "seconds" if convex.use_elapsed_duration else "steps"
    least = [
        f"{count} {of}"
        for count, of in ((convex.min_step_count, unit), (convex.min_measurement_count, "measurements"))
        if count
    ]
    more = [f"after {all_of(least)} at the earliest"] if least else []
    more += [f"looking ahead to {convex.max_step_count} {unit}"] if convex.max_step_count else []
    rate = convex.learning_rate_parameter_name
    more += [f"with {rate} as the learning rate"] if rate else []
    updated = " The final measurements of all stopped trials may be updated."
    return (
        "A trial is stopped early where even a hopeful prediction of its end is worse than the best so far"
        f"{''.join(f', {each}' for each in more)}.{updated if convex.update_all_stopped_trials else ''}"
    )


def _ends(config: StudyStoppingConfig | None) -> Iterator[str]:
    """Describe when the study ends before its last trial."""
    if config is None:
        return
    idle = "without progress"
    reasons = [
        *_constraint(config.maximum_runtime_constraint),
        *_trials(config.max_num_trials),
        *(f"{each} {idle}" for each in _trials(config.max_num_trials_no_progress)),
        *([f"{config.max_duration_no_progress} {idle}"] if config.max_duration_no_progress else []),
    ]
    least = [*_constraint(config.minimum_runtime_constraint), *_trials(config.min_num_trials)]
    if reasons:
        yield f"The study ends early after {one_of(reasons)}" + (
            f", but not before {all_of(least)}." if least else "."
        )
    if config.should_stop_asap:
        yield "Trials that are still running at its end are interrupted."


def _trials(count: int | None) -> list[str]:
    return [] if count is None else [f"{count} trial{'' if count == 1 else 's'}"]


def _constraint(constraint: StudyTimeConstraint | None) -> Iterator[str]:
    if constraint is not None and constraint.max_duration:
        yield constraint.max_duration
    if constraint is not None and constraint.end_time:
        yield constraint.end_time


def _known(text: str) -> str:
    """Return a text, or "?" for a placeholder of an invalid or unknown value."""
    return "?" if text in ("", NOT_KNOWN) else text
