"""The kinds of resource that the package serves, and the shape of their properties in its state."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training import registry, urns
from pulumi_vertex_training.core.provider import Provider
from pulumi_vertex_training.core.running.declaration import JobResourceType
from pulumi_vertex_training.core.running.provider import JobProvider
from pulumi_vertex_training.core.state.hidden_input import HIDDEN_INPUT, INTERNAL
from pulumi_vertex_training.package.waits.job_wait import WaitOptions, results_of
from pulumi_vertex_training.package.waits.ready_wait import ReadyOptions
from pulumi_vertex_training.package.wire import names

PACKAGE = registry.PACKAGE
IN_PROGRAM = "in_program"
"""The option that the program waits for the resource, as a program in Python does."""

_INTERNAL_NAMES = frozenset(
    {
        "endpoint",
        "marks",
        "staging_bucket_location",
        "asked_by",
        "job",
        "collection",
        "parent",
        IN_PROGRAM,
    }
)
JOB_OUTPUTS = (
    "name",
    "job_id",
    "state",
    "create_time",
    "start_time",
    "end_time",
    "error",
    "base_output_directory",
)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The properties of a kind that is no job.

    `inputs` is the class of its inputs, in the module of its provider; `outputs` are those that are no
    inputs. `id_field` is the input with the id by which it is imported, "" if it cannot be, and `id_format`
    makes the id in the state of inputs. `hashes` are properties that are made of others: if one of
    these is secret, so are they.
    """

    inputs: str
    outputs: tuple[str, ...]
    id_field: str = ""
    id_format: str = ""
    hashes: tuple[str, ...] = ()


_STAGED = ("uri", "path", "object_name", "sha256", "size", "content_type")
_PLACE = "projects/{project}/locations/{location}"
SHAPES = {
    "StagingBucket": Shape(inputs="BucketInputs", outputs=("url",), id_field="name", id_format="{name}"),
    "ImageRepository": Shape(
        inputs="RepositoryInputs",
        outputs=("registry_host", "url"),
        id_field="repository_id",
        id_format=f"{_PLACE}/repositories/{{repository_id}}",
    ),
    "StagedPackage": Shape(inputs="PackageInputs", outputs=(*_STAGED, "python_module")),
    "StagedFile": Shape(inputs="StagedInputs", outputs=_STAGED),
    "StagedFolder": Shape(inputs="FolderInputs", outputs=("uri", "path", "count", "size", "sha256")),
    "TrainingImage": Shape(
        inputs="ImageInputs",
        outputs=(
            *("uri", "digest", "content_hash", "base_images", "base_digests", "tag_uris"),
            *("size", "sent_bytes", "drift"),
        ),
        hashes=("content_hash",),
    ),
    "Model": Shape(
        inputs="ModelInputs",
        outputs=("name", "version_id", "create_time", "update_time", "drift", "lineage"),
        id_field="model_id",
        id_format=f"{_PLACE}/models/{{model_id}}",
    ),
    "PersistentResource": Shape(
        inputs="PersistentResourceInputs",
        outputs=("state",),
        id_field="persistent_resource_id",
        id_format=f"{_PLACE}/persistentResources/{{persistent_resource_id}}",
    ),
    "TrainingSchedule": Shape(
        inputs="ScheduleWithTemplate",
        outputs=("name", "request"),
        id_field="schedule_id",
        id_format=f"{_PLACE}/jobs/{{schedule_id}}",
        hashes=("request",),
    ),
}

_OF_PYTHON = frozenset(
    {
        *("identity", "spec_hash", "keeps_retries", "locations"),
        *("notifications", "persistent_resource", "request"),
    }
)
"""Inputs of the core that only a program in Python gives, or nobody."""


@dataclass(frozen=True, kw_only=True)
class PackageKind:
    """A kind of resource of the package.

    `inputs` is the class of the core's inputs. `outputs` are the names of outputs that are no inputs.
    `options` is the class of inputs that only the package has, None without any. The others are as in
    `Shape`.
    """

    resource: str
    provider: Provider
    inputs: type
    outputs: tuple[str, ...]
    options: type | None = None
    id_field: str = ""
    id_format: str = ""
    hashes: tuple[str, ...] = ()

    @property
    def token(self) -> str:
        return registry.package_token(self.resource)

    @property
    def job(self) -> JobResourceType | None:
        """The resource type of a job, None for any other kind."""
        return self.provider.declared if isinstance(self.provider, JobProvider) else None

    @property
    def option_names(self) -> frozenset[str]:
        fields = dataclasses.fields(self.options) if self.options else ()
        return frozenset(item.name for item in fields)

    @property
    def public_names(self) -> frozenset[str]:
        """The inputs that a program may give."""
        inputs = frozenset(item.name for item in dataclasses.fields(self.inputs))
        return (inputs | self.option_names) - _INTERNAL_NAMES - _OF_PYTHON

    def inward(self, props: Mapping[str, Any]) -> dict[str, Any]:
        """Return properties from the wire as the core has them, with the internal ones among them."""
        shown = {name: value for name, value in props.items() if name != INTERNAL}
        hidden = props.get(INTERNAL)
        found = names.inward(shown, self.inputs)
        return {**found, **hidden} if isinstance(hidden, Mapping) else found

    def outward(self, props: Mapping[str, Any]) -> dict[str, Any]:
        """Return the core's properties for the wire: the reverse of `inward`."""
        hidden = {
            name: value for name, value in props.items() if name in _INTERNAL_NAMES and value is not None
        }
        shown = {name: value for name, value in props.items() if name not in _INTERNAL_NAMES}
        if isinstance(state := shown.get("state"), str):
            shown["state"] = state.rpartition("STATE_")[2]
        found = names.outward(shown, self.inputs)
        return {**found, INTERNAL: hidden} if hidden else found

    def split(self, props: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the core's properties, and the options that only the package has."""
        own = self.option_names | {IN_PROGRAM}
        return (
            {name: value for name, value in props.items() if name not in own},
            {name: value for name, value in props.items() if name in own},
        )

    def derived_secrets(self, secrets: frozenset[str]) -> frozenset[str]:
        """Return the paths of the secrets, and of what is made of them."""
        return secrets | {names.wire_name(path) for path in self.hashes} if secrets else secrets


def marks_of(urn: str) -> dict[str, str]:
    """Return the names of program, stack and resource."""
    parts = urns.parse(urn)
    return {"project": parts.project, "stack": parts.stack, "resource": parts.name}


@functools.cache
def kind_of(token: str) -> PackageKind:
    """Return the kind of a type token. Raises KeyError for a token that the package does not serve."""
    name = token.rpartition(":")[2]
    if token != registry.package_token(name) or name not in registry.RESOURCES:
        raise KeyError(token)
    module = importlib.import_module(registry.PROVIDERS[f"{name}Provider"])
    provider = getattr(module, f"{name}Provider")()
    if isinstance(provider, JobProvider):
        return PackageKind(
            resource=name,
            provider=provider,
            inputs=provider.declared.inputs,
            outputs=(*JOB_OUTPUTS, *results_of(provider.declared)),
            options=WaitOptions,
            hashes=(f"{HIDDEN_INPUT}.spec_hash",),
        )
    shape = SHAPES[name]
    return PackageKind(
        resource=name,
        provider=provider,
        inputs=getattr(module, shape.inputs),
        outputs=shape.outputs,
        options=ReadyOptions if provider.readiness else None,
        id_field=shape.id_field,
        id_format=shape.id_format,
        hashes=shape.hashes,
    )
