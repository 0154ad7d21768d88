"""The upload of a model: checks and output-only fields."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.times import now
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError, Violation, invalid_fields
from vertex_emulator.services.datasets.contents import DataError
from vertex_emulator.services.datasets.objects import BucketObjects
from vertex_emulator.services.models.store import (
    ALIAS_RULE,
    ID_RULE,
    MODEL,
    MODELS,
    AliasError,
    Aliases,
    ModelStore,
    add_version,
    is_alias,
    is_model_id,
    model_name,
    parse_reference,
)
from vertex_emulator.services.resource_engine.names import (
    display_name_problems,
    label_problems,
    new_id,
    parse_name,
)
from vertex_emulator.services.resource_engine.server_owned import without_server_owned

EXPORT_FORMAT = "custom-trained"
_ARTIFACT = 1
_CUSTOM = 2
"""Numbers of Model.ExportFormat.ExportableContent and ModelSourceInfo.ModelSourceType in the API."""


def check(model: DynamicMessage, *, path: str, parent_model: str = "", model_id: str = "") -> None:
    """Check a Model. Raises `RpcError` INVALID_ARGUMENT with every violation."""
    found = list(_faults(model, path))
    if model_id and not is_model_id(model_id):
        found.append(Violation("model_id", ID_RULE))
    if parent_model:
        _, parent_id = parse_name(parent_model, MODELS.id)
        if model_id and parse_reference(parent_id).model != model_id:
            found.append(
                Violation(
                    "model_id",
                    f"It is not the ID of the parent model {parent_model}. Leave one of the two out.",
                )
            )
    if found:
        raise invalid_fields(found)


def check_artifacts(objects: BucketObjects, uri: str) -> None:
    """Check that the folder of the model's files is not empty. Raises `RpcError`."""
    try:
        is_empty = not objects.below(uri)
    except DataError as error:
        raise RpcError("FAILED_PRECONDITION", error.message) from error
    if is_empty:
        raise RpcError("FAILED_PRECONDITION", f'There are no files under "{uri}" to copy.')


def upload(
    store: ModelStore,
    clock: Clock,
    place: Place,
    model: DynamicMessage,
    *,
    parent_model: str = "",
    model_id: str = "",
    pipeline: str = "",
    original: str = "",
) -> tuple[str, int]:
    """Record a checked model, or a new version of `parent_model`. Return its name and version.

    `pipeline` is the training pipeline of the model, `original` the model that it is a copy of. Joins the
    caller's transaction. Raises `RpcError`.
    """
    at = now(clock)
    with store.transaction():
        if parent_model:
            parent_place, rest = parse_name(parent_model, MODELS.id)
            parent = store.get(place, parse_reference(rest).model)
            if parent is None or (parent_place.number, parent_place.location) != (
                place.number,
                place.location,
            ):
                raise MODELS.missing(parent_model)
            identifier = parent.id
            number = int(parent.message.version_id) + 1
            aliases = store.with_versions(parent).aliases
        else:
            identifier, number, aliases = model_id or new_id(), 1, {}
            if store.get(place, identifier) is not None:
                raise MODELS.exists(model_name(place, identifier))
        try:
            after = add_version(aliases, number, model.version_aliases)
        except AliasError as error:
            raise RpcError(error.code, str(error)) from error
        version = _version(model, number, after[number], at=at, pipeline=pipeline, original=original)
        if parent_model:
            version.labels.update(model.labels)
            store.change(identifier, lambda own: _counted(own, number, at), place=place)
            set_aliases(store, place, identifier, aliases, after, at=at)
        else:
            store.insert(place, identifier, _own(model, at))
        store.versions.insert(place, f"{identifier}@{number}", version)
    return model_name(place, identifier), number


def set_aliases(
    store: ModelStore, place: Place, model_id: str, before: Aliases, after: Aliases, *, at: str
) -> None:
    """Store the changed aliases of versions."""
    for number, old in before.items():
        if tuple(old) == tuple(after[number]):
            continue

        def change(version: DynamicMessage, aliases: tuple[str, ...] = tuple(after[number])) -> bool:
            del version.version_aliases[:]
            version.version_aliases.extend(aliases)
            version.version_update_time.FromJsonString(at)
            return True

        store.versions.change(f"{model_id}@{number}", change, place=place)


def _own(model: DynamicMessage, at: str) -> DynamicMessage:
    own = descriptors.message(MODEL)
    own.display_name = model.display_name
    own.description = model.description
    own.version_id = "1"
    own.labels.update(model.labels)
    if model.HasField("encryption_spec"):
        own.encryption_spec.CopyFrom(model.encryption_spec)
    own.create_time.FromJsonString(at)
    own.update_time.FromJsonString(at)
    return own


def _counted(own: DynamicMessage, number: int, at: str) -> bool:
    own.version_id = str(number)
    own.update_time.FromJsonString(at)
    return True


def _version(
    model: DynamicMessage, number: int, aliases: tuple[str, ...], *, at: str, pipeline: str, original: str
) -> DynamicMessage:
    version = without_server_owned(model)
    for field in ("labels", "version_aliases", "display_name", "description"):
        version.ClearField(field)
    version.version_id = str(number)
    version.version_aliases.extend(aliases)
    for moment in (version.version_create_time, version.version_update_time, version.create_time):
        moment.FromJsonString(at)
    version.training_pipeline = pipeline
    version.model_source_info.source_type = _CUSTOM
    if model.artifact_uri:
        exported = version.supported_export_formats.add(id=EXPORT_FORMAT)
        exported.exportable_contents.append(_ARTIFACT)
    if original:
        version.original_model_info.model = original
    return version


def _faults(model: DynamicMessage, path: str) -> Iterator[Violation]:
    yield from display_name_problems(model.display_name, f"{path}.display_name")
    if not model.container_spec.image_uri:
        yield Violation(f"{path}.container_spec.image_uri", "Required field is not set.")
    names = [variable.name for variable in model.container_spec.env]
    if len(set(names)) < len(names):
        yield Violation(f"{path}.container_spec.env", "EnvVar names must be unique.")
    if model.artifact_uri and not model.artifact_uri.startswith("gs://"):
        yield Violation(
            f"{path}.artifact_uri",
            f"{model.artifact_uri!r} is not a folder in Cloud Storage. Write gs://BUCKET/FOLDER.",
        )
    for alias in model.version_aliases:
        if not is_alias(alias):
            yield Violation(f"{path}.version_aliases", f"{alias!r}: {ALIAS_RULE}")
    yield from label_problems(model.labels, f"{path}.labels")
