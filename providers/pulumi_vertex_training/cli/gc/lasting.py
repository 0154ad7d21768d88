"""Persistent resources and models: what lasts beside the jobs and can be left over, by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from pulumi_vertex_training.cli.gc.mentions import MODELS, RESOURCES
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model.gateway import ModelRecord
from pulumi_vertex_training.kinds.model.spec import DEFAULT_ALIAS
from pulumi_vertex_training.kinds.persistent_resource import gateway as persistent_resources
from pulumi_vertex_training.kinds.persistent_resource.gateway import ResourceRecord, ResourceState
from vertex_training.fields.labels import MARKS


@dataclass(frozen=True, kw_only=True)
class Lasting:
    """One of them, as the service has it.

    `state` is the service's word, "" for what has none. `create_time` tells it from a later one of the same
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
    def marks(self) -> Mapping[str, str]:
        """Those of our marks that it carries."""
        return _marks(self.labels)

    @property
    def is_going(self) -> bool:
        """Whether it is being deleted already."""
        return self.state == ResourceState.STOPPING.word


@dataclass(frozen=True, kw_only=True)
class LastingKind:
    """The calls of one kind. All raise the exceptions of `pulumi_vertex_training.cloud.errors`.

    `marked` are all that carry every one of our marks, without what would take another request for each.
    `delete` may only begin the deletion.
    """

    noun: str
    marked: Callable[[Endpoint], list[Lasting]]
    get: Callable[[Endpoint, str], Lasting]
    delete: Callable[[Endpoint, str], object]


def _marked_resources(endpoint: Endpoint) -> list[Lasting]:
    return _fully_marked(map(_resource, persistent_resources.list_labelled(endpoint, MARKS[0])))


def _get_resource(endpoint: Endpoint, name: str) -> Lasting:
    return _resource(persistent_resources.get(endpoint, name))


def _resource(record: ResourceRecord) -> Lasting:
    used = sum(int(pool.get("usedReplicaCount", 0)) for pool in record.wire.get("resourcePools", ()))
    return Lasting(
        name=record.name,
        display_name=str(record.wire.get("displayName", "")),
        state=record.state.word,
        create_time=record.create_time,
        labels=record.labels,
        # The service would not refuse: it cancels the jobs, whoever's they are.
        obstacle=f"jobs on it use {used} of its machines, and would be cancelled with it: end them first"
        if used
        else "",
    )


def _marked_models(endpoint: Endpoint) -> list[Lasting]:
    return _fully_marked(_model([record]) for record in models.list_labelled(endpoint, MARKS[0]))


def _get_model(endpoint: Endpoint, name: str) -> Lasting:
    found = models.versions(endpoint, name)
    if not found:
        raise NotFound(f"model {name.rpartition('/')[2]} has no versions", endpoint=endpoint)
    return _model(found)


def _model(versions: Sequence[ModelRecord]) -> Lasting:
    shown = next((one for one in versions if DEFAULT_ALIAS in one.aliases), versions[0])
    others = [one.version for one in versions if _marks(one.labels) != _marks(shown.labels)]
    return Lasting(
        name=shown.name,
        display_name=str(shown.wire.get("displayName", "")),
        create_time=shown.wire.get("createTime"),
        labels=shown.labels,
        uploaded_by=frozenset(
            str(one.wire["trainingPipeline"]).rpartition("/")[2]
            for one in versions
            if one.wire.get("trainingPipeline")
        ),
        obstacle=f"the labels of its versions differ (of {', '.join(others)} from those of {shown.version}), "
        "so it may be several owners': delete single ones with `gcloud ai models delete-version`"
        if others
        else "",
    )


def _fully_marked(found: Iterable[Lasting]) -> list[Lasting]:
    return [one for one in found if len(one.marks) == len(MARKS)]


def _marks(labels: Mapping[str, str]) -> Mapping[str, str]:
    return {mark: labels[mark] for mark in MARKS if mark in labels}


LASTING: Mapping[str, LastingKind] = MappingProxyType(
    {
        RESOURCES: LastingKind(
            noun="persistent resource",
            marked=_marked_resources,
            get=_get_resource,
            delete=persistent_resources.delete,
        ),
        MODELS: LastingKind(noun="model", marked=_marked_models, get=_get_model, delete=models.delete),
    }
)
"""By collection, which every full name of what they have has in it."""
