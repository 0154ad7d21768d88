"""The rules of the explanation of a model's predictions."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_vertex_training.kinds.model.explanation import (
    CHOICES,
    INPUT_CHOICES,
    ExplanationParameters,
    ExplanationSpec,
)
from vertex_training.fields.schema import child
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, nearest, one_of, shown

EXPLANATION_PARAMETERS = Rule(
    name="explanation-parameters",
    says="an explanation has parameters",
    source="google-cloud-aiplatform, explanation_parameters",
)
EXPLANATION_METHOD = Rule(
    name="explanation-method",
    says="an explanation has one method",
    source="Vertex AI API, ExplanationParameters.method, one of its fields",
)
EXPLANATION_COUNT = Rule(
    name="explanation-count",
    says="a sampled Shapley attribution has 1 to 50 paths, the other attributions 1 to 100 steps",
    source="Vertex AI API, SampledShapleyAttribution.path_count, IntegratedGradientsAttribution.step_count",
)
EXPLANATION_CHOICE = Rule(
    name="explanation-choice",
    says="an encoding, a visualization and a preset are known to the API",
    source="Vertex AI API, ExplanationMetadata.InputMetadata and Presets",
)

_METHODS = ("sampled_shapley_attribution", "integrated_gradients_attribution", "xrai_attribution", "examples")
_COUNTS = {"sampled_shapley_attribution": ("path_count", 50)}


def explanation_problems(spec: ExplanationSpec, path: str) -> Iterator[Problem]:
    """Yield every finding about an explanation."""
    if spec.parameters is None:
        yield EXPLANATION_PARAMETERS.broken(
            f"{path}.parameters", "is missing; give the method, such as sampled_shapley_attribution"
        )
    else:
        yield from _method_problems(spec.parameters, f"{path}.parameters")
    for field, choices in CHOICES.items():
        yield from _choice_problems(_value(spec, field), f"{path}.{field}", choices)
    for name, given in (spec.metadata.inputs if spec.metadata else {}).items():
        for field, choices in INPUT_CHOICES.items():
            below = f"{child(f'{path}.metadata.inputs', name)}.{field}"
            yield from _choice_problems(_value(given, field), below, choices)


def _method_problems(parameters: ExplanationParameters, path: str) -> Iterator[Problem]:
    given = [name for name in _METHODS if getattr(parameters, name) is not None]
    if len(given) != 1:
        has = f"has {all_of(given)}" if given else "has no method"
        yield EXPLANATION_METHOD.broken(
            path,
            f"{has}; give one of {', '.join(_METHODS)}",
            rests_on=tuple(f"{path}.{name}" for name in _METHODS),
        )
    for method in given:
        name, most = _COUNTS.get(method, ("step_count", 100))
        count = getattr(getattr(parameters, method), name, None)
        if count is not None and not 1 <= count <= most:
            yield EXPLANATION_COUNT.broken(
                f"{path}.{method}.{name}", f"{count} is out of range; give 1 to {most}"
            )


def _choice_problems(value: object, path: str, choices: tuple[str, ...]) -> Iterator[Problem]:
    if isinstance(value, str) and value and value not in choices and not value.endswith("_UNSPECIFIED"):
        yield EXPLANATION_CHOICE.broken(
            path,
            f"{shown(value)} is not a known value; {nearest(value, choices) or f'give {one_of(choices)}'}",
        )


def _value(message: object, path: str) -> object:
    """Return the value at a path of fields, or None if a message on the path is missing."""
    for name in path.split("."):
        message = getattr(message, name, None)
    return message
