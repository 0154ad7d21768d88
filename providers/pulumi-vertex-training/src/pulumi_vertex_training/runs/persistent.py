"""Persistent resources and models, which exist beside the jobs and may be orphaned, for `gc`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from vertex_training.fields.labels import OWNERSHIP_LABELS


@dataclass(frozen=True, kw_only=True)
class PersistentRecord:
    """A persistent resource or a model, as the service has it.

    `state` is the service's word, "" for a model. `create_time` distinguishes it from a later one of the same
    name. `uploaded_by`: ids of the pipelines that have uploaded versions of a model. `obstacle`: why it must
    not be deleted as it is, whoever knows it.
    """

    name: str
    display_name: str
    state: str = ""
    create_time: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    uploaded_by: frozenset[str] = frozenset()
    obstacle: str = ""

    @property
    def id(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def collection(self) -> str:
        return self.name.split("/")[-2]

    @property
    def is_going(self) -> bool:
        """True if it is being deleted already."""
        return self.state == "STOPPING"

    @property
    def marks(self) -> Mapping[str, str]:
        """The ownership labels that it has."""
        return marks_of(self.labels)


@dataclass(frozen=True, kw_only=True)
class PersistentKind:
    """The calls of one kind. All raise the exceptions of `pulumi_vertex_training.cloud.errors`.

    `labelled` returns all that have the first of our ownership labels, without details that take another
    request for each. `delete` may only begin the deletion.
    """

    noun: str
    labelled: Callable[[Endpoint], Iterable[PersistentRecord]]
    get: Callable[[Endpoint, str], PersistentRecord]
    delete: Callable[[Endpoint, str], object]

    def marked(self, endpoint: Endpoint) -> list[PersistentRecord]:
        """Return all that have every one of our ownership labels."""
        return [one for one in self.labelled(endpoint) if len(one.marks) == len(OWNERSHIP_LABELS)]


def marks_of(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return the labels that are ownership labels of ours."""
    return {mark: labels[mark] for mark in OWNERSHIP_LABELS if mark in labels}


def persistent_kinds() -> Mapping[str, PersistentKind]:
    """Return the kinds of persistent resources and models, by collection."""
    return {
        entry.collection: entry.part("gateway", "PERSISTENT", PersistentKind) for entry in registry.PERSISTENT
    }
