"""ModelService, the Model Registry: its methods, and models in archives."""

from __future__ import annotations

from collections.abc import Mapping

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.times import now
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError, Violation, invalid_fields
from vertex_emulator.services.datasets.contents import DataError
from vertex_emulator.services.datasets.objects import BucketObjects, directory
from vertex_emulator.services.models.store import (
    DEFAULT,
    AliasError,
    ListedModel,
    ModelList,
    ModelStore,
    ModelVersions,
    VersionList,
    merge_aliases,
)
from vertex_emulator.services.models.uploading import (
    EXPORT_FORMAT,
    check,
    check_artifacts,
    set_aliases,
    upload,
)
from vertex_emulator.services.resource_engine import listing, names
from vertex_emulator.services.resource_engine.names import parse_parent
from vertex_emulator.services.resource_engine.operations import V1, ResourceOperations
from vertex_emulator.services.resource_engine.service import Service

_OF_MODELS = ("display_name", "description", "labels")
_OF_VERSIONS = ("version_description", "labels")


def _base_model(listed: ListedModel) -> str:
    source = listed.version.message.base_model_source
    name: str = source.model_garden_source.public_model_name or source.genie_source.base_model_uri
    return name


_LABELS = listing.Field(value=lambda listed: listed.labels, operators=("=", "!=", ":"), is_map=True)
_LISTING = listing.Listing(
    answer=f"{V1}.ListModelsResponse",
    items="models",
    fields={
        "model": listing.Field(value=lambda listed: listed.model.id),
        "display_name": listing.Field(value=lambda listed: listed.model.message.display_name),
        "labels": _LABELS,
        "base_model_name": listing.Field(value=_base_model, operators=("=",)),
    },
    orders={
        "display_name": lambda listed: listed.model.message.display_name,
        "create_time": lambda listed: listed.created,
        "update_time": lambda listed: listed.model.message.update_time.ToMicroseconds(),
    },
    shown=ListedModel.shown,
)
_VERSIONS = listing.Listing(
    answer=f"{V1}.ListModelVersionsResponse",
    items="models",
    fields={"labels": _LABELS},
    orders={
        "create_time": lambda listed: listed.version.message.version_create_time.ToMicroseconds(),
        "update_time": lambda listed: listed.version.message.version_update_time.ToMicroseconds(),
    },
    default_order=[lambda listed: int(listed.version.message.version_id)],
    shown=lambda listed: listed.shown(versioned=True),
)


class ModelService(Service):
    """The models of one emulator."""

    def __init__(
        self, database: Database, operations: ResourceOperations, objects: BucketObjects, clock: Clock
    ) -> None:
        self._operations = operations
        self._objects = objects
        self._clock = clock
        self.store = ModelStore(database, clock)

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        methods: dict[str, Binding] = {
            "UploadModel": self.upload,
            "GetModel": self.get,
            "ListModels": self.list_models,
            "ListModelVersions": self.list_versions,
            "UpdateModel": self.update,
            "MergeVersionAliases": self.merge_aliases,
            "DeleteModel": self.delete,
            "DeleteModelVersion": self.delete_version,
            "ExportModel": self.export,
            "CopyModel": self.copy,
        }
        return {f"{descriptors.MODEL_SERVICE}.{name}": method for name, method in methods.items()}

    def remove_all(self) -> None:
        self.store.clear()

    def upload(self, request: DynamicMessage) -> DynamicMessage:
        """Upload a model. It exists when the method returns."""
        place = parse_parent(request.parent)
        model = request.model
        check(model, path="model", parent_model=request.parent_model, model_id=request.model_id)
        if model.artifact_uri:
            check_artifacts(self._objects, model.artifact_uri)
        name, number = upload(
            self.store,
            self._clock,
            place,
            model,
            parent_model=request.parent_model,
            model_id="" if request.parent_model else request.model_id,
        )
        return self._uploaded("Upload", name, number)

    def copy(self, request: DynamicMessage) -> DynamicMessage:
        """Copy a model; its files are not copied."""
        place = parse_parent(request.parent)
        source = self.store.resolve(request.source_model)
        model = source.message()
        del model.version_aliases[:]
        if request.HasField("encryption_spec"):
            model.encryption_spec.CopyFrom(request.encryption_spec)
        check(model, path="model", parent_model=request.parent_model, model_id=request.model_id)
        original = f"{source.name}@{source.version}"
        name, number = upload(
            self.store,
            self._clock,
            place,
            model,
            parent_model=request.parent_model,
            model_id=request.model_id,
            original=original,
        )
        return self._uploaded("Copy", name, number)

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Return the default version, or the version in the name.

        With a version in the request, the name in the response has it, too: Google's SDK updates a version by
        that name.
        """
        return self.store.resolve(request.name).message(versioned="@" in request.name)

    def list_models(self, request: DynamicMessage) -> DynamicMessage:
        """List the models of a location by their default versions."""
        return listing.list_records(ModelList(store=self.store), request, _LISTING)

    def list_versions(self, request: DynamicMessage) -> DynamicMessage:
        """List the versions of a model, oldest first."""
        found = self.store.resolve(request.name)
        return listing.list_records(VersionList(found=found), request, _VERSIONS, place=found.place)

    def update(self, request: DynamicMessage) -> DynamicMessage:
        """Update fields of the model, or of a version if the name has one."""
        name, _, wanted = request.model.name.partition("@")
        is_version = wanted not in ("", "-")
        found = self.store.resolve(request.model.name if is_version else name)
        self._check_update(request, found, is_version=is_version)
        at = now(self._clock)

        def change(message: DynamicMessage) -> bool:
            for field in request.update_mask.paths:
                if field == "labels":
                    message.labels.clear()
                    message.labels.update(request.model.labels)
                else:
                    setattr(message, field, getattr(request.model, field))
            (message.version_update_time if is_version else message.update_time).FromJsonString(at)
            return True

        if is_version:
            self.store.versions.change(f"{found.model.id}@{found.version}", change, place=found.place)
        else:
            self.store.change(found.model.id, change, place=found.place)
        return self.store.resolve(f"{found.name}@{found.version}").message(versioned=is_version)

    def merge_aliases(self, request: DynamicMessage) -> DynamicMessage:
        """Add aliases to a version, moving them from other versions; `-ALIAS` removes one."""
        with self.store.transaction():
            found = self.store.resolve(request.name)
            try:
                after = merge_aliases(found.aliases, found.version, request.version_aliases)
            except AliasError as error:
                raise RpcError(error.code, str(error)) from error
            at = now(self._clock)
            set_aliases(self.store, found.place, found.model.id, found.aliases, after, at=at)
        return self.store.resolve(f"{found.name}@{found.version}").message(versioned=True)

    def delete(self, request: DynamicMessage) -> DynamicMessage:
        """Delete a model with all its versions; its files are kept."""
        found = self.store.resolve(request.name.partition("@")[0])
        self.store.remove(found)
        return self._operations.deleted(found.place)

    def delete_version(self, request: DynamicMessage) -> DynamicMessage:
        """Delete a version, unless it is the only version or the default version."""
        if "@" not in request.name:
            raise RpcError(
                "INVALID_ARGUMENT",
                f"{request.name!r} has no version. Write projects/P/locations/L/models/ID@VERSION.",
            )
        with self.store.transaction():
            found = self.store.resolve(request.name)
            if len(found.versions) == 1:
                raise RpcError(
                    "FAILED_PRECONDITION",
                    f"{found.name}@{found.version} is the only version of the Model. Deleting the only "
                    "version in the Model is not allowed. Use DeleteModel for deleting the Model instead.",
                )
            if DEFAULT in found.aliases[found.version]:
                raise RpcError(
                    "FAILED_PRECONDITION",
                    f"{found.name}@{found.version} is the default version of the Model and cannot be deleted."
                    ' Give the alias "default" to another version first.',
                )
            self.store.versions.delete(f"{found.model.id}@{found.version}", place=found.place)
        return self._operations.deleted(found.place)

    def export(self, request: DynamicMessage) -> DynamicMessage:
        """Copy the files of a model."""
        found = self.store.resolve(request.name)
        model = found.message()
        config = request.output_config
        if config.HasField("image_destination"):
            raise RpcError(
                "UNIMPLEMENTED",
                "output_config.image_destination: the emulator exports only the files of a model. Leave it "
                "out.",
            )
        formats = [each.id for each in model.supported_export_formats]
        if not formats or config.export_format_id not in ("", *formats):
            raise RpcError(
                "INVALID_ARGUMENT",
                f"The model {request.name} cannot be exported as "
                f"{config.export_format_id or EXPORT_FORMAT!r}. "
                f"Its formats: {', '.join(formats) or 'none, as it has no files'}.",
            )
        target = directory(config.artifact_destination.output_uri_prefix)
        target += f"model-export-{model.display_name}-{times.milliseconds(self._clock)}/"
        source = directory(model.artifact_uri)
        try:
            for uri in self._objects.below(source):
                self._objects.copy(uri, target + uri.removeprefix(source))
        except DataError as error:
            raise RpcError(error.code, error.message) from error
        metadata = descriptors.message(f"{V1}.ExportModelOperationMetadata")
        metadata.output_info.artifact_output_uri = target.rstrip("/")
        return self._operations.done(found.name, descriptors.message(f"{V1}.ExportModelResponse"), metadata)

    def _uploaded(self, verb: str, name: str, number: int) -> DynamicMessage:
        response = descriptors.message(f"{V1}.{verb}ModelResponse")
        response.model = name
        response.model_version_id = str(number)
        metadata = descriptors.message(f"{V1}.{verb}ModelOperationMetadata")
        return self._operations.done(name, response, metadata)

    def _check_update(self, request: DynamicMessage, found: ModelVersions, *, is_version: bool) -> None:
        allowed, others = (_OF_VERSIONS, _OF_MODELS) if is_version else (_OF_MODELS, _OF_VERSIONS)
        paths = list(request.update_mask.paths)
        if not paths:
            raise invalid_fields([Violation("update_mask", "Required field is not set.")])
        for path in paths:
            if path in allowed:
                continue
            if path in others:
                raise RpcError(
                    "FAILED_PRECONDITION",
                    f"{path} is a field of a {'model' if is_version else 'model version'}, and "
                    f"{request.model.name!r} is the name of a {'model version' if is_version else 'model'}.",
                )
            raise invalid_fields(
                [Violation("update_mask", f"{path!r} cannot be updated; {', '.join(allowed)} can.")]
            )
        if "display_name" in paths and not request.model.display_name:
            raise invalid_fields([Violation("model.display_name", "Required field is not set.")])
        if wrong := list(names.label_problems(request.model.labels, "model.labels")):
            raise invalid_fields(wrong)
        if request.model.etag and request.model.etag != found.message().etag:
            raise RpcError(
                "ABORTED",
                f"The model {found.name} has changed since it was read. Read it again or leave out the etag.",
            )
