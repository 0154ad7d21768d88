"""The explanation of a model's predictions: the API's message ExplanationSpec.

Values of no fixed shape, such as baselines, are stored as JSON texts (see `free_json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from vertex_training.fields.free_json import as_text, from_text

_FREE = {"convert": as_text, "message": from_text}


@dataclass(frozen=True, kw_only=True)
class SampledShapleyAttribution:
    """An average over `path_count` permutations of the features, 1 to 50."""

    path_count: int


@dataclass(frozen=True, kw_only=True)
class NoiseSigmaForFeature:
    """The noise of one feature, by its name."""

    name: str
    sigma: float = 0.0


@dataclass(frozen=True, kw_only=True)
class FeatureNoiseSigma:
    """The noise of each feature; features that are left out have none."""

    noise_sigma: tuple[NoiseSigmaForFeature, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SmoothGradConfig:
    """An average of the gradients of inputs with noise: one `noise_sigma` for all features, or one each."""

    noise_sigma: float = 0.0
    feature_noise_sigma: FeatureNoiseSigma | None = None
    noisy_sample_count: int = 0


@dataclass(frozen=True, kw_only=True)
class BlurBaselineConfig:
    """A baseline that is the blurred input."""

    max_blur_sigma: float = 0.0


@dataclass(frozen=True, kw_only=True)
class GradientAttribution:
    """An integral of gradients in `step_count` steps, 1 to 100: integrated gradients, and XRAI."""

    step_count: int
    smooth_grad_config: SmoothGradConfig | None = None
    blur_baseline_config: BlurBaselineConfig | None = None


@dataclass(frozen=True, kw_only=True)
class GcsSource:
    """Files in buckets."""

    uris: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ExampleGcsSource:
    """Examples in files of JSON lines."""

    data_format: str | None = None
    gcs_source: GcsSource | None = None


@dataclass(frozen=True, kw_only=True)
class Presets:
    """Settings of the search for similar examples by name."""

    query: str | None = None
    modality: str | None = None


@dataclass(frozen=True, kw_only=True)
class Examples:
    """An explanation by the `neighbor_count` most similar examples, with presets or a search config."""

    example_gcs_source: ExampleGcsSource | None = None
    nearest_neighbor_search_config: str | None = field(default=None, metadata=_FREE)
    presets: Presets | None = None
    neighbor_count: int = 0


@dataclass(frozen=True, kw_only=True)
class ExplanationParameters:
    """One method, and the explained outputs: the `top_k` highest, or those at `output_indices`."""

    sampled_shapley_attribution: SampledShapleyAttribution | None = None
    integrated_gradients_attribution: GradientAttribution | None = None
    xrai_attribution: GradientAttribution | None = None
    examples: Examples | None = None
    top_k: int = 0
    output_indices: str | None = field(default=None, metadata=_FREE)


@dataclass(frozen=True, kw_only=True)
class FeatureValueDomain:
    """The range of a feature's values."""

    min_value: float = 0.0
    max_value: float = 0.0
    original_mean: float = 0.0
    original_stddev: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Visualization:
    """The drawing of the explanation of an image."""

    type: str | None = None
    polarity: str | None = None
    color_map: str | None = None
    clip_percent_upperbound: float = 0.0
    clip_percent_lowerbound: float = 0.0
    overlay_type: str | None = None


@dataclass(frozen=True, kw_only=True)
class InputMetadata:
    """One input of the model."""

    input_baselines: str | None = field(default=None, metadata=_FREE)
    input_tensor_name: str | None = None
    encoding: str | None = None
    modality: str | None = None
    feature_value_domain: FeatureValueDomain | None = None
    indices_tensor_name: str | None = None
    dense_shape_tensor_name: str | None = None
    index_feature_mapping: tuple[str, ...] = ()
    encoded_tensor_name: str | None = None
    encoded_baselines: str | None = field(default=None, metadata=_FREE)
    visualization: Visualization | None = None
    group_name: str | None = None


@dataclass(frozen=True, kw_only=True)
class OutputMetadata:
    """One output of the model."""

    index_display_name_mapping: str | None = field(default=None, metadata=_FREE)
    display_name_mapping_key: str | None = None
    output_tensor_name: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExplanationMetadata:
    """The model's inputs and outputs, by names that the user chooses."""

    inputs: Mapping[str, InputMetadata] = field(default_factory=dict)
    outputs: Mapping[str, OutputMetadata] = field(default_factory=dict)
    feature_attributions_schema_uri: str | None = None
    latent_space_source: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExplanationSpec:
    """A method with its parameters, and metadata of inputs and outputs."""

    parameters: ExplanationParameters | None = None
    metadata: ExplanationMetadata | None = None


CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "parameters.examples.example_gcs_source.data_format": ("JSONL",),
        "parameters.examples.presets.query": ("PRECISE", "FAST"),
        "parameters.examples.presets.modality": ("IMAGE", "TEXT", "TABULAR"),
    }
)
"""The names of the API's enums by the path of their field."""

INPUT_CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "encoding": (
            "IDENTITY",
            "BAG_OF_FEATURES",
            "BAG_OF_FEATURES_SPARSE",
            "INDICATOR",
            "COMBINED_EMBEDDING",
            "CONCAT_EMBEDDING",
        ),
        "visualization.type": ("PIXELS", "OUTLINES"),
        "visualization.polarity": ("POSITIVE", "NEGATIVE", "BOTH"),
        "visualization.color_map": ("PINK_GREEN", "VIRIDIS", "RED", "GREEN", "RED_GREEN", "PINK_WHITE_GREEN"),
        "visualization.overlay_type": ("NONE", "ORIGINAL", "GRAYSCALE", "MASK_BLACK"),
    }
)
"""The names of the API's enums by the path of their field in an input."""
