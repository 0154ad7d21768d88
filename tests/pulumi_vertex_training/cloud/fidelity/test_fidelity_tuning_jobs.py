"""The requests for a tuning job equal those of Google's own clients for the same job."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from google.cloud.aiplatform_v1 import JobServiceClient
from google.cloud.aiplatform_v1 import types as api

from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import (
    HyperparameterTuningJobSpec,
    normalise,
    to_wire,
)
from support.client.clients.recorded_requests import (
    Recorder,
    Sent,
    all_fields,
    created,
    enum_names,
    fields_in,
)
from support.scripted_service import Answer, Asked
from vertex_training.fields.decode import decode

PARENT = "projects/my-project/locations/us-central1"
KEY = f"{PARENT}/keyRings/r/cryptoKeys/k"
OUTPUT_ONLY = HyperparameterTuningJobSpec.SERVER_OWNED
TRIAL = "trial_job_spec."
ALL = {
    path
    for path in all_fields(api.HyperparameterTuningJob, leave_out=OUTPUT_ONLY)
    if not path.startswith(TRIAL)
}
"""Every field but those of what each trial runs, which are those of a custom job and compared there."""

POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "gcr.io/p/i"},
}
RATE = {"parameter_id": "rate", "double_value_spec": {"min_value": 0.001, "max_value": 0.1}}


def simple(study: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a tuning job of four trials, with further fields in its study or in the job."""
    return {
        "display_name": "d",
        "study_spec": {
            "metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}],
            "parameters": [RATE],
            **(study or {}),
        },
        "max_trial_count": 4,
        "parallel_trial_count": 2,
        "trial_job_spec": {"worker_pool_specs": [POOL]},
        **more,
    }


PARAMETERS: list[dict[str, Any]] = [
    {
        "parameter_id": "rate",
        "double_value_spec": {"min_value": 0.0, "max_value": 0.1, "default_value": 0.0},
        "scale_type": "UNIT_LINEAR_SCALE",
    },
    {
        "parameter_id": "layers",
        "integer_value_spec": {"min_value": -1, "max_value": 2**53 + 1, "default_value": 0},
        "conditional_parameter_specs": [
            {
                "parent_int_values": {"values": [0, 2**53 + 1]},
                "parameter_spec": {"parameter_id": "drop", "discrete_value_spec": {"values": [0, 0.5]}},
            }
        ],
    },
    {
        "parameter_id": "model",
        "categorical_value_spec": {"values": ["cnn", "dnn"], "default_value": "cnn"},
        "conditional_parameter_specs": [
            {
                "parent_categorical_values": {"values": ["dnn"]},
                "parameter_spec": {
                    "parameter_id": "size",
                    "discrete_value_spec": {"values": [8, 16], "default_value": 8},
                    "conditional_parameter_specs": [
                        {"parent_discrete_values": {"values": [16]}, "parameter_spec": {**RATE}}
                    ],
                },
            }
        ],
    },
    {
        "parameter_id": "batch",
        "discrete_value_spec": {"values": [8, 16], "default_value": 16},
        "conditional_parameter_specs": [
            {"parent_discrete_values": {"values": [16]}, "parameter_spec": {**RATE}}
        ],
    },
]
STOPPING: dict[str, Any] = {
    "should_stop_asap": True,
    "minimum_runtime_constraint": {"max_duration": "60s"},
    "maximum_runtime_constraint": {"end_time": "2027-01-31T12:00:00Z"},
    "min_num_trials": 0,
    "max_num_trials": 9,
    "max_num_trials_no_progress": 3,
    "max_duration_no_progress": "3600s",
}
EVERYTHING = simple(
    study={
        "metrics": [
            {"metric_id": "loss", "goal": "MINIMIZE"},
            {
                "metric_id": "latency",
                "goal": "MAXIMIZE",
                "safety_config": {"safety_threshold": 2.5, "desired_min_safe_trials_fraction": 0.0},
            },
        ],
        "parameters": PARAMETERS,
        "algorithm": "RANDOM_SEARCH",
        "observation_noise": "HIGH",
        "measurement_selection_type": "BEST_MEASUREMENT",
        "study_stopping_config": STOPPING,
        "convex_automated_stopping_spec": {
            "max_step_count": 100,
            "min_step_count": 10,
            "min_measurement_count": 3,
            "learning_rate_parameter_name": "rate",
            "use_elapsed_duration": True,
            "update_all_stopped_trials": False,
        },
    },
    max_failed_trial_count=2,
    labels={"team": "vision"},
    encryption_spec={"kms_key_name": KEY},
)
"""Every field that may stand beside the others."""

OTHERS = [
    simple(study={"decay_curve_stopping_spec": {"use_elapsed_duration": True}}),
    simple(
        study={
            "study_stopping_config": {
                "minimum_runtime_constraint": {"end_time": "2027-01-30T12:00:00Z"},
                "maximum_runtime_constraint": {"max_duration": "86400s"},
            },
            "median_automated_stopping_spec": {"use_elapsed_duration": True},
        }
    ),
]
"""The other members of the choices of an early stopping rule and of a time constraint."""


def googles(declared: dict[str, Any]) -> api.HyperparameterTuningJob:
    """Return the same job in Google's types, built from their names."""
    values = {**declared, "study_spec": {**declared["study_spec"]}}
    if config := values["study_spec"].get("study_stopping_config"):
        values["study_spec"]["study_stopping_config"] = {
            name: _in_googles_words(value) for name, value in config.items()
        }
    trial = {**values["trial_job_spec"]}
    if "base_output_directory" in trial:
        trial["base_output_directory"] = {"output_uri_prefix": trial["base_output_directory"]}
    return api.HyperparameterTuningJob(**{**values, "trial_job_spec": trial})


def _in_googles_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _in_googles_words(each) for name, each in value.items()}
    if isinstance(value, str) and value.endswith("s"):
        return timedelta(seconds=float(value[:-1]))
    if isinstance(value, str):
        return datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    return value


def ended(asked: Asked) -> Answer:
    """Answer as `created`, and report every job as succeeded, which the SDK waits for."""
    if asked.method == "GET" and not asked.path.endswith("/hyperparameterTuningJobs"):
        return Answer(document={"name": asked.path.removeprefix("/v1/"), "state": "JOB_STATE_SUCCEEDED"})
    return created(asked)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder(ended) as made:
        yield made


@pytest.fixture
def client(recorder: Recorder) -> JobServiceClient:
    return recorder.client(JobServiceClient)


def ours(recorder: Recorder, declared: dict[str, Any], *, normal: bool = False) -> Sent:
    spec = decode(HyperparameterTuningJobSpec, declared).spec
    assert spec is not None
    tuning_jobs.GATEWAY.create(recorder.google(), to_wire(normalise(spec) if normal else spec))
    return recorder.one().normal(api.HyperparameterTuningJob)


def theirs(recorder: Recorder, client: JobServiceClient, declared: dict[str, Any]) -> Sent:
    client.create_hyperparameter_tuning_job(parent=PARENT, hyperparameter_tuning_job=googles(declared))
    return recorder.one().normal(api.HyperparameterTuningJob)


def fields_of(body: dict[str, Any]) -> set[str]:
    return {path for path in fields_in(api.HyperparameterTuningJob, body) if not path.startswith(TRIAL)}


def test_the_jobs_have_every_field_of_the_installed_api() -> None:
    """Fail for a field that a newer API version adds, until it is declared in this module."""
    documents = [
        api.HyperparameterTuningJob.to_dict(
            googles(one), use_integers_for_enums=False, always_print_fields_with_no_presence=False
        )
        for one in (EVERYTHING, *OTHERS)
    ]
    assert set().union(*map(fields_of, documents)) == ALL


@pytest.mark.parity("Tuning jobs: requests")
def test_what_we_send_has_every_field_of_the_installed_api(recorder: Recorder) -> None:
    bodies = [ours(recorder, one).body for one in (EVERYTHING, *OTHERS)]
    assert set().union(*map(fields_of, bodies)) == ALL


@pytest.mark.parity(
    "Tuning jobs: requests",
    same="our gateway sends what Google's generated client and the SDK send for the same job",
)
def test_a_job_with_everything(recorder: Recorder, client: JobServiceClient) -> None:
    sent = ours(recorder, EVERYTHING)
    assert sent == theirs(recorder, client, EVERYTHING)
    assert (sent.method, sent.path) == ("POST", f"/v1/{PARENT}/hyperparameterTuningJobs")


def each(enum: str, path: str, declared: Any) -> list[Any]:
    """Return a job for each name of an enum, built by `declared`."""
    return [
        pytest.param(declared(name), id=f"{enum} {name}")
        for name in sorted(enum_names(api.HyperparameterTuningJob, f"study_spec.{path}"))
    ]


def scaled(name: str) -> dict[str, Any]:
    return {"parameters": [{**RATE, "scale_type": name}]}


JOBS = [
    pytest.param(simple(), id="the least"),
    *(pytest.param(one, id=list(one["study_spec"])[-1]) for one in OTHERS),
    pytest.param(simple(study={"decay_curve_stopping_spec": {}}), id="an empty decay curve"),
    pytest.param(simple(study={"median_automated_stopping_spec": {}}), id="an empty median"),
    pytest.param(simple(study={"convex_automated_stopping_spec": {}}), id="an empty convex rule"),
    pytest.param(simple(study={"study_stopping_config": {"should_stop_asap": False}}), id="not at once"),
    pytest.param(
        simple(study={"study_stopping_config": {"max_duration_no_progress": "0.5s"}}), id="half a second"
    ),
    pytest.param(simple(labels={"empty": ""}), id="a label without a value"),
    pytest.param(
        simple(trial_job_spec={"worker_pool_specs": [POOL, {}, POOL], "base_output_directory": "gs://b/o/"}),
        id="pools and a directory",
    ),
    *each("goal", "metrics.goal", lambda name: simple({"metrics": [{"metric_id": "m", "goal": name}]})),
    *each(
        "scale", "parameters.scale_type", lambda name: simple({"parameters": [{**RATE, "scale_type": name}]})
    ),
    *each("algorithm", "algorithm", lambda name: simple({"algorithm": name})),
    *each("noise", "observation_noise", lambda name: simple({"observation_noise": name})),
    *each(
        "measurement",
        "measurement_selection_type",
        lambda name: simple({"measurement_selection_type": name}),
    ),
]


@pytest.mark.parity("Tuning jobs: requests")
@pytest.mark.parametrize("declared", JOBS)
def test_a_job(recorder: Recorder, client: JobServiceClient, declared: dict[str, Any]) -> None:
    assert ours(recorder, declared) == theirs(recorder, client, declared)


SAME_IN_NORMAL_FORM = [
    case
    for case in JOBS
    if case.id not in ("measurement LAST_MEASUREMENT", "not at once", "pools and a directory")
]


@pytest.mark.parametrize("declared", SAME_IN_NORMAL_FORM)
def test_the_normal_form_of_a_job_says_the_same(
    recorder: Recorder, client: JobServiceClient, declared: dict[str, Any]
) -> None:
    """Compare everything except the disk, which this one names."""
    pool = {**POOL, "disk_spec": {"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 100}}
    with_disk = {**declared, "trial_job_spec": {"worker_pool_specs": [pool]}}
    assert ours(recorder, declared, normal=True) == theirs(recorder, client, with_disk)


@pytest.mark.parametrize("method", ["get", "cancel", "delete"])
def test_a_call_by_name(recorder: Recorder, client: JobServiceClient, method: str) -> None:
    name = f"{PARENT}/hyperparameterTuningJobs/2970106362064797696"
    getattr(client, f"{method}_hyperparameter_tuning_job")(name=name)
    expected = recorder.one()
    getattr(tuning_jobs.GATEWAY, method)(recorder.google(), name)
    assert recorder.one() == expected


def test_a_list_with_a_filter(recorder: Recorder, client: JobServiceClient) -> None:
    request = api.ListHyperparameterTuningJobsRequest(parent=PARENT, filter='labels.run="a-1"', page_size=500)
    list(client.list_hyperparameter_tuning_jobs(request=request))
    expected = recorder.one()
    tuning_jobs.GATEWAY.list_by_label(recorder.google(), {"run": "a-1"})
    assert recorder.one() == expected


@pytest.mark.usefixtures("sdk")
class TestAgainstTheSdk:
    """The SDK's HyperparameterTuningJob."""

    @staticmethod
    def job(**more: Any) -> Any:
        from google.cloud import aiplatform
        from google.cloud.aiplatform import hyperparameter_tuning as sdk_tuning

        trial = aiplatform.CustomJob(
            display_name="d", worker_pool_specs=[POOL], base_output_dir="gs://b/out/"
        )
        fields = {
            "display_name": "d",
            "custom_job": trial,
            "metric_spec": {"loss": "minimize"},
            "parameter_spec": {"rate": sdk_tuning.DoubleParameterSpec(min=0.001, max=0.1, scale="log")},
            "max_trial_count": 4,
            "parallel_trial_count": 2,
        }
        return aiplatform.HyperparameterTuningJob(**{**fields, **more})

    @staticmethod
    def declared(study: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        trial = {"worker_pool_specs": [POOL], "base_output_directory": "gs://b/out/"}
        parameter = {**RATE, "scale_type": "UNIT_LOG_SCALE"}
        # The SDK asks for the best measurement unless told otherwise.
        fields = {"parameters": [parameter], "measurement_selection_type": "BEST_MEASUREMENT"}
        return simple({**fields, **(study or {})}, trial_job_spec=trial, **more)

    @staticmethod
    def created(recorder: Recorder) -> Sent:
        """Return the create request, which precedes those of the SDK's waiting."""
        return recorder.take()[0].normal(api.HyperparameterTuningJob)

    def test_the_least(self, recorder: Recorder) -> None:
        self.job().run()
        expected = self.created(recorder)
        assert ours(recorder, self.declared()) == expected

    def test_every_kind_of_parameter(self, recorder: Recorder) -> None:
        from google.cloud.aiplatform import hyperparameter_tuning as sdk_tuning

        size = sdk_tuning.DiscreteParameterSpec(values=[8, 16], scale="linear", parent_values=["dnn"])
        self.job(
            parameter_spec={
                "layers": sdk_tuning.IntegerParameterSpec(min=1, max=8, scale="linear"),
                "model": sdk_tuning.CategoricalParameterSpec(
                    values=["cnn", "dnn"], conditional_parameter_spec={"size": size}
                ),
                "momentum": sdk_tuning.DoubleParameterSpec(min=0.5, max=0.99, scale="reverse_log"),
            }
        ).run()
        expected = self.created(recorder)
        declared = self.declared(
            {
                "parameters": [
                    {
                        "parameter_id": "layers",
                        "integer_value_spec": {"min_value": 1, "max_value": 8},
                        "scale_type": "UNIT_LINEAR_SCALE",
                    },
                    {
                        "parameter_id": "model",
                        "categorical_value_spec": {"values": ["cnn", "dnn"]},
                        "conditional_parameter_specs": [
                            {
                                "parent_categorical_values": {"values": ["dnn"]},
                                "parameter_spec": {
                                    "parameter_id": "size",
                                    "discrete_value_spec": {"values": [8, 16]},
                                    "scale_type": "UNIT_LINEAR_SCALE",
                                },
                            }
                        ],
                    },
                    {
                        "parameter_id": "momentum",
                        "double_value_spec": {"min_value": 0.5, "max_value": 0.99},
                        "scale_type": "UNIT_REVERSE_LOG_SCALE",
                    },
                ]
            }
        )
        assert ours(recorder, declared) == expected

    def test_all_the_rest_that_it_takes(self, recorder: Recorder) -> None:
        self.job(
            search_algorithm="random",
            measurement_selection="last",
            max_failed_trial_count=2,
            labels={"team": "vision"},
            encryption_spec_key_name=KEY,
        ).run(
            service_account="trainer@my-project.iam.gserviceaccount.com",
            network="projects/12345/global/networks/net",
            timeout=3600,
            restart_job_on_worker_restart=True,
            enable_web_access=True,
            tensorboard=f"{PARENT}/tensorboards/7",
            disable_retries=True,
        )
        expected = self.created(recorder)
        declared = self.declared(
            {"algorithm": "RANDOM_SEARCH", "measurement_selection_type": "LAST_MEASUREMENT"},
            max_failed_trial_count=2,
            labels={"team": "vision"},
            encryption_spec={"kms_key_name": KEY},
        )
        declared["trial_job_spec"] |= {
            "service_account": "trainer@my-project.iam.gserviceaccount.com",
            "network": "projects/12345/global/networks/net",
            "scheduling": {
                "timeout": "3600s",
                "restart_job_on_worker_restart": True,
                "disable_retries": True,
            },
            "enable_web_access": True,
            "tensorboard": f"{PARENT}/tensorboards/7",
        }
        assert ours(recorder, declared) == expected
