"""Google's own definitions of messages and methods, compiled; scripts/build_descriptors.py writes them.

One file for each API: Vertex AI and Artifact Registry. They live in a descriptor pool of their own, so that
Google's client libraries may be loaded in the same process.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from google.api import annotations_pb2, http_pb2  # type: ignore[import-untyped]
from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message

VERTEX_AI = "google.cloud.aiplatform.v1"
JOB_SERVICE = f"{VERTEX_AI}.JobService"
PIPELINE_SERVICE = f"{VERTEX_AI}.PipelineService"
MODEL_SERVICE = f"{VERTEX_AI}.ModelService"
DATASET_SERVICE = f"{VERTEX_AI}.DatasetService"
PERSISTENT_RESOURCE_SERVICE = f"{VERTEX_AI}.PersistentResourceService"
ARTIFACT_REGISTRY = "google.devtools.artifactregistry.v1.ArtifactRegistry"
OPERATIONS = "google.longrunning.Operations"
LOCATIONS = "google.cloud.location.Locations"

_FILES = ("vertex_ai.binpb.gz", "artifact_registry.binpb.gz")


@dataclass(frozen=True, kw_only=True)
class HttpRule:
    """How a method is called over HTTP (google.api.http): `body` names a field, is "*", or is empty."""

    verb: str
    uri: str
    body: str = ""


@dataclass(frozen=True, kw_only=True)
class Method:
    """One method of a service; `name` is the full name, such as PACKAGE.JobService.GetCustomJob."""

    name: str
    request: Descriptor
    rules: tuple[HttpRule, ...]


@lru_cache(maxsize=1)
def pool() -> DescriptorPool:
    """The definitions; loading them takes about 20 ms, once. What APIs share is in each of the files."""
    loaded = DescriptorPool()
    known: set[str] = set()
    for name in _FILES:
        data = gzip.decompress((files(__name__) / name).read_bytes())
        for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
            if file.name not in known:
                known.add(file.name)
                loaded.Add(file)
    return loaded


def message(full_name: str) -> Any:
    """A new empty message, by its full name; typed as `Any` because its fields are known at run time only."""
    return message_class(pool().FindMessageTypeByName(full_name))()


def message_class(descriptor: Descriptor) -> type[Message]:
    """The class of a message of the pool."""
    return message_factory.GetMessageClass(descriptor)


def methods(service: str) -> Iterator[Method]:
    """The methods of a service with the HTTP rules that Google published for them."""
    for method in pool().FindServiceByName(service).methods:
        # The extension is known to the default pool only, so the options are read again with its types.
        options = descriptor_pb2.MethodOptions.FromString(method.GetOptions().SerializeToString())
        rule = options.Extensions[annotations_pb2.http]
        yield Method(
            name=method.full_name,
            request=method.input_type,
            rules=tuple(
                _rule(each) for each in (rule, *rule.additional_bindings) if each.WhichOneof("pattern")
            ),
        )


def _rule(rule: http_pb2.HttpRule) -> HttpRule:
    verb = str(rule.WhichOneof("pattern"))
    return HttpRule(verb=verb.upper(), uri=getattr(rule, verb), body=rule.body)
