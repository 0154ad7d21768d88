"""A declared resource as the policies read it: the fields of its kind that a policy is about.

Pulumi's analyzer and `vertex-training plan` have the inputs of a resource as plain values. Both pass them to
`subject_of`, with `UNKNOWN` for a value that is not known yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from vertex_training.fields.decode import decode
from vertex_training.fields.schema import child, snake_case
from vertex_training.findings.problems import is_within
from vertex_training.job.job_spec import EncryptionSpec, JobSpec, parts
from vertex_training.study.tuning import TuningSpec
from vertex_training.topology.pools import MachineSpec
from vertex_training.topology.rules.resource_pools import ResourcePool
from vertex_training.type_tokens import resource_of

_ABSENT = {"absent_if_empty": True}


@dataclass(frozen=True, kw_only=True)
class Located:
    """A resource in a region."""

    location: str = ""


@dataclass(frozen=True, kw_only=True)
class Labelled(Located):
    """A resource with labels."""

    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Encrypted(Labelled):
    """A resource with the API's `EncryptionSpec`."""

    encryption_spec: EncryptionSpec | None = field(default=None, metadata=_ABSENT)


@dataclass(frozen=True, kw_only=True)
class Job(Encrypted):
    """The fields that all kinds of job have beside their spec."""

    protect_running: bool = False
    max_cost: float | None = None


@dataclass(frozen=True, kw_only=True)
class CustomJob(Job, JobSpec):
    """A custom job."""


@dataclass(frozen=True, kw_only=True)
class TuningJob(Job, TuningSpec):
    """A tuning job."""


@dataclass(frozen=True, kw_only=True)
class Container:
    """The serving container of a model."""

    image_uri: str = ""


@dataclass(frozen=True, kw_only=True)
class Model(Encrypted):
    """A declared model, or the model that a pipeline uploads."""

    container_spec: Container | None = field(default=None, metadata=_ABSENT)


@dataclass(frozen=True, kw_only=True)
class Pipeline(Job):
    """A training pipeline with one of its two tasks."""

    custom_task: JobSpec | None = None
    tuning_task: TuningSpec | None = None
    model_to_upload: Model | None = field(default=None, metadata=_ABSENT)


@dataclass(frozen=True, kw_only=True)
class Machines(Encrypted):
    """A persistent resource."""

    resource_pools: tuple[ResourcePool, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BucketEncryption:
    """The encryption of a bucket."""

    default_kms_key_name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Bucket(Labelled):
    """A bucket."""

    encryption: BucketEncryption | None = None


@dataclass(frozen=True, kw_only=True)
class Repository(Labelled):
    """A repository of images."""

    kms_key_name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Schedule(Located):
    """A schedule; the job that it runs is a resource of its own."""

    service_account: str | None = None


KINDS: Mapping[str, type[Located]] = MappingProxyType(
    {
        "CustomJob": CustomJob,
        "HyperparameterTuningJob": TuningJob,
        "TrainingPipeline": Pipeline,
        "PersistentResource": Machines,
        "Model": Model,
        "StagingBucket": Bucket,
        "ImageRepository": Repository,
        "TrainingSchedule": Schedule,
    }
)
"""The class with the fields of each kind, by the name of its resource. No other kind is ever refused."""

_NAME = re.compile(r"[A-Za-z]\w*")


class Pool(NamedTuple):
    """The machines of a worker pool, or of a pool of a persistent resource."""

    path: str
    machine: MachineSpec
    replicas: int


class Image(NamedTuple):
    """An image with the path of its field."""

    path: str
    uri: str


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A declared resource. `unknown` has the paths of values that are not known yet, `secret` of secrets."""

    kind: str
    name: str
    stack: str
    declared: Located
    unknown: frozenset[str] = frozenset()
    secret: frozenset[str] = frozenset()

    def is_secret(self, path: str) -> bool:
        """Return whether the value at a path is a secret, or a part of one."""
        return any(is_within(path, each) for each in self.secret)

    @property
    def jobs(self) -> tuple[tuple[str, JobSpec], ...]:
        """Every job in the declaration, with the path of its fields: "" for a custom job."""
        return tuple(parts(self.declared))

    @property
    def tuning(self) -> TuningSpec | None:
        """The tuning that the resource runs, or None."""
        if isinstance(self.declared, Pipeline):
            return self.declared.tuning_task
        return self.declared if isinstance(self.declared, TuningJob) else None

    @property
    def pools(self) -> tuple[Pool, ...]:
        """Every pool that has machines."""
        return tuple(self._pools())

    @property
    def paths_of_pools(self) -> Iterator[str]:
        """The path of every pool, also of an empty one."""
        for path, job in self.jobs:
            yield from (_pool(path, index) for index in range(len(job.worker_pool_specs)))
        if isinstance(self.declared, Machines):
            yield from (f"resource_pools[{index}]" for index in range(len(self.declared.resource_pools)))

    @property
    def images(self) -> tuple[Image, ...]:
        """Every image that the resource runs."""
        return tuple(self._images())

    def _pools(self) -> Iterator[Pool]:
        for path, job in self.jobs:
            for index, pool in enumerate(job.worker_pool_specs):
                if pool.machine_spec is not None and not pool.is_empty:
                    yield Pool(_pool(path, index), pool.machine_spec, pool.replica_count)
        if isinstance(self.declared, Machines):
            for index, machines in enumerate(self.declared.resource_pools):
                yield Pool(f"resource_pools[{index}]", machines.machine_spec, machines.capacity)

    def _images(self) -> Iterator[Image]:
        for path, job in self.jobs:
            for index, pool in enumerate(job.worker_pool_specs):
                yield from (Image(f"{_pool(path, index)}.{name}", uri) for name, uri in pool.images)
        if isinstance(self.declared, Model):
            yield from _serving(self.declared, "")
        elif isinstance(self.declared, Pipeline) and self.declared.model_to_upload is not None:
            yield from _serving(self.declared.model_to_upload, "model_to_upload")


def _serving(model: Model, path: str) -> Iterator[Image]:
    if model.container_spec is not None:
        yield Image(child(child(path, "container_spec"), "image_uri"), model.container_spec.image_uri)


def _pool(path: str, index: int) -> str:
    return f"{child(path, 'worker_pool_specs')}[{index}]"


def kind_of(token: str) -> str | None:
    """Return the kind of a type token of Pulumi's, or None for a resource that no policy is about."""
    kind = resource_of(token)
    return kind if kind in KINDS else None


def stack_of(urn: str) -> str:
    """Return the name of the stack in a URN, urn:pulumi:STACK::PROJECT::TYPE::NAME."""
    return urn.partition("::")[0].rpartition(":")[2]


def paths_of(value: object, is_found: Callable[[object], bool], path: str = "") -> Iterator[str]:
    """Yield the paths in inputs of the values that `is_found` accepts; none below such a value."""
    if is_found(value):
        yield path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from paths_of(item, is_found, child(path, key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, item in enumerate(value):
            yield from paths_of(item, is_found, f"{path}[{index}]")


def subject_of(
    kind: str, name: str, stack: str, inputs: Mapping[str, Any], *, secret: Iterable[str] = ()
) -> Subject | None:
    """Return a resource by its inputs; None if they cannot be read, which the check of its provider reports.

    Inputs that no policy is about are ignored. Their names are in snake case, or in camel case as the package
    has them. `secret` has the paths of values that no message may show.
    """
    decoded = decode(KINDS[kind], inputs, tolerant=True)
    if decoded.draft is None:
        return None
    return Subject(
        kind=kind,
        name=name,
        stack=stack,
        declared=decoded.draft,
        unknown=decoded.unknown | decoded.damaged,
        secret=frozenset(name for path in secret for name in (path, _NAME.sub(_in_snake_case, path))),
    )


def _in_snake_case(name: re.Match[str]) -> str:
    return snake_case(name[0])
