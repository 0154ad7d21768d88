"""What the parts of a study are called: for a path with positions the name that people know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from vertex_training.fields.hints import child
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.study.search_space import walk
from vertex_training.study.study import StudySpec


def study_names(spec: object, path: str = "") -> Iterator[tuple[str, str]]:
    """The path and id of every parameter and metric in a spec of any kind, as far as it is known."""
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
