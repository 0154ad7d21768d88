"""Write the Python that declares an existing job or adopts another resource, for the command `import`.

Argument classes in `pulumi_vertex_training` are named after the messages, `vt.<message>Args`, and have their
fields, so the source follows from the spec alone. A message without a class becomes a dictionary.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from pulumi_vertex_training.cli.jobs.python_source import Call, Commented, Node, remark, write
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.views.jobs import hidden_values
from vertex_training.fields.labels import is_provider_label
from vertex_training.fields.schema import default_of
from vertex_training.job.checkpoints import without_variable
from vertex_training.job.difference import SERVICE_TIMEOUT
from vertex_training.job.job_kind import JobKind
from vertex_training.job.job_spec import JobSpec, Scheduling, map_parts
from vertex_training.topology.normal import default_disk
from vertex_training.topology.pools import EnvVar, WorkerPoolSpec
from vertex_training.topology.roles import MAX_POOLS, role_of

Spec = TypeVar("Spec")

_SECRET = re.compile(
    r"(?<![a-z])(secrets?|tokens?|pass|passwd|passwords?|passphrase|pwd|credentials?|private|auth|api_?keys?|"
    r"access_?keys?|keys?)(?![a-z])"
)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_RUN_DIRECTORY = "gs://([^/]+)/.+/{key}(-[0-9a-f]+)?/"

WITH_CLASSES = frozenset(
    {
        "CategoricalValueCondition",
        "CategoricalValueSpec",
        "ConditionalParameterSpec",
        "ContainerSpec",
        "ConvexAutomatedStoppingSpec",
        "DecayCurveAutomatedStoppingSpec",
        "DiscreteValueCondition",
        "DiscreteValueSpec",
        "DiskSpec",
        "DnsPeeringConfig",
        "DoubleValueSpec",
        "EncryptionSpec",
        "EnvVar",
        "FilterSplit",
        "FractionSplit",
        "InputDataConfig",
        "IntValueCondition",
        "IntegerValueSpec",
        "LustreMount",
        "MachineSpec",
        "MedianAutomatedStoppingSpec",
        "MetricSpec",
        "ModelContainerSpec",
        "NfsMount",
        "ParameterSpec",
        "PredefinedSplit",
        "PredictSchemata",
        "PscInterfaceConfig",
        "PythonPackageSpec",
        "ReservationAffinity",
        "SafetyMetricConfig",
        "Scheduling",
        "StratifiedSplit",
        "StudySpec",
        "StudyStoppingConfig",
        "StudyTimeConstraint",
        "TimestampSplit",
        "WorkerPoolSpec",
    }
)
"""Messages that have an argument class. A test compares them with the package."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """An existing job: its full name, project, location, run key (None without one) and resource class.

    `project` is None if only the project number is known, which a program does not declare.
    """

    job: str
    project: str | None
    location: str
    run: str | None = None
    resource: str = "CustomJob"


def declared_form(kind: JobKind[Spec], spec: Spec) -> Spec:
    """Return the normal form of the spec without the service's defaults and what its run got from us."""
    normal: Any = map_parts(without_variable(kind.normalise(spec)), lambda _, part: _declared_part(part))
    labels = {key: value for key, value in normal.labels.items() if not is_provider_label(key)}
    return cast(Spec, replace(normal, labels=labels))


def _declared_part(part: JobSpec) -> JobSpec:
    scheduling = part.scheduling
    if scheduling and scheduling.timeout == SERVICE_TIMEOUT:
        scheduling = replace(scheduling, timeout=None)
    return replace(
        part,
        worker_pool_specs=tuple(map(_without_default_disk, part.worker_pool_specs)),
        scheduling=None if scheduling == Scheduling() else scheduling,
    )


def resource_name(spec: Any) -> str:
    """Return the name of the resource that made the job, else one like the display name."""
    ours = spec.labels.get("pulumi-resource", "")
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", ours or spec.display_name).strip("-")
    return plain[:60] or "job"


def declaration(kind: JobKind[Spec], spec: Spec, origin: Origin) -> str:
    """Return the Python of a resource that adopts the job, with a newline at its end."""
    declared, name = declared_form(kind, spec), resource_name(spec)
    own = own_bucket(kind, spec, origin.run)
    if own:
        # This is the directory of the run. If it were declared, the next run would overwrite it.
        declared = kind.with_output_directory(declared, None)
    given = keywords(declared)
    if given.get("display_name") == name:
        del given["display_name"]
    if own:
        given["staging_bucket"] = own
    call = Call(
        function=f"vt.{origin.resource}",
        positional=(name,),
        keywords={
            **given,
            **({"project": origin.project} if origin.project else {}),
            "location": origin.location,
            "adopt": origin.job,
        },
    )
    return "\n".join([*map(remark, _remarks(spec, origin)), write(call)]) + "\n"


def own_bucket(kind: JobKind[Spec], spec: Spec, run: str | None) -> str | None:
    """Return the staging bucket if the job writes to a directory of its run, else None."""
    match = run and re.fullmatch(
        _RUN_DIRECTORY.format(key=re.escape(run)), kind.output_directory(kind.normalise(spec)) or ""
    )
    return match.group(1) if match else None


def looks_secret(name: str) -> bool:
    """Return whether a variable's name suggests a secret, such as API_KEY, dbPassword or HF_TOKEN."""
    return _SECRET.search(_WORDS.sub("_", name).lower()) is not None


def _remarks(spec: Any, origin: Origin) -> list[str]:
    if origin.run is None:
        return []
    owners = [
        f"{word} {spec.labels[f'pulumi-{word}']}" for word in _OWNER if spec.labels.get(f"pulumi-{word}")
    ]
    owner = f" ({', '.join(owners)})" if owners else ""
    return [
        f"The job belongs to run {origin.run}{owner}.",
        "If that stack no longer exists, adopt the job with taking_over=<this run>.",
    ]


_OWNER = ("resource", "stack", "project")


def _without_default_disk(pool: WorkerPoolSpec) -> WorkerPoolSpec:
    default = default_disk(pool.machine_type)
    is_default = pool.disk_spec == default and bool(default.boot_disk_type)
    return replace(pool, disk_spec=None) if is_default else pool


def keywords(message: object) -> dict[str, Node]:
    """Return the fields that differ from their defaults, and all required fields."""
    given: dict[str, Node] = {}
    for item in dataclasses.fields(message):  # type: ignore[arg-type]
        value = getattr(message, item.name)
        if value != default_of(item):
            given[item.name] = _node(value)
    return given


def _node(value: object) -> Node:
    if isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {key: _node(item) for key, item in value.items()}
    if isinstance(value, tuple):
        if any(isinstance(item, WorkerPoolSpec) for item in value):
            return _pools(value)
        return [_variable(item) if isinstance(item, EnvVar) else _node(item) for item in value]
    if isinstance(value, WorkerPoolSpec):
        return _pool(value)
    return _call(value) if type(value).__name__ in WITH_CLASSES else dict(keywords(value))


def _pools(pools: tuple[WorkerPoolSpec, ...]) -> Node:
    nodes: list[Node] = []
    for position, pool in enumerate(pools):
        named = len(pools) > 1 and position < MAX_POOLS
        words = role_of(position, pool).in_words(2) if named else ""
        nodes.append(Commented(remarks=(words,), node=_pool(pool)) if words else _pool(pool))
    return nodes


def _pool(pool: WorkerPoolSpec) -> Node:
    given = keywords(pool)
    if pool.machine_spec is None:
        # The class requires a machine, which an empty pool does not have.
        return dict(given)
    return Call(function="vt.WorkerPoolSpecArgs", keywords={**given, "replica_count": pool.replica_count})


def _variable(variable: EnvVar) -> Node:
    call = _call(variable)
    if not looks_secret(variable.name) or not variable.value:
        return call
    return Commented(
        remarks=("Perhaps a secret. To keep it out of the program: pulumi.Config().require_secret(...).",),
        node=call,
    )


def _call(message: object) -> Call:
    return Call(function=f"vt.{type(message).__name__}Args", keywords=keywords(message))


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


def find_named(endpoint: Endpoint, text: str, *, show_secrets: bool) -> Declaration | None:
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
    record = _module("staging_bucket", "gateway").get(endpoint, name)
    given = _keywords(_module("staging_bucket", "wire").from_wire(record.wire))
    return _declaration("StagingBucket", endpoint, record, {**given, "adopt": True}, place=False)


def _repository(endpoint: Endpoint, repository_id: str, _: bool) -> Declaration:
    name = f"{endpoint.parent}/repositories/{repository_id}"
    record = _module("image_repository", "gateway").get(endpoint, name)
    given = _keywords(_module("image_repository", "spec").from_wire(record.wire))
    return _declaration("ImageRepository", endpoint, record, {**given, "adopt": True})


def _persistent_resource(endpoint: Endpoint, resource_id: str, _: bool) -> Declaration:
    name = f"{endpoint.parent}/persistentResources/{resource_id}"
    record = _module("persistent_resource", "gateway").get(endpoint, name)
    given = _keywords(_module("persistent_resource", "spec").from_wire(record.wire))
    given = {"persistent_resource_id": resource_id, **given, "adopt": True}
    return _declaration("PersistentResource", endpoint, record, given)


def _model(endpoint: Endpoint, model_id: str, show_secrets: bool) -> Declaration:
    record = _module("model", "gateway").get(endpoint, f"{endpoint.parent}/models/{model_id}")
    shown = dataclasses.replace(record, wire=hidden_values.without_values(record.wire, show=show_secrets))
    given = _keywords(_module("model", "kind").from_wire(shown.wire))
    found = _declaration("Model", endpoint, shown, {**given, "adopt": record.full_name.rpartition("/")[2]})
    return dataclasses.replace(found, hides_values=shown.wire != record.wire)


_OF_COLLECTION: Mapping[str, Callable[[Endpoint, str, bool], Declaration]] = {
    "repositories": _repository,
    "persistentResources": _persistent_resource,
    "models": _model,
}


def _module(kind: str, module: str) -> Any:
    """Load a module of a kind, and only of the kind that is asked for."""
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
