"""ModelService, the Model Registry: its methods, and models in archives."""

from __future__ import annotations

from collections.abc import Mapping

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError
from vertex_emulator.services.datasets.contents import DataError
from vertex_emulator.services.datasets.objects import BucketObjects, directory
from vertex_emulator.services.models.resources import Models, Versions
from vertex_emulator.services.models.store import (
    ModelStore,
    add_version,
    aliases_of,
    merge_aliases,
    number_of,
)
from vertex_emulator.services.models.uploading import EXPORT_FORMAT, check, check_artifacts, version_of
from vertex_emulator.services.resource_engine.names import parse_parent
from vertex_emulator.services.resource_engine.operations import V1, ResourceOperations
from vertex_emulator.services.resource_engine.service import Service


class ModelService(Service):
    """The models of one emulator."""

    def __init__(
        self, database: Database, operations: ResourceOperations, objects: BucketObjects, clock: Clock
    ) -> None:
        self._operations = operations
        self._objects = objects
        self._clock = clock
        self.store = ModelStore(database, clock)
        self.models = Models(self.store, operations, clock)
        self.versions = Versions(self.store, operations, clock)

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        methods: dict[str, Binding] = {
            "UploadModel": self.upload,
            "GetModel": self.get,
            "ListModelVersions": self.versions.list_page,
            "UpdateModel": self.update,
            "MergeVersionAliases": self.merge_aliases,
            "DeleteModelVersion": self.versions.delete,
            "ExportModel": self.export,
            "CopyModel": self.copy,
        }
        named = {f"{descriptors.MODEL_SERVICE}.{name}": method for name, method in methods.items()}
        return {**self.models.methods(), **named}

    def remove_all(self) -> None:
        self.store.clear()

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Return the default version, or the version in the name.

        With a version in the request, the name in the response has it, too: Google's SDK updates a version by
        that name.
        """
        return (self.versions if "@" in request.name else self.models).get(request)

    def update(self, request: DynamicMessage) -> DynamicMessage:
        """Update fields of the model, or of a version if the name has one."""
        version = request.model.name.partition("@")[2]
        return (self.models if version in ("", "-") else self.versions).update(request)

    def upload(self, request: DynamicMessage) -> DynamicMessage:
        """Upload a model. It exists when the method returns."""
        return self._add("Upload", request, request.model, "")

    def copy(self, request: DynamicMessage) -> DynamicMessage:
        """Copy a model; its files are not copied."""
        source = self.store.versions.lookup(request.source_model)
        model = self.versions.shown(source)
        del model.version_aliases[:]
        if request.HasField("encryption_spec"):
            model.encryption_spec.CopyFrom(request.encryption_spec)
        return self._add("Copy", request, model, source.name)

    def add(
        self,
        place: Place,
        model: DynamicMessage,
        *,
        parent_model: str = "",
        model_id: str = "",
        pipeline: str = "",
        original: str = "",
    ) -> tuple[str, str]:
        """Record a checked model, or a new version of `parent_model`. Return its name and version.

        `pipeline` is the training pipeline of the model, `original` the model that it is a copy of. Joins the
        caller's transaction. Raises `RpcError`.
        """
        with self.store.transaction():
            if parent_model:
                parent = self.store.parent(place, parent_model)
                own = self.store.change(parent.id, self.models.count, place=place) or parent
            else:
                own = self.models.store(model, model_id, place, None, id_path="model_id")
            number = int(own.message.version_id)
            before = aliases_of(self.store.versions.of(own.place, own.id))
            after = add_version(before, number, model.version_aliases)
            version = version_of(model, own.message, pipeline=pipeline, original=original)
            version.version_aliases[:] = after[number]
            self.store.versions.insert(place, f"{own.id}@{number}", version)
            self.versions.set_aliases(own, before, after)
        return own.name, own.message.version_id

    def merge_aliases(self, request: DynamicMessage) -> DynamicMessage:
        """Add aliases to a version, moving them from other versions; `-ALIAS` removes one."""
        versions = self.store.versions
        with self.store.transaction():
            record = versions.lookup(request.name)
            model = self.store.lookup(record.name)
            before = aliases_of(versions.of(model.place, model.id))
            after = merge_aliases(before, number_of(record), request.version_aliases)
            self.versions.set_aliases(model, before, after)
            return self.versions.shown(versions.lookup(record.name))

    def export(self, request: DynamicMessage) -> DynamicMessage:
        """Copy the files of a model."""
        version = self.store.versions.lookup(request.name)
        model = self.versions.shown(version)
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
        name = version.name.partition("@")[0]
        return self._operations.done(name, descriptors.message(f"{V1}.ExportModelResponse"), metadata)

    def _add(
        self, verb: str, request: DynamicMessage, model: DynamicMessage, original: str
    ) -> DynamicMessage:
        place, parent = parse_parent(request.parent), request.parent_model
        check(model, path="model", parent_model=parent, model_id=request.model_id)
        if model.artifact_uri and not original:
            check_artifacts(self._objects, model.artifact_uri)
        model_id = "" if parent else request.model_id
        name, number = self.add(place, model, parent_model=parent, model_id=model_id, original=original)
        response = descriptors.message(f"{V1}.{verb}ModelResponse")
        response.model, response.model_version_id = name, number
        metadata = descriptors.message(f"{V1}.{verb}ModelOperationMetadata")
        return self._operations.done(name, response, metadata)
