"""Training pipelines and models for tests: a few by name, and hypothesis strategies for the rest."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hypothesis import strategies as st

from pulumi_vertex_training.kinds.model import explanation
from pulumi_vertex_training.kinds.model import spec as model
from pulumi_vertex_training.kinds.training_pipeline.spec import TrainingPipelineSpec
from support.ground import jobs
from support.ground.jobs import some_words, words
from vertex_training.job import input_data
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.job_spec import EncryptionSpec, JobSpec

SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
MODEL = {"display_name": "digits", "container_spec": {"image_uri": SERVING}}
POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "repo/trainer:1"},
}
PIPELINE: dict[str, Any] = {
    "display_name": "digits",
    "custom_task": {"worker_pool_specs": [POOL], "base_output_directory": "gs://staging/digits/"},
    "input_data_config": {"dataset_id": "123"},
    "model_to_upload": MODEL,
}
"""A pipeline of a container that trains on a dataset and uploads a model, as a program declares it."""


def task_of(job: CustomJobSpec) -> JobSpec:
    """Return the `JobSpec` of a custom job."""
    return JobSpec(**{field.name: getattr(job, field.name) for field in fields(JobSpec)})


maybe_words = st.none() | words
fractions = st.sampled_from([0.0, 0.1, 0.25, 0.8])
all_fractions = {
    "training_fraction": fractions,
    "validation_fraction": fractions,
    "test_fraction": fractions,
}
whole_data = st.builds(
    input_data.InputDataConfig,
    dataset_id=words,
    fraction_split=st.none() | st.builds(input_data.FractionSplit, **all_fractions),
    filter_split=st.none()
    | st.builds(input_data.FilterSplit, training_filter=words, validation_filter=words, test_filter=words),
    predefined_split=st.none() | st.builds(input_data.PredefinedSplit, key=words),
    timestamp_split=st.none() | st.builds(input_data.TimestampSplit, key=words, **all_fractions),
    stratified_split=st.none() | st.builds(input_data.StratifiedSplit, key=words, **all_fractions),
    gcs_destination=st.none() | st.just("gs://bucket/data/"),
    bigquery_destination=st.none() | st.just("bq://project"),
    annotations_filter=maybe_words,
    annotation_schema_uri=maybe_words,
    saved_query_id=maybe_words,
    persist_ml_use_assignment=st.booleans(),
)
"""All fields, also those that exclude each other."""

port = st.integers(1, 65535)
ports = st.lists(st.builds(model.Port, container_port=port), max_size=2).map(tuple)
times = {
    name: st.integers(0, 9)
    for name in (
        "period_seconds",
        "timeout_seconds",
        "failure_threshold",
        "success_threshold",
        "initial_delay_seconds",
    )
}
headers = st.lists(st.builds(model.HttpHeader, name=words, value=words), max_size=2).map(tuple)
probes = st.one_of(
    st.builds(model.Probe, exec=st.builds(model.ExecAction, command=some_words), **times),
    st.builds(
        model.Probe,
        http_get=st.builds(
            model.HttpGetAction,
            path=maybe_words,
            port=port,
            host=maybe_words,
            scheme=st.none() | st.just("HTTPS"),
            http_headers=headers,
        ),
        **times,
    ),
    st.builds(model.Probe, grpc=st.builds(model.GrpcAction, port=port, service=maybe_words)),
    st.builds(model.Probe, tcp_socket=st.builds(model.TcpSocketAction, port=port, host=maybe_words)),
)
servings = st.builds(
    model.ModelContainerSpec,
    image_uri=words,
    command=some_words,
    args=some_words,
    env=jobs.env,
    ports=ports,
    predict_route=maybe_words,
    health_route=maybe_words,
    invoke_route_prefix=maybe_words,
    grpc_ports=ports,
    deployment_timeout=st.none() | st.sampled_from(["60s", "3600.5s"]),
    shared_memory_size_mb=st.integers(0, 2**40),
    startup_probe=st.none() | probes,
    health_probe=st.none() | probes,
    liveness_probe=st.none() | probes,
)
free = st.sampled_from([None, '{"a":[1,true,"x"]}', "[0.5,1]", '"x"', "7"])
numbers = st.sampled_from([0.0, 0.5, 2.0])
inputs = st.builds(
    explanation.InputMetadata,
    input_baselines=st.sampled_from([None, "[0.5,1]", '[{"a":1}]']),
    input_tensor_name=maybe_words,
    encoding=st.none() | st.just("BAG_OF_FEATURES"),
    modality=maybe_words,
    feature_value_domain=st.none()
    | st.builds(explanation.FeatureValueDomain, min_value=numbers, max_value=numbers),
    index_feature_mapping=some_words,
    visualization=st.none()
    | st.builds(explanation.Visualization, type=st.just("OUTLINES"), clip_percent_upperbound=numbers),
    group_name=maybe_words,
)
outputs = st.builds(
    explanation.OutputMetadata, index_display_name_mapping=free, output_tensor_name=maybe_words
)
parameters = st.one_of(
    st.builds(
        explanation.ExplanationParameters,
        sampled_shapley_attribution=st.builds(
            explanation.SampledShapleyAttribution, path_count=st.integers(1, 50)
        ),
        top_k=st.integers(0, 3),
        output_indices=st.sampled_from([None, "[0,1]"]),
    ),
    st.builds(
        explanation.ExplanationParameters,
        integrated_gradients_attribution=st.builds(
            explanation.GradientAttribution,
            step_count=st.integers(1, 100),
            smooth_grad_config=st.none()
            | st.builds(
                explanation.SmoothGradConfig, noise_sigma=numbers, noisy_sample_count=st.integers(1, 9)
            ),
        ),
    ),
)
explanations = st.builds(
    explanation.ExplanationSpec,
    parameters=parameters,
    metadata=st.none()
    | st.builds(
        explanation.ExplanationMetadata,
        inputs=st.dictionaries(words, inputs, max_size=2),
        outputs=st.dictionaries(words, outputs, max_size=1),
        feature_attributions_schema_uri=maybe_words,
    ),
)
whole_models = st.builds(
    model.ModelSpec,
    display_name=words,
    description=maybe_words,
    version_description=maybe_words,
    version_aliases=some_words,
    container_spec=st.none() | servings,
    artifact_uri=st.sampled_from([None, "gs://bucket/model", "gs://bucket/model/"]),
    predict_schemata=st.none()
    | st.builds(model.PredictSchemata, instance_schema_uri=maybe_words, prediction_schema_uri=maybe_words),
    metadata_schema_uri=maybe_words,
    metadata=free,
    explanation_spec=st.none() | explanations,
    default_checkpoint_id=maybe_words,
    pipeline_job=maybe_words,
    base_model_source=st.none()
    | st.builds(
        model.BaseModelSource,
        model_garden_source=st.builds(model.ModelGardenSource, public_model_name=words),
    ),
    labels=st.dictionaries(words, words, max_size=2),
    encryption_spec=st.none() | st.builds(EncryptionSpec, kms_key_name=words),
)
"""Models with all fields of the API, of the right types, though not always valid."""

whole_pipelines = st.builds(
    TrainingPipelineSpec,
    display_name=words,
    custom_task=jobs.whole_jobs.map(task_of),
    input_data_config=st.none() | whole_data,
    model_to_upload=st.none() | whole_models,
    model_id=maybe_words,
    parent_model=maybe_words,
    encryption_spec=st.none() | st.builds(EncryptionSpec, kms_key_name=words),
    labels=st.dictionaries(words, words, max_size=2),
)
