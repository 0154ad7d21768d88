from __future__ import annotations

import json

import pytest
from google.cloud.aiplatform_v1 import HyperparameterTuningJob
from google.protobuf import json_format
from hypothesis import given

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.kind import KIND as TUNING_JOB
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import (
    HyperparameterTuningJobSpec,
    from_wire,
    normalise,
    to_wire,
)
from support.client.specs import tuning_job_specs
from support.client.specs.tuning_job_specs import tuning_job
from support.ground.specs.tuning_specs import RATE, study
from vertex_training.fields.decode import decode, encode
from vertex_training.study.study import (
    CategoricalValueCondition,
    CategoricalValueSpec,
    ConditionalParameterSpec,
    ConvexAutomatedStoppingSpec,
    DecayCurveAutomatedStoppingSpec,
    DiscreteValueSpec,
    IntegerValueSpec,
    IntValueCondition,
    MedianAutomatedStoppingSpec,
    MetricSpec,
    ParameterSpec,
    SafetyMetricConfig,
    StudyStoppingConfig,
    StudyTimeConstraint,
)

PROTO = HyperparameterTuningJob.pb()

ECHO = {
    "name": "projects/12345/locations/us-central1/hyperparameterTuningJobs/6789",
    "displayName": "my-hyperparameter-tuning-job",
    "studySpec": {
        "metrics": [{"metricId": "my_metric", "goal": "MINIMIZE"}],
        "parameters": [
            {"parameterId": "my_parameter", "doubleValueSpec": {"minValue": 1e-05, "maxValue": 1}}
        ],
    },
    "maxTrialCount": 3,
    "parallelTrialCount": 1,
    "trialJobSpec": {
        "workerPoolSpecs": [
            {
                "machineSpec": {"machineType": "n1-standard-4"},
                "replicaCount": "1",
                "pythonPackageSpec": {
                    "executorImageUri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-1:latest",
                    "packageUris": ["gs://my-bucket/my-training-application/trainer.tar.bz2"],
                    "pythonModule": "my-trainer.trainer",
                },
            }
        ]
    },
    "trials": [
        {
            "id": "2",
            "state": "SUCCEEDED",
            "parameters": [{"parameterId": "my_parameter", "value": 0.7142687472545657}],
            "finalMeasurement": {
                "stepCount": "2",
                "metrics": [{"metricId": "my_metric", "value": 0.3000744581222534}],
            },
            "startTime": "2020-09-09T23:39:15.549112551Z",
            "endTime": "2020-09-09T23:47:08Z",
        }
    ],
    "state": "JOB_STATE_SUCCEEDED",
    "createTime": "2020-09-09T23:22:31.777386Z",
    "startTime": "2020-09-09T23:22:34Z",
    "endTime": "2020-09-10T01:31:24.271307Z",
    "updateTime": "2020-09-10T01:31:24.271307Z",
}
"""An answer of the service (Vertex AI documentation, "Create a hyperparameter tuning job", REST)."""


def difference(declared: HyperparameterTuningJobSpec, echo) -> tuple[str, ...]:
    return tuple(change.path for change in TUNING_JOB.drift(declared, echo))


compared = TUNING_JOB.compare


def test_the_documented_answer_reads_as_a_tuning_job():
    spec = from_wire(ECHO)
    assert (spec.max_trial_count, spec.study_spec.parameters[0].double_value_spec.max_value) == (3, 1.0)


def test_the_documented_answer_equals_its_request():
    assert difference(from_wire(ECHO), ECHO) == ()


def test_a_job_s_directory_is_that_of_its_trials():
    wire = to_wire(tuning_job(trial={"base_output_directory": "gs://b/out"}))
    assert TUNING_JOB.directory_of(wire) == "gs://b/out/"


def test_a_job_without_a_directory_has_none():
    assert TUNING_JOB.directory_of(ECHO) is None


@given(tuning_job_specs.tuning_jobs)
def test_the_normal_form_of_a_normal_form_is_itself(spec):
    assert normalise(normalise(spec)) == normalise(spec)


@given(tuning_job_specs.tuning_jobs)
def test_a_job_does_not_differ_from_itself_or_its_normal_form(spec):
    assert compared(spec, spec).paths == ()
    assert compared(normalise(spec), spec).paths == ()


@given(tuning_job_specs.tuning_jobs)
def test_the_hash_is_that_of_the_normal_form(spec):
    assert TUNING_JOB.spec_hash(normalise(spec)) == TUNING_JOB.spec_hash(spec)


@given(tuning_job_specs.tuning_jobs)
def test_plain_values_decode_to_the_spec_again(spec):
    decoded = decode(HyperparameterTuningJobSpec, json.loads(json.dumps(encode(spec))))
    assert (decoded.spec, decoded.problems) == (spec, ())


@given(tuning_job_specs.whole_tuning_jobs)
def test_from_wire_is_the_inverse_of_to_wire(spec):
    assert from_wire(json.loads(json.dumps(to_wire(spec)))) == spec


@pytest.mark.parametrize("enums_as_numbers", [True, False])
@pytest.mark.parametrize("snake_case", [True, False])
@given(spec=tuning_job_specs.whole_tuning_jobs)
def test_google_s_own_messages_carry_a_job_there_and_back(spec, enums_as_numbers, snake_case):
    message = json_format.ParseDict(to_wire(spec), PROTO())
    echo = json_format.MessageToDict(
        message, use_integers_for_enums=enums_as_numbers, preserving_proto_field_name=snake_case
    )
    assert normalise(from_wire(echo)) == normalise(spec)
    assert difference(spec, echo) == ()


@given(tuning_job_specs.tuning_jobs)
def test_a_job_is_adopted_without_a_difference(spec):
    assert TUNING_JOB.difference_to_adopt(spec, to_wire(spec)) == ()


@given(tuning_job_specs.whole_tuning_jobs)
def test_google_s_message_of_a_job_is_the_same_after_a_round_through_ours(spec):
    message = json_format.ParseDict(to_wire(spec), PROTO())
    again = json_format.ParseDict(to_wire(from_wire(json_format.MessageToDict(message))), PROTO())
    assert again == message


INTEGER = ParameterSpec(parameter_id="n", integer_value_spec=IntegerValueSpec(min_value=0, max_value=9))


@pytest.mark.parametrize(
    ("spec", "path", "value"),
    [
        pytest.param(
            study(INTEGER), ("parameters", 0, "integerValueSpec", "minValue"), "0", id="int64 are strings"
        ),
        pytest.param(
            study(
                ParameterSpec(
                    parameter_id="n",
                    integer_value_spec=IntegerValueSpec(min_value=0, max_value=9, default_value=0),
                )
            ),
            ("parameters", 0, "integerValueSpec", "defaultValue"),
            "0",
            id="a default of zero is sent",
        ),
        pytest.param(
            study(
                ParameterSpec(
                    parameter_id="d",
                    categorical_value_spec=CategoricalValueSpec(values=("", "a"), default_value=""),
                )
            ),
            ("parameters", 0, "categoricalValueSpec", "defaultValue"),
            "",
            id="an empty default is sent",
        ),
        pytest.param(
            study(
                ParameterSpec(
                    parameter_id="n",
                    integer_value_spec=IntegerValueSpec(min_value=0, max_value=9),
                    conditional_parameter_specs=(
                        ConditionalParameterSpec(
                            parameter_spec=RATE, parent_int_values=IntValueCondition(values=(0, 3))
                        ),
                    ),
                )
            ),
            ("parameters", 0, "conditionalParameterSpecs", 0, "parentIntValues", "values"),
            ["0", "3"],
            id="lists of int64 are lists of strings",
        ),
        pytest.param(
            study(decay_curve_stopping_spec=DecayCurveAutomatedStoppingSpec()),
            ("decayCurveStoppingSpec",),
            {},
            id="an empty early stopping rule is one",
        ),
        pytest.param(
            study(convex_automated_stopping_spec=ConvexAutomatedStoppingSpec(max_step_count=5)),
            ("convexAutomatedStoppingSpec",),
            {"maxStepCount": "5"},
            id="counts of steps are int64",
        ),
        pytest.param(
            study(study_stopping_config=StudyStoppingConfig(should_stop_asap=True, min_num_trials=0)),
            ("studyStoppingConfig",),
            {"shouldStopAsap": True, "minNumTrials": 0},
            id="wrapped numbers keep their zero",
        ),
        pytest.param(
            study(
                metrics=(
                    MetricSpec(
                        metric_id="m",
                        goal="MAXIMIZE",
                        safety_config=SafetyMetricConfig(desired_min_safe_trials_fraction=0.0),
                    ),
                )
            ),
            ("metrics", 0, "safetyConfig"),
            {"desiredMinSafeTrialsFraction": 0.0},
            id="a fraction of zero is sent",
        ),
        pytest.param(
            study(
                study_stopping_config=StudyStoppingConfig(
                    maximum_runtime_constraint=StudyTimeConstraint(max_duration="60s")
                )
            ),
            ("studyStoppingConfig", "maximumRuntimeConstraint"),
            {"maxDuration": "60s"},
            id="a time constraint",
        ),
    ],
)
def test_a_value_on_the_wire(spec, path, value):
    found = to_wire(tuning_job(study_spec=spec))["studySpec"]
    for part in path:
        found = found[part]
    assert found == value


def of_study(**fields):
    return tuning_job(study_spec=study(**fields))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({}, {"algorithm": "ALGORITHM_UNSPECIFIED"}, id="algorithm"),
        pytest.param({}, {"measurement_selection_type": "LAST_MEASUREMENT"}, id="the service's measurement"),
        pytest.param(
            {}, {"measurement_selection_type": "MEASUREMENT_SELECTION_TYPE_UNSPECIFIED"}, id="no measurement"
        ),
        pytest.param({}, {"observation_noise": "OBSERVATION_NOISE_UNSPECIFIED"}, id="noise"),
        pytest.param({}, {"study_stopping_config": StudyStoppingConfig()}, id="an empty stopping config"),
        pytest.param(
            {}, {"study_stopping_config": StudyStoppingConfig(should_stop_asap=False)}, id="not asap"
        ),
        pytest.param(
            {},
            {"study_stopping_config": StudyStoppingConfig(maximum_runtime_constraint=StudyTimeConstraint())},
            id="an empty constraint",
        ),
        pytest.param(
            {"study_stopping_config": StudyStoppingConfig(max_duration_no_progress="60s")},
            {"study_stopping_config": StudyStoppingConfig(max_duration_no_progress="60.000s")},
            id="a duration",
        ),
        pytest.param(
            {
                "study_stopping_config": StudyStoppingConfig(
                    maximum_runtime_constraint=StudyTimeConstraint(end_time="2027-01-31T13:00:00+01:00")
                )
            },
            {
                "study_stopping_config": StudyStoppingConfig(
                    maximum_runtime_constraint=StudyTimeConstraint(end_time="2027-01-31T12:00:00Z")
                )
            },
            id="a moment",
        ),
        pytest.param(
            {"convex_automated_stopping_spec": ConvexAutomatedStoppingSpec()},
            {"convex_automated_stopping_spec": ConvexAutomatedStoppingSpec(update_all_stopped_trials=False)},
            id="a flag that is off",
        ),
    ],
)
def test_two_spellings_of_one_study(one, other):
    assert normalise(of_study(**one)) == normalise(of_study(**other))


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        pytest.param({}, {"algorithm": "RANDOM_SEARCH"}, "study_spec.algorithm", id="algorithm"),
        pytest.param(
            {},
            {"measurement_selection_type": "BEST_MEASUREMENT"},
            "study_spec.measurement_selection_type",
            id="measurement",
        ),
        pytest.param(
            {"decay_curve_stopping_spec": DecayCurveAutomatedStoppingSpec()},
            {"decay_curve_stopping_spec": DecayCurveAutomatedStoppingSpec(use_elapsed_duration=True)},
            "study_spec.decay_curve_stopping_spec.use_elapsed_duration",
            id="early stopping by time",
        ),
    ],
)
def test_a_change_of_the_study_is_found(one, other, path):
    assert path in compared(of_study(**one), of_study(**other)).paths


def test_another_early_stopping_rule_is_found():
    one = of_study(decay_curve_stopping_spec=DecayCurveAutomatedStoppingSpec())
    other = of_study(median_automated_stopping_spec=MedianAutomatedStoppingSpec())
    assert compared(one, other).words == (
        "decay curve stopping spec: {} -> none; median automated stopping spec: none -> {}; "
        "the tuning job is replaced, because a study cannot change once a tuning job has it"
    )


def test_a_change_within_a_conditional_parameter_is_found():
    def parent(most: float) -> ParameterSpec:
        child = ParameterSpec(parameter_id="size", discrete_value_spec=DiscreteValueSpec(values=(1.0, most)))
        return ParameterSpec(
            parameter_id="model",
            categorical_value_spec=CategoricalValueSpec(values=("cnn", "dnn")),
            conditional_parameter_specs=(
                ConditionalParameterSpec(
                    parameter_spec=child, parent_categorical_values=CategoricalValueCondition(values=("cnn",))
                ),
            ),
        )

    found = compared(tuning_job(study_spec=study(parent(2))), tuning_job(study_spec=study(parent(3))))
    below = "study_spec.parameters[0].conditional_parameter_specs[0].parameter_spec"
    assert found.paths == (f"{below}.discrete_value_spec.values",)
    assert str(found.effect) == "replace"


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        pytest.param({}, {"algorithm": "ALGORITHM_UNSPECIFIED"}, id="algorithm"),
        pytest.param({}, {"measurementSelectionType": "LAST_MEASUREMENT"}, id="measurement"),
        pytest.param({}, {"studyStoppingConfig": {}}, id="an empty stopping config"),
    ],
)
def test_defaults_of_the_service_are_no_difference(declared, found):
    spec = of_study(**declared)
    echo = to_wire(normalise(spec))
    echo["studySpec"].update(found)
    assert difference(spec, echo) == ()


def test_a_zero_that_the_service_leaves_out_is_no_difference():
    spec = tuning_job(study_spec=study(INTEGER))
    echo = to_wire(normalise(spec))
    del echo["studySpec"]["parameters"][0]["integerValueSpec"]["minValue"]
    assert difference(spec, echo) == ()


def test_defaults_of_the_service_for_trials_are_no_difference():
    echo = to_wire(tuning_job())
    echo["trialJobSpec"]["workerPoolSpecs"][0]["diskSpec"] = {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}
    echo["trialJobSpec"]["baseOutputDirectory"] = {"outputUriPrefix": "gs://b/runs/1/"}
    assert difference(tuning_job(), echo) == ()


def test_labels_of_the_run_are_no_difference():
    echo = {**to_wire(tuning_job(labels={"team": "vision"})), "labels": {"team": "vision", "goog-x": "1"}}
    assert difference(tuning_job(labels={"team": "vision"}), echo) == ()


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ({"displayName": 1}, "display_name"),
        ({"studySpec": {"parameters": {}}}, "study_spec.parameters"),
        ({"maxTrialCount": "x"}, "max_trial_count"),
        ({"trialJobSpec": {"workerPoolSpecs": 1}}, "trial_job_spec.worker_pool_specs"),
    ],
)
def test_an_invalid_tuning_job_is_rejected_with_the_path(wire, path):
    with pytest.raises(ValueError, match=path):
        from_wire(wire)
