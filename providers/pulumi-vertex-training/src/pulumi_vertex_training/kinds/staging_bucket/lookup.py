"""An existing resource of this kind, as `get_staging_bucket` returns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.get_functions import Lookup
from pulumi_vertex_training.kinds.staging_bucket import gateway


@dataclass(frozen=True, kw_only=True)
class BucketArguments:
    """The arguments of `get_staging_bucket`."""

    name: str
    project: str | None = None


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


def _read(endpoint: Endpoint, arguments: BucketArguments) -> ExistingBucket:
    record = gateway.get(endpoint, arguments.name)
    return ExistingBucket(
        name=record.name,
        url=record.url,
        location=record.location.lower(),
        storage_class=str(record.wire.get("storageClass", "")),
        labels=dict(record.wire.get("labels") or {}),
    )


LOOKUP = Lookup(arguments=BucketArguments, result=ExistingBucket, noun="bucket", read=_read)
