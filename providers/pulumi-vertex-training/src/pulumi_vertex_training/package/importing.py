"""The import of an existing resource: its properties by the service alone.

Defaults are left out of the inputs, so that a program which `pulumi import` generates holds what matters.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.core.call import Call, Found
from pulumi_vertex_training.core.connection import connect
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.core.running.declaration import JobResourceType
from pulumi_vertex_training.core.running.job_diff import completed
from pulumi_vertex_training.core.running.provider import facts
from pulumi_vertex_training.core.settings import Settings, SettingsError
from pulumi_vertex_training.core.state.hidden_input import hide, hide_outputs
from pulumi_vertex_training.package.kinds import PackageKind, marks_of
from pulumi_vertex_training.runs.identity import RUN_LABEL, RunKey, new_identity, parse
from vertex_training.fields.decode import decode, encode
from vertex_training.fields.labels import is_provider_label
from vertex_training.fields.resource_names import part_after
from vertex_training.fields.schema import default_of
from vertex_training.job.checkpoints import folder_of, without_variable


def read(kind: PackageKind, call: Call) -> tuple[Found | None, str]:
    """Return what the service has of a resource, and its id as the state has it; None if it does not exist.

    The inputs have the names of the wire.
    """
    settings = OPERATION.settings
    if not settings.project or not settings.location:
        raise SettingsError("the project and the location of what is imported are not known")
    if kind.job is not None:
        return _job(kind, kind.job, call.id, settings)
    return _resource(kind, call, settings)


def _resource(kind: PackageKind, call: Call, settings: Settings) -> tuple[Found | None, str]:
    if not kind.id_field:
        raise Failure(
            f"a {kind.resource} cannot be imported: it is made of files of the program, which no service "
            "has. Declare it: what exists already with the same content is used, not made again."
        )
    short = call.id.rpartition("/")[2]
    known = {**_place(call.id, settings), kind.id_field: short, "marks": marks_of(call.urn)}
    asked = dataclasses.replace(call, id=kind.id_format.format(**known), inputs=known)
    imported = kind.provider.imported(asked)
    if imported is None:
        return None, ""
    # What follows from the inputs, such as an address.
    derived = kind.provider.check(Call(inputs=imported.inputs)).inputs
    found = kind.provider.read(Call(id=imported.id, outputs={**derived, **imported.inputs}))
    if found is None:
        return None, ""
    bare = _bare(kind, imported.inputs, kind.provider.meaning)
    return Found(outputs=found.outputs, inputs=_without_defaults(kind, bare)), imported.id


def _place(id_: str, settings: Settings) -> dict[str, Any]:
    """Return endpoint, project and location of what is imported: a full name's, else the stack's.

    The services put the number of the project into names, which means the stack's project.
    """
    project = part_after(id_, "projects")
    return {
        "endpoint": settings.endpoint,
        "project": settings.project if not project or project.isdigit() else project,
        "location": part_after(id_, "locations") or settings.location,
    }


def _bare(kind: PackageKind, inputs: dict[str, Any], meaning: Callable[[dict[str, Any]], object]) -> Any:
    """Return inputs without the values inside them that mean the same if they are left out: defaults."""
    whole = copy.deepcopy(inputs)
    meant = meaning(whole)

    def leave_out(container: object) -> None:
        if isinstance(container, list):
            for item in container:
                leave_out(item)
        elif isinstance(container, dict):
            for name in list(container):
                item = container.pop(name)
                if meaning(whole) != meant:
                    container[name] = item
                    leave_out(item)

    for name in kind.public_names & whole.keys():
        leave_out(whole[name])
    return whole


def _job(
    kind: PackageKind, declared: JobResourceType, id_: str, settings: Settings
) -> tuple[Found | None, str]:
    id_, _, taking_over = id_.partition("@")
    place = _place(id_, settings)
    endpoint = connect(settings.endpoint, place["project"], place["location"], settings)
    name = id_ if "/" in id_ else f"{endpoint.parent}/{declared.gateway.collection}/{id_}"
    try:
        record = declared.gateway.get(endpoint, name)
    except NotFound:
        return None, ""
    label = record.labels.get(RUN_LABEL)
    if label and label != taking_over:
        raise Failure(
            f"{declared.noun} {record.job_id} belongs to another declaration (run {label}), which may still "
            f"change or delete it. If that is given up for good, import {record.job_id}@{label}."
        )
    live = declared.spec.from_wire(record.wire)
    bare_spec = without_variable(live)
    spec = encode(bare_spec)
    labels = {
        name: value for name, value in (spec.get("labels") or {}).items() if not is_provider_label(name)
    }
    run = parse(label) if label else RunKey(identity=new_identity(), generation=1)
    given = {**spec, "labels": labels, **place, "identity": run.identity}
    draft = declared.read_inputs(given).draft
    if draft is None:
        raise ValueError(f"{declared.noun} {record.job_id} cannot be read; please report this")
    inputs = completed(declared, draft, frozenset())
    of_run = {"run": str(run), "checkpoints": folder_of(live, declared=bare_spec)}
    outputs = {**inputs, **facts(declared, record), **of_run}
    bare = _bare(kind, encode(draft), declared.read_inputs)
    public = {name: value for name, value in bare.items() if name in kind.public_names}
    ended_badly = record.state.is_terminal and record.state.word != "SUCCEEDED"
    # The deployment of a program that waits for a failed job fails; this one was not its.
    options = {"wait": "none"} if ended_badly else {}
    kept = _without_defaults(kind, {**public, **options})
    return Found(outputs=hide_outputs(outputs), inputs={**kept, **_hidden(inputs)}), record.name


def _hidden(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the hidden inputs of a job: a check takes its identity from them."""
    return {name: value for name, value in hide(inputs).items() if name.startswith("__")}


def _without_defaults(kind: PackageKind, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs with the names of the wire, without those that a check fills in."""
    settings = OPERATION.settings
    place = {"project": settings.project, "location": settings.location}
    defaults = {item.name: default_of(item) for item in dataclasses.fields(kind.inputs)} | place
    kept = {
        name: value
        for name, value in inputs.items()
        if name in kind.public_names and not _is_default(value, defaults.get(name))
    }
    return kind.outward(kept)


def _is_default(value: object, default: object) -> bool:
    """Return whether a plain value equals a default."""
    if dataclasses.is_dataclass(default) and not isinstance(default, type):
        return decode(type(default), value).spec == default
    return value == default
