"""What the workflow needs to know of a kind of resource that runs: its calls, and how its records look."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import Gateway
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from pulumi_vertex_training.kinds.training_pipeline import gateway as training_pipelines


class State(Protocol):
    """A state of the service, for example JOB_STATE_RUNNING."""

    @property
    def name(self) -> str: ...

    @property
    def is_terminal(self) -> bool: ...


class Record(Protocol):
    """What the service says of one run; `cloud.jobs.JobRecord` is one."""

    @property
    def name(self) -> str: ...

    @property
    def state(self) -> State: ...

    @property
    def create_time(self) -> str | None: ...

    @property
    def labels(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The calls of one kind. All raise the exceptions of `pulumi_vertex_training.cloud.errors`.

    `labelled` are all runs that carry a label of this name, `live` those of them that have not ended.
    `collection` is the part of a full name before the id.
    """

    noun: str
    create: Callable[[Endpoint, Mapping[str, Any]], Any]
    get: Callable[[Endpoint, str], Any]
    find: Callable[[Endpoint, Mapping[str, str]], Sequence[Any]]
    cancel: Callable[[Endpoint, str], None]
    delete: Callable[[Endpoint, str], None]
    labelled: Callable[[Endpoint, str], Sequence[Any]]
    live: Callable[[Endpoint, str], Sequence[Any]]
    collection: str = "customJobs"


def kind_of(gateway: Gateway) -> Kind:
    """The kind whose calls a gateway has."""
    return Kind(
        noun=gateway.noun,
        create=gateway.create,
        get=gateway.get,
        find=gateway.list_by_label,
        cancel=gateway.cancel,
        delete=gateway.delete,
        labelled=gateway.list_labelled,
        live=gateway.list_live_labelled,
        collection=gateway.collection,
    )


CUSTOM_JOB = kind_of(custom_jobs.GATEWAY)
TUNING_JOB = kind_of(tuning_jobs.GATEWAY)
TRAINING_PIPELINE = replace(kind_of(training_pipelines.GATEWAY), create=training_pipelines.create)

KINDS: Mapping[str, Kind] = MappingProxyType(
    {kind.collection: kind for kind in (CUSTOM_JOB, TUNING_JOB, TRAINING_PIPELINE)}
)
"""Every kind by its collection, which every full name of one of its runs has in it."""
