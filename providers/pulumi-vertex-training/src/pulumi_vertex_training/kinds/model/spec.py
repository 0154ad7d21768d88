"""The spec of a model that is uploaded to the Model Registry, its normal form and its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from pulumi_vertex_training.kinds.model.explanation import ExplanationSpec
from vertex_training.catalog import api
from vertex_training.fields import durations, wire
from vertex_training.fields.effects import CHANGES, Effect, FieldEffect
from vertex_training.fields.labels import is_provider_label
from vertex_training.fields.wire import as_text, from_text
from vertex_training.job.job_spec import EncryptionSpec
from vertex_training.topology.pools import EnvVar

DEFAULT_ALIAS = "default"
"""The alias of the version that is used when none is named; exactly one version of a model has it."""


def _port(value: object) -> object:
    """Convert a port number to a message; return any other value as it is."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {"container_port": value} if is_number else value


def _ports(value: object) -> object:
    return [_port(item) for item in value] if isinstance(value, (list, tuple)) else value


_ABSENT = {"absent_if_empty": True}
_SECONDS = {"convert": durations.seconds_text}


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port of the serving container, 1 to 65535."""

    container_port: int
    """Number of the port, 1 to 65535."""


@dataclass(frozen=True, kw_only=True)
class ExecAction:
    """A command in the container; exit status 0 means healthy."""

    command: tuple[str, ...] = ()
    """Command to run in the container, without a shell."""


@dataclass(frozen=True, kw_only=True)
class HttpHeader:
    """A header of a probe's request."""

    name: str
    """Name of the header."""
    value: str = ""
    """Value of the header."""


@dataclass(frozen=True, kw_only=True)
class HttpGetAction:
    """A GET request; `scheme` is HTTP (default) or HTTPS."""

    path: str | None = None
    """Path of the request."""
    port: int = 0
    """Port of the request."""
    host: str | None = None
    """Host of the request. Default: the model server's container."""
    scheme: str | None = None
    """HTTP (default) or HTTPS."""
    http_headers: tuple[HttpHeader, ...] = ()
    """Headers of the request."""


@dataclass(frozen=True, kw_only=True)
class GrpcAction:
    """A gRPC health check."""

    port: int = 0
    """Port of the gRPC service."""
    service: str | None = None
    """Name of the service to ask for."""


@dataclass(frozen=True, kw_only=True)
class TcpSocketAction:
    """A connection to a port."""

    port: int = 0
    """Port to connect to."""
    host: str | None = None
    """Host to connect to. Default: the model server's container."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One check of the serving container and its frequency; 0 stands for the service's default."""

    exec: ExecAction | None = None
    """Command to run. Give exactly one of the four actions."""
    http_get: HttpGetAction | None = None
    """Request to send."""
    grpc: GrpcAction | None = None
    """gRPC health check to call."""
    tcp_socket: TcpSocketAction | None = None
    """Port to connect to."""
    period_seconds: int = 0
    """Seconds between two checks. The service's default is 10."""
    timeout_seconds: int = 0
    """Seconds after which a check fails. The service's default is 1."""
    failure_threshold: int = 0
    """Failures in a row after which the container counts as failed. The service's default is 3."""
    success_threshold: int = 0
    """Successes in a row after which the container counts as healthy. The service's default is 1."""
    initial_delay_seconds: int = 0
    """Seconds before the first check. The service's default is 0."""


@dataclass(frozen=True, kw_only=True)
class ModelContainerSpec:
    """The container that serves predictions.

    `ports` and `grpc_ports` may be given as plain numbers. `deployment_timeout` is a duration of 2 hours at
    most.
    """

    image_uri: str
    """Image of the serving container: a resource, or its name in Artifact Registry or Container Registry."""
    command: tuple[str, ...] = ()
    """Command that replaces the image's ENTRYPOINT."""
    args: tuple[str, ...] = ()
    """Arguments of the command; they replace the image's CMD."""
    env: tuple[EnvVar, ...] = ()
    """Environment variables of the container."""
    ports: tuple[Port, ...] = field(default=(), metadata={"convert": _ports})
    """Ports that the container listens on for HTTP; predictions are sent to the first. The service's default
    is 8080.
    """
    predict_route: str | None = None
    """HTTP path for predictions."""
    health_route: str | None = None
    """HTTP path for health checks."""
    invoke_route_prefix: str | None = None
    """Prefix of HTTP paths for requests of any kind."""
    grpc_ports: tuple[Port, ...] = field(default=(), metadata={"convert": _ports})
    """Ports that the container listens on for gRPC; predictions are sent to the first."""
    deployment_timeout: str | None = field(default=None, metadata=_SECONDS)
    """Time limit of a deployment, such as "1800s"; 2 hours at most."""
    shared_memory_size_mb: int = field(default=0, metadata={"int64": True})
    """Shared memory of the container's VM in MB."""
    startup_probe: Probe | None = field(default=None, metadata=_ABSENT)
    """Check that the container's application has started."""
    health_probe: Probe | None = field(default=None, metadata=_ABSENT)
    """Check that the container is ready for requests."""
    liveness_probe: Probe | None = field(default=None, metadata=_ABSENT)
    """Check that the container is running."""


@dataclass(frozen=True, kw_only=True)
class PredictSchemata:
    """Schemas (OpenAPI 3.0.2, in a bucket) of one instance, of the parameters and of one prediction."""

    instance_schema_uri: str | None = None
    """gs:// URI of the schema of one instance."""
    parameters_schema_uri: str | None = None
    """gs:// URI of the schema of the parameters of a prediction."""
    prediction_schema_uri: str | None = None
    """gs:// URI of the schema of one prediction."""


@dataclass(frozen=True, kw_only=True)
class ModelGardenSource:
    """A model of the Model Garden, publishers/PUBLISHER/models/MODEL."""

    public_model_name: str
    """Model of the Model Garden, publishers/PUBLISHER/models/MODEL."""
    version_id: str | None = None
    """Version of the model."""
    skip_hf_model_cache: bool = False
    """Do not use the cache of Hugging Face models."""


@dataclass(frozen=True, kw_only=True)
class GenieSource:
    """A base model by its address."""

    base_model_uri: str
    """URI of the base model."""


@dataclass(frozen=True, kw_only=True)
class BaseModelSource:
    """The source of a model, one of the two."""

    model_garden_source: ModelGardenSource | None = None
    """Source in the Model Garden. Give one of the two."""
    genie_source: GenieSource | None = None
    """Base model by its URI."""


IN_PLACE = {CHANGES: FieldEffect(effect=Effect.UPDATE, reason="the settings of a model can change in place")}
_VERSION = {
    CHANGES: FieldEffect(
        effect=Effect.REPLACE, reason="a version of a model cannot change; a new version is uploaded"
    )
}


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A model, with the fields of the API's message Model that a user sets.

    `artifact_uri` is the directory of its files. In a pipeline the default is the model directory of the run.
    `version_aliases`, `version_description` and `default_checkpoint_id` belong to the version.
    """

    SERVER_OWNED: ClassVar[frozenset[str]] = api.OUTPUT_ONLY["Model"] | {"name", "etag", "data_stats"}

    display_name: str = field(metadata=IN_PLACE)
    """Name for people, up to 128 characters. Default of a `Model`: the resource's name."""
    description: str | None = field(default=None, metadata=IN_PLACE)
    """Description of the model."""
    version_description: str | None = field(default=None, metadata=IN_PLACE)
    """Description of the version."""
    version_aliases: tuple[str, ...] = field(default=(), metadata=IN_PLACE)
    """Names for the version, such as `golden`. Other versions lose them."""
    container_spec: ModelContainerSpec | None = field(default=None, metadata={**_ABSENT, **_VERSION})
    """Serving container. It is required with an `artifact_uri`."""
    artifact_uri: str | None = field(default=None, metadata=_VERSION)
    """Directory of the model's files, gs://BUCKET/PREFIX, such as `job.completion.model_directory` of a
    job with `wait="done"`. While the job has no model, an existing version keeps its files, and a new version
    is rejected. Default in a pipeline: the run's model directory.
    """
    predict_schemata: PredictSchemata | None = field(default=None, metadata={**_ABSENT, **_VERSION})
    """Schemas of instances, parameters and predictions."""
    metadata_schema_uri: str | None = field(default=None, metadata=_VERSION)
    """gs:// URI of the schema of `metadata`."""
    metadata: str | None = field(
        default=None, metadata={"convert": as_text, "message": from_text, **_VERSION}
    )
    """Further information about the model: any JSON value."""
    explanation_spec: ExplanationSpec | None = field(default=None, metadata={**_ABSENT, **_VERSION})
    """Explanation of the model's predictions, as a dictionary of the API's message ExplanationSpec."""
    default_checkpoint_id: str | None = field(default=None, metadata=_VERSION)
    """Id of the version's default checkpoint."""
    pipeline_job: str | None = field(default=None, metadata=_VERSION)
    """Full name of the pipeline job that made the model."""
    base_model_source: BaseModelSource | None = field(default=None, metadata={**_ABSENT, **_VERSION})
    """Source of a base model, as a dictionary of the API's message."""
    labels: Mapping[str, str] = field(default_factory=dict, metadata=IN_PLACE)
    """Labels of the model."""
    encryption_spec: EncryptionSpec | None = field(default=None, metadata={**_ABSENT, **_VERSION})
    """Customer-managed key that encrypts the model."""


Model = TypeVar("Model", bound=ModelSpec)


def normalise(spec: Model) -> Model:
    """Return the normal form. Never raises.

    It has no empty texts and messages, sorted aliases, durations in seconds, and no trailing slash.
    """
    return replace(
        spec,
        description=spec.description or None,
        version_description=spec.version_description or None,
        metadata_schema_uri=spec.metadata_schema_uri or None,
        metadata=spec.metadata or None,
        default_checkpoint_id=spec.default_checkpoint_id or None,
        pipeline_job=spec.pipeline_job or None,
        version_aliases=tuple(sorted(set(spec.version_aliases))),
        container_spec=spec.container_spec and _normal_container(spec.container_spec),
        artifact_uri=(spec.artifact_uri or "").rstrip("/") or None,
        predict_schemata=None if spec.predict_schemata == PredictSchemata() else spec.predict_schemata,
        explanation_spec=None if spec.explanation_spec == ExplanationSpec() else spec.explanation_spec,
        base_model_source=None if spec.base_model_source == BaseModelSource() else spec.base_model_source,
    )


def _normal_container(spec: ModelContainerSpec) -> ModelContainerSpec:
    timeout = durations.normal(spec.deployment_timeout or "")
    return replace(
        spec,
        predict_route=spec.predict_route or None,
        health_route=spec.health_route or None,
        invoke_route_prefix=spec.invoke_route_prefix or None,
        deployment_timeout=None if timeout in ("", "0s") else timeout,
    )


def to_wire(spec: ModelSpec, *, marks: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the model in the API's JSON; `marks` are added to the declared labels."""
    plain = wire.to_json(spec)
    if marks:
        plain["labels"] = {**spec.labels, **marks}
    return plain


def from_wire(model: Mapping[str, Any]) -> ModelSpec:
    """Return the spec, in normal form, of a model in the API's JSON, without ownership labels.

    Raises ValueError if `model` is not a model.
    """
    spec = normalise(wire.from_json(ModelSpec, model))
    return replace(
        spec, labels={key: value for key, value in spec.labels.items() if not is_provider_label(key)}
    )
