"""`get_staging_bucket`: an existing bucket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulumi_vertex_training.kinds.staging_bucket import gateway
from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.get_functions import read_existing


@dataclass(frozen=True, kw_only=True)
class ExistingBucket:
    """A bucket that exists."""

    name: str
    """Name of the bucket."""
    url: str
    """Its gs:// URL."""
    location: str
    """Location in lower case."""
    storage_class: str
    """Storage class of new objects."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels."""


@checked_call
def get_staging_bucket(name: str, *, project: str | None = None) -> ExistingBucket:
    """Return an existing bucket of the stack's endpoint. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such bucket. For an Output, use `.apply(vt.get_staging_bucket)`.

    :param name: Name of the bucket, without gs://.
    :param project: Project id for the call. Default: the stack's project.
    """
    record = read_existing(
        f"bucket {name}", lambda endpoint: gateway.get(endpoint, name), project=project, location=None
    )
    return ExistingBucket(
        name=record.name,
        url=record.url,
        location=record.location.lower(),
        storage_class=str(record.wire.get("storageClass", "")),
        labels=dict(record.wire.get("labels") or {}),
    )
