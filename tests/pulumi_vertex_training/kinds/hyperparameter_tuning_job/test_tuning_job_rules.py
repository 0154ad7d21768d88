"""The branches of the rules of tuning jobs; each rule has its case in `test_every_rule.py`."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.kind import read
from support.properties import examples
from support.specs.tuning_rules import (
    ACCURACY,
    CASES,
    CHILD,
    FIRST,
    LOSS,
    POOL,
    STOPPING,
    STUDY,
    categorical,
    discrete,
    double,
    integer,
    tuning,
    under,
    when,
)
from support.tables import every_row
from vertex_training.fields.decode import decode
from vertex_training.fields.values import UNKNOWN
from vertex_training.findings.options import CheckOptions
from vertex_training.study.search_space import points
from vertex_training.study.study import StudySpec


def rules(document, **options):
    return {problem.rule for problem in read(document, options=CheckOptions(**options)).problems}


def found(document):
    return [(problem.rule, problem.path) for problem in read(document).problems]


NOON, NEVER = "2027-01-31T12:00:00Z", "2027-02-30T12:00:00Z"
DNN = under(categorical(), when(integer(), "dnn"))
LAYERS = under(integer("layers", 1, 3), when(double("drop"), 3, kind="int"))
NESTED = under(categorical(), when(LAYERS, "dnn"))
TWO_RATES = under(categorical(), when(double(), "cnn"), when(double(), "dnn"))
DEEP_RATES = under(categorical(), when(LAYERS, "cnn"), when(double("drop"), "dnn"))


@every_row(
    "document",
    [
        pytest.param(tuning(), id="one double"),
        pytest.param(tuning(DNN, double()), id="a condition"),
        pytest.param(tuning(NESTED, double()), id="a condition below a condition"),
        pytest.param(tuning(TWO_RATES), id="one id under conditions that exclude each other"),
        pytest.param(tuning(DEEP_RATES), id="the same at different depths"),
        pytest.param(
            tuning(under(discrete("batch", 0.5, 1.5), when(double(), 0.5, kind="discrete"))),
            id="a discrete parent",
        ),
        pytest.param(
            tuning(under(discrete("batch", 1, 2), when(double(), 1 + 5e-11, kind="discrete"))),
            id="a discrete parent, nearly",
        ),
        pytest.param(tuning(double(scale_type="UNIT_REVERSE_LOG_SCALE")), id="a reverse logarithmic scale"),
        pytest.param(
            tuning(discrete("batch", 1, 10, 100, scale_type="UNIT_LOG_SCALE"), double()),
            id="a discrete scale",
        ),
        pytest.param(tuning(double("momentum", -1, 1)), id="negative bounds"),
        pytest.param(tuning(parallel_trial_count=1, max_trial_count=1), id="a single trial"),
        pytest.param(
            tuning(parallel_trial_count=10, algorithm="RANDOM_SEARCH"), id="a random search at once"
        ),
        pytest.param(
            tuning(integer("a", 1, 2), discrete("b", 1, 2), max_trial_count=4, algorithm="GRID_SEARCH"),
            id="a grid",
        ),
        pytest.param(
            tuning(
                study_stopping_config={"maximum_runtime_constraint": {"end_time": "2027-01-31T12:00:00Z"}}
            ),
            id="an end",
        ),
        pytest.param(tuning(median_automated_stopping_spec={}), id="a median rule"),
        pytest.param(tuning(convex_automated_stopping_spec={"min_step_count": 5}), id="steps to learn"),
        pytest.param(
            tuning(double("optimizer.rate"), double("a-b"), double("c_d")), id="ids of several words"
        ),
    ],
)
def test_a_valid_tuning_job(document):
    assert found(document) == []


@every_row(
    ("document", "rule", "path"),
    [
        pytest.param(
            tuning(double("rate", 0.1, 0.1)),
            "parameter-bounds",
            f"{FIRST}.double_value_spec.min_value",
            id="equal bounds",
        ),
        pytest.param(
            tuning(integer("n", 5, 1), double()),
            "parameter-bounds",
            f"{FIRST}.integer_value_spec.min_value",
            id="reversed whole numbers",
        ),
        pytest.param(
            tuning(integer("n", 0, 9, scale_type="UNIT_LOG_SCALE"), double()),
            "scale-positive",
            f"{FIRST}.integer_value_spec.min_value",
            id="a logarithmic scale from zero",
        ),
        pytest.param(
            tuning(discrete("n", 0, 9, scale_type="UNIT_REVERSE_LOG_SCALE"), double()),
            "scale-positive",
            f"{FIRST}.discrete_value_spec.values[0]",
            id="a reverse logarithmic scale from zero",
        ),
        pytest.param(
            tuning(double(scale_type="log")), "study-choice", f"{FIRST}.scale_type", id="the SDK's scale"
        ),
        pytest.param(
            tuning({"parameter_id": "rate"}), "parameter-type", FIRST, id="a parameter without values"
        ),
        pytest.param(
            tuning({"parameter_id": "m", "categorical_value_spec": {"values": []}}, double()),
            "parameter-values",
            f"{FIRST}.categorical_value_spec.values",
            id="no categories",
        ),
        pytest.param(
            tuning({"parameter_id": "m", "discrete_value_spec": {"values": []}}, double()),
            "parameter-values",
            f"{FIRST}.discrete_value_spec.values",
            id="no numbers",
        ),
        pytest.param(
            tuning(discrete("n", 1, 1), double()),
            "parameter-values",
            f"{FIRST}.discrete_value_spec.values[1]",
            id="a number twice",
        ),
        pytest.param(
            tuning(discrete("n", 1, 1 + 1e-11), double()),
            "discrete-order",
            f"{FIRST}.discrete_value_spec.values[1]",
            id="numbers too near",
        ),
        pytest.param(
            tuning(categorical("m", "a", "b", default="c"), double()),
            "parameter-default",
            f"{FIRST}.categorical_value_spec.default_value",
            id="a default that is no category",
        ),
        pytest.param(
            tuning(discrete("n", 1, 2, default=3), double()),
            "parameter-default",
            f"{FIRST}.discrete_value_spec.default_value",
            id="a default outside the numbers",
        ),
        pytest.param(
            tuning(discrete("n", 1, 2, default=1.4), double()),
            "parameter-default-unused",
            f"{FIRST}.discrete_value_spec.default_value",
            id="a default between the numbers",
        ),
        pytest.param(
            tuning(integer("n", 1, 2, default=0), double()),
            "parameter-default",
            f"{FIRST}.integer_value_spec.default_value",
            id="a default of zero",
        ),
        pytest.param(
            tuning(double(), double()),
            "parameter-unique",
            f"{STUDY}.parameters[1].parameter_id",
            id="an id twice",
        ),
        pytest.param(
            tuning(under(categorical(), when(double("model"), "dnn")), double()),
            "parameter-unique",
            f"{CHILD}.parameter_spec.parameter_id",
            id="the id of the parent",
        ),
        pytest.param(
            tuning(under(categorical(), when(double(), "dnn")), double()),
            "parameter-unique",
            f"{STUDY}.parameters[1].parameter_id",
            id="the id of a conditional one",
        ),
        pytest.param(
            tuning(under(double("x"), when(double(), 1, kind="int"))),
            "condition-type",
            f"{CHILD}.parent_int_values",
            id="a double parent",
        ),
        pytest.param(
            tuning(under(integer("x"), when(double(), "1"))),
            "condition-type",
            f"{CHILD}.parent_categorical_values",
            id="a condition of another type",
        ),
        pytest.param(
            tuning(under(categorical(), {"parameter_spec": double()})),
            "condition-type",
            CHILD,
            id="no condition",
        ),
        pytest.param(
            tuning(under(integer("x", 1, 8), when(double(), 1, 9, kind="int"))),
            "condition-values",
            f"{CHILD}.parent_int_values.values[1]",
            id="a whole number out of range",
        ),
        pytest.param(
            tuning(under(discrete("x", 1, 2), when(double(), 1.5, kind="discrete"))),
            "condition-values",
            f"{CHILD}.parent_discrete_values.values[0]",
            id="a number that is not listed",
        ),
        pytest.param(
            tuning(under(categorical(), when(double()))),
            "condition-values",
            f"{CHILD}.parent_categorical_values.values",
            id="a condition without values",
        ),
        pytest.param(
            tuning(under(categorical(), when(double("deep", 2, 1), "dnn")), double()),
            "parameter-bounds",
            f"{CHILD}.parameter_spec.double_value_spec.min_value",
            id="a wrong conditional parameter",
        ),
        pytest.param(
            tuning(under(categorical(), when(double(), "dnn")), algorithm="GRID_SEARCH"),
            "grid-double",
            f"{CHILD}.parameter_spec.double_value_spec",
            id="a grid over a conditional double",
        ),
        pytest.param(tuning(metrics=()), "study-metrics", f"{STUDY}.metrics", id="no metric"),
        pytest.param(
            tuning(metrics=({"metric_id": "", "goal": "MAXIMIZE"},)),
            "metric-id",
            f"{STUDY}.metrics[0].metric_id",
            id="an empty metric",
        ),
        pytest.param(
            tuning(metrics=({"metric_id": "m", "goal": "minimise"},)),
            "study-choice",
            f"{STUDY}.metrics[0].goal",
            id="a goal in British",
        ),
        pytest.param(
            tuning(observation_noise="MEDIUM"), "study-choice", f"{STUDY}.observation_noise", id="noise"
        ),
        pytest.param(
            tuning(measurement_selection_type="best"),
            "study-choice",
            f"{STUDY}.measurement_selection_type",
            id="the SDK's measurement",
        ),
        pytest.param(
            tuning(convex_automated_stopping_spec={"min_measurement_count": -1}),
            "convex-counts",
            f"{STUDY}.convex_automated_stopping_spec.min_measurement_count",
            id="a negative count",
        ),
        pytest.param(
            tuning(study_stopping_config={"maximum_runtime_constraint": {}}),
            "study-time",
            f"{STOPPING}.maximum_runtime_constraint",
            id="an empty constraint",
        ),
        pytest.param(
            tuning(study_stopping_config={"maximum_runtime_constraint": {"end_time": "tomorrow"}}),
            "study-time",
            f"{STOPPING}.maximum_runtime_constraint.end_time",
            id="no moment",
        ),
        pytest.param(
            tuning(
                study_stopping_config={"maximum_runtime_constraint": {"end_time": "2027-02-30T00:00:00Z"}}
            ),
            "study-time",
            f"{STOPPING}.maximum_runtime_constraint.end_time",
            id="an impossible day",
        ),
        pytest.param(
            tuning(study_stopping_config={"maximum_runtime_constraint": {"max_duration": "0s"}}),
            "study-time",
            f"{STOPPING}.maximum_runtime_constraint.max_duration",
            id="no time",
        ),
        pytest.param(
            tuning(
                study_stopping_config={
                    "minimum_runtime_constraint": {"max_duration": "100s"},
                    "maximum_runtime_constraint": {"max_duration": "99s"},
                }
            ),
            "study-stopping-order",
            f"{STOPPING}.minimum_runtime_constraint.max_duration",
            id="durations reversed",
        ),
        pytest.param(
            tuning(
                study_stopping_config={
                    "minimum_runtime_constraint": {"end_time": NOON},
                    "maximum_runtime_constraint": {"end_time": "2027-01-31T12:30:00+01:00"},
                }
            ),
            "study-stopping-order",
            f"{STOPPING}.minimum_runtime_constraint.end_time",
            id="moments reversed",
        ),
        pytest.param(
            tuning(study_stopping_config={"min_num_trials": -1, "max_num_trials": 5}),
            "study-trials",
            f"{STOPPING}.min_num_trials",
            id="a negative number of trials",
        ),
        pytest.param(
            tuning(study_stopping_config={"max_num_trials_no_progress": 11}),
            "study-unreachable",
            f"{STOPPING}.max_num_trials_no_progress",
            id="no progress for more trials than there are",
        ),
        pytest.param(
            tuning(integer("n", 1, 4), algorithm="GRID_SEARCH"),
            "grid-size",
            "max_trial_count",
            id="more trials than the grid has points",
        ),
        pytest.param(
            tuning(max_trial_count=2**31, max_failed_trial_count=0),
            "trial-counts",
            "max_trial_count",
            id="too many trials",
        ),
        pytest.param(
            tuning(max_failed_trial_count=-1),
            "trial-counts",
            "max_failed_trial_count",
            id="negative failures",
        ),
        pytest.param(
            tuning(parallel_trial_count=0), "trial-counts", "parallel_trial_count", id="none at a time"
        ),
        pytest.param(
            tuning(
                trial_job_spec={
                    "worker_pool_specs": [
                        {**POOL, "container_spec": {"image_uri": "a/b", "args": ["x", "--rate", "1"]}}
                    ],
                    "base_output_directory": "gs://staging/out",
                }
            ),
            "parameter-collides",
            "trial_job_spec.worker_pool_specs[0].container_spec.args[1]",
            id="an argument without an equals sign",
        ),
    ],
)
def test_documents_that_break_a_rule(document, rule, path):
    assert (rule, path) in found(document)


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        pytest.param(tuning(), "grid-size", id="a Bayesian search has no grid"),
        pytest.param(tuning(double(), integer(), max_trial_count=100), "few-points", id="endless values"),
        pytest.param(
            tuning(integer("n", 1, 4), algorithm="GRID_SEARCH"), "few-points", id="grid search repeats none"
        ),
        pytest.param(
            tuning(
                trial_job_spec={
                    "worker_pool_specs": [
                        {
                            **POOL,
                            "container_spec": {"image_uri": "a/b", "args": ["--rates", "rate=1", "-rate"]},
                        }
                    ]
                }
            ),
            "parameter-collides",
            id="arguments of other names",
        ),
        pytest.param(tuning(metrics=(LOSS,)), "several-objectives", id="one metric"),
        pytest.param(
            tuning(metrics=(LOSS, {**ACCURACY, "safety_config": {}})), "several-objectives", id="a safe one"
        ),
    ],
)
def test_documents_that_keep_a_rule(document, rule):
    assert rule not in rules(document)


def test_the_output_directory_of_the_run_is_enough():
    bare = tuning(trial_job_spec={"worker_pool_specs": [POOL]})
    assert "trial-output" in rules(bare)
    from pulumi_vertex_training.kinds.hyperparameter_tuning_job.kind import KIND as TUNING_JOB

    spec = read(bare).spec
    assert [problem.rule for problem in TUNING_JOB.validate(spec, has_output=True)] == []


def space(*parameters):
    return decode(StudySpec, {"metrics": [LOSS], "parameters": list(parameters)}).spec.parameters


@pytest.mark.parametrize(
    ("parameters", "number"),
    [
        pytest.param([integer("a", 1, 3)], 3, id="whole numbers"),
        pytest.param([integer("a", 1, 3), discrete("b", 1, 2)], 6, id="two parameters"),
        pytest.param([double()], None, id="a double"),
        pytest.param([double("x", 1, 1)], 1, id="a double that is one value"),
        pytest.param([under(categorical(), when(integer("n", 1, 5), "dnn"))], 6, id="a condition"),
        pytest.param(
            [under(integer("n", 1, 10**9), when(integer("m", 1, 5), 7, kind="int"))],
            10**9 + 4,
            id="a condition on one of many",
        ),
        pytest.param(
            [
                under(
                    categorical(),
                    when(integer("n", 1, 5), "dnn"),
                    when(categorical("k", "x", "y"), "dnn", "cnn"),
                )
            ],
            12,
            id="conditions that hold at once",
        ),
        pytest.param([under(categorical(), when(double(), "dnn"))], None, id="a conditional double"),
        pytest.param([integer("a", 3, 1)], 0, id="none at all"),
    ],
)
def test_how_many_different_trials_there_can_be(parameters, number):
    assert points(space(*parameters)) == number


def test_many_values_under_many_conditions_are_counted_at_once():
    numbers = [float(n) for n in range(1000)]
    spec = integer("leaf", 1, 2)
    for depth in range(5):
        spec = under(discrete(f"p{depth}", *numbers), when(spec, *numbers, kind="discrete"))
    assert points(space(spec)) == 2 * 1000**5


def leaves(value, path=()):
    """Yield the path of every value of a document, and of every list and mapping."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield from leaves(below, (*path, key))


def hidden(document, path):
    copied = deepcopy(document)
    below = copied
    for part in path[:-1]:
        below = below[part]
    below[path[-1]] = UNKNOWN
    return copied


@settings(max_examples=examples(150))
@given(st.sampled_from(list(CASES.values())), st.data())
def test_an_unknown_value_adds_no_finding(one, data):
    document = dict(one.right)
    path = data.draw(st.sampled_from(list(leaves(document))))
    before = {(problem.rule, problem.path) for problem in read(document).problems}
    after = {(problem.rule, problem.path) for problem in read(hidden(document, path)).problems}
    assert after <= before
