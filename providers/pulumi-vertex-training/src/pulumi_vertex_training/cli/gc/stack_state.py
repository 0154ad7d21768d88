"""Read which cloud resources the state of a Pulumi stack names, from `pulumi stack export` and checkpoints.

A state answers two questions, with opposite care. Does the stack *have* a resource? Any mention counts, in
the inputs, outputs and pending operations of any resource, except for the outputs of the stack itself, which
may be out of date. Did the stack *make* a run? Only a job with this run counts, also one whose creation is
pending.

People choose the names of persistent resources and models, so other projects and the emulator may have the
same names. A mention counts unless the state says that it belongs to another endpoint, project or location.
A project id and a project number may be the same project.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.core_names import in_core_names
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.state.entries import CREATING, deployment_of, entries
from pulumi_vertex_training.core.state.hidden_input import (
    recorded_checkpoints,
    recorded_identity,
    recorded_key,
)
from pulumi_vertex_training.runs.identity import identity_of

_IDENTITY = re.compile(r"(?<![0-9a-z])[0-9a-f]{16}(?![0-9a-z])")
_JOB_ID = re.compile(r"[0-9]+")
_STAGED = ("StagedPackage", "StagedFile")


@dataclass(frozen=True, order=True, kw_only=True)
class StackName:
    """Name of a stack with its backend: stacks of two backends may have equal names."""

    backend: str
    project: str
    stack: str
    organization: str = ""

    @property
    def reference(self) -> str:
        """Value for `pulumi --stack`."""
        return "/".join(filter(None, (self.organization, self.project, self.stack)))

    def __str__(self) -> str:
        return f"{self.project}/{self.stack} in {self.backend}"


@dataclass(frozen=True, order=True, kw_only=True)
class StagingFolder:
    """Folder of a bucket that staged objects were written to."""

    endpoint: str
    project: str
    bucket: str
    prefix: str


@dataclass(frozen=True, kw_only=True)
class StateContents:
    """Contents of one state, or of several states of one stack.

    `mentioned` and `job_ids` are the run identities and job ids that occur anywhere, except identities that
    only pending creations have. `begun_runs` are those. `text` is every string, one a line, "" if it was not
    kept. `runs` are the identities of the runs of jobs, also of jobs in pending creations. `kept` are the ids
    of jobs, and the identities of runs, that are recorded with on_delete = cancel. `objects` are the gs://
    addresses of staged resources.

    `mentions` are the persistent resources and models that are named, except in pending creations. `begun`
    are those in pending creations, which stay in the state if a deployment is killed. `retained` are those
    of resources with retain_on_delete, `kept_models` those of models with on_delete = keep. `keeps_model` are
    the ids of pipelines whose model is not deleted with them. `checkpoints` are the folders of jobs.
    """

    mentioned: frozenset[str] = frozenset()
    job_ids: frozenset[str] = frozenset()
    text: str = ""
    begun_runs: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    objects: frozenset[str] = frozenset()
    staging_folders: frozenset[StagingFolder] = frozenset()
    mentions: frozenset[Mention] = frozenset()
    begun: frozenset[Mention] = frozenset()
    retained: frozenset[Mention] = frozenset()
    kept_models: frozenset[Mention] = frozenset()
    keeps_model: frozenset[str] = frozenset()
    checkpoints: frozenset[str] = frozenset()


NOTHING = StateContents()


def contents_of(state: Mapping[str, Any], *, with_text: bool = False) -> StateContents:
    """Read the output of `pulumi stack export`, or a checkpoint of a file backend.

    Raises ValueError for anything else: an unreadable state must not pass for an empty one.
    """
    deployment = _deployment(state)
    text = "\n".join(strings(deployment))
    found = merged(
        _contents_of_resource(entry.resource, is_begun=entry.operation == CREATING)
        for entry in entries(deployment)
    )
    recorded = (strings(one.resource) for one in entries(deployment) if one.operation != CREATING)
    begun = found.begun_runs.difference(_IDENTITY.findall("\n".join(chain.from_iterable(recorded))))
    return replace(
        found,
        mentioned=frozenset(_IDENTITY.findall(text)) - begun,
        begun_runs=begun,
        job_ids=frozenset(_JOB_ID.findall(text)),
        text=text if with_text else "",
    )


_JOBS = frozenset(name for entry in registry.RUNNABLE for name in entry.resources)
_PERSISTENT = frozenset(name for entry in registry.PERSISTENT for name in entry.resources)
_ADDRESS_FIELDS = ("endpoint", "project", "bucket", "object_name")


def _contents_of_resource(resource: Mapping[str, Any], *, is_begun: bool) -> StateContents:
    """Return what one resource of a state adds to its contents, without its text."""
    kind = registry.resource_of(str(resource.get("type", "")))
    resource = in_core_names(resource)
    named = frozenset(mentions_of(resource, is_ours=bool(kind)))
    contents = StateContents(begun=named) if is_begun else StateContents(mentions=named)
    if kind in _PERSISTENT and resource.get("retainOnDelete") is True:
        contents = replace(contents, retained=named)
    facts = {**_plain(resource.get("inputs")), **_plain(resource.get("outputs"))}
    id_ = resource.get("id")
    if kind == "Model" and facts.get("on_delete") == "keep" and not is_begun:
        contents = replace(contents, kept_models=named)
    if kind in _JOBS and (runs := frozenset(_runs_of(resource))):
        if is_begun:
            return replace(contents, runs=runs, begun_runs=runs)
        kept = {*runs, str(id_).rpartition("/")[2]} if facts.get("on_delete") == "cancel" else ()
        folders = filter(None, [recorded_checkpoints(facts)])
        contents = replace(contents, runs=runs, kept=frozenset(kept), checkpoints=frozenset(folders))
        if kind == "TrainingPipeline" and facts.get("on_delete") != "delete":
            contents = replace(contents, keeps_model=frozenset({str(id_).rpartition("/")[2]}))
        return contents
    if kind == "TrainingSchedule" and (key := recorded_key(facts)) is not None:
        return replace(contents, runs=frozenset({identity_of(key)}))
    if kind in _STAGED and all(isinstance(facts.get(name), str) for name in _ADDRESS_FIELDS):
        # An object is PREFIX/HASH/NAME, or HASH/NAME without a prefix.
        name = facts["object_name"]
        folder = StagingFolder(
            endpoint=facts["endpoint"],
            project=facts["project"],
            bucket=facts["bucket"],
            prefix=name.rsplit("/", 2)[0] if name.count("/") > 1 else "",
        )
        return replace(
            contents, objects=frozenset({f"gs://{folder.bucket}/{name}"}), staging_folders=frozenset({folder})
        )
    return contents


def _runs_of(job: Mapping[str, Any]) -> Iterator[str]:
    """Yield the identity of a job's runs, as its outputs have it, and as its inputs have it."""
    for part in ("outputs", "inputs"):
        if (identity := recorded_identity(_plain(job.get(part)))) is not None:
            yield identity


def merged(contents: Iterable[StateContents]) -> StateContents:
    """Merge the contents of several states, without their texts."""
    each = list(contents)
    unions: dict[str, Any] = {
        field.name: frozenset().union(*(getattr(one, field.name) for one in each))
        for field in fields(StateContents)
        if field.name != "text"
    }
    return StateContents(**unions)


def _deployment(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the deployment of an export or a checkpoint, without the outputs of the stack."""
    found = deployment_of(state)
    return {**found, "resources": list(map(_without_stack_outputs, found.get("resources") or []))}


def _without_stack_outputs(resource: object) -> Any:
    if not isinstance(resource, Mapping) or resource.get("type") != "pulumi:pulumi:Stack":
        return resource
    return {name: value for name, value in resource.items() if name != "outputs"}


def strings(value: object) -> Iterator[str]:
    """Yield every string in plain values, including keys."""
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
"""Keys whose value may be an id instead of a full name, with the collection of the id."""


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A persistent resource or model that a state names; "" for parts that the state does not have."""

    collection: str
    id: str
    location: str = ""
    project: str = ""
    endpoint: str = ""

    def may_be(self, name: str, endpoint: Endpoint) -> bool:
        """Return whether this may be the resource with the full name `name` at `endpoint`."""
        _, _, _, location, collection, id_ = name.split("/")
        return (
            (self.collection, self.id) == (collection, id_)
            and self.location in ("", location)
            and self.endpoint in ("", endpoint.kind)
            and (not self.project or _may_be_same_project(self.project, endpoint.project))
        )


def mentions_of(resource: Mapping[str, Any], *, is_ours: bool) -> Iterator[Mention]:
    """Yield the mentions anywhere in one resource of a state.

    Only for our resources is it known which properties are endpoint, project and location. Those of the
    inputs may differ from those of the outputs.
    """
    parts = {key: value for key in ("inputs", "outputs") if isinstance(value := resource.get(key), Mapping)}
    whole = {name: value for part in parts.values() for name, value in part.items()}
    rest = {key: value for key, value in resource.items() if key not in parts}
    for value, properties in ((rest, whole), *((part, part) for part in parts.values())):
        yield from _mentions(value, _target(properties) if is_ours else _ANYWHERE)


def _mentions(value: object, target: Mention) -> Iterator[Mention]:
    if isinstance(value, str):
        for project, location, collection, id_ in _NAME.findall(value):
            named = replace(target, collection=collection, id=id_, location=location)
            yield replace(named, project=project) if project else named
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key in _KEYS and isinstance(item, str) and "/" not in item:
                yield replace(target, collection=_KEYS[key], id=item.partition("@")[0])
            yield from _mentions(item, target)
    elif isinstance(value, list):
        for item in value:
            yield from _mentions(item, target)


def _target(properties: Mapping[str, Any]) -> Mention:
    """Return a mention without a name, with the endpoint, project and location of the properties."""
    said = {name: properties.get(name) for name in ("location", "project", "endpoint")}
    return replace(_ANYWHERE, **{name: value for name, value in said.items() if isinstance(value, str)})


_ANYWHERE = Mention(collection="", id="")


def _may_be_same_project(project: str, other: str) -> bool:
    return project == other or project.isdigit() != other.isdigit()
