"""What a tuning job searches, how, and when it stops: the API's `StudySpec` and its messages (v1 reference,
`StudySpec`).
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
    """Makes a metric one that a trial must keep, not one that it improves. The fraction of safe trials is
    between 0 and 1; none is no target.
    """

    safety_threshold: float = 0.0
    desired_min_safe_trials_fraction: float | None = field(default=None, metadata={"presence": True})


@dataclass(frozen=True, kw_only=True)
class MetricSpec:
    """A number that trials report, and whether it is to grow or to shrink."""

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
    """One of some texts."""

    values: tuple[str, ...]
    default_value: str | None = field(default=None, metadata={"presence": True})


@dataclass(frozen=True, kw_only=True)
class DiscreteValueSpec:
    """One of some numbers, which increase."""

    values: tuple[float, ...]
    default_value: float | None = field(default=None, metadata={"presence": True})


@dataclass(frozen=True, kw_only=True)
class DiscreteValueCondition:
    """Values of a parent that has numbers to choose from."""

    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class IntValueCondition:
    """Values of a parent that has whole numbers."""

    values: tuple[int, ...] = field(metadata={"int64": True})


@dataclass(frozen=True, kw_only=True)
class CategoricalValueCondition:
    """Values of a parent that has texts to choose from."""

    values: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ConditionalParameterSpec:
    """A parameter that a trial has only where its parent has one of the values of the condition."""

    parameter_spec: ParameterSpec
    parent_discrete_values: DiscreteValueCondition | None = None
    parent_int_values: IntValueCondition | None = None
    parent_categorical_values: CategoricalValueCondition | None = None


@dataclass(frozen=True, kw_only=True)
class ParameterSpec:
    """A value that each trial gets as the argument `--<parameter_id>`. It has one of the value specs."""

    parameter_id: str
    double_value_spec: DoubleValueSpec | None = None
    integer_value_spec: IntegerValueSpec | None = None
    categorical_value_spec: CategoricalValueSpec | None = None
    discrete_value_spec: DiscreteValueSpec | None = None
    scale_type: str | None = field(default=None, metadata=_enum(SCALES))
    conditional_parameter_specs: tuple[ConditionalParameterSpec, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DecayCurveAutomatedStoppingSpec:
    """Stops a trial whose predicted end is unlikely to be better than the best so far."""

    use_elapsed_duration: bool = False


@dataclass(frozen=True, kw_only=True)
class MedianAutomatedStoppingSpec:
    """Stops a trial that is worse than the median of the running averages of completed trials."""

    use_elapsed_duration: bool = False


@dataclass(frozen=True, kw_only=True)
class ConvexAutomatedStoppingSpec:
    """Stops a trial whose overestimated end is worse than the best so far. Counts are of steps, or of seconds
    with `use_elapsed_duration`; 0 leaves one to the service.
    """

    max_step_count: int = field(default=0, metadata={"int64": True})
    min_step_count: int = field(default=0, metadata={"int64": True})
    min_measurement_count: int = field(default=0, metadata={"int64": True})
    learning_rate_parameter_name: str | None = None
    use_elapsed_duration: bool = False
    update_all_stopped_trials: bool | None = field(default=None, metadata={"presence": True})


@dataclass(frozen=True, kw_only=True)
class StudyTimeConstraint:
    """A length of time since the study began, "3600s", or a moment in RFC 3339; one of them."""

    max_duration: str | None = field(default=None, metadata={"convert": durations.seconds_text})
    end_time: str | None = field(default=None, metadata={"convert": timestamps.text})


@dataclass(frozen=True, kw_only=True)
class StudyStoppingConfig:
    """When the whole study ends before its last trial. The minima keep the other conditions from counting
    until they are met.
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
    """Metrics, parameters, and how the next values are chosen: by Bayesian optimization unless `algorithm`
    says otherwise.
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
        """The metrics to improve, without those that only have to be safe."""
        return tuple(metric for metric in self.metrics if metric.safety_config is None)
