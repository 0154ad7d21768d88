"""Models with all fields of the API, and the same models in Google's types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from google.protobuf import json_format, struct_pb2

from support.client.specs.pipeline_specs import SERVING

PARENT = "projects/my-project/locations/us-central1"
TIMES = {
    "period_seconds": 1,
    "timeout_seconds": 2,
    "failure_threshold": 3,
    "success_threshold": 4,
    "initial_delay_seconds": 5,
}
HTTP = {
    "path": "/health",
    "port": 8080,
    "host": "h",
    "scheme": "HTTPS",
    "http_headers": [{"name": "A", "value": "1"}],
}
PROBES: Mapping[str, Mapping[str, Any]] = {
    "exec": {"exec": {"command": ["true"]}, **TIMES},
    "http": {"http_get": HTTP, **TIMES},
    "grpc": {"grpc": {"port": 9, "service": "s"}, **TIMES},
    "tcp": {"tcp_socket": {"port": 9, "host": "h"}, **TIMES},
}
GRADIENT = {
    "step_count": 5,
    "smooth_grad_config": {
        "feature_noise_sigma": {"noise_sigma": [{"name": "x", "sigma": 0.5}]},
        "noisy_sample_count": 3,
    },
    "blur_baseline_config": {"max_blur_sigma": 0.5},
}
NOISE = {"step_count": 5, "smooth_grad_config": {"noise_sigma": 0.5, "noisy_sample_count": 3}}
EXAMPLES = {
    "example_gcs_source": {"data_format": "JSONL", "gcs_source": {"uris": ["gs://b/examples.jsonl"]}},
    "neighbor_count": 3,
}
METADATA = {
    "inputs": {
        "x": {
            "input_baselines": [0.5, {"a": 1}],
            "input_tensor_name": "t",
            "encoding": "BAG_OF_FEATURES",
            "modality": "image",
            "feature_value_domain": {
                "min_value": 0.5,
                "max_value": 2,
                "original_mean": 1,
                "original_stddev": 4,
            },
            "index_feature_mapping": ["a"],
            "visualization": {"type": "OUTLINES", "polarity": "BOTH", "clip_percent_upperbound": 50},
        }
    },
    "outputs": {"y": {"output_tensor_name": "o", "index_display_name_mapping": ["cat", "dog"]}},
    "feature_attributions_schema_uri": "gs://b/attributions.yaml",
    "latent_space_source": "l",
}
METHODS: Mapping[str, Mapping[str, Any]] = {
    "shapley": {"sampled_shapley_attribution": {"path_count": 5}, "top_k": 2, "output_indices": [0, 1]},
    "gradients": {"integrated_gradients_attribution": GRADIENT},
    "gradients with noise": {"integrated_gradients_attribution": NOISE},
    "xrai": {"xrai_attribution": GRADIENT},
    "xrai with noise": {"xrai_attribution": NOISE},
    "presets": {"examples": {**EXAMPLES, "presets": {"query": "FAST", "modality": "IMAGE"}}},
    "search": {"examples": {**EXAMPLES, "nearest_neighbor_search_config": {"dimensions": 3}}},
}


def model(**more: Any) -> dict[str, Any]:
    """Return a model with all fields that do not exclude each other."""
    probe = more.pop("probe", PROBES["exec"])
    return {
        "display_name": "digits",
        "description": "what we trained",
        "version_description": "the first",
        "version_aliases": ["default", "golden"],
        "container_spec": {
            "image_uri": SERVING,
            "command": ["serve"],
            "args": ["--fast"],
            "env": [{"name": "A", "value": "1"}],
            "ports": [{"container_port": 8080}],
            "predict_route": "/predict",
            "health_route": "/health",
            "invoke_route_prefix": "/*",
            "grpc_ports": [{"container_port": 8500}],
            "deployment_timeout": "3600s",
            "shared_memory_size_mb": 2**40,
            "startup_probe": probe,
            "health_probe": probe,
            "liveness_probe": probe,
        },
        "artifact_uri": "gs://b/model",
        "predict_schemata": {
            "instance_schema_uri": "gs://b/i.yaml",
            "parameters_schema_uri": "gs://b/p.yaml",
            "prediction_schema_uri": "gs://b/o.yaml",
        },
        "metadata_schema_uri": "gs://b/m.yaml",
        "metadata": {"a": [1, "x", True]},
        "default_checkpoint_id": "c",
        "pipeline_job": f"{PARENT}/pipelineJobs/1",
        "labels": {"team": "vision"},
        "encryption_spec": {"kms_key_name": f"{PARENT}/keyRings/r/cryptoKeys/k"},
        **more,
    }


EVERY_MODEL: Mapping[str, dict[str, Any]] = {
    **{f"probe {name}": model(probe=probe) for name, probe in PROBES.items()},
    **{
        f"explained by {name}": model(explanation_spec={"parameters": method, "metadata": METADATA})
        for name, method in METHODS.items()
    },
    "of the garden": model(
        base_model_source={
            "model_garden_source": {
                "public_model_name": "publishers/p/models/m",
                "version_id": "1",
                "skip_hf_model_cache": True,
            }
        }
    ),
    "of a base": model(base_model_source={"genie_source": {"base_model_uri": "gs://b/base"}}),
}
"""All fields, each at least once; some models have more than the service allows together."""


def as_googles(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's values for the constructors of Google's types, in which some names end with a dash."""
    done = _renamed(declared)
    done["container_spec"] = {**done["container_spec"], "deployment_timeout": timedelta(hours=1)}
    return done


def _renamed(value: Any, name: str = "") -> Any:
    if name == "input_baselines":
        return [json_format.Parse(json.dumps(item), struct_pb2.Value()) for item in value]
    if isinstance(value, Mapping):
        return {
            {"exec": "exec_", "type": "type_"}.get(key, key): _renamed(item, key)
            for key, item in value.items()
        }
    return [_renamed(item) for item in value] if isinstance(value, list) else value
