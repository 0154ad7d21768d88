"""Google's definitions of messages and methods, compiled by scripts.emulator_files.descriptors.

Each service has one file. The definitions are in a descriptor pool of their own, so
that Google's client libraries can be loaded in the same process.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from google.api import annotations_pb2, field_behavior_pb2, http_pb2, resource_pb2  # type: ignore[import-untyped]
from google.longrunning import operations_proto_pb2  # type: ignore[import-untyped]
from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message

if TYPE_CHECKING:

    class DynamicMessage(Message):
        """A message of the pool, whose fields are known at run time only."""

        DESCRIPTOR: Any

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: object) -> None: ...

else:
    DynamicMessage = Message

VERTEX_AI = "google.cloud.aiplatform.v1"
JOB_SERVICE = f"{VERTEX_AI}.JobService"
PIPELINE_SERVICE = f"{VERTEX_AI}.PipelineService"
MODEL_SERVICE = f"{VERTEX_AI}.ModelService"
DATASET_SERVICE = f"{VERTEX_AI}.DatasetService"
PERSISTENT_RESOURCE_SERVICE = f"{VERTEX_AI}.PersistentResourceService"
TENSORBOARD_SERVICE = f"{VERTEX_AI}.TensorboardService"
METADATA_SERVICE = f"{VERTEX_AI}.MetadataService"
ENDPOINT_SERVICE = f"{VERTEX_AI}.EndpointService"
NOTEBOOK_SERVICE = f"{VERTEX_AI}.NotebookService"
SCHEDULE_SERVICE = f"{VERTEX_AI}.ScheduleService"
ARTIFACT_REGISTRY = "google.devtools.artifactregistry.v1.ArtifactRegistry"
OPERATIONS = "google.longrunning.Operations"
LOCATIONS = "google.cloud.location.Locations"
LOGGING = "google.logging.v2.LoggingServiceV2"
PROJECTS = "google.cloud.resourcemanager.v3.Projects"
IAM = "google.iam.admin.v1.IAM"
CLOUD_SCHEDULER = "google.cloud.scheduler.v1.CloudScheduler"
SERVICE_USAGE = "google.api.serviceusage.v1.ServiceUsage"
SERVICE_USAGE_BETA = "google.api.serviceusage.v1beta1.ServiceUsage"
CLOUD_QUOTAS = "google.api.cloudquotas.v1.CloudQuotas"
SECRET_MANAGER = "google.cloud.secretmanager.v1.SecretManagerService"  # noqa: S105 - a name
MONITORING = "google.monitoring.v3.MetricService"

_FILES = (
    "vertex_ai.binpb.gz",
    "artifact_registry.binpb.gz",
    "logging.binpb.gz",
    "resource_manager.binpb.gz",
    "iam.binpb.gz",
    "cloud_scheduler.binpb.gz",
    "service_usage.binpb.gz",
    "cloud_quotas.binpb.gz",
    "monitoring.binpb.gz",
    "secret_manager.binpb.gz",
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


def message(full_name: str) -> DynamicMessage:
    """Return a new empty message."""
    return message_class(pool().FindMessageTypeByName(full_name))()


def empty() -> DynamicMessage:
    """Return the empty response."""
    return message("google.protobuf.Empty")


def message_class(descriptor: Descriptor) -> type[DynamicMessage]:
    """Return the class of a message in the pool."""
    return cast("type[DynamicMessage]", message_factory.GetMessageClass(descriptor))


def is_output_only(field: FieldDescriptor) -> bool:
    """Return whether only the service sets a field (google.api.field_behavior)."""
    options = descriptor_pb2.FieldOptions.FromString(field.GetOptions().SerializeToString())
    return field_behavior_pb2.OUTPUT_ONLY in options.Extensions[field_behavior_pb2.field_behavior]


def collections(full_name: str) -> tuple[str, ...]:
    """Return the collections in the names of a resource, such as ("tensorboards", "experiments")."""
    kind = pool().FindMessageTypeByName(full_name)
    options = descriptor_pb2.MessageOptions.FromString(kind.GetOptions().SerializeToString())
    pattern: str = options.Extensions[resource_pb2.resource].pattern[0]
    return tuple(pattern.split("/")[4::2])


def operation_metadata(method: MethodDescriptor) -> str:
    """Return the full name of the metadata of a method's operations (google.longrunning.operation_info)."""
    options = descriptor_pb2.MethodOptions.FromString(method.GetOptions().SerializeToString())
    name: str = options.Extensions[operations_proto_pb2.operation_info].metadata_type
    return name if "." in name else f"{method.full_name.rsplit('.', 2)[0]}.{name}"


@cache  # several emulators may run in one process, as in a suite of tests
def methods(service: str) -> tuple[Method, ...]:
    """Return the methods of a service, with the HTTP rules that Google published for them."""
    return tuple(_method(each) for each in pool().FindServiceByName(service).methods)


def _method(method: MethodDescriptor) -> Method:
    # Only the default pool knows the extension, so the options are parsed again with its types.
    options = descriptor_pb2.MethodOptions.FromString(method.GetOptions().SerializeToString())
    rule = options.Extensions[annotations_pb2.http]
    rules = [_rule(each) for each in (rule, *rule.additional_bindings) if each.WhichOneof("pattern")]
    return Method(name=method.full_name, request=method.input_type, rules=tuple(rules))


def _rule(rule: http_pb2.HttpRule) -> HttpRule:
    verb = str(rule.WhichOneof("pattern"))
    return HttpRule(verb=verb.upper(), uri=getattr(rule, verb), body=rule.body)
