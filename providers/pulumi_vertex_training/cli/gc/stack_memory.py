"""What the states of Pulumi stacks say of what is ours in the cloud, read from what `pulumi stack export`
prints and from checkpoints.

Two questions are asked of a state, and they are answered with opposite care. Whether it *knows* a thing: any
mention counts, in inputs, outputs, pending operations, whatever the resource; but for the outputs of the
stack itself, which say what once was there. Whether a run was *made* by it: only a resource that is that run
counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.runs.identity import identity_of

_IDENTITY = re.compile(r"(?<![0-9a-z])[0-9a-f]{16}(?![0-9a-z])")
_JOB_ID = re.compile(r"[0-9]+")
_STAGED = ("StagedPackage", "StagedFile")


@dataclass(frozen=True, order=True, kw_only=True)
class StackName:
    """One stack in the world: stacks of two backends may have equal names."""

    backend: str
    project: str
    stack: str
    organization: str = ""

    @property
    def reference(self) -> str:
        """What `pulumi --stack` takes."""
        return "/".join(filter(None, (self.organization, self.project, self.stack)))

    def __str__(self) -> str:
        return f"{self.project}/{self.stack} in {self.backend}"


@dataclass(frozen=True, order=True, kw_only=True)
class StagingPlace:
    """Where a staged object was put."""

    endpoint: str
    project: str
    bucket: str
    prefix: str


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What one state, or several of one stack, have to say.

    `mentioned` and `job_ids`: identities and ids that occur anywhere. `text`: every string, a line each; ""
    where it is not kept. `runs`: identities of runs that are resources. `kept`: ids of jobs, and identities
    of runs, that are recorded with on_delete = cancel. `objects`: gs:// addresses of staged resources.
    `mentions`: persistent resources and models that are named anywhere but in creations that were begun;
    `begun`: those in such creations, which stay in a state when a deployment was killed; `retained`: those in
    resources that Pulumi is told not to delete.
    """

    mentioned: frozenset[str] = frozenset()
    job_ids: frozenset[str] = frozenset()
    text: str = ""
    runs: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    objects: frozenset[str] = frozenset()
    places: frozenset[StagingPlace] = frozenset()
    mentions: frozenset[Mention] = frozenset()
    begun: frozenset[Mention] = frozenset()
    retained: frozenset[Mention] = frozenset()


NOTHING = Memory()


def memory_of(state: Mapping[str, Any], *, with_text: bool = False) -> Memory:
    """Of what `pulumi stack export` prints, or of a checkpoint of a file backend.

    Raises ValueError for anything else: what cannot be read must not pass for an empty state.
    """
    deployment = _deployment(state)
    text = "\n".join(strings(deployment))
    runs: set[str] = set()
    kept: set[str] = set()
    objects: set[str] = set()
    places: set[StagingPlace] = set()
    mentions: set[Mention] = set()
    begun: set[Mention] = set()
    retained: set[Mention] = set()
    for resource, is_begun in _resources(deployment):
        kind = registry.TYPES.get(str(resource.get("type", "")), "")
        named = set(mentions_of(resource, is_ours=bool(kind)))
        (begun if is_begun else mentions).update(named)
        if not kind:
            continue
        if kind in _LASTING and resource.get("retainOnDelete") is True:
            retained |= named
        facts = {**_plain(resource.get("inputs")), **_plain(resource.get("outputs"))}
        id_ = resource.get("id")
        if kind in _RUNS and isinstance(id_, str):
            runs.add(id_)
        elif kind in _RUNNING and isinstance(facts.get("run"), str):
            identity = identity_of(facts["run"])
            runs.add(identity)
            if facts.get("on_delete") == "cancel":
                kept |= {identity, str(id_).rpartition("/")[2]}
        elif kind in _STAGED and all(isinstance(facts.get(name), str) for name in _PLACE):
            objects.add(f"gs://{facts['bucket']}/{facts['object_name']}")
            places.add(
                StagingPlace(
                    endpoint=facts["endpoint"],
                    project=facts["project"],
                    bucket=facts["bucket"],
                    prefix=facts["object_name"].rsplit("/", 2)[0]
                    if facts["object_name"].count("/") > 1
                    else "",
                )
            )
    return Memory(
        mentioned=frozenset(_IDENTITY.findall(text)),
        job_ids=frozenset(_JOB_ID.findall(text)),
        text=text if with_text else "",
        runs=frozenset(runs),
        kept=frozenset(kept),
        objects=frozenset(objects),
        places=frozenset(places),
        mentions=frozenset(mentions),
        begun=frozenset(begun),
        retained=frozenset(retained),
    )


_RUNS = frozenset(entry.run for entry in registry.RUNNABLE)
_RUNNING = frozenset(name for entry in registry.RUNNABLE for name in entry.resources)
_LASTING = frozenset(name for entry in registry.LASTING for name in entry.resources)
_PLACE = ("endpoint", "project", "bucket", "object_name")


def united(memories: Iterable[Memory]) -> Memory:
    """All that several states say, without their texts."""
    each = list(memories)
    return Memory(
        mentioned=frozenset().union(*(one.mentioned for one in each)),
        job_ids=frozenset().union(*(one.job_ids for one in each)),
        runs=frozenset().union(*(one.runs for one in each)),
        kept=frozenset().union(*(one.kept for one in each)),
        objects=frozenset().union(*(one.objects for one in each)),
        places=frozenset().union(*(one.places for one in each)),
        mentions=frozenset().union(*(one.mentions for one in each)),
        begun=frozenset().union(*(one.begun for one in each)),
        retained=frozenset().union(*(one.retained for one in each)),
    )


def _deployment(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """The resources of an export are in `deployment`, those of a checkpoint in `checkpoint.latest`; a stack
    that was never deployed has none.
    """
    if "deployment" in state:
        found = state["deployment"]
    else:
        checkpoint = state.get("checkpoint")
        if not isinstance(checkpoint, Mapping):
            raise ValueError("neither a `deployment` nor a `checkpoint` is in it")
        found = checkpoint.get("latest")
    if found is None:
        return {}
    if not isinstance(found, Mapping) or not isinstance(found.get("resources") or [], list):
        raise ValueError("its resources cannot be read")
    return {**found, "resources": list(map(_without_stack_outputs, found.get("resources") or []))}


def _without_stack_outputs(resource: Any) -> Any:
    if not isinstance(resource, Mapping) or resource.get("type") != "pulumi:pulumi:Stack":
        return resource
    return {name: value for name, value in resource.items() if name != "outputs"}


def _resources(deployment: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Resources, and those that an operation was at work on when the state was written; whether it was a
    creation.
    """
    for resource in deployment.get("resources") or []:
        if isinstance(resource, Mapping):
            yield resource, False
    for operation in deployment.get("pending_operations") or []:
        if isinstance(operation, Mapping) and isinstance(operation.get("resource"), Mapping):
            yield operation["resource"], operation.get("type") == "creating"


def strings(value: object) -> Iterator[str]:
    """Every string in plain values, keys among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def _plain(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


RESOURCES = "persistentResources"
MODELS = "models"

_NAME = re.compile(rf"(?:projects/([^/\s]+)/)?locations/([^/\s]+)/({RESOURCES}|{MODELS})/([\w-]+)")
_KEYS: Mapping[str, str] = {
    "persistent_resource_id": RESOURCES,
    "persistentResourceId": RESOURCES,
    "model_id": MODELS,
    "modelId": MODELS,
    "parent_model": MODELS,
    "parentModel": MODELS,
    "adopt": MODELS,
}
"""Where the last part of a name may stand alone."""


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A name in a state; "" for what the state does not say."""

    collection: str
    id: str
    location: str = ""
    project: str = ""
    endpoint: str = ""

    def may_be(self, name: str, endpoint: Endpoint) -> bool:
        """Whether it may mean what has this full name at this endpoint."""
        _, _, _, location, collection, id_ = name.split("/")
        return (
            (self.collection, self.id) == (collection, id_)
            and self.location in ("", location)
            and self.endpoint in ("", endpoint.kind)
            and (not self.project or _may_be_one(self.project, endpoint.project))
        )


def mentions_of(resource: Mapping[str, Any], *, is_ours: bool) -> Iterator[Mention]:
    """All that one resource of a state says anywhere. Only of ours it is known what names the place, and that
    of the inputs may be another than that of the outputs.
    """
    parts = {key: value for key in ("inputs", "outputs") if isinstance(value := resource.get(key), Mapping)}
    whole = {name: value for part in parts.values() for name, value in part.items()}
    rest = {key: value for key, value in resource.items() if key not in parts}
    for value, properties in ((rest, whole), *((part, part) for part in parts.values())):
        yield from _mentions(value, _place(properties) if is_ours else _ANYWHERE)


def _mentions(value: object, place: Mention) -> Iterator[Mention]:
    if isinstance(value, str):
        for project, location, collection, id_ in _NAME.findall(value):
            named = replace(place, collection=collection, id=id_, location=location)
            yield replace(named, project=project) if project else named
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key in _KEYS and isinstance(item, str) and "/" not in item:
                yield replace(place, collection=_KEYS[key], id=item.partition("@")[0])
            yield from _mentions(item, place)
    elif isinstance(value, list):
        for item in value:
            yield from _mentions(item, place)


def _place(properties: Mapping[str, Any]) -> Mention:
    """A mention of nothing yet, of the place that these properties name."""
    said = {name: properties.get(name) for name in ("location", "project", "endpoint")}
    return replace(_ANYWHERE, **{name: value for name, value in said.items() if isinstance(value, str)})


_ANYWHERE = Mention(collection="", id="")


def _may_be_one(project: str, other: str) -> bool:
    return project == other or project.isdigit() != other.isdigit()
