"""The API's `StudySpec` and its messages: what a tuning job searches, how, and when it stops.

Source: v1 reference, `StudySpec`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from vertex_training.catalog import enumerations
from vertex_training.fields import durations, timestamps

GOALS: Mapping[str, int] = MappingProxyType({"GOAL_TYPE_UNSPECIFIED": 0, "MAXIMIZE": 1, "MINIMIZE": 2})
SCALES: Mapping[str, int] = MappingProxyType(
    {
        "SCALE_TYPE_UNSPECIFIED": 0,
        "UNIT_LINEAR_SCALE": 1,
        "UNIT_LOG_SCALE": 2,
        "UNIT_REVERSE_LOG_SCALE": 3,
    }
)
ALGORITHMS: Mapping[str, int] = MappingProxyType(
    {"ALGORITHM_UNSPECIFIED": 0, "GRID_SEARCH": 2, "RANDOM_SEARCH": 3}
)
NOISES: Mapping[str, int] = MappingProxyType({"OBSERVATION_NOISE_UNSPECIFIED": 0, "LOW": 1, "HIGH": 2})
SELECTIONS: Mapping[str, int] = MappingProxyType(
    {"MEASUREMENT_SELECTION_TYPE_UNSPECIFIED": 0, "LAST_MEASUREMENT": 1, "BEST_MEASUREMENT": 2}
)


def _enum(numbers: Mapping[str, int]) -> Mapping[str, Any]:
    return {"convert": enumerations.by_number(numbers)}


@dataclass(frozen=True, kw_only=True)
class SafetyMetricConfig:
    """Marks a metric that a trial must keep within a threshold instead of improving it.

    The fraction of safe trials is between 0 and 1; None means no target.
    """

    safety_threshold: float = 0.0
    desired_min_safe_trials_fraction: float | None = field(default=None, metadata={"presence": True})


@dataclass(frozen=True, kw_only=True)
class MetricSpec:
    """A number that trials report, to be maximized or minimized."""

    metric_id: str
    goal: str = field(metadata=_enum(GOALS))
    safety_config: SafetyMetricConfig | None = None


@dataclass(frozen=True, kw_only=True)
class DoubleValueSpec:
    """Any number between two bounds, both included."""

    min_value: float
    max_value: float
    default_value: float | None = field(default=None, metadata={"presence": True})


@dataclass(frozen=True, kw_only=True)
class IntegerValueSpec:
    """Any whole number between two bounds, both included."""

    min_value: int = field(metadata={"int64": True})
    max_value: int = field(metadata={"int64": True})
    default_value: int | None = field(default=None, metadata={"int64": True, "presence": True})


@dataclass(frozen=True, kw_only=True)
class CategoricalValueSpec:
    """One of a list of texts."""

    values: tuple[str, ...]
    default_value: str | None = field(default=None, metadata={"presence": True})


@dataclass(frozen=True, kw_only=True)
class DiscreteValueSpec:
    """One of a list of increasing numbers."""

    values: tuple[float, ...]
    default_value: float | None = field(default=None, metadata={"presence": True})


@dataclass(frozen=True, kw_only=True)
class DiscreteValueCondition:
    """Values of a parent with a list of numbers."""

    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class IntValueCondition:
    """Values of a parent with whole numbers."""

    values: tuple[int, ...] = field(metadata={"int64": True})


@dataclass(frozen=True, kw_only=True)
class CategoricalValueCondition:
    """Values of a parent with a list of texts."""

    values: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ConditionalParameterSpec:
    """A parameter that a trial has only if its parent has one of the condition's values."""

    parameter_spec: ParameterSpec
    parent_discrete_values: DiscreteValueCondition | None = None
    parent_int_values: IntValueCondition | None = None
    parent_categorical_values: CategoricalValueCondition | None = None


@dataclass(frozen=True, kw_only=True)
class ParameterSpec:
    """A value that each trial gets as the argument `--<parameter_id>`; it has exactly one value spec."""

    parameter_id: str
    double_value_spec: DoubleValueSpec | None = None
    integer_value_spec: IntegerValueSpec | None = None
    categorical_value_spec: CategoricalValueSpec | None = None
    discrete_value_spec: DiscreteValueSpec | None = None
    scale_type: str | None = field(default=None, metadata=_enum(SCALES))
    conditional_parameter_specs: tuple[ConditionalParameterSpec, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DecayCurveAutomatedStoppingSpec:
    """Stops a trial whose predicted result is unlikely to beat the best so far."""

    use_elapsed_duration: bool = False


@dataclass(frozen=True, kw_only=True)
class MedianAutomatedStoppingSpec:
    """Stops a trial that is worse than the median of the running averages of completed trials."""

    use_elapsed_duration: bool = False


@dataclass(frozen=True, kw_only=True)
class ConvexAutomatedStoppingSpec:
    """Stops a trial whose optimistic prediction is worse than the best result so far.

    Counts are of steps, or of seconds with `use_elapsed_duration`; with 0 the service chooses.
    """

    max_step_count: int = field(default=0, metadata={"int64": True})
    min_step_count: int = field(default=0, metadata={"int64": True})
    min_measurement_count: int = field(default=0, metadata={"int64": True})
    learning_rate_parameter_name: str | None = None
    use_elapsed_duration: bool = False
    update_all_stopped_trials: bool | None = field(default=None, metadata={"presence": True})


@dataclass(frozen=True, kw_only=True)
class StudyTimeConstraint:
    """A duration since the start of the study, "3600s", or a time in RFC 3339; exactly one of them."""

    max_duration: str | None = field(default=None, metadata={"convert": durations.seconds_text})
    end_time: str | None = field(default=None, metadata={"convert": timestamps.text})


@dataclass(frozen=True, kw_only=True)
class StudyStoppingConfig:
    """Conditions that end the study before its last trial.

    The other conditions do not count until the minima are met.
    """

    should_stop_asap: bool | None = field(default=None, metadata={"presence": True})
    minimum_runtime_constraint: StudyTimeConstraint | None = None
    maximum_runtime_constraint: StudyTimeConstraint | None = None
    min_num_trials: int | None = field(default=None, metadata={"presence": True})
    max_num_trials: int | None = field(default=None, metadata={"presence": True})
    max_num_trials_no_progress: int | None = field(default=None, metadata={"presence": True})
    max_duration_no_progress: str | None = field(default=None, metadata={"convert": durations.seconds_text})


@dataclass(frozen=True, kw_only=True)
class StudySpec:
    """Metrics, parameters, and how the next values are chosen.

    Without `algorithm` that is Bayesian optimization.
    """

    metrics: tuple[MetricSpec, ...]
    parameters: tuple[ParameterSpec, ...]
    algorithm: str | None = field(default=None, metadata=_enum(ALGORITHMS))
    observation_noise: str | None = field(default=None, metadata=_enum(NOISES))
    measurement_selection_type: str | None = field(default=None, metadata=_enum(SELECTIONS))
    decay_curve_stopping_spec: DecayCurveAutomatedStoppingSpec | None = None
    median_automated_stopping_spec: MedianAutomatedStoppingSpec | None = None
    convex_automated_stopping_spec: ConvexAutomatedStoppingSpec | None = None
    study_stopping_config: StudyStoppingConfig | None = None

    @property
    def objectives(self) -> tuple[MetricSpec, ...]:
        """The metrics to improve, without the safety metrics."""
        return tuple(metric for metric in self.metrics if metric.safety_config is None)
