"""What the workflow needs to know of a kind of resource that runs: its calls, and how its records look."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from vertex_training.cloud import custom_jobs
from vertex_training.cloud.endpoint import Endpoint


class State(Protocol):
    """A state of the service, for example JOB_STATE_RUNNING."""

    @property
    def name(self) -> str: ...

    @property
    def is_terminal(self) -> bool: ...


class Record(Protocol):
    """What the service says of one run; `cloud.custom_jobs.JobRecord` is one."""

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
    """The calls of one kind. All raise the exceptions of `vertex_training.cloud.errors`.

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


CUSTOM_JOB = Kind(
    noun="custom job",
    create=custom_jobs.create,
    get=custom_jobs.get,
    find=custom_jobs.list_by_label,
    cancel=custom_jobs.cancel,
    delete=custom_jobs.delete,
    labelled=custom_jobs.list_labelled,
    live=custom_jobs.list_live_labelled,
)
