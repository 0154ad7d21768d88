"""Experiments and runs as Google's SDK writes them: contexts of the default metadata store.

A run is a child of its experiment. Its parameters, metrics, state and jobs are in its metadata, and the name
of the experiment's Tensorboard is in the experiment's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.views.study_view import job_key
from vertex_training.fields.resource_names import resource_id
from vertex_training.study.trials import Value

EXPERIMENT, RUN = "system.Experiment", "system.ExperimentRun"

_STORE = "metadataStores/default"
_BOARD = "backing_tensorboard_resource"
_BOARD_OF_JOB = "tensorboard_link"
"""The key of a context that Vertex AI creates for a job with a Tensorboard. The SDK lists none of these."""

_LARGEST_PAGE = 1000
_JOB_FIELDS = "name,jobSpec.experiment,jobSpec.experimentRun"
_NEWEST_JOBS = 100
"""Jobs whose spec may name a run. Google Cloud cannot filter by it."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment. `board` is the resource name of its Tensorboard, or ""."""

    id: str
    name: str
    full_name: str
    description: str
    board: str
    created: str
    updated: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of an experiment. `jobs` are the names of the jobs in its metadata."""

    id: str
    name: str
    state: str
    created: str
    updated: str
    parents: tuple[str, ...]
    parameters: Mapping[str, Value]
    metrics: Mapping[str, Value]
    jobs: tuple[str, ...]


def experiments(endpoint: Endpoint, *, most: int) -> tuple[tuple[Experiment, ...], bool]:
    """Return the newest experiments, and whether there are more. Raises CloudError."""
    wires, has_more = _contexts(endpoint, EXPERIMENT, "create_time desc", most, noun="experiments")
    return tuple(_experiment(one) for one in wires if _BOARD_OF_JOB not in _metadata(one)), has_more


def experiment(endpoint: Endpoint, experiment_id: str) -> Experiment | None:
    """Return an experiment, or None for a context of another kind. Raises CloudError."""
    with translated(endpoint, f"read the experiment {experiment_id}"):
        wire = rest.call(endpoint, "GET", f"{_address(endpoint)}/contexts/{experiment_id}")
    return _experiment(wire) if wire.get("schemaTitle") == EXPERIMENT else None


def newest_runs(
    endpoint: Endpoint, *, parent: str = "", most: int = _LARGEST_PAGE, order: str = "create_time desc"
) -> tuple[tuple[Run, ...], bool]:
    """Return the newest runs of an experiment, or of all, and whether there are more. Raises CloudError."""
    wires, has_more = _contexts(endpoint, RUN, order, most, parent=parent, noun="runs of experiments")
    return tuple(_run(one) for one in wires), has_more


def jobs_of_runs(endpoint: Endpoint) -> Mapping[str, str]:
    """Return the keys of the newest custom jobs whose spec names a run, by the id of the run's context."""
    collection = registry.CUSTOM_JOB.collection
    address = f"{endpoint.vertex_url}/v1/{endpoint.parent}/{collection}"
    try:
        with translated(endpoint, "list the custom jobs"):
            answer = rest.call(
                endpoint, "GET", address, query={"pageSize": _NEWEST_JOBS, "readMask": _JOB_FIELDS}
            )
    except CloudError:  # the page has all the rest
        return {}
    found: dict[str, str] = {}
    for wire in answer.get(collection, ()):
        run = str((wire.get("jobSpec") or {}).get("experimentRun") or "")
        if run:
            found.setdefault(resource_id(run), job_key(str(wire.get("name") or "")))
    return found


def _address(endpoint: Endpoint) -> str:
    return f"{endpoint.vertex_url}/v1/{endpoint.parent}/{_STORE}"


def _contexts(
    endpoint: Endpoint, schema: str, order: str, most: int, *, noun: str, parent: str = ""
) -> tuple[list[Mapping[str, Any]], bool]:
    """Return one page of contexts. A project without a metadata store has none."""
    words = [f"schema_title={json.dumps(schema)}"]
    if parent:
        words.append(f"parent_contexts:{json.dumps(parent)}")
    query: rest.Query = {"filter": " AND ".join(words), "orderBy": order, "pageSize": most}
    try:
        with translated(endpoint, f"list the {noun}"):
            answer = rest.call(endpoint, "GET", f"{_address(endpoint)}/contexts", query=query)
    except NotFound:
        return [], False
    return list(answer.get("contexts", ())), bool(answer.get("nextPageToken"))


def _metadata(wire: Mapping[str, Any]) -> Mapping[str, Any]:
    found = wire.get("metadata")
    return found if isinstance(found, dict) else {}


def _experiment(wire: Mapping[str, Any]) -> Experiment:
    full_name = str(wire.get("name") or "")
    return Experiment(
        id=resource_id(full_name),
        name=str(wire.get("displayName") or resource_id(full_name)),
        full_name=full_name,
        description=str(wire.get("description") or ""),
        board=str(_metadata(wire).get(_BOARD) or ""),
        created=str(wire.get("createTime") or ""),
        updated=str(wire.get("updateTime") or ""),
    )


def _run(wire: Mapping[str, Any]) -> Run:
    metadata, full_name = _metadata(wire), str(wire.get("name") or "")
    return Run(
        id=resource_id(full_name),
        name=str(wire.get("displayName") or resource_id(full_name)),
        state=str(metadata.get("_state") or ""),
        created=str(wire.get("createTime") or ""),
        updated=str(wire.get("updateTime") or ""),
        parents=tuple(resource_id(str(one)) for one in wire.get("parentContexts") or ()),
        parameters=dict(_values(metadata.get("_params"))),
        metrics=dict(_values(metadata.get("_metrics"))),
        jobs=tuple(_jobs(metadata.get("_custom_jobs"))),
    )


def _values(found: object) -> Iterator[tuple[str, Value]]:
    """Yield the values of a run. What is no number or text is shown as JSON."""
    for name, value in found.items() if isinstance(found, dict) else ():
        is_plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        yield str(name), value if is_plain else _as_json(value)


def _as_json(value: object) -> str:
    """Return a value as JSON, with whole numbers as such: a Struct has only floats."""

    def number(text: str) -> float:
        return int(float(text)) if float(text).is_integer() else float(text)

    return json.dumps(json.loads(json.dumps(value), parse_float=number))


def _jobs(found: object) -> Iterator[str]:
    for one in found if isinstance(found, list) else ():
        name = one.get("custom_job_resource_name") if isinstance(one, dict) else None
        if isinstance(name, str):
            yield name


def by_experiment(runs: Iterable[Run]) -> Mapping[str, list[Run]]:
    """Return the runs by the ids of their experiments."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        for parent in run.parents:
            found.setdefault(parent, []).append(run)
    return found
