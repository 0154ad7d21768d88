"""The provider of `ImageRepository`: settings change in place; name, place, kind and key do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pulumi.dynamic import CreateResult, DiffResult, UpdateResult

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import (
    AlreadyExists,
    CloudError,
    FailedPrecondition,
    NotFound,
    Unavailable,
)
from pulumi_vertex_training.kinds.image_repository import gateway as artifact_registry
from pulumi_vertex_training.kinds.image_repository import rules as image_repository_rules
from pulumi_vertex_training.kinds.image_repository import spec as image_repository
from pulumi_vertex_training.kinds.image_repository import wire as image_repository_wire
from pulumi_vertex_training.kinds.image_repository.gateway import RepositoryRecord
from pulumi_vertex_training.kinds.image_repository.spec import RepositorySpec
from pulumi_vertex_training.plugin.connection import endpoint_of
from pulumi_vertex_training.plugin.crud import CrudKind, CrudProvider
from pulumi_vertex_training.plugin.operation import OPERATION
from pulumi_vertex_training.plugin.process import say
from pulumi_vertex_training.plugin.provider import Failure, clean, inbound, is_unknown, outbound
from pulumi_vertex_training.plugin.remote_queries import QUERIES
from pulumi_vertex_training.plugin.running.declaration import ownership_labels
from pulumi_vertex_training.plugin.settings import target_of
from vertex_training.fields.decode import UNKNOWN
from vertex_training.fields.effects import Effect
from vertex_training.findings.words import all_of

DERIVED = ("registry_host", "url")
REPLACING = (
    "endpoint",
    "project",
    *(name for name, entry in image_repository.EFFECTS.items() if entry.effect is Effect.REPLACE),
)
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class RepositoryInputs(RepositorySpec):
    """A repository's inputs in Pulumi's state. `marks` say whose it is; they never take part in a diff."""

    endpoint: str
    project: str
    marks: Mapping[str, str] = field(default_factory=dict)


def _addresses(inputs: Mapping[str, Any]) -> dict[str, Any]:
    project, location, name = inputs["project"], inputs["location"], inputs["name"]
    return {
        "registry_host": UNKNOWN if is_unknown(location) else image_repository.registry_host(location),
        "url": UNKNOWN
        if is_unknown([project, location, name])
        else image_repository.url(project, location, name),
    }


DECLARED: CrudKind[RepositoryInputs, RepositorySpec, RepositoryRecord] = CrudKind(
    noun="repository",
    spec=RepositorySpec,
    inputs=RepositoryInputs,
    outputs=(),
    label=lambda inputs: inputs.name,
    normalise=image_repository.normalise,
    problems=lambda inputs, _: image_repository_rules.validate(inputs),
    get=artifact_registry.get,
    live_spec=lambda record, inputs: _spec_of(record, force_destroy=inputs.force_destroy),
    derived_names=DERIVED,
    derived=_addresses,
)


class ImageRepositoryProvider(CrudProvider):
    """Inputs: `RepositoryInputs`; outputs besides, known in a preview: `registry_host` and `url`."""

    declared = DECLARED

    def accepted(self, inputs: RepositoryInputs) -> None:
        OPERATION.note_checked(_memory(_id_of(inputs)))

    @clean
    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        old, new = DECLARED.canonical(inbound(_olds)), DECLARED.canonical(inbound(_news))
        names = [item.name for item in fields(RepositoryInputs) if item.name != "marks"]
        changed = [name for name in names if is_unknown(new.get(name)) or old.get(name) != new.get(name)]
        replaces = [name for name in changed if name in REPLACING]
        # A name exists once in its project and location: the old repository has to go first.
        place = ("endpoint", "project", "location", "name")
        same_place = bool(replaces) and all(old.get(name) == new.get(name) for name in place)
        known = not any(is_unknown(new.get(name)) for name in replaces)
        if same_place and known and not old.get("force_destroy") and OPERATION.was_checked(_memory(_id)):
            _require_replaceable(inbound(_olds), _id, replaces)
        return DiffResult(changes=bool(changed), replaces=replaces, delete_before_replace=same_place)

    @clean
    def create(self, props: dict[str, Any]) -> CreateResult:
        raw = inbound(props)
        inputs = DECLARED.read_inputs(raw)
        endpoint, name = endpoint_of(raw), _id_of(inputs)
        marks = ownership_labels(inputs.marks)
        try:
            artifact_registry.create(
                endpoint, name, image_repository_wire.to_wire(DECLARED.spec_of(inputs), marks=marks)
            )
        except (AlreadyExists, Unavailable) as error:
            found = _left_behind(endpoint, name, marks)
            if found is None:
                raise _taken(error, inputs) from error
            OPERATION.note_made(name)
            if image_repository_wire.patch(_spec_of(found), DECLARED.spec_of(inputs)):
                _set_right(endpoint, found, inputs)
            say(f"repository {inputs.name}: taken over; an interrupted deployment of this stack made it")
        return CreateResult(name, outbound(raw))

    @clean
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        raw = inbound(_news)
        inputs = DECLARED.read_inputs(raw)
        marks = ownership_labels(inputs.marks)
        change = image_repository_wire.patch(
            DECLARED.spec_of(DECLARED.read_inputs(inbound(_olds))), DECLARED.spec_of(inputs), marks=marks
        )
        if change:
            artifact_registry.patch(endpoint_of(raw), _id, change)
        return UpdateResult(outbound(raw))

    @clean
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        if OPERATION.made(_id):
            # Taken over in this deployment: it is the one that replaces this one (`up --replace`).
            return
        raw = inbound(_props)
        endpoint = endpoint_of(raw)
        try:
            if not raw.get("force_destroy"):
                _require_empty(endpoint, _id)
            artifact_registry.delete(endpoint, _id)
        except NotFound:
            return


def _require_empty(endpoint: Endpoint, name: str) -> None:
    """The service deletes a repository with all that is in it; nobody is to lose images by surprise."""
    images = artifact_registry.packages(endpoint, name)
    if not images:
        return
    more = len(images) - _SHOWN
    named = all_of([*images[:_SHOWN], *([f"{more} more"] if more > 0 else [])])
    raise FailedPrecondition(
        f"repository {name} holds images: {named}. Delete them, or set force_destroy=True, `pulumi up`, try "
        "again: it is deleted with everything in it then. A DistributedTraining takes it in repository={}. "
        "`pulumi up --target` with its URN sets it alone, and runs no job again that is deleted already.",
        resource=name,
        endpoint=endpoint,
    )


def _require_replaceable(old: Mapping[str, Any], name: str, fields_: list[str]) -> None:
    """Refuse while nothing is done yet: the jobs that run its images would be cancelled before its deletion
    is refused. What cannot be asked now is passed over.
    """
    images = QUERIES.ask_endpoint(
        target_of(old),
        lambda endpoint: artifact_registry.packages(endpoint, name, most=1),
        unknown=f"whether repository {name} is empty",
    )
    if images:
        raise Failure(
            f"repository {name}: another {all_of(fields_)} replaces it, and it holds images, such as "
            f"{images[0]}. Delete them, or set force_destroy=True, `pulumi up`, try again: it is deleted "
            "with everything in it then."
        )


def _memory(name: str) -> str:
    return f"repository:{name}"


def _left_behind(endpoint: Endpoint, name: str, marks: Mapping[str, str]) -> RepositoryRecord | None:
    """The repository, where it has the marks of this very declaration and nothing was pushed to it yet."""
    try:
        record = artifact_registry.get(endpoint, name)
        ours = bool(marks) and all(record.labels.get(key) == value for key, value in marks.items())
        return record if ours and not artifact_registry.packages(endpoint, name, most=1) else None
    except CloudError:
        return None


def _set_right(endpoint: Endpoint, found: RepositoryRecord, inputs: RepositoryInputs) -> None:
    settings = image_repository_wire.settings(DECLARED.spec_of(inputs), marks=ownership_labels(inputs.marks))
    artifact_registry.patch(endpoint, found.name, settings)


def _taken(error: CloudError, inputs: RepositoryInputs) -> CloudError:
    if not isinstance(error, AlreadyExists):
        return error
    return AlreadyExists(
        f"repository {inputs.name} exists already in project {inputs.project}, {inputs.location}. Choose "
        "another name; to use the one that is there, give its address to TrainingImage as repository="
        f'"{image_repository.url(inputs.project, inputs.location, inputs.name)}". ({error})',
        code=error.code,
        resource=inputs.name,
        endpoint=error.endpoint,
    )


def _spec_of(record: RepositoryRecord, *, force_destroy: bool = False) -> RepositorySpec:
    return image_repository_wire.from_wire(record.wire, force_destroy=force_destroy)


def _id_of(inputs: RepositoryInputs) -> str:
    return image_repository.full_name(inputs.project, inputs.location, inputs.name)
