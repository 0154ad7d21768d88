"""The upload of a model: checks and output-only fields."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError, Violation, invalid_fields
from vertex_emulator.services.datasets.contents import DataError
from vertex_emulator.services.datasets.objects import BucketObjects
from vertex_emulator.services.models.resources import OF_THE_MODEL
from vertex_emulator.services.models.store import ALIAS_RULE, IDS, MODELS, is_alias
from vertex_emulator.services.resource_engine.names import display_name_problems, label_problems
from vertex_emulator.services.resource_engine.server_owned import without_server_owned

EXPORT_FORMAT = "custom-trained"
_ARTIFACT = 1
_CUSTOM = 2
"""Numbers of Model.ExportFormat.ExportableContent and ModelSourceInfo.ModelSourceType in the API."""


def check(model: DynamicMessage, *, path: str, parent_model: str = "", model_id: str = "") -> None:
    """Check a Model. Raises `RpcError` INVALID_ARGUMENT with every violation."""
    found = list(_faults(model, path))
    if model_id and not IDS.pattern.fullmatch(model_id):
        found.append(Violation("model_id", IDS.words))
    parent_id = MODELS.parse(parent_model)[1].partition("@")[0] if parent_model else ""
    if model_id and parent_id not in ("", model_id):
        words = f"It is not the ID of the parent model {parent_model}. Leave one of the two out."
        found.append(Violation("model_id", words))
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


def version_of(model: DynamicMessage, own: DynamicMessage, *, pipeline: str, original: str) -> DynamicMessage:
    """Return the version of an uploaded model, whose own fields are `own`.

    `pipeline` is the training pipeline of the model, `original` the model that it is a copy of.
    """
    version = without_server_owned(model)
    for field in OF_THE_MODEL:
        version.ClearField(field)
    if own.version_id == "1":
        version.ClearField("labels")  # which the model has
    version.version_id = own.version_id
    version.version_create_time.CopyFrom(own.update_time)
    version.version_update_time.CopyFrom(own.update_time)
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
