"""A study in words, and its parameters as rows: one fact a case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from support import properties  # noqa: F401
from support.ground.specs.tuning_specs import LOSS, RATE, studies, study
from vertex_training.job.difference import name_of
from vertex_training.study.description import parameter_rows, study_sentences
from vertex_training.study.search_space import study_names, walk
from vertex_training.study.study import (
    CategoricalValueCondition,
    CategoricalValueSpec,
    ConditionalParameterSpec,
    ConvexAutomatedStoppingSpec,
    DecayCurveAutomatedStoppingSpec,
    DiscreteValueSpec,
    IntegerValueSpec,
    MedianAutomatedStoppingSpec,
    MetricSpec,
    ParameterSpec,
    SafetyMetricConfig,
    StudyStoppingConfig,
    StudyTimeConstraint,
)

LAYERS = ParameterSpec(
    parameter_id="layers", integer_value_spec=IntegerValueSpec(min_value=1, max_value=4, default_value=2)
)
MODEL = ParameterSpec(
    parameter_id="model",
    categorical_value_spec=CategoricalValueSpec(values=("linear", "wide", "deep")),
    conditional_parameter_specs=(
        ConditionalParameterSpec(
            parameter_spec=LAYERS,
            parent_categorical_values=CategoricalValueCondition(values=("wide", "deep")),
        ),
    ),
)
SIZES = ParameterSpec(parameter_id="size", discrete_value_spec=DiscreteValueSpec(values=(16.0, 32.5)))
MANY = ParameterSpec(
    parameter_id="seed", discrete_value_spec=DiscreteValueSpec(values=tuple(map(float, range(20))))
)
ACCURACY = MetricSpec(metric_id="accuracy", goal="MAXIMIZE")
SAFE = replace(LOSS, safety_config=SafetyMetricConfig(safety_threshold=0.5))
RARELY_SAFE = replace(
    ACCURACY, safety_config=SafetyMetricConfig(safety_threshold=0.5, desired_min_safe_trials_fraction=0.25)
)
STOPS = StudyStoppingConfig


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        pytest.param(
            {},
            "It is to minimize loss, by Bayesian optimization, which learns from the trials that have ended.",
            id="the default",
        ),
        pytest.param(
            {"algorithm": "RANDOM_SEARCH"}, "It is to minimize loss, by random search.", id="random search"
        ),
        pytest.param(
            {"algorithm": "GRID_SEARCH", "parameters": (MODEL, SIZES)},
            "It is to minimize loss, by grid search over 18 points.",
            id="a grid with its points",
        ),
        pytest.param(
            {"metrics": (LOSS, ACCURACY), "algorithm": "RANDOM_SEARCH"},
            "It is to minimize loss and maximize accuracy, by random search.",
            id="two metrics",
        ),
        pytest.param(
            {"metrics": (ACCURACY, SAFE)}, "loss must be at most 0.5 in the best trial.", id="a safe metric"
        ),
        pytest.param(
            {"metrics": (LOSS, RARELY_SAFE)},
            "accuracy must be at least 0.5 in the best trial; 25 % of the trials or more should keep that.",
            id="with a fraction",
        ),
        pytest.param({}, "The last measurement of each trial counts.", id="the last measurement"),
        pytest.param(
            {"measurement_selection_type": "BEST_MEASUREMENT"},
            "The best measurement of each trial counts.",
            id="the best measurement",
        ),
        pytest.param({}, "No trial is stopped early.", id="no early stopping"),
        pytest.param(
            {"median_automated_stopping_spec": MedianAutomatedStoppingSpec()},
            "A trial is stopped early where it is worse than the median of the others, compared step by "
            "step.",
            id="median",
        ),
        pytest.param(
            {"decay_curve_stopping_spec": DecayCurveAutomatedStoppingSpec(use_elapsed_duration=True)},
            "A trial is stopped early where its curve will hardly reach the best so far, compared by elapsed "
            "time.",
            id="decay curve",
        ),
        pytest.param(
            {
                "convex_automated_stopping_spec": ConvexAutomatedStoppingSpec(
                    min_step_count=3, min_measurement_count=2, max_step_count=9
                )
            },
            "A trial is stopped early where even a hopeful prediction of its end is worse than the best so "
            "far, after 3 steps and 2 measurements at the earliest, looking ahead to 9 steps.",
            id="convex",
        ),
        pytest.param(
            {"study_stopping_config": STOPS(max_num_trials=5, max_num_trials_no_progress=1)},
            "The study ends early after 5 trials or 1 trial without progress.",
            id="the end by trials",
        ),
        pytest.param(
            {
                "study_stopping_config": STOPS(
                    maximum_runtime_constraint=StudyTimeConstraint(max_duration="60s"), min_num_trials=2
                )
            },
            "The study ends early after 60s, but not before 2 trials.",
            id="the end by time",
        ),
        pytest.param(
            {"study_stopping_config": STOPS(max_num_trials=5, should_stop_asap=True)},
            "Trials that are still running at its end are interrupted.",
            id="an end at once",
        ),
    ],
)
def test_a_sentence(other, sentence):
    assert sentence in study_sentences(study(**other))


@pytest.mark.parametrize(
    ("parameter", "field", "expected"),
    [
        pytest.param(RATE, "type", "double", id="double"),
        pytest.param(RATE, "values", "0.001 to 0.1", id="bounds"),
        pytest.param(RATE, "scale", "logarithmic", id="scale"),
        pytest.param(RATE, "when", "", id="no condition"),
        pytest.param(RATE, "argument", "--rate=...", id="an argument"),
        pytest.param(LAYERS, "values", "1 to 4", id="whole bounds"),
        pytest.param(LAYERS, "default", "2", id="a default"),
        pytest.param(MODEL, "values", "linear, wide, deep", id="texts"),
        pytest.param(SIZES, "values", "16, 32.5", id="numbers"),
        pytest.param(MANY, "values", "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ... 19 (20 in total)", id="many"),
        pytest.param(ParameterSpec(parameter_id="x"), "type", "?", id="no type"),
    ],
)
def test_a_parameter(parameter, field, expected):
    assert getattr(parameter_rows([parameter])[0], field) == expected


def test_a_conditional_parameter_is_listed_below_its_parent():
    model, layers = parameter_rows([MODEL])
    assert (model.depth, layers.depth, layers.id) == (0, 1, "layers")
    assert (layers.when, layers.argument) == ("model is wide or deep", "[--layers=...]")


@given(studies)
def test_every_study_has_words_and_a_row_for_each_parameter(any_study):
    assert all(sentence.endswith(".") for sentence in study_sentences(any_study))
    assert len(parameter_rows(any_study.parameters)) == len(list(walk(any_study.parameters, "")))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("parameters[0].scale_type", "rate", id="a parameter"),
        pytest.param(
            "parameters[1].conditional_parameter_specs[0].parameter_spec.scale_type",
            "layers",
            id="the nearest",
        ),
        pytest.param("metrics[0].goal", "loss", id="a metric"),
        pytest.param("algorithm", "", id="the study itself"),
    ],
)
def test_the_name_of_a_part(path, name):
    assert name_of(path, dict(study_names(study(RATE, MODEL)))) == name
