"""Enums and output-only fields of Google's messages, by their names in the API.

Written by `make generate` from the descriptors in vertex_emulator/server/rpc/descriptors. Do not edit it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_FIELDS = {
    "CustomJob": (
        "name state create_time start_time end_time update_time error web_access_uris satisfies_pzs "
        "satisfies_pzi"
    ),
    "HyperparameterTuningJob": (
        "name trials state create_time start_time end_time update_time error satisfies_pzs satisfies_pzi"
    ),
    "TrainingPipeline": (
        "name training_task_metadata state error create_time start_time end_time update_time"
    ),
    "Model": (
        "version_id version_create_time version_update_time supported_export_formats training_pipeline "
        "supported_deployment_resources_types supported_input_storage_formats "
        "supported_output_storage_formats create_time update_time deployed_models model_source_info "
        "original_model_info metadata_artifact satisfies_pzs satisfies_pzi checkpoints"
    ),
    "PersistentResource": ("state error create_time start_time update_time resource_runtime"),
    "ResourcePool": ("used_replica_count"),
    "Repository": ("create_time update_time size_bytes satisfies_pzs satisfies_pzi registry_uri"),
    "Repository.VulnerabilityScanningConfig": ("last_enable_time enablement_state enablement_state_reason"),
    "Job": ("user_update_time state status schedule_time last_attempt_time"),
}

_VALUES = {
    "AcceleratorType": (
        "ACCELERATOR_TYPE_UNSPECIFIED=0 NVIDIA_TESLA_K80=1 NVIDIA_TESLA_P100=2 NVIDIA_TESLA_V100=3 "
        "NVIDIA_TESLA_P4=4 NVIDIA_TESLA_T4=5 TPU_V2=6 TPU_V3=7 NVIDIA_TESLA_A100=8 NVIDIA_A100_80GB=9 "
        "TPU_V4_POD=10 NVIDIA_L4=11 TPU_V5_LITEPOD=12 NVIDIA_H100_80GB=13 NVIDIA_H100_MEGA_80GB=14 "
        "NVIDIA_H200_141GB=15 NVIDIA_B200=16 NVIDIA_GB200=17 NVIDIA_RTX_PRO_6000=18"
    ),
    "ReservationAffinity.Type": (
        "TYPE_UNSPECIFIED=0 NO_RESERVATION=1 ANY_RESERVATION=2 SPECIFIC_RESERVATION=3"
    ),
    "Scheduling.Strategy": ("STRATEGY_UNSPECIFIED=0 ON_DEMAND=1 LOW_COST=2 STANDARD=3 SPOT=4 FLEX_START=6"),
    "StudySpec.Algorithm": ("ALGORITHM_UNSPECIFIED=0 GRID_SEARCH=2 RANDOM_SEARCH=3"),
    "StudySpec.MetricSpec.GoalType": ("GOAL_TYPE_UNSPECIFIED=0 MAXIMIZE=1 MINIMIZE=2"),
    "StudySpec.ParameterSpec.ScaleType": (
        "SCALE_TYPE_UNSPECIFIED=0 UNIT_LINEAR_SCALE=1 UNIT_LOG_SCALE=2 UNIT_REVERSE_LOG_SCALE=3"
    ),
    "StudySpec.ObservationNoise": ("OBSERVATION_NOISE_UNSPECIFIED=0 LOW=1 HIGH=2"),
    "StudySpec.MeasurementSelectionType": (
        "MEASUREMENT_SELECTION_TYPE_UNSPECIFIED=0 LAST_MEASUREMENT=1 BEST_MEASUREMENT=2"
    ),
}


def _pair(value: str) -> list[str]:
    return value.split("=")


OUTPUT_ONLY: Mapping[str, frozenset[str]] = MappingProxyType(
    {message: frozenset(fields.split()) for message, fields in _FIELDS.items()}
)
"""The fields of a message that only the service sets."""

ENUMS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        enum: MappingProxyType({name: int(number) for name, number in map(_pair, values.split())})
        for enum, values in _VALUES.items()
    }
)
"""The names of each enum, with their numbers, also those that the service accepts no more."""
