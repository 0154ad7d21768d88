"""Whether a job can run on a persistent resource: machines, network and key have to be those of the
resource."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.specs.persistent_resource import PersistentResource
from vertex_training.topology.problems import Problem
from vertex_training.topology.resource_pools import resource_pool_problems
from vertex_training.topology.rules import Rule
from vertex_training.topology.words import shown

_ID = 'Vertex AI API, CustomJobSpec.persistent_resource_id: "otherwise, the job will be rejected"'

RESOURCE_NETWORK = Rule(
    name="persistent-resource-network",
    says="a job on a persistent resource has the network of the resource",
    source=_ID,
)
RESOURCE_KEY = Rule(
    name="persistent-resource-key",
    says="a job on a persistent resource has the encryption key of the resource",
    source=_ID,
)
RESOURCE_SERVICE_ACCOUNT = Rule(
    name="persistent-resource-service-account",
    says="a job has a service account on a persistent resource that enforces one, and only there",
    source="Vertex AI API, ServiceAccountSpec.enable_custom_service_account",
)


def persistent_resource_problems(spec: CustomJobSpec, resource: PersistentResource) -> Iterator[Problem]:
    """What of a job does not fit on a persistent resource."""
    yield from resource_pool_problems(spec.worker_pool_specs, resource.resource_pools)
    if (spec.network or None) != (resource.network or None):
        yield RESOURCE_NETWORK.broken(
            "network",
            _difference("network", spec.network, resource.network),
            rests_on=("network", "persistent_resource_id"),
        )
    key = spec.encryption_spec.kms_key_name if spec.encryption_spec else None
    wanted = resource.encryption_spec.kms_key_name if resource.encryption_spec else None
    if (key or None) != (wanted or None):
        yield RESOURCE_KEY.broken(
            "encryption_spec.kms_key_name",
            _difference("key", key, wanted),
            rests_on=("encryption_spec.*", "persistent_resource_id"),
        )
    yield from _account_problems(spec, resource)


def _account_problems(spec: CustomJobSpec, resource: PersistentResource) -> Iterator[Problem]:
    runtime = resource.resource_runtime_spec
    account = runtime.service_account_spec if runtime else None
    bases = ("service_account", "persistent_resource_id")
    if account and account.enable_custom_service_account:
        if not spec.service_account and not account.service_account:
            yield RESOURCE_SERVICE_ACCOUNT.broken(
                "service_account",
                "is missing, and jobs on the persistent resource have to name one; give its e-mail address",
                rests_on=bases,
            )
    elif spec.service_account:
        yield RESOURCE_SERVICE_ACCOUNT.broken(
            "service_account",
            f"{shown(spec.service_account)} while jobs on the persistent resource run as the service agent; "
            "leave it out, or enable custom service accounts in its resource_runtime_spec",
            rests_on=bases,
            level="warning",
        )


def _difference(noun: str, given: str | None, wanted: str | None) -> str:
    if not wanted:
        return f"{shown(given or '')} while the persistent resource has no {noun}; leave it out"
    start = f"{shown(given)} is not the {noun} of the persistent resource" if given else "is missing"
    return f"{start}; give {noun} {wanted}, which the persistent resource has"
