"""Versions of models: taken away without losing a model, found again after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vertex_training.cloud import models
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import NotFound
from vertex_training.cloud.models import ModelRecord
from vertex_training.specs.model import DEFAULT_ALIAS


def remove(endpoint: Endpoint, name: str, version: str, *, say: Callable[[str], None]) -> None:
    """Delete a version; the whole model where it is the only one. Nothing happens where it is gone.

    The default version hands its alias to the newest other one first: a model has exactly one (Vertex AI API,
    Model.version_aliases). Raises FailedPrecondition while the version is deployed.
    """
    try:
        known = models.versions(endpoint, name)
        ours = next((record for record in known if record.version == version), None)
        if ours is None:
            return
        others = [record for record in known if record is not ours]
        if not others:
            models.delete(endpoint, name)
            return
        if DEFAULT_ALIAS in ours.aliases:
            models.merge_aliases(endpoint, others[0].full_name, [DEFAULT_ALIAS])
            say(f"model {name.rpartition('/')[2]}: version {others[0].version} is the default now")
        models.delete_version(endpoint, ours.full_name)
    except NotFound:
        return


def of_model(endpoint: Endpoint, name: str) -> list[ModelRecord]:
    """The versions of a model, the newest first; none where there is no such model."""
    try:
        return models.versions(endpoint, name)
    except NotFound:
        return []


def marked(known: list[ModelRecord], marks: Mapping[str, str]) -> ModelRecord | None:
    """The newest version that carries all of these labels."""
    return next((record for record in known if marks.items() <= record.labels.items()), None)
