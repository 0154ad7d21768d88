"""The API's `StudySpec` and its messages: what a tuning job searches, how, and when it stops.

Source: v1 reference, `StudySpec`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vertex_training.catalog import api, enumerations
from vertex_training.fields import durations, timestamps

GOALS = api.ENUMS["StudySpec.MetricSpec.GoalType"]
SCALES = api.ENUMS["StudySpec.ParameterSpec.ScaleType"]
ALGORITHMS = api.ENUMS["StudySpec.Algorithm"]
NOISES = api.ENUMS["StudySpec.ObservationNoise"]
SELECTIONS = api.ENUMS["StudySpec.MeasurementSelectionType"]


def _enum(numbers: Mapping[str, int]) -> Mapping[str, Any]:
    return {"convert": enumerations.ByNumber(numbers)}


@dataclass(frozen=True, kw_only=True)
class SafetyMetricConfig:
    """Marks a metric that a trial must keep within a threshold instead of improving it.

    The fraction of safe trials is between 0 and 1; None means no target.
    """

    safety_threshold: float = 0.0
    """Limit between safe and unsafe values of the metric."""
    desired_min_safe_trials_fraction: float | None = field(default=None, metadata={"presence": True})
    """Fraction of trials that should be safe, 0 to 1. Default: no target."""


@dataclass(frozen=True, kw_only=True)
class MetricSpec:
    """A number that trials report, to be maximized or minimized."""

    metric_id: str
    """Id of the metric: the tag under which trials report it."""
    goal: str = field(metadata=_enum(GOALS))
    """MAXIMIZE or MINIMIZE."""
    safety_config: SafetyMetricConfig | None = None
    """Limit that the metric must keep. The metric is then not optimized."""


@dataclass(frozen=True, kw_only=True)
class DoubleValueSpec:
    """Any number between two bounds, both included."""

    min_value: float
    """Smallest value, included."""
    max_value: float
    """Largest value, included."""
    default_value: float | None = field(default=None, metadata={"presence": True})
    """Starting point of the search. Not supported in tuning jobs."""


@dataclass(frozen=True, kw_only=True)
class IntegerValueSpec:
    """Any whole number between two bounds, both included."""

    min_value: int = field(metadata={"int64": True})
    """Smallest value, included."""
    max_value: int = field(metadata={"int64": True})
    """Largest value, included."""
    default_value: int | None = field(default=None, metadata={"int64": True, "presence": True})
    """Starting point of the search. Not supported in tuning jobs."""


@dataclass(frozen=True, kw_only=True)
class CategoricalValueSpec:
    """One of a list of texts."""

    values: tuple[str, ...]
    """Values to choose from."""
    default_value: str | None = field(default=None, metadata={"presence": True})
    """Starting point of the search. Not supported in tuning jobs."""


@dataclass(frozen=True, kw_only=True)
class DiscreteValueSpec:
    """One of a list of increasing numbers."""

    values: tuple[float, ...]
    """Values to choose from, in increasing order; 1,000 at most."""
    default_value: float | None = field(default=None, metadata={"presence": True})
    """Starting point of the search. Not supported in tuning jobs."""


@dataclass(frozen=True, kw_only=True)
class DiscreteValueCondition:
    """Values of a parent with a list of numbers."""

    values: tuple[float, ...]
    """Values of the parent with which the parameter is active."""


@dataclass(frozen=True, kw_only=True)
class IntValueCondition:
    """Values of a parent with whole numbers."""

    values: tuple[int, ...] = field(metadata={"int64": True})
    """Values of the parent with which the parameter is active."""


@dataclass(frozen=True, kw_only=True)
class CategoricalValueCondition:
    """Values of a parent with a list of texts."""

    values: tuple[str, ...]
    """Values of the parent with which the parameter is active."""


@dataclass(frozen=True, kw_only=True)
class ConditionalParameterSpec:
    """A parameter that a trial has only if its parent has one of the condition's values."""

    parameter_spec: ParameterSpec
    """Parameter that depends on its parent."""
    parent_discrete_values: DiscreteValueCondition | None = None
    """Condition on a parent with discrete values."""
    parent_int_values: IntValueCondition | None = None
    """Condition on a parent with integer values."""
    parent_categorical_values: CategoricalValueCondition | None = None
    """Condition on a parent with categorical values."""


@dataclass(frozen=True, kw_only=True)
class ParameterSpec:
    """A value that each trial gets as the argument `--<parameter_id>`; it has exactly one value spec."""

    parameter_id: str
    """Id of the parameter: trials get its value as the argument `--<parameter_id>`."""
    double_value_spec: DoubleValueSpec | None = None
    """Range of a number."""
    integer_value_spec: IntegerValueSpec | None = None
    """Range of a whole number."""
    categorical_value_spec: CategoricalValueSpec | None = None
    """List of texts."""
    discrete_value_spec: DiscreteValueSpec | None = None
    """List of numbers."""
    scale_type: str | None = field(default=None, metadata=_enum(SCALES))
    """UNIT_LINEAR_SCALE, UNIT_LOG_SCALE or UNIT_REVERSE_LOG_SCALE. Leave it out for a categorical parameter.
    """
    conditional_parameter_specs: tuple[ConditionalParameterSpec, ...] = ()
    """Parameters that a trial has only with certain values of this one."""


@dataclass(frozen=True, kw_only=True)
class DecayCurveAutomatedStoppingSpec:
    """Stops a trial whose predicted result is unlikely to beat the best so far."""

    use_elapsed_duration: bool = False
    """Compare trials by elapsed time instead of steps."""


@dataclass(frozen=True, kw_only=True)
class MedianAutomatedStoppingSpec:
    """Stops a trial that is worse than the median of the running averages of completed trials."""

    use_elapsed_duration: bool = False
    """Compare trials by elapsed time instead of steps."""


@dataclass(frozen=True, kw_only=True)
class ConvexAutomatedStoppingSpec:
    """Stops a trial whose optimistic prediction is worse than the best result so far.

    Counts are of steps, or of seconds with `use_elapsed_duration`; with 0 the service chooses.
    """

    max_step_count: int = field(default=0, metadata={"int64": True})
    """Steps of a complete trial, for the prediction. Default: learned from completed trials."""
    min_step_count: int = field(default=0, metadata={"int64": True})
    """Steps before a trial may be stopped. The service's default is a tenth of `max_step_count`."""
    min_measurement_count: int = field(default=0, metadata={"int64": True})
    """Measurements before a trial may be stopped. The service's default is 5."""
    learning_rate_parameter_name: str | None = None
    """Id of the parameter that is the learning rate, if there is one."""
    use_elapsed_duration: bool = False
    """Count elapsed seconds instead of steps."""
    update_all_stopped_trials: bool | None = field(default=None, metadata={"presence": True})
    """Update the final measurement of all stopped trials, not only of those that are stopped next."""


@dataclass(frozen=True, kw_only=True)
class StudyTimeConstraint:
    """A duration since the start of the study, "3600s", or a time in RFC 3339; exactly one of them."""

    max_duration: str | None = field(default=None, metadata={"convert": durations.seconds_text})
    """Time since the study began, such as "3600s"."""
    end_time: str | None = field(default=None, metadata={"convert": timestamps.text})
    """Moment in RFC 3339, such as "2030-01-31T12:00:00Z"."""


@dataclass(frozen=True, kw_only=True)
class StudyStoppingConfig:
    """Conditions that end the study before its last trial.

    The other conditions do not count until the minima are met.
    """

    should_stop_asap: bool | None = field(default=None, metadata={"presence": True})
    """Also stop running trials when the study ends."""
    minimum_runtime_constraint: StudyTimeConstraint | None = None
    """Time before which no other condition ends the study."""
    maximum_runtime_constraint: StudyTimeConstraint | None = None
    """Time after which the study ends."""
    min_num_trials: int | None = field(default=None, metadata={"presence": True})
    """Number of completed trials before which no other condition ends the study."""
    max_num_trials: int | None = field(default=None, metadata={"presence": True})
    """Number of trials after which the study ends."""
    max_num_trials_no_progress: int | None = field(default=None, metadata={"presence": True})
    """Number of trials in a row without a better value after which the study ends. Only for a single
    objective.
    """
    max_duration_no_progress: str | None = field(default=None, metadata={"convert": durations.seconds_text})
    """Time without a better value after which the study ends, such as "3600s". Only for a single objective.
    """


@dataclass(frozen=True, kw_only=True)
class StudySpec:
    """Metrics, parameters, and how the next values are chosen.

    Without `algorithm` that is Bayesian optimization.
    """

    metrics: tuple[MetricSpec, ...]
    """Metrics to optimize."""
    parameters: tuple[ParameterSpec, ...]
    """Parameters to search."""
    algorithm: str | None = field(default=None, metadata=_enum(ALGORITHMS))
    """GRID_SEARCH or RANDOM_SEARCH. Default: Bayesian optimization."""
    observation_noise: str | None = field(default=None, metadata=_enum(NOISES))
    """LOW or HIGH. Not supported in tuning jobs."""
    measurement_selection_type: str | None = field(default=None, metadata=_enum(SELECTIONS))
    """Measurement of a trial that counts: LAST_MEASUREMENT (the service's default) or BEST_MEASUREMENT."""
    decay_curve_stopping_spec: DecayCurveAutomatedStoppingSpec | None = None
    """Stop trials by the decay curve rule. At most one of the three stopping rules can be set."""
    median_automated_stopping_spec: MedianAutomatedStoppingSpec | None = None
    """Stop trials by the median rule."""
    convex_automated_stopping_spec: ConvexAutomatedStoppingSpec | None = None
    """Stop trials by the convex rule."""
    study_stopping_config: StudyStoppingConfig | None = None
    """Conditions that end the study before its last trial."""

    @property
    def objectives(self) -> tuple[MetricSpec, ...]:
        """The metrics to improve, without the safety metrics."""
        return tuple(metric for metric in self.metrics if metric.safety_config is None)
