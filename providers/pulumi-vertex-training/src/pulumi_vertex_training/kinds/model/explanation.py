"""The explanation of a model's predictions: the API's message ExplanationSpec.

Values of no fixed shape, such as baselines, are stored as JSON texts (see `free_json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from vertex_training.fields.wire import as_text, from_text

_FREE = {"convert": as_text, "message": from_text}


@dataclass(frozen=True, kw_only=True)
class SampledShapleyAttribution:
    """An average over `path_count` permutations of the features, 1 to 50."""

    path_count: int
    """Number of permutations, 1 to 50."""


@dataclass(frozen=True, kw_only=True)
class NoiseSigmaForFeature:
    """The noise of one feature, by its name."""

    name: str
    """Name of the feature, a key of `metadata.inputs`."""
    sigma: float = 0.0
    """Standard deviation of the noise."""


@dataclass(frozen=True, kw_only=True)
class FeatureNoiseSigma:
    """The noise of each feature; features that are left out have none."""

    noise_sigma: tuple[NoiseSigmaForFeature, ...] = ()
    """Noise of each feature. A feature that is left out has none."""


@dataclass(frozen=True, kw_only=True)
class SmoothGradConfig:
    """An average of the gradients of inputs with noise: one `noise_sigma` for all features, or one each."""

    noise_sigma: float = 0.0
    """Standard deviation of the noise of all features. The service's default is 0.1."""
    feature_noise_sigma: FeatureNoiseSigma | None = None
    """Noise of single features, instead of `noise_sigma`."""
    noisy_sample_count: int = 0
    """Number of samples, 1 to 50. The service's default is 3."""


@dataclass(frozen=True, kw_only=True)
class BlurBaselineConfig:
    """A baseline that is the blurred input."""

    max_blur_sigma: float = 0.0
    """Standard deviation of the blur, for height and width."""


@dataclass(frozen=True, kw_only=True)
class GradientAttribution:
    """An integral of gradients in `step_count` steps, 1 to 100: integrated gradients, and XRAI."""

    step_count: int
    """Number of steps, 1 to 100."""
    smooth_grad_config: SmoothGradConfig | None = None
    """Average the gradients of noisy samples."""
    blur_baseline_config: BlurBaselineConfig | None = None
    """Start from the blurred input instead of zero."""


@dataclass(frozen=True, kw_only=True)
class GcsSource:
    """Files in buckets."""

    uris: tuple[str, ...] = ()
    """gs:// URIs of the files."""


@dataclass(frozen=True, kw_only=True)
class ExampleGcsSource:
    """Examples in files of JSON lines."""

    data_format: str | None = None
    """Format of the files: JSONL."""
    gcs_source: GcsSource | None = None
    """Files with the examples."""


@dataclass(frozen=True, kw_only=True)
class Presets:
    """Settings of the search for similar examples by name."""

    query: str | None = None
    """PRECISE (the service's default) or FAST."""
    modality: str | None = None
    """IMAGE, TEXT or TABULAR."""


@dataclass(frozen=True, kw_only=True)
class Examples:
    """An explanation by the `neighbor_count` most similar examples, with presets or a search config."""

    example_gcs_source: ExampleGcsSource | None = None
    """Files with the examples."""
    nearest_neighbor_search_config: str | None = field(default=None, metadata=_FREE)
    """Full configuration of the index. Give this or `presets`."""
    presets: Presets | None = None
    """Configuration by speed and modality."""
    neighbor_count: int = 0
    """Number of neighbors to return."""


@dataclass(frozen=True, kw_only=True)
class ExplanationParameters:
    """One method, and the explained outputs: the `top_k` highest, or those at `output_indices`."""

    sampled_shapley_attribution: SampledShapleyAttribution | None = None
    """Approximate Shapley values. Give one of the four methods."""
    integrated_gradients_attribution: GradientAttribution | None = None
    """Integrated gradients, for a differentiable model."""
    xrai_attribution: GradientAttribution | None = None
    """Integrated gradients of regions of an image."""
    examples: Examples | None = None
    """Similar examples."""
    top_k: int = 0
    """Number of the highest outputs to explain; -1 explains all. The service's default is 1."""
    output_indices: str | None = field(default=None, metadata=_FREE)
    """Indices of the outputs to explain, instead of `top_k`."""


@dataclass(frozen=True, kw_only=True)
class FeatureValueDomain:
    """The range of a feature's values."""

    min_value: float = 0.0
    """Smallest value of the feature."""
    max_value: float = 0.0
    """Largest value of the feature."""
    original_mean: float = 0.0
    """Mean before the feature was normalized."""
    original_stddev: float = 0.0
    """Standard deviation before the feature was normalized."""


@dataclass(frozen=True, kw_only=True)
class Visualization:
    """The drawing of the explanation of an image."""

    type: str | None = None
    """PIXELS or OUTLINES (the service's default)."""
    polarity: str | None = None
    """POSITIVE (the service's default), NEGATIVE or BOTH."""
    color_map: str | None = None
    """Colors of the highlighted areas, such as PINK_GREEN or VIRIDIS. The service's default depends on the
    method.
    """
    clip_percent_upperbound: float = 0.0
    """Percentile above which attributions are left out. The service's default is 99.9."""
    clip_percent_lowerbound: float = 0.0
    """Percentile below which attributions are left out. The service's default is 62."""
    overlay_type: str | None = None
    """Display of the original image: NONE (the service's default), ORIGINAL, GRAYSCALE or MASK_BLACK."""


@dataclass(frozen=True, kw_only=True)
class InputMetadata:
    """One input of the model."""

    input_baselines: str | None = field(default=None, metadata=_FREE)
    """Baselines of the feature. Default: the service chooses one."""
    input_tensor_name: str | None = None
    """Name of the input tensor, for TensorFlow."""
    encoding: str | None = None
    """Encoding of the feature in the tensor. The service's default is IDENTITY."""
    modality: str | None = None
    """numeric (the service's default) or image."""
    feature_value_domain: FeatureValueDomain | None = None
    """Range of the feature's values."""
    indices_tensor_name: str | None = None
    """Tensor with the indices of a sparse input."""
    dense_shape_tensor_name: str | None = None
    """Tensor with the shape of a sparse input."""
    index_feature_mapping: tuple[str, ...] = ()
    """Names of the features for each index of the input tensor."""
    encoded_tensor_name: str | None = None
    """Name of the encoded tensor, for an input tensor that is not differentiable."""
    encoded_baselines: str | None = field(default=None, metadata=_FREE)
    """Baselines of the encoded tensor."""
    visualization: Visualization | None = None
    """Drawing of the explanation of an image."""
    group_name: str | None = None
    """Name of the group of inputs that are explained together."""


@dataclass(frozen=True, kw_only=True)
class OutputMetadata:
    """One output of the model."""

    index_display_name_mapping: str | None = field(default=None, metadata=_FREE)
    """Display names by index, for outputs in a fixed order."""
    display_name_mapping_key: str | None = None
    """Field of the prediction that has the display names."""
    output_tensor_name: str | None = None
    """Name of the output tensor, for TensorFlow."""


@dataclass(frozen=True, kw_only=True)
class ExplanationMetadata:
    """The model's inputs and outputs, by names that the user chooses."""

    inputs: Mapping[str, InputMetadata] = field(default_factory=dict)
    """Inputs by the name of the feature."""
    outputs: Mapping[str, OutputMetadata] = field(default_factory=dict)
    """Outputs by name."""
    feature_attributions_schema_uri: str | None = None
    """gs:// URI of the schema of the attributions."""
    latent_space_source: str | None = None
    """Source of the embeddings of explanations by examples."""


@dataclass(frozen=True, kw_only=True)
class ExplanationSpec:
    """A method with its parameters, and metadata of inputs and outputs."""

    parameters: ExplanationParameters | None = None
    """Method of explanation."""
    metadata: ExplanationMetadata | None = None
    """Inputs and outputs of the model."""


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
