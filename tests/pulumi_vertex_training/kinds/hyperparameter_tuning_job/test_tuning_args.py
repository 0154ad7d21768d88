"""Studies, parameters and trials as the program writes them."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pulumi
import pytest

import pulumi_vertex_training as vt
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import args as tuning_args
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.parameters import with_names
from support.tables import every_row
from vertex_training.fields.decode import decode
from vertex_training.job import job_spec
from vertex_training.study import study
from vertex_training.study.rules.study import study_problems
from vertex_training.study.study import StudySpec

MESSAGES = {
    name: getattr(study, name.removesuffix("Args"))
    for name in vars(tuning_args)
    if name.endswith("Args") and hasattr(study, name.removesuffix("Args"))
} | {"TrialJobSpecArgs": job_spec.JobSpec}


def plain(value: Any) -> Any:
    """Typed arguments as the plain values that they become."""
    if type(value).__name__ in MESSAGES or type(value).__name__ in vt.__all__:
        names = inspect.signature(type(value)).parameters
        given = {name: pulumi.get(value, name) for name in names}
        return {name: plain(each) for name, each in given.items() if each is not None}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def test_every_message_of_a_study_has_its_class():
    messages = {name for name, value in vars(study).items() if dataclasses.is_dataclass(value)}
    assert {name.removesuffix("Args") for name in MESSAGES} - {"TrialJobSpec"} == messages


@every_row("name", MESSAGES)
def test_a_class_has_the_fields_of_its_message(name):
    arguments = inspect.signature(getattr(vt, name)).parameters
    assert set(arguments) == {field.name for field in dataclasses.fields(MESSAGES[name])}


@every_row("name", MESSAGES)
def test_what_a_message_needs_its_class_asks_for(name):
    arguments = inspect.signature(getattr(vt, name)).parameters
    needed = {
        field.name
        for field in dataclasses.fields(MESSAGES[name])
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    asked = {key for key, one in arguments.items() if one.default is inspect.Parameter.empty}
    assert asked == needed


def test_a_misspelt_argument_is_refused_with_the_right_one():
    with pytest.raises(pulumi.RunError, match=r"did you mean min_value or max_value\?"):
        vt.DoubleValueSpecArgs(minimum_value=1, max_value=2)


SHORT = [
    vt.double_parameter("rate", 1e-4, 0.1, scale="log"),
    vt.integer_parameter("layers", 1, 3, conditions=[vt.when([3], vt.double_parameter("drop", 0, 1))]),
    vt.categorical_parameter(
        "model", ["cnn", "dnn"], conditions=[vt.when(["dnn"], vt.integer_parameter("units", 8, 64))]
    ),
    vt.discrete_parameter(
        "batch",
        [16, 32],
        scale="linear",
        conditions=[vt.when([32], vt.double_parameter("momentum", 0.5, 0.9))],
    ),
]


def test_short_forms_make_a_study_that_keeps_every_rule():
    value = {"metrics": plain([vt.minimize("loss")]), "parameters": plain(SHORT)}
    decoded = decode(StudySpec, value)
    assert decoded.problems == ()
    assert list(study_problems(decoded.spec)) == []


def test_a_short_form_is_the_message():
    assert plain(SHORT[2]) == {
        "parameter_id": "model",
        "categorical_value_spec": {"values": ["cnn", "dnn"]},
        "conditional_parameter_specs": [
            {
                "parameter_spec": {
                    "parameter_id": "units",
                    "integer_value_spec": {"min_value": 8, "max_value": 64},
                },
                "parent_categorical_values": {"values": ["dnn"]},
            }
        ],
    }


def test_metrics_by_goal():
    assert plain([vt.minimize("loss"), vt.maximize("accuracy")]) == [
        {"metric_id": "loss", "goal": "MINIMIZE"},
        {"metric_id": "accuracy", "goal": "MAXIMIZE"},
    ]


def test_a_scale_that_is_none_is_left_to_the_check_which_reports_all_faults_at_once():
    made = vt.double_parameter("rate", 2, 1, scale="logarithm")
    found = decode(study.ParameterSpec, plain(made))
    spec = StudySpec(metrics=(), parameters=(found.draft,))
    reported = "\n".join(str(problem) for problem in study_problems(spec))
    assert "parameters[0].scale_type: 'logarithm' is not one of" in reported
    assert "or scale='linear', 'log' or 'reverse_log' in a function" in reported
    assert "parameters[0].double_value_spec.min_value: 2 is more than max_value 1" in reported


def test_a_condition_that_is_no_list_is_left_to_the_check():
    child = vt.double_parameter("rate", 1, 2)
    made = vt.integer_parameter("layers", 1, 3, conditions=[vt.when("3", child)])
    (problem,) = decode(study.ParameterSpec, plain(made)).problems
    assert problem.path == "conditional_parameter_specs[0].parent_int_values.values"
    assert "expected a list" in problem.message


class Image:
    """An image resource."""

    uri = "repo/trainer@sha256:1"
    ref = None


class Account:
    """A service account resource."""

    email = "trainer@p.iam.gserviceaccount.com"


POOL = {"machine_spec": {"machine_type": "n1-standard-4"}, "container_spec": {"image_uri": Image()}}


@pytest.mark.parametrize(
    "job_spec_",
    [
        {"worker_pool_specs": [POOL], "service_account": Account()},
        {"workerPoolSpecs": [POOL], "serviceAccount": Account()},
        vt.TrialJobSpecArgs(worker_pool_specs=[POOL], service_account=Account()),
    ],
    ids=["snake case", "camel case", "typed"],
)
def test_resources_become_their_names(job_spec_):
    named = plain(with_names(job_spec_))
    pools, account = named.values()
    assert pools[0]["container_spec"]["image_uri"] == Image.uri
    assert account == Account.email
