"""Write the Python that adopts an existing bucket, repository, persistent resource or model, for `import`."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cli.jobs import hidden_values
from pulumi_vertex_training.cli.jobs.declaration_source import keywords
from pulumi_vertex_training.cli.jobs.python_source import Call, Node, write
from pulumi_vertex_training.cloud.endpoint import Endpoint
from vertex_training.fields.labels import is_provider_label

_NAME = re.compile(
    r"(?:projects/[^/]+/locations/[^/]+/)?(?P<collection>repositories|persistentResources|models)/(?P<id>[^/]+)"
)
_BUCKET = re.compile(r"gs://(?P<id>[^/]+)/?")


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """A resource that exists: its full name, the Python that adopts it, and the service's own JSON."""

    name: str
    python: str
    spec: Mapping[str, Any]
    hides_values: bool = False


def find(endpoint: Endpoint, text: str, *, show_secrets: bool) -> Declaration | None:
    """Return the declaration of a named resource, or None if the text does not name one.

    Without `show_secrets`, it has no values of environment variables.

    Raises CloudError, also for a resource that does not exist.
    """
    if match := _BUCKET.fullmatch(text):
        return _bucket(endpoint, match["id"])
    if match := _NAME.fullmatch(text):
        return _OF_COLLECTION[match["collection"]](endpoint, match["id"], show_secrets)
    return None


def _bucket(endpoint: Endpoint, name: str) -> Declaration:
    record = _part("staging_bucket", "gateway").get(endpoint, name)
    given = _keywords(_part("staging_bucket", "wire").from_wire(record.wire))
    return _declaration("StagingBucket", endpoint, record, {**given, "adopt": True}, place=False)


def _repository(endpoint: Endpoint, repository_id: str, _: bool) -> Declaration:
    name = f"{endpoint.parent}/repositories/{repository_id}"
    record = _part("image_repository", "gateway").get(endpoint, name)
    given = _keywords(_part("image_repository", "spec").from_wire(record.wire))
    return _declaration("ImageRepository", endpoint, record, {**given, "adopt": True})


def _persistent_resource(endpoint: Endpoint, resource_id: str, _: bool) -> Declaration:
    name = f"{endpoint.parent}/persistentResources/{resource_id}"
    record = _part("persistent_resource", "gateway").get(endpoint, name)
    given = _keywords(_part("persistent_resource", "spec").from_wire(record.wire))
    given = {"persistent_resource_id": resource_id, **given, "adopt": True}
    return _declaration("PersistentResource", endpoint, record, given)


def _model(endpoint: Endpoint, model_id: str, show_secrets: bool) -> Declaration:
    record = _part("model", "gateway").get(endpoint, f"{endpoint.parent}/models/{model_id}")
    shown = dataclasses.replace(record, wire=hidden_values.without_values(record.wire, show=show_secrets))
    given = _keywords(_part("model", "kind").from_wire(shown.wire))
    found = _declaration("Model", endpoint, shown, {**given, "adopt": record.full_name.rpartition("/")[2]})
    return dataclasses.replace(found, hides_values=shown.wire != record.wire)


_OF_COLLECTION: Mapping[str, Callable[[Endpoint, str, bool], Declaration]] = {
    "repositories": _repository,
    "persistentResources": _persistent_resource,
    "models": _model,
}


def _part(kind: str, module: str) -> Any:
    """Load a module of a kind, and only that of the kind that is asked for."""
    return importlib.import_module(f"pulumi_vertex_training.kinds.{kind}.{module}")


def _keywords(spec: Any) -> dict[str, Node]:
    """Return the declared fields of a live spec, without the labels that this package adds."""
    labels = {key: value for key, value in spec.labels.items() if not is_provider_label(key)}
    return keywords(dataclasses.replace(spec, labels=labels))


def _declaration(
    resource: str, endpoint: Endpoint, record: Any, given: dict[str, Node], *, place: bool = True
) -> Declaration:
    project: dict[str, Node] = {} if endpoint.project.isdigit() else {"project": endpoint.project}
    location: dict[str, Node] = {"location": endpoint.location} if place else {}
    call = Call(
        function=f"vt.{resource}",
        positional=(_resource_name(record),),
        keywords={
            **{key: value for key, value in given.items() if key != "location" or not place},
            **project,
            **location,
        },
    )
    return Declaration(name=record.name, python=write(call) + "\n", spec=record.wire)


def _resource_name(record: Any) -> str:
    """Return the name of the resource that made it, else its id."""
    ours = (record.wire.get("labels") or {}).get("pulumi-resource")
    return str(ours or record.name.rpartition("/")[2])
