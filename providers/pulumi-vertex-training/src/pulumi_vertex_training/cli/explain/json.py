"""Write the output of `explain --json`.

A thousand replicas have a million addresses, so the parts that they share are converted to text only once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pulumi_vertex_training.cli.explain import framework_page
from pulumi_vertex_training.cli.explain.rule_index import source_of
from pulumi_vertex_training.views.explained import (
    ExplainedReplica,
    Explanation,
    has_tasks,
    is_bare,
    without_gaps,
)
from pulumi_vertex_training.views.kind_view import view_of_document
from vertex_training.cost import cost
from vertex_training.fields.document import json_of
from vertex_training.findings.problems import Problem
from vertex_training.job import custom_job
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.replica_environment.replica import ReplicaEnvironment
from vertex_training.topology.rules.reduction_servers import Sizing

_STRUCTURED = ("CLUSTER_SPEC", "TF_CONFIG")


def write(
    explanation: Explanation, replicas: Sequence[ExplainedReplica], out: Callable[[str], object]
) -> None:
    """Write one JSON document. `replicas` is its last entry, with a line for each replica."""
    head = json.dumps(_head(explanation), indent=2, ensure_ascii=False)
    out(head.removesuffix("\n}") + ',\n  "replicas": [')
    texts = _Texts()
    for number, replica in enumerate(replicas):
        out(",\n    " if number else "\n    ")
        for part in texts.replica(replica):
            out(part)
    out("\n  ]\n}\n" if replicas else "]\n}\n")


def findings(problems: Iterable[Problem], **more: str) -> list[dict[str, str]]:
    """Return problems as entries of `errors` and `warnings`."""
    return [
        {
            **json_of(problem, "path message rule"),
            "source": source_of(problem.rule),
            **more,
        }
        for problem in problems
    ]


def refused(message: str, path: str) -> dict[str, Any]:
    """Return the document for a file that cannot be read, with the usual keys."""
    return {
        "form": None,
        "workerPoolSpecs": [],
        "customJob": None,
        "cost": None,
        "errors": [{"path": path, "message": message, "rule": "", "source": ""}],
        "warnings": [],
        "reductionServers": None,
        "framework": None,
        "sample": None,
        "replicas": [],
    }


def _head(explanation: Explanation) -> dict[str, Any]:
    sample, spec = explanation.sample, explanation.spec
    job = _job(spec) if spec else None
    whole = explanation.document
    document: dict[str, Any] = {
        "form": whole.form,
        "workerPoolSpecs": job["jobSpec"].get("workerPoolSpecs", []) if job else [],
        "customJob": job if spec and _is_job(explanation, spec) else None,
        "cost": None if explanation.cost is None else cost.to_json(explanation.cost),
        "errors": findings(explanation.errors),
        "warnings": findings(explanation.warnings),
        "reductionServers": _sizing(explanation),
        "framework": explanation.preset
        and framework_page.document(
            explanation.preset, whole.choices, location=whole.location, sentences=whole.chosen
        ),
        "sample": json_of(sample, "job_id project_number location trial addresses"),
    }
    if explanation.machines_cost is not None:
        document["persistentResourceCost"] = cost.to_json(explanation.machines_cost)
    return document if whole.spec is None else {**document, **view_of_document(whole).document(explanation)}


def _is_job(explanation: Explanation, spec: CustomJobSpec) -> bool:
    """Return whether the document is a custom job.

    A job within another kind is not. Roles may be only a topology; they are a job if they have a task or any
    field besides the pools.
    """
    if explanation.job is not explanation.document:
        return False
    return explanation.document.form != "roles" or has_tasks(spec) or not is_bare(spec)


def _job(spec: CustomJobSpec) -> dict[str, Any]:
    job: dict[str, Any] = without_gaps(custom_job.to_wire(spec))
    job["jobSpec"].setdefault("workerPoolSpecs", [])
    if not spec.display_name:
        job.pop("displayName", None)  # the form has no name
    return job


def _sizing(explanation: Explanation) -> dict[str, Any] | None:
    sizing: Sizing | None = explanation.sizing
    if sizing is None:
        return None
    keys = "required_gbps replicas gbps_per_replica machine_type image_uri arithmetic"
    return {**json_of(sizing, keys), "declaredReplicas": explanation.declared_reduction_servers}


class _Texts:
    """JSON texts of mappings that replicas share. Each is made once."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[object, str]] = {}

    def replica(self, replica: ExplainedReplica) -> Iterator[str]:
        here = replica.environment
        yield f'{{"name": {_text(here.name)}, "role": {_text(str(here.role))}, "env": '
        yield from self._environment(here)
        if replica.machines > 1:
            yield f', "machines": {replica.machines}'
        if replica.ai_platform is not None:
            yield f', "aiPlatformName": {_text(replica.ai_platform.name)}, "aiPlatformEnv": '
            yield from self._environment(replica.ai_platform)
        if replica.on_emulator:
            yield f', "emulatorEnv": {_text(dict(replica.on_emulator))}'
        if replica.framework_settings is not None:
            yield f', "frameworkSettings": {_text(dict(replica.framework_settings))}'
        yield "}"

    def _environment(self, environment: ReplicaEnvironment) -> Iterator[str]:
        variables = dict(environment.variables)
        values = (environment.cluster_spec, environment.tf_config)
        before = "{"
        for name, value in zip(_STRUCTURED, values, strict=True):
            yield f'{before}"{name}": '
            if value is None:
                yield _text(variables.pop(name, None))
            else:
                yield from self._mapping(value)
            before = ", "
        rest = _text(variables)[1:]
        yield (", " if variables else "") + rest

    def _mapping(self, mapping: Mapping[str, Any]) -> Iterator[str]:
        before = "{"
        for key, value in mapping.items():
            yield f"{before}{_text(key)}: "
            yield self._shared(value) if isinstance(value, Mapping) and key != "task" else _text(value)
            before = ", "
        yield "}" if mapping else "{}"

    def _shared(self, value: object) -> str:
        """Return the text of a value by its identity. The value is kept, so that its id is not reused."""
        if id(value) not in self._made:
            self._made[id(value)] = (value, _text(value))
        return self._made[id(value)][1]


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
