"""How a job reaches a private network, and the key that encrypts it: messages of `CustomJobSpec`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DnsPeeringConfig:
    """A domain that the job resolves in another network; `domain` ends with a dot."""

    domain: str
    target_project: str
    target_network: str


@dataclass(frozen=True, kw_only=True)
class PscInterfaceConfig:
    """A Private Service Connect interface; `network_attachment` is
    projects/PROJECT/regions/REGION/networkAttachments/NAME."""

    network_attachment: str | None = None
    dns_peering_configs: tuple[DnsPeeringConfig, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EncryptionSpec:
    """A customer-managed key, projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY."""

    kms_key_name: str
