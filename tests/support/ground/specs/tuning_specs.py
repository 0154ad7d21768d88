"""Studies for tests, and hypothesis strategies."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from support.ground import jobs
from vertex_training.study.study import (
    ALGORITHMS,
    GOALS,
    NOISES,
    SCALES,
    SELECTIONS,
    CategoricalValueCondition,
    CategoricalValueSpec,
    ConditionalParameterSpec,
    ConvexAutomatedStoppingSpec,
    DecayCurveAutomatedStoppingSpec,
    DiscreteValueCondition,
    DiscreteValueSpec,
    DoubleValueSpec,
    IntegerValueSpec,
    IntValueCondition,
    MedianAutomatedStoppingSpec,
    MetricSpec,
    ParameterSpec,
    SafetyMetricConfig,
    StudySpec,
    StudyStoppingConfig,
    StudyTimeConstraint,
)

LOSS = MetricSpec(metric_id="loss", goal="MINIMIZE")
RATE = ParameterSpec(
    parameter_id="rate",
    double_value_spec=DoubleValueSpec(min_value=0.001, max_value=0.1),
    scale_type="UNIT_LOG_SCALE",
)


def study(*parameters: ParameterSpec, **other) -> StudySpec:
    """Return a study of the metric "loss" over these parameters; the default is a learning rate."""
    return StudySpec(**{"metrics": (LOSS,), "parameters": parameters or (RATE,), **other})


text, words = jobs.text, jobs.words
doubles = st.floats(allow_nan=False, allow_infinity=False, width=32)
counts = st.integers(-1, 9)
int64 = st.integers(-(2**63), 2**63 - 1)


def names_of(numbers) -> st.SearchStrategy:
    return st.sampled_from([None, "", "x", *numbers])


constraints = st.builds(
    StudyTimeConstraint,
    max_duration=st.sampled_from([None, "", "60s", "60.000s", "1h"]),
    end_time=st.sampled_from([None, "", "2027-01-31T12:00:00Z", "2027-01-31T13:00:00.000+01:00", "x"]),
)
stoppings = st.builds(
    StudyStoppingConfig,
    should_stop_asap=st.none() | st.booleans(),
    minimum_runtime_constraint=st.none() | constraints,
    maximum_runtime_constraint=st.none() | constraints,
    min_num_trials=st.none() | counts,
    max_num_trials=st.none() | counts,
    max_num_trials_no_progress=st.none() | counts,
    max_duration_no_progress=st.sampled_from([None, "", "60s", "60.0s", "x"]),
)
convexes = st.builds(
    ConvexAutomatedStoppingSpec,
    max_step_count=counts,
    min_step_count=counts,
    min_measurement_count=counts,
    learning_rate_parameter_name=st.sampled_from([None, "", "rate"]),
    use_elapsed_duration=st.booleans(),
    update_all_stopped_trials=st.none() | st.booleans(),
)
value_specs = {
    "double_value_spec": st.builds(
        DoubleValueSpec, min_value=doubles, max_value=doubles, default_value=st.none() | doubles
    ),
    "integer_value_spec": st.builds(
        IntegerValueSpec, min_value=int64, max_value=int64, default_value=st.none() | int64
    ),
    "categorical_value_spec": st.builds(
        CategoricalValueSpec, values=jobs.texts, default_value=st.none() | text
    ),
    "discrete_value_spec": st.builds(
        DiscreteValueSpec,
        values=st.lists(doubles, max_size=3).map(tuple),
        default_value=st.none() | doubles,
    ),
}
conditions = {
    "parent_discrete_values": st.builds(
        DiscreteValueCondition, values=st.lists(doubles, max_size=2).map(tuple)
    ),
    "parent_int_values": st.builds(IntValueCondition, values=st.lists(int64, max_size=2).map(tuple)),
    "parent_categorical_values": st.builds(CategoricalValueCondition, values=jobs.texts),
}


def parameters_with(below, scales, *, exactly_one: bool) -> st.SearchStrategy:
    """Return parameters with conditional ones from `below`; `exactly_one`: one member of each oneof."""
    values = {name: st.none() | each for name, each in value_specs.items()}
    wanted = {name: st.none() | each for name, each in conditions.items()}
    if exactly_one:
        one_value = st.sampled_from(list(value_specs)).flatmap(
            lambda name: st.fixed_dictionaries({name: value_specs[name]})
        )
        one_condition = st.sampled_from(list(conditions)).flatmap(
            lambda name: st.fixed_dictionaries({name: conditions[name]})
        )
    else:
        one_value, one_condition = st.fixed_dictionaries(values), st.fixed_dictionaries(wanted)
    conditional = st.builds(
        lambda condition, parameter: ConditionalParameterSpec(parameter_spec=parameter, **condition),
        one_condition,
        below,
    )
    return st.builds(
        lambda value, **other: ParameterSpec(**value, **other),
        one_value,
        parameter_id=text,
        scale_type=scales,
        conditional_parameter_specs=st.lists(conditional, max_size=2).map(tuple),
    )


def parameters_of(scales, *, exactly_one: bool) -> st.SearchStrategy:
    leaf = parameters_with(st.nothing(), scales, exactly_one=exactly_one)
    return st.recursive(
        leaf, lambda below: parameters_with(below, scales, exactly_one=exactly_one), max_leaves=4
    )


any_parameters = parameters_of(names_of(SCALES), exactly_one=False)
metrics = st.builds(
    MetricSpec,
    metric_id=text,
    goal=st.sampled_from(["", "x", *GOALS]),
    safety_config=st.none()
    | st.builds(
        SafetyMetricConfig,
        safety_threshold=doubles,
        desired_min_safe_trials_fraction=st.none() | doubles,
    ),
)
studies = st.builds(
    StudySpec,
    metrics=st.lists(metrics, max_size=3).map(tuple),
    parameters=st.lists(any_parameters, max_size=3).map(tuple),
    algorithm=names_of(ALGORITHMS),
    observation_noise=names_of(NOISES),
    measurement_selection_type=names_of(SELECTIONS),
    decay_curve_stopping_spec=st.none() | st.builds(DecayCurveAutomatedStoppingSpec),
    median_automated_stopping_spec=st.none() | st.builds(MedianAutomatedStoppingSpec),
    convex_automated_stopping_spec=st.none() | convexes,
    study_stopping_config=st.none() | stoppings,
)
_one_stopping = st.sampled_from(
    [
        {},
        {"decay_curve_stopping_spec": DecayCurveAutomatedStoppingSpec(use_elapsed_duration=True)},
        {"decay_curve_stopping_spec": DecayCurveAutomatedStoppingSpec()},
        {"median_automated_stopping_spec": MedianAutomatedStoppingSpec(use_elapsed_duration=True)},
        {"convex_automated_stopping_spec": ConvexAutomatedStoppingSpec(max_step_count=9)},
        {
            "convex_automated_stopping_spec": ConvexAutomatedStoppingSpec(
                min_step_count=1,
                min_measurement_count=2,
                learning_rate_parameter_name="rate",
                use_elapsed_duration=True,
                update_all_stopped_trials=False,
            )
        },
    ]
)
_whole_constraints = st.sampled_from(
    [
        StudyTimeConstraint(max_duration="60s"),
        StudyTimeConstraint(end_time="2027-01-31T12:00:00Z"),
        StudyTimeConstraint(end_time="2027-01-31T12:00:00.500Z"),
    ]
)
_whole_stoppings = st.builds(
    StudyStoppingConfig,
    should_stop_asap=st.none() | st.booleans(),
    minimum_runtime_constraint=st.none() | _whole_constraints,
    maximum_runtime_constraint=st.none() | _whole_constraints,
    min_num_trials=st.none() | counts,
    max_num_trials=st.none() | counts,
    max_num_trials_no_progress=st.none() | counts,
    max_duration_no_progress=st.sampled_from([None, "60s", "60.500s"]),
)
whole_studies = st.builds(
    lambda stopping, base: replace(base, **stopping),
    _one_stopping,
    st.builds(
        StudySpec,
        metrics=st.lists(
            st.builds(
                MetricSpec,
                metric_id=words,
                goal=st.sampled_from(list(GOALS)[1:]),
                safety_config=st.none()
                | st.builds(
                    SafetyMetricConfig,
                    safety_threshold=doubles,
                    desired_min_safe_trials_fraction=st.none() | doubles,
                ),
            ),
            max_size=3,
        ).map(tuple),
        parameters=st.lists(
            parameters_of(st.sampled_from([None, *list(SCALES)[1:]]), exactly_one=True), max_size=3
        ).map(tuple),
        algorithm=st.sampled_from([None, *list(ALGORITHMS)[1:]]),
        observation_noise=st.sampled_from([None, *list(NOISES)[1:]]),
        measurement_selection_type=st.sampled_from([None, *list(SELECTIONS)[1:]]),
        study_stopping_config=st.none() | _whole_stoppings,
    ),
)
