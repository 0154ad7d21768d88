"""The provider of `ImageRepository`.

Settings change in place; a change of name, location, format, mode or key replaces the repository.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, FailedPrecondition, NotFound
from pulumi_vertex_training.core.autonaming import id_from, with_own_id
from pulumi_vertex_training.core.call import Call, Created, Difference, Values
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.crud import CrudKind, CrudProvider
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.identity.conflicts import Identity
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.property_changes import property_changes
from pulumi_vertex_training.core.provider import Failure, is_unknown
from pulumi_vertex_training.core.remote_queries import QUERIES
from pulumi_vertex_training.core.running.declaration import ownership_labels
from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.kinds.image_repository import gateway, rules
from pulumi_vertex_training.kinds.image_repository import spec as repository_spec
from pulumi_vertex_training.kinds.image_repository.gateway import RepositoryRecord
from pulumi_vertex_training.kinds.image_repository.spec import RepositorySpec
from vertex_training.fields.decode import UNKNOWN, encode
from vertex_training.fields.effects import Effect
from vertex_training.fields.labels import has_key, key_label
from vertex_training.findings.words import all_of

DERIVED = ("registry_host", "url")
REPLACING = (
    "endpoint",
    "project",
    *(name for name, entry in repository_spec.EFFECTS.items() if entry.effect is Effect.REPLACE),
)
_SPEC_FIELDS = frozenset(item.name for item in fields(RepositorySpec))
_MAX_NAMED = 3
_UPDATE = "`pulumi up --target '**:ImageRepository::*'`"
"""Updates the repositories alone, and runs no job again that a destroy has deleted."""


@dataclass(frozen=True, kw_only=True)
class RepositoryInputs(RepositorySpec):
    """A repository's inputs in Pulumi's state.

    `marks` identify the declaration. `adopt` adopts an existing repository when the resource is created.
    A diff ignores both.
    """

    endpoint: str
    project: str
    marks: Mapping[str, str] = field(default_factory=dict)
    adopt: bool = False


def _addresses(inputs: Mapping[str, Any]) -> dict[str, Any]:
    project, location, name = inputs["project"], inputs["location"], inputs["repository_id"]
    return {
        "registry_host": UNKNOWN if is_unknown(location) else repository_spec.registry_host(location),
        "url": UNKNOWN
        if is_unknown([project, location, name])
        else repository_spec.url(project, location, name),
    }


DECLARED: CrudKind[RepositoryInputs, RepositorySpec, RepositoryRecord] = CrudKind(
    noun="repository",
    spec=RepositorySpec,
    inputs=RepositoryInputs,
    outputs=(),
    label=lambda inputs: inputs.repository_id,
    normalise=repository_spec.normalise,
    problems=lambda inputs, _: rules.validate(inputs),
    get=gateway.get,
    live_spec=lambda record, inputs: _spec_of(record, force_destroy=inputs.force_destroy),
    imported=lambda record: encode(_spec_of(record)),
    derived_names=DERIVED,
    derived=_addresses,
)


class ImageRepositoryProvider(CrudProvider):
    """Inputs: `RepositoryInputs`. Further outputs, known in a preview: `registry_host` and `url`."""

    declared = DECLARED
    names = ("repository_id",)

    def prepared(self, call: Call) -> dict[str, Any]:
        return with_own_id("repository_id", id_from, call.inputs, call)

    def identity(self, inputs: RepositoryInputs, key: str) -> Identity:
        url = repository_spec.url(inputs.project, inputs.location, inputs.repository_id)
        return Identity(
            noun="repository",
            field="repository_id",
            id=inputs.repository_id,
            place=f"{inputs.endpoint} {inputs.project} {inputs.location}",
            labels=(key_label(key),),
            where=f"project {inputs.project}, {inputs.location}",
            taken="Choose another repository_id. To manage the existing one, set adopt=True. To use it only, "
            f'pass its URL to TrainingImage: repository="{url}"',
        )

    def diff(self, call: Call) -> Difference:
        old, new = DECLARED.canonical(call.outputs), DECLARED.canonical(call.inputs)
        names = [item.name for item in fields(RepositoryInputs) if item.name not in ("marks", "adopt")]
        changed = [name for name in names if is_unknown(new.get(name)) or old.get(name) != new.get(name)]
        properties = property_changes(call.outputs, call.inputs, changed, replacing=REPLACING)
        replaces = [name for name in changed if name in REPLACING]
        # Names are unique in a project and location: the old repository has to go first.
        place = ("endpoint", "project", "location", "repository_id")
        same_place = bool(replaces) and all(old.get(name) == new.get(name) for name in place)
        known = not any(is_unknown(new.get(name)) for name in replaces)
        if call.context.checked is not None:
            if same_place and known and not old.get("force_destroy"):
                _require_replaceable(call.outputs, call.id, replaces)
            if not replaces:
                OPERATION.note_kept(call.id, call.context, call.outputs)
        found = Difference(changes=bool(changed), properties=properties, delete_before_replace=same_place)
        return deletion_notes.continued(
            found,
            call,
            lambda endpoint: gateway.get(endpoint, call.id),
            title=f"repository {call.id.rpartition('/')[2]}",
        )

    def create(self, call: Call) -> Created:
        raw = call.inputs
        inputs = DECLARED.read_inputs(raw)
        endpoint = endpoint_of(raw)
        name = repository_spec.full_name(inputs.project, inputs.location, inputs.repository_id)
        if inputs.adopt:
            _apply_settings(endpoint, self.existing(endpoint, inputs, name), inputs, call.key)
            OPERATION.note_made(name)
            print_line(f"repository {inputs.repository_id}: adopted with its images")
            deletion_notes.forget(name)
            return Created(id=name, outputs=raw)
        self.create_once(
            call,
            inputs,
            name,
            create=lambda: _create(endpoint, name, inputs, call.key),
            abandoned=lambda: _find_abandoned(endpoint, name, call.key),
            adopt=lambda found: _adopt_abandoned(endpoint, found, inputs, call.key),
        )
        OPERATION.note_made(name)  # an entry that a killed `up --replace` left has this id, too
        return Created(id=name, outputs=raw)

    def update(self, call: Call) -> Values:
        raw = call.inputs
        inputs = DECLARED.read_inputs(raw)
        creation_notes.remove_others(call.id, call.key)
        change = repository_spec.patch(
            DECLARED.spec_of(DECLARED.read_inputs(call.outputs)),
            DECLARED.spec_of(inputs),
            ownership_labels=_labels_of(inputs, call.key),
        )
        if change:
            gateway.patch(endpoint_of(raw), call.id, change)
        return raw

    def delete(self, call: Call) -> None:
        if OPERATION.made(call.id) or OPERATION.belongs_to_another_entry(call.id):
            # Adopted in this deployment or a killed one: it is its own replacement (`up --replace`).
            return
        creation_notes.remove_with(call.id)
        raw = call.outputs
        endpoint = endpoint_of(raw)
        try:
            if not raw.get("force_destroy"):
                creation_notes.remove_inside(f"{raw['url']}/", lambda: gateway.get(endpoint, call.id).labels)
                _require_empty(endpoint, call.id)
            deletion_notes.note(call.id)
            gateway.delete(endpoint, call.id)
        except NotFound:
            return

    def remove_interrupted(self, endpoint: Endpoint, id_: str, key: str) -> bool:
        record = gateway.get(endpoint, id_)
        if not has_key(record.labels, key):
            raise NotFound(f"repository {id_} is somebody else's", resource=id_, endpoint=endpoint)
        if gateway.packages(endpoint, id_, limit=1):
            return False
        gateway.delete(endpoint, id_)
        return True


def _require_empty(endpoint: Endpoint, name: str) -> None:
    """Raise FailedPrecondition if the repository has images: the service would delete them with it."""
    images = gateway.packages(endpoint, name)
    if not images:
        return
    more = len(images) - _MAX_NAMED
    named = all_of([*images[:_MAX_NAMED], *([f"{more} more"] if more > 0 else [])])
    raise FailedPrecondition(
        f"repository {name} has images: {named}. Set force_destroy=True (of a DistributedTraining in "
        f"repository={{}}), run {_UPDATE}, and try again: the images are then deleted too.",
        resource=name,
        endpoint=endpoint,
    )


def _require_replaceable(old: Mapping[str, Any], name: str, fields_: list[str]) -> None:
    """Raise Failure if the repository to be replaced has images.

    Without this check in the preview, the deployment would cancel the jobs that run its images before its
    deletion fails. The check is skipped if the service does not answer.
    """
    images = QUERIES.ask_endpoint(
        target_of(old),
        lambda endpoint: gateway.packages(endpoint, name, limit=1),
        unknown=f"whether repository {name} is empty",
    )
    if images:
        raise Failure(
            f"repository {name} would be replaced, because {all_of(fields_)} changes, but it has images, "
            f"such as {images[0]}. Delete them, or set force_destroy=True, run `pulumi up`, and try "
            "again: the images are then deleted too."
        )


def _labels_of(inputs: RepositoryInputs, key: str) -> dict[str, str]:
    """Return the labels that a repository has besides the declared ones."""
    return {**ownership_labels(inputs.marks), **key_label(key)}


def _create(endpoint: Endpoint, name: str, inputs: RepositoryInputs, key: str) -> None:
    spec = DECLARED.spec_of(inputs)
    gateway.create(endpoint, name, repository_spec.to_wire(spec, ownership_labels=_labels_of(inputs, key)))


def _find_abandoned(endpoint: Endpoint, name: str, key: str) -> RepositoryRecord | None:
    """Return the repository if it has this resource's key and no image yet, else None."""
    try:
        record = gateway.get(endpoint, name)
        ours = has_key(record.labels, key)
        return record if ours and not gateway.packages(endpoint, name, limit=1) else None
    except CloudError:
        return None


def _adopt_abandoned(endpoint: Endpoint, found: RepositoryRecord, inputs: RepositoryInputs, key: str) -> None:
    """Turn the empty repository of an interrupted deployment into the declared one.

    It is deleted and created again if it differs in what cannot change in place.
    """
    left = f"repository {inputs.repository_id}: "
    live, declared = _spec_of(found), DECLARED.spec_of(inputs)
    if any(getattr(live, name) != getattr(declared, name) for name in REPLACING if name in _SPEC_FIELDS):
        print_line(
            f"{left}an interrupted deployment of this stack created it with other settings; it is deleted "
            "and created again"
        )
        gateway.delete(endpoint, found.name)
        _create(endpoint, found.name, inputs, key)
        return
    if repository_spec.patch(live, declared):
        _apply_settings(endpoint, found, inputs, key)
    print_line(f"{left}adopted; an interrupted deployment of this stack created it")


def _apply_settings(endpoint: Endpoint, found: RepositoryRecord, inputs: RepositoryInputs, key: str) -> None:
    settings = repository_spec.settings(DECLARED.spec_of(inputs), ownership_labels=_labels_of(inputs, key))
    gateway.patch(endpoint, found.name, settings)


def _spec_of(record: RepositoryRecord, *, force_destroy: bool = False) -> RepositorySpec:
    return repository_spec.from_wire(record.wire, force_destroy=force_destroy)
