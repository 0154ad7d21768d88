"""For each rule of training pipelines, their data and their models, a pipeline that breaks it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pulumi_vertex_training.kinds.training_pipeline.kind import read
from support.client.specs.pipeline_specs import PIPELINE
from support.specs import rule_cases
from support.specs.rule_cases import RuleCase
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem


def find(document: Mapping[str, Any]) -> Iterable[Problem]:
    """Return the findings about a pipeline in us-central1."""
    plain = {name: value for name, value in document.items() if name != "options"}
    return read(plain, options=CheckOptions(location="us-central1")).problems


def case(
    wrong: Mapping[str, object],
    path: str,
    *words: str,
    level: str = "error",
    right: Mapping[str, Any] | None = None,
) -> RuleCase:
    """Return a rule that `PIPELINE` keeps with the changes of `right`, and breaks with `wrong` as well."""
    document = json.loads(json.dumps({**PIPELINE, **(right or {})}))
    return rule_cases.case(document, wrong, path, *words, level=level, find=find)


DATA, MODEL = "input_data_config", "model_to_upload"
SERVING, EXPLAINED = f"{MODEL}.container_spec", f"{MODEL}.explanation_spec"
GONE_TASK = {"worker_pool_specs": PIPELINE["custom_task"]["worker_pool_specs"]}
NO_OUTPUT = {
    "custom_task": GONE_TASK,
    "input_data_config": {"dataset_id": "1", "gcs_destination": "gs://staging/data"},
    "model_to_upload": {**PIPELINE["model_to_upload"], "artifact_uri": "gs://staging/model"},
}
PROBE = {"http_get": {"path": "/", "port": 80}}
EXPLANATION = {"parameters": {"sampled_shapley_attribution": {"path_count": 5}}}


def explained(**more: Any) -> dict[str, Any]:
    return {MODEL: {**PIPELINE[MODEL], "explanation_spec": {**EXPLANATION, **more}}}


CASES = {
    # Training pipelines.
    "pipeline-task": case({"custom_task": None}, "custom_task", "is missing", "custom_task or tuning_task"),
    "pipeline-model": case(
        {"model_id": "digits"},
        "model_id",
        "no model is uploaded",
        "model_to_upload",
        right={MODEL: None},
    ),
    "pipeline-artifacts": case(
        {f"{MODEL}.artifact_uri": None},
        f"{MODEL}.artifact_uri",
        "is missing",
        "staging_bucket",
        right=NO_OUTPUT,
    ),
    # Input data.
    "dataset-id": case(
        {f"{DATA}.dataset_id": "projects/p/locations/europe-west4/datasets/1"},
        f"{DATA}.dataset_id",
        "europe-west4",
        "us-central1",
    ),
    "data-splits": case(
        {f"{DATA}.fraction_split": {"test_fraction": 0.5}, f"{DATA}.predefined_split": {"key": "set"}},
        f"{DATA}.predefined_split",
        "fraction_split and predefined_split",
        "Keep one",
    ),
    "data-fraction": case(
        {f"{DATA}.fraction_split": {"test_fraction": 80}},
        f"{DATA}.fraction_split.test_fraction",
        "80 is not a fraction",
        "0.8 for 80 %",
    ),
    "data-fractions": case(
        {f"{DATA}.fraction_split": {"training_fraction": 0.9, "test_fraction": 0.2}},
        f"{DATA}.fraction_split",
        "the fractions is 1.1",
        "the maximum is 1",
        right={DATA: {"dataset_id": "1", "fraction_split": {"training_fraction": 0.8, "test_fraction": 0.2}}},
    ),
    "data-filters": case(
        {f"{DATA}.filter_split": {"training_filter": "a", "validation_filter": "", "test_filter": "-"}},
        f"{DATA}.filter_split.validation_filter",
        "'' is not a filter",
        "write '-'",
    ),
    "data-key": case(
        {f"{DATA}.timestamp_split": {"key": ""}}, f"{DATA}.timestamp_split.key", "'' is not a column", "write"
    ),
    "data-destinations": case(
        {f"{DATA}.gcs_destination": "gs://staging/d", f"{DATA}.bigquery_destination": "bq://project"},
        f"{DATA}.bigquery_destination",
        "together with gcs_destination",
        "keep one",
    ),
    "data-destination-missing": case(
        {f"{DATA}.gcs_destination": None},
        f"{DATA}.gcs_destination",
        "no output directory",
        "staging_bucket",
        right=NO_OUTPUT,
    ),
    "data-directory": case(
        {f"{DATA}.gcs_destination": "/data"}, f"{DATA}.gcs_destination", "'/data'", "gs://BUCKET/PREFIX"
    ),
    "data-bigquery": case(
        {f"{DATA}.bigquery_destination": "project"},
        f"{DATA}.bigquery_destination",
        "'project' is not an address",
        "bq://PROJECT",
        right={DATA: {"dataset_id": "1", "bigquery_destination": "bq://project"}},
    ),
    "data-schema": case(
        {f"{DATA}.annotation_schema_uri": "boxes.yaml"},
        f"{DATA}.annotation_schema_uri",
        "'boxes.yaml'",
        "gs://google-cloud-aiplatform/schema/dataset/annotation/",
    ),
    "data-schema-and-query": case(
        {f"{DATA}.annotation_schema_uri": "gs://b/s.yaml", f"{DATA}.saved_query_id": "7"},
        f"{DATA}.saved_query_id",
        "'7' is given together with annotation_schema_uri",
        "Keep one",
    ),
    "data-kinds": case(
        {f"{DATA}.annotations_filter": "a", f"{DATA}.predefined_split": {"key": "set"}},
        f"{DATA}.annotations_filter",
        "predefined_split only for tabular",
        "leave out",
    ),
    # Models.
    "model-display-name": case(
        {f"{MODEL}.display_name": "x" * 129}, f"{MODEL}.display_name", "has 129 characters", "1 to 128"
    ),
    "model-id": case({"model_id": "Digits 1"}, "model_id", "'Digits 1'", "for example digits-1"),
    "model-id-or-parent": case(
        {"model_id": "digits", "parent_model": "digits"},
        "model_id",
        "'digits' is given together with parent_model",
        "Leave one",
    ),
    "parent-model": case(
        {"parent_model": "digits@2"},
        "parent_model",
        "'digits@2' is not a model",
        "Leave out the version",
        right={"parent_model": "projects/p/locations/us-central1/models/digits"},
    ),
    "model-alias": case(
        {f"{MODEL}.version_aliases": ["golden", "2"]},
        f"{MODEL}.version_aliases[1]",
        "'2' is the number of a version",
        "begins with a lowercase letter",
        right={MODEL: {**PIPELINE[MODEL], "version_aliases": ["default", "golden-1"]}},
    ),
    "model-container": case({f"{SERVING}": None}, SERVING, "is missing", "container_spec.image_uri"),
    "model-artifacts": case(
        {f"{MODEL}.artifact_uri": "model"}, f"{MODEL}.artifact_uri", "'model'", "gs://BUCKET/PREFIX"
    ),
    "model-schema": case(
        {f"{MODEL}.predict_schemata": {"instance_schema_uri": "x.yaml"}},
        f"{MODEL}.predict_schemata.instance_schema_uri",
        "'x.yaml'",
        "gs://BUCKET/NAME.yaml",
    ),
    "model-source": case(
        {
            f"{MODEL}.base_model_source": {
                "genie_source": {"base_model_uri": "a"},
                "model_garden_source": {"public_model_name": "b"},
            }
        },
        f"{MODEL}.base_model_source",
        "model_garden_source and genie_source",
        "give one",
    ),
    "serving-port": case(
        {f"{SERVING}.ports": [0]},
        f"{SERVING}.ports[0].container_port",
        "0 is not a port",
        "1 to 65535",
        right={
            MODEL: {
                **PIPELINE[MODEL],
                "container_spec": {**PIPELINE[MODEL]["container_spec"], "ports": [8080]},
            }
        },
    ),
    "serving-route": case(
        {f"{SERVING}.predict_route": "predict"},
        f"{SERVING}.predict_route",
        "'predict' is not a path",
        "'/predict'",
        level="warning",
    ),
    "serving-routes": case(
        {f"{SERVING}.predict_route": "/predict", f"{SERVING}.invoke_route_prefix": "/*"},
        f"{SERVING}.invoke_route_prefix",
        "'/*' is given together with predict_route",
        "keep one",
    ),
    "serving-prefix": case(
        {f"{SERVING}.invoke_route_prefix": "/x"}, f"{SERVING}.invoke_route_prefix", "'/x'", "write '/*'"
    ),
    "serving-timeout": case(
        {f"{SERVING}.deployment_timeout": "7201s"},
        f"{SERVING}.deployment_timeout",
        "'7201s' is longer than 2 hours",
        "7200s or less",
    ),
    "serving-memory": case(
        {f"{SERVING}.shared_memory_size_mb": -1}, f"{SERVING}.shared_memory_size_mb", "-1 MB", "0 or more"
    ),
    "serving-probe": case(
        {f"{SERVING}.health_probe": {**PROBE, "exec": {"command": ["true"]}}},
        f"{SERVING}.health_probe",
        "has exec and http_get",
        "give one of",
    ),
    "serving-probe-number": case(
        {f"{SERVING}.health_probe": {**PROBE, "period_seconds": -1}},
        f"{SERVING}.health_probe.period_seconds",
        "-1 is below 0",
        "leave it out",
    ),
    "serving-scheme": case(
        {f"{SERVING}.health_probe": {"http_get": {"port": 80, "scheme": "FTP"}}},
        f"{SERVING}.health_probe.http_get.scheme",
        "'FTP' is not a scheme",
        "HTTP or HTTPS",
    ),
    "explanation-parameters": case(
        {f"{EXPLAINED}.parameters": None, f"{EXPLAINED}.metadata": {"latent_space_source": "x"}},
        f"{EXPLAINED}.parameters",
        "is missing",
        "sampled_shapley_attribution",
        right=explained(),
    ),
    "explanation-method": case(
        {f"{EXPLAINED}.parameters.xrai_attribution": {"step_count": 5}},
        f"{EXPLAINED}.parameters",
        "has sampled_shapley_attribution and xrai_attribution",
        "give one of",
        right=explained(),
    ),
    "explanation-count": case(
        {f"{EXPLAINED}.parameters.sampled_shapley_attribution.path_count": 51},
        f"{EXPLAINED}.parameters.sampled_shapley_attribution.path_count",
        "51 is out of range",
        "1 to 50",
        right=explained(),
    ),
    "explanation-choice": case(
        {f"{EXPLAINED}.metadata": {"inputs": {"pixels": {"encoding": "INDICATORS"}}}},
        f"{EXPLAINED}.metadata.inputs.pixels.encoding",
        "'INDICATORS' is not a known value",
        "INDICATOR",
        right=explained(),
    ),
}
