"""Versions of models: taken away without losing a model, found again after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import FailedPrecondition, NotFound
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model.gateway import ModelRecord
from pulumi_vertex_training.kinds.model.spec import DEFAULT_ALIAS

_TRIES = 10


class Registry(Protocol):
    """The calls of `cloud.models` that are needed here."""

    def versions(self, endpoint: Endpoint, name: str, /) -> list[ModelRecord]: ...

    def merge_aliases(self, endpoint: Endpoint, name: str, aliases: list[str], /) -> object: ...

    def delete_version(self, endpoint: Endpoint, name: str, /) -> None: ...

    def delete(self, endpoint: Endpoint, name: str, /) -> None: ...


def remove(
    endpoint: Endpoint,
    name: str,
    version: str,
    *,
    say: Callable[[str], None],
    is_ours: Callable[[ModelRecord], bool] = lambda _: True,
    registry: Registry = models,
) -> bool:
    """Delete a version, the whole model where it is the only one; whether it was there.

    Nothing happens where it is gone, or `is_ours` says that a later model has got its id. The default version
    hands its alias to the newest other one first: a model has exactly one (Vertex AI API,
    Model.version_aliases). What goes at the same time with it, such as other versions of a destroyed stack,
    is looked at again. Raises FailedPrecondition while the version is deployed.
    """
    known: list[ModelRecord] = []
    for tries_left in reversed(range(_TRIES)):
        before, known = known, of_model(endpoint, name, registry)
        ours = next((record for record in known if record.version == version and is_ours(record)), None)
        if ours is None:
            return False
        try:
            _remove(endpoint, ours, [record for record in known if record is not ours], say, registry)
        except NotFound:
            continue
        except FailedPrecondition:
            if not tries_left or _versions(before) == _versions(known):
                raise
            continue
        return True
    return False


def _remove(
    endpoint: Endpoint,
    ours: ModelRecord,
    others: list[ModelRecord],
    say: Callable[[str], None],
    registry: Registry,
) -> None:
    if not others:
        registry.delete(endpoint, ours.name)
        return
    if DEFAULT_ALIAS in ours.aliases:
        registry.merge_aliases(endpoint, others[0].full_name, [DEFAULT_ALIAS])
        say(f"model {ours.name.rpartition('/')[2]}: version {others[0].version} is the default now")
    registry.delete_version(endpoint, ours.full_name)


def _versions(known: list[ModelRecord]) -> list[tuple[str, tuple[str, ...]]]:
    """What another removal at the same time changes."""
    return [(record.version, record.aliases) for record in known]


def of_model(endpoint: Endpoint, name: str, registry: Registry = models) -> list[ModelRecord]:
    """The versions of a model, the newest first; none where there is no such model."""
    try:
        return registry.versions(endpoint, name)
    except NotFound:
        return []


def marked(known: list[ModelRecord], marks: Mapping[str, str]) -> ModelRecord | None:
    """The newest version that carries all of these labels."""
    return next((record for record in known if marks.items() <= record.labels.items()), None)
