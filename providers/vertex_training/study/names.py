"""Names in a study: the ids of its parameters and metrics, and the choices that the API offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from vertex_training.fields.schema import child
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, one_of, shown
from vertex_training.study.search_space import walk
from vertex_training.study.study import StudySpec


def study_names(spec: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and id of every known parameter and metric in a spec of any kind."""
    if isinstance(spec, StudySpec):
        for node in walk(spec.parameters, child(path, "parameters")):
            if node.spec.parameter_id != NOT_KNOWN:
                yield node.path, node.spec.parameter_id
        for i, metric in enumerate(spec.metrics):
            if metric.metric_id != NOT_KNOWN:
                yield f"{child(path, 'metrics')}[{i}]", metric.metric_id
    elif is_dataclass(spec) and not isinstance(spec, type):
        for item in fields(spec):
            yield from study_names(getattr(spec, item.name), child(path, item.name))


CHOICE = Rule(
    name="study-choice",
    says="goals, scales, algorithms, noise and measurement selections are names of the API",
    source="Vertex AI API, StudySpec",
)

_WORDS: Mapping[str, str] = {
    "grid": "GRID_SEARCH",
    "random": "RANDOM_SEARCH",
    "bayesian": "ALGORITHM_UNSPECIFIED",
    "best": "BEST_MEASUREMENT",
    "last": "LAST_MEASUREMENT",
    "linear": "UNIT_LINEAR_SCALE",
    "log": "UNIT_LOG_SCALE",
    "reverse_log": "UNIT_REVERSE_LOG_SCALE",
}
"""The words of Google's Python SDK, and the names that they stand for."""


def choice_problems(value: str | None, names: Mapping[str, int], path: str) -> Iterator[Problem]:
    """Yield a finding if a name is not in the API's list; none for no name."""
    if not value or value in names:
        return
    choices = [name for name, number in names.items() if number]
    meant = _WORDS.get(value.lower(), "")
    hint = f"write {meant}" if meant in names else nearest(value, choices) or f"use {one_of(choices)}"
    if meant == "ALGORITHM_UNSPECIFIED" and meant in names:
        hint = "leave it out for Bayesian optimization"
    yield CHOICE.broken(path, f"{shown(value)} is not one of {', '.join(choices)}; {hint}")
