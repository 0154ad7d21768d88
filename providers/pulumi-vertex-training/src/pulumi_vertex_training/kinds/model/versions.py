"""Versions of models: deletion that keeps the model, lookup and cleanup after an interruption."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, FailedPrecondition, NotFound
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model.gateway import ModelRecord
from pulumi_vertex_training.kinds.model.spec import DEFAULT_ALIAS

REPLACES_LABEL = "vertex-training-replaces"
"""The label of a version that was uploaded to replace another one."""

_ATTEMPTS = 10


class Registry(Protocol):
    """The calls of `gateway` that this module needs."""

    def versions(self, endpoint: Endpoint, name: str, /) -> list[ModelRecord]:
        """List the versions of a model."""

    def merge_aliases(self, endpoint: Endpoint, name: str, aliases: list[str], /) -> object:
        """Add or remove aliases of a version."""

    def delete_version(self, endpoint: Endpoint, name: str, /) -> None:
        """Delete a version that is not the only one."""

    def delete(self, endpoint: Endpoint, name: str, /) -> None:
        """Delete a model with all its versions."""


def delete(
    endpoint: Endpoint,
    name: str,
    version: str,
    *,
    print_line: Callable[[str], None],
    is_ours: Callable[[ModelRecord], bool] = lambda _: True,
    registry: Registry = models,
) -> bool:
    """Delete a version, or the whole model with its only version. Return whether the version existed.

    Nothing happens if the version is gone, or if a later model has its id, which `is_ours` decides. The
    default version first passes its alias to the newest other version: a model has exactly one (Vertex AI
    API, Model.version_aliases). If other versions are deleted at the same time, as with a destroyed stack,
    the versions are listed again. Raises FailedPrecondition while the version is deployed.
    """
    known: list[ModelRecord] = []
    for attempts_left in reversed(range(_ATTEMPTS)):
        before, known = known, versions_of(endpoint, name, registry)
        ours = next((record for record in known if record.version == version and is_ours(record)), None)
        if ours is None:
            return False
        try:
            _delete(endpoint, ours, [record for record in known if record is not ours], print_line, registry)
        except NotFound:
            continue
        except FailedPrecondition:
            if not attempts_left or _versions(before) == _versions(known):
                raise
            continue
        return True
    return False


def _delete(
    endpoint: Endpoint,
    ours: ModelRecord,
    others: list[ModelRecord],
    print_line: Callable[[str], None],
    registry: Registry,
) -> None:
    if not others:
        registry.delete(endpoint, ours.name)
        return
    if DEFAULT_ALIAS in ours.aliases:
        registry.merge_aliases(endpoint, others[0].full_name, [DEFAULT_ALIAS])
        print_line(f"model {ours.name.rpartition('/')[2]}: version {others[0].version} is the default now")
    registry.delete_version(endpoint, ours.full_name)


def _versions(known: list[ModelRecord]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the numbers and aliases, which change if other versions are deleted at the same time."""
    return [(record.version, record.aliases) for record in known]


def versions_of(endpoint: Endpoint, name: str, registry: Registry = models) -> list[ModelRecord]:
    """Return the versions of a model, the newest first; an empty list if the model does not exist."""
    try:
        return registry.versions(endpoint, name)
    except NotFound:
        return []


def with_labels(known: list[ModelRecord], marks: Mapping[str, str]) -> ModelRecord | None:
    """Return the newest version with all of these labels, or None."""
    return next((record for record in known if marks.items() <= record.labels.items()), None)


def replaces_label(id_: str, recorded: Mapping[str, Any]) -> str:
    """Return a label value that is unique to a version, also if its model is created again."""
    return hashlib.sha256(f"{id_} {recorded.get('create_time')}".encode()).hexdigest()[:32]


def delete_orphans(endpoint: Endpoint, name: str, label: str) -> None:
    """Delete the versions that were uploaded to replace the one with this label value and are in no state.

    They come from deployments that were killed before the version was recorded.
    """
    for record in versions_of(endpoint, name):
        if record.labels.get(REPLACES_LABEL) != label:
            continue
        if OPERATION.made(record.full_name) or OPERATION.belongs_to_another_entry(record.full_name):
            continue
        print_line(
            f"model {record.full_name.rpartition('/')[2]} was left behind by an interrupted deployment"
        )
        delete(endpoint, name, record.version, print_line=print_line)


def default_in_words(endpoint: Endpoint, name: str, *, own: Mapping[str, str]) -> str:
    """Return which version of a model is the default, and whose it is if it lacks the labels in `own`."""
    try:
        found = models.get(endpoint, f"{name}@{DEFAULT_ALIAS}")
    except CloudError:
        return "another version is"
    labels = {part: found.labels.get(f"pulumi-{part}") for part in ("resource", "stack", "project")}
    # A version that was uploaded without labels has its model's.
    theirs = any(found.labels.get(label) != value for label, value in own.items())
    if labels["resource"] and theirs:
        return f"version {found.version} is, of {labels['resource']} in {labels['project']}/{labels['stack']}"
    pipeline = str(found.wire.get("trainingPipeline") or "").rpartition("/")[2]
    return f"version {found.version} is" + (f", of pipeline {pipeline}" if pipeline else "")
