"""Google's definitions of messages and methods, compiled by scripts/build_descriptors.py.

Each service has one file. The definitions are in a descriptor pool of their own, so
that Google's client libraries can be loaded in the same process.
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
TENSORBOARD_SERVICE = f"{VERTEX_AI}.TensorboardService"
METADATA_SERVICE = f"{VERTEX_AI}.MetadataService"
ENDPOINT_SERVICE = f"{VERTEX_AI}.EndpointService"
SCHEDULE_SERVICE = f"{VERTEX_AI}.ScheduleService"
ARTIFACT_REGISTRY = "google.devtools.artifactregistry.v1.ArtifactRegistry"
OPERATIONS = "google.longrunning.Operations"
LOCATIONS = "google.cloud.location.Locations"
LOGGING = "google.logging.v2.LoggingServiceV2"
PROJECTS = "google.cloud.resourcemanager.v3.Projects"
IAM = "google.iam.admin.v1.IAM"
CLOUD_SCHEDULER = "google.cloud.scheduler.v1.CloudScheduler"
WORKFLOWS = "google.cloud.workflows.v1.Workflows"
EXECUTIONS = "google.cloud.workflows.executions.v1.Executions"
SERVICE_USAGE = "google.api.serviceusage.v1.ServiceUsage"
SERVICE_USAGE_BETA = "google.api.serviceusage.v1beta1.ServiceUsage"
CLOUD_QUOTAS = "google.api.cloudquotas.v1.CloudQuotas"
MONITORING = "google.monitoring.v3.MetricService"

_FILES = (
    "vertex_ai.binpb.gz",
    "artifact_registry.binpb.gz",
    "logging.binpb.gz",
    "resource_manager.binpb.gz",
    "iam.binpb.gz",
    "cloud_scheduler.binpb.gz",
    "workflows.binpb.gz",
    "service_usage.binpb.gz",
    "cloud_quotas.binpb.gz",
    "monitoring.binpb.gz",
)


@dataclass(frozen=True, kw_only=True)
class HttpRule:
    """The HTTP form of a method (google.api.http). `body` is the name of a field, "*" or empty."""

    verb: str
    uri: str
    body: str = ""


@dataclass(frozen=True, kw_only=True)
class Method:
    """One method of a service. `name` is the full name, such as PACKAGE.JobService.GetCustomJob."""

    name: str
    request: Descriptor
    rules: tuple[HttpRule, ...]


@lru_cache(maxsize=1)
def pool() -> DescriptorPool:
    """Return the definitions, which are loaded once, in about 20 ms. All files have the shared messages."""
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
    """Return a new empty message. Its type is `Any` because its fields are known at run time only."""
    return message_class(pool().FindMessageTypeByName(full_name))()


def message_class(descriptor: Descriptor) -> type[Message]:
    """Return the class of a message in the pool."""
    return message_factory.GetMessageClass(descriptor)


def methods(service: str) -> Iterator[Method]:
    """Yield the methods of a service, with the HTTP rules that Google published for them."""
    for method in pool().FindServiceByName(service).methods:
        # Only the default pool knows the extension, so the options are parsed again with its types.
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
