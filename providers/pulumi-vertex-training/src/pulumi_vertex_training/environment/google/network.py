"""The network of an environment, and its encryption key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from pulumi_vertex_training.environment import roles
from pulumi_vertex_training.environment.google import accounts
from pulumi_vertex_training.environment.google.scope import Scope, project_number
from pulumi_vertex_training.environment.options import EncryptionKeyArgs, NetworkArgs


@dataclass(frozen=True, kw_only=True)
class Part:
    """The full name of a part, and what has to exist before it can be used."""

    name: pulumi.Output[str]
    ready: Sequence[pulumi.Resource]


def make_network(scope: Scope, settings: NetworkArgs) -> Part:
    """Make a network whose machines reach Google's APIs and training jobs without the internet."""
    from pulumi_gcp import compute, servicenetworking

    network = compute.Network(
        f"{scope.name}-network",
        project=scope.project,
        auto_create_subnetworks=False,
        description="Peered with the machines of training jobs",
        opts=scope.opts,
    )
    compute.Subnetwork(
        f"{scope.name}-subnetwork",
        project=scope.project,
        region=scope.location,
        network=network.id,
        ip_cidr_range=settings.ip_cidr_range,
        private_ip_google_access=True,
        opts=scope.opts,
    )
    addresses = compute.GlobalAddress(
        f"{scope.name}-addresses",
        project=scope.project,
        purpose="VPC_PEERING",
        address_type="INTERNAL",
        prefix_length=settings.peering_prefix_length,
        network=network.id,
        opts=scope.opts,
    )
    peering = servicenetworking.Connection(
        f"{scope.name}-peering",
        network=network.id,
        service="servicenetworking.googleapis.com",
        reserved_peering_ranges=[addresses.name],
        opts=scope.opts,
    )
    name = pulumi.Output.concat("projects/", project_number(scope), "/global/networks/", network.name)
    # Jobs may use the network once it is peered, so its name waits for that.
    ready = pulumi.Output.all(name, peering.id).apply(lambda known: str(known[0]))
    return Part(name=ready, ready=[peering])


def make_key(scope: Scope, settings: EncryptionKeyArgs) -> Part:
    """Make a key that Google's service agents may use. KMS never deletes a key ring, so no name is fixed."""
    from pulumi_gcp import kms

    ring = kms.KeyRing(
        f"{scope.name}-keys",
        project=scope.project,
        location=scope.location,
        opts=scope.opts,
    )
    key = kms.CryptoKey(
        f"{scope.name}-key",
        key_ring=ring.id,
        purpose="ENCRYPT_DECRYPT",
        rotation_period=settings.rotation_period,
        version_template=kms.CryptoKeyVersionTemplateArgs(
            algorithm="GOOGLE_SYMMETRIC_ENCRYPTION", protection_level=settings.protection_level
        ),
        opts=scope.opts,
    )
    return Part(name=key.id, ready=allow_encryption(scope, key.id))


def allow_encryption(scope: Scope, key: pulumi.Input[str]) -> list[pulumi.Resource]:
    """Let Google's service agents encrypt and decrypt with a key."""
    from pulumi_gcp import kms

    return [
        kms.CryptoKeyIAMMember(
            f"{scope.name}-key-{short}",
            crypto_key_id=key,
            role=roles.ENCRYPTION,
            member=member,
            opts=scope.opts,
        )
        for short, member in accounts.service_agents(scope).items()
    ]
