"""The rule of fields with a choice: their values are names of the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, one_of, shown

CHOICE = Rule(
    name="study-choice",
    says="goals, scales, algorithms, noise and measurement selections are names of the API",
    source="Vertex AI API, StudySpec",
)

_WORDS: Mapping[str, str] = {
    "min": "MINIMIZE",
    "max": "MAXIMIZE",
    "grid": "GRID_SEARCH",
    "random": "RANDOM_SEARCH",
    "bayesian": "ALGORITHM_UNSPECIFIED",
    "best": "BEST_MEASUREMENT",
    "last": "LAST_MEASUREMENT",
    "linear": "UNIT_LINEAR_SCALE",
    "log": "UNIT_LOG_SCALE",
    "log10": "UNIT_LOG_SCALE",
    "log2": "UNIT_LOG_SCALE",
    "ln": "UNIT_LOG_SCALE",
    "logarithmic": "UNIT_LOG_SCALE",
    "reverse_log": "UNIT_REVERSE_LOG_SCALE",
}
"""The words of Google's Python SDK, and others that people use, with the names that they stand for."""

_SHORT: Mapping[str, str] = {
    "UNIT_LINEAR_SCALE": "linear",
    "UNIT_LOG_SCALE": "log",
    "UNIT_REVERSE_LOG_SCALE": "reverse_log",
}
"""The names of scales, and their short forms in functions such as `double_parameter`."""


def choice_problems(value: str | None, names: Mapping[str, int], path: str) -> Iterator[Problem]:
    """Yield a finding if a name is not in the API's list; none for no name."""
    if not value or value in names:
        return
    choices = [name for name, number in names.items() if number]
    meant = _WORDS.get(value.lower(), "")
    hint = f"write {meant}" if meant in names else nearest(value, choices) or f"use {one_of(choices)}"
    if meant in _SHORT:
        hint = f'write {meant}, or scale="{_SHORT[meant]}" in a function such as double_parameter'
    elif set(_SHORT) <= set(choices):
        hint += f", or scale={one_of([repr(short) for short in _SHORT.values()])} in a function"
    if meant == "ALGORITHM_UNSPECIFIED" and meant in names:
        hint = "leave it out for Bayesian optimization"
    yield CHOICE.broken(path, f"{shown(value)} is not one of {', '.join(choices)}; {hint}")
