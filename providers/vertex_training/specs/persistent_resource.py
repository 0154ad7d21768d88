"""What a check needs to know of a persistent resource: its pools, network and key."""

from __future__ import annotations

from dataclasses import dataclass

from vertex_training.specs.decode import Decoded, decode
from vertex_training.specs.networking import EncryptionSpec
from vertex_training.topology.resource_pools import ResourcePool


@dataclass(frozen=True, kw_only=True)
class PersistentResource:
    """The parts of the API's `PersistentResource` that a job has to fit."""

    resource_pools: tuple[ResourcePool, ...]
    network: str | None = None
    encryption_spec: EncryptionSpec | None = None


def read(value: object, *, path: str = "persistent_resource") -> Decoded[PersistentResource]:
    """What the service or `gcloud ai persistent-resources describe` says; other fields are passed over."""
    return decode(PersistentResource, value, path=path, tolerant=True)
