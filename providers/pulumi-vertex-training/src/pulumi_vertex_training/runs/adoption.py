"""Adopt a job that somebody else submitted: it must equal the declaration and belong to no other one.

The reasons, with run identity in mind (docs/architecture/decisions/0001-run-identity.md):

* A job without our run label belongs to no declaration. Its labels cannot change, so it never will have one;
  the id in the state is what ties it to its declaration. That two stacks adopt one job cannot be detected.
* A job with the key of the adopting resource is its own: it may be adopted again, for example after
  `pulumi state delete`.
* A job with another run label belongs to another declaration, whose stack finds it by that key, waits for it,
  and deletes it. Whether that stack still exists cannot be known here: a lost state and a state on another
  machine look the same. So the job is refused, unless the program names the run that it adopts: `taking_over`
  has to be that very key, which only the refusal and the job itself show.
* Nothing is written: a deployment that is killed adopts the same job when it is repeated.

A job is adopted in any state. It did not run for this declaration, but the declared spec has been run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, TypeVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import InvalidArgument, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs import identity
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.policies.run_status import FAILURES, last_run
from vertex_training.cost.max_cost import LABEL, read_label, with_limit
from vertex_training.fields.labels import has_key
from vertex_training.fields.resource_names import resource_id
from vertex_training.findings.words import shown
from vertex_training.job.job_kind import JobKind
from vertex_training.topology.changes import HIDDEN, FieldChange

Spec = TypeVar("Spec")

_NAME = re.compile(r"projects/([^/]+)/locations/([^/]+)/([A-Za-z]+)/(\d+)")
_ID = re.compile(r"\d+")
_LONGEST = 100
_SHOWN = 5


class AdoptionError(Exception):
    """The job cannot be adopted; the message has the reason and the remedy.

    `differences` are lines of the form `path: live -> declared`.
    """

    def __init__(self, message: str, *, differences: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.differences = differences


def differences(
    spec_kind: JobKind[Spec], declared: Spec, wire: Mapping[str, Any], *, checkpoints: str | None = None
) -> tuple[str, ...]:
    """Return where the live job differs from the declaration, as lines `path: live -> declared`.

    They are those of `JobKind.difference_to_adopt`: pass the declaration before a directory of the run is
    filled in. A timeout that the live job has by `max_cost` is no difference.
    """
    labels = wire.get("labels") or {}
    of_run = with_limit(declared, read_label(labels[LABEL])) if LABEL in labels else declared
    return tuple(map(_line, spec_kind.difference_to_adopt(of_run, wire, checkpoints=checkpoints)))


def adopt(
    gateway: RunGateway,
    endpoint: Endpoint,
    name: str,
    declared: Spec,
    *,
    spec_kind: JobKind[Spec],
    key: str,
    taking_over: str | None = None,
    checkpoints: str | None = None,
) -> JobRecord:
    """Return the record of the job `name`, a full name or an id, if it can be adopted.

    `key` is the adopting resource's. `taking_over` is the run key of a declaration that is given up.
    `checkpoints` is the folder that the declaration names for them. Raises AdoptionError with every reason
    against it, and CloudError if the service cannot be queried.
    """
    record = _found(gateway, endpoint, name)
    _require_no_other_owner(gateway, record, key=key, taking_over=taking_over)
    lines = differences(spec_kind, declared, record.wire, checkpoints=checkpoints)
    if lines:
        listed = "\n".join(f"  {line}" for line in lines)
        short = resource_id(record.name)
        raise AdoptionError(
            f"{gateway.noun} {short} differs from the declaration; each line is `path: live -> "
            f"declared`:\n{listed}\nChange the declaration to the live values, or leave adopt out to run a "
            f"new job. `vertex-training import {short}` prints the whole declaration.",
            differences=lines,
        )
    return record


def sentence(gateway: RunGateway, record: JobRecord) -> str:
    """Return the line for the user: which job was adopted, and its state."""
    state = last_run(record.state.name, record.state.name)
    line = f"adopted {gateway.noun} {resource_id(record.name)}: {state.value}"
    if state in FAILURES and record.error:
        line += f" ({record.error.message})"
    return f"{line}. Adopting runs nothing" if record.state.is_terminal else line


def _found(gateway: RunGateway, endpoint: Endpoint, name: str) -> JobRecord:
    """Return the job's record, from the endpoint's own project and location only."""
    match = _NAME.fullmatch(name)
    if (match is None and not _ID.fullmatch(name)) or (match and match[3] != gateway.collection):
        raise AdoptionError(
            f"adopt is {shown(name)}. Give a job's id or its full name, such as projects/"
            f"PROJECT/locations/LOCATION/{gateway.collection}/123. `vertex-training jobs` lists the jobs."
        )
    project, location, _, job_id = match.groups() if match else (None, None, None, name)
    here = f"{gateway.noun}s of this resource are in {endpoint.parent}"
    if location not in (None, endpoint.location):
        raise AdoptionError(
            f"adopt names a job in {location}, but {here}. Set location={location!r} on the resource."
        )
    if project is not None and not project.isdigit() and project != endpoint.project:
        raise AdoptionError(
            f"adopt names a job of project {project}, but {here}. Set project={project!r} on the resource."
        )
    try:
        record = gateway.get(endpoint, f"{endpoint.parent}/{gateway.collection}/{job_id}")
    except (NotFound, InvalidArgument) as error:
        raise AdoptionError(
            f"there is no {gateway.noun} {job_id} to adopt ({endpoint}). `vertex-training jobs` lists those "
            "that exist; to run a new one, leave adopt out."
        ) from error
    number = record.name.split("/")[1]
    if project is not None and project.isdigit() and number.isdigit() and project != number:
        # Another project may have a job with the same id.
        raise AdoptionError(
            f"adopt names a job of project {project}, but {here}, whose number is {number}. Set project on "
            "the resource to the project of the job."
        )
    return record


def _require_no_other_owner(
    gateway: RunGateway, record: JobRecord, *, key: str, taking_over: str | None
) -> None:
    carried = record.labels.get(identity.RUN_LABEL)
    if carried is None or carried == taking_over:
        return
    if has_key(record.labels, key):
        return
    where = ", ".join(
        f"{word} {record.labels[label]}"
        for word, label in (
            ("resource", "pulumi-resource"),
            ("stack", "pulumi-stack"),
            ("project", "pulumi-project"),
        )
        if record.labels.get(label)
    )
    owner = f"run {carried}" + (f" ({where})" if where else "")
    wrong = f", not to {shown(taking_over)}" if taking_over else ""
    raise AdoptionError(
        f"{gateway.noun} {resource_id(record.name)} belongs to {owner}{wrong}, which may still wait for the "
        "job or delete it, even from another machine. If that stack is gone for good, adopt the job with "
        f"taking_over={carried!r}."
    )


def _line(change: FieldChange) -> str:
    path = change.path if change.path.isprintable() else repr(change.path)[1:-1]
    if change.old == change.new == HIDDEN:
        return f"{path}: another value (hidden)"
    if path.endswith((".args", ".command")):
        return f"{path}: {_positions(change.old, change.new)}"
    return f"{path}: {_value(change.old)} -> {_value(change.new)}"


def _positions(live: object, declared: object) -> str:
    """Return where two command lines differ, without their words, which may contain a password."""
    one, other = (value if isinstance(value, tuple) else () for value in (live, declared))
    at = [str(i) for i, (a, b) in enumerate(zip_longest(one, other)) if a != b]
    counts = f"{len(one)} -> {len(other)} words" if len(one) != len(other) else f"{len(one)} words"
    return f"{counts}, others at {', '.join(at[:_SHOWN])}{', ...' if len(at) > _SHOWN else ''} (hidden)"


def _value(value: object) -> str:
    if value is None or value == ():
        return "none"
    if value == HIDDEN:
        return HIDDEN
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        value = list(value)
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
