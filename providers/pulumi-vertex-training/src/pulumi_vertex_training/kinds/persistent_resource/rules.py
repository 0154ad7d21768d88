"""The checks of a persistent resource, before anything is sent to Vertex AI."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource, RaySpec
from vertex_training.fields.labels import MAX_PROVIDER_LABELS, label_problems
from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, nearest, shown
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.rules.networking import network_problems
from vertex_training.topology.rules.resource_pool_rules import pool_problems
from vertex_training.topology.rules.resource_pools import ResourcePool

MAX_DISPLAY_NAME = 128
MAX_ID = 63

_API = "Vertex AI API, PersistentResource"
_RUNTIME = "Vertex AI API, ResourceRuntimeSpec"

RESOURCE_ID = Rule(
    name="resource-id",
    says="the id of a persistent resource has 1 to 63 lowercase letters, digits and dashes and begins with a "
    "letter",
    source="Vertex AI API, CreatePersistentResourceRequest.persistent_resource_id",
)
RESOURCE_DISPLAY_NAME = Rule(
    name="resource-display-name",
    says=f"a persistent resource's display name has at most {MAX_DISPLAY_NAME} characters",
    source=f"{_API}.display_name",
)
RESOURCE_KMS_KEY = Rule(
    name="resource-kms-key",
    says="the key of a persistent resource is given by its full resource name and is in its region",
    source=f"{_API}.encryption_spec",
)
RUNTIME_ACCOUNT = Rule(
    name="runtime-account",
    says="a persistent resource has a service account only if custom service accounts are enabled; a Ray "
    "cluster with them enabled has one",
    source="Vertex AI API, ServiceAccountSpec.service_account",
)
RAY_IMAGE = Rule(
    name="ray-image",
    says="a Ray cluster has one image for all pools, or one for each of them by its id",
    source="Vertex AI API, RaySpec.image_uri and resource_pool_images",
)
RAY_HEAD = Rule(
    name="ray-head",
    says="the head node of a Ray cluster is in one of its pools",
    source="Vertex AI API, RaySpec.head_node_resource_pool_id",
)

_ID = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
_SPEC = "resource_runtime_spec"
_ACCOUNT = f"{_SPEC}.service_account_spec"
_RAY = f"{_SPEC}.ray_spec"


def validate(resource: PersistentResource, *, options: CheckOptions = DEFAULT_OPTIONS) -> list[Problem]:
    """Return every problem of a persistent resource, in the order of its fields."""
    runtime = resource.resource_runtime_spec
    ray = runtime.ray_spec if runtime else None
    return [
        *pool_problems(resource.resource_pools, options, for_ray=ray is not None),
        *_name_problems(resource.display_name),
        *label_problems(resource.labels, spare=MAX_PROVIDER_LABELS),
        *_network_problems(resource),
        *_key_problems(resource, options),
        *_account_problems(resource),
        *(() if ray is None else _ray_problems(ray, resource.resource_pools)),
    ]


def id_problems(resource_id: str, path: str = "persistent_resource_id") -> Iterator[Problem]:
    """Yield the problem of a persistent resource's id, if it is invalid."""
    if _ID.fullmatch(resource_id):
        return
    better = valid_id(resource_id)
    example = f"; for example {better}" if better and better != resource_id else ""
    yield RESOURCE_ID.broken(
        path,
        f"{shown(resource_id)} cannot be the id of a persistent resource; it has 1 to {MAX_ID} lowercase "
        f"letters, digits and dashes, begins with a letter and ends with a letter or digit{example}",
    )


def valid_id(text: str) -> str:
    """Return the closest valid id: "GPU pool" -> "gpu-pool". The result may be empty."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).lstrip("-0123456789")[:MAX_ID].rstrip("-")


def _name_problems(name: str) -> Iterator[Problem]:
    if len(name) > MAX_DISPLAY_NAME:
        yield RESOURCE_DISPLAY_NAME.broken(
            "display_name", f"{len(name)} characters, but at most {MAX_DISPLAY_NAME} are allowed. Shorten it"
        )


def _network_problems(resource: PersistentResource) -> Iterator[Problem]:
    """Yield the problems of the network, which follows the rules of a job without pools and mounts."""
    yield from network_problems(
        CustomJobSpec(
            display_name="",
            worker_pool_specs=(),
            network=resource.network,
            reserved_ip_ranges=resource.reserved_ip_ranges,
            psc_interface_config=resource.psc_interface_config,
        )
    )


def _key_problems(resource: PersistentResource, options: CheckOptions) -> Iterator[Problem]:
    if resource.encryption_spec is None:
        return
    path, key = "encryption_spec.kms_key_name", resource.encryption_spec.kms_key_name
    match = _KEY.fullmatch(key)
    if match is None:
        yield RESOURCE_KMS_KEY.broken(
            path,
            f"{shown(key)} is not a key; write "
            "projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
        )
    elif options.location and match[1] != options.location:
        yield RESOURCE_KMS_KEY.broken(
            path,
            f"the key is in {match[1]}, but the persistent resource is in {options.location}. Use a key "
            f"in {options.location}",
            rests_on=(path, "location"),
        )


def _account_problems(resource: PersistentResource) -> Iterator[Problem]:
    runtime = resource.resource_runtime_spec
    account = runtime.service_account_spec if runtime else None
    if runtime is None or account is None:
        return
    enabled, name = f"{_ACCOUNT}.enable_custom_service_account", f"{_ACCOUNT}.service_account"
    if account.service_account and not account.enable_custom_service_account:
        yield RUNTIME_ACCOUNT.broken(
            name,
            f"{shown(account.service_account)}, but custom service accounts are not enabled. Set "
            "enable_custom_service_account, or leave it out",
            rests_on=(enabled, name),
        )
    elif account.enable_custom_service_account and runtime.ray_spec and not account.service_account:
        yield RUNTIME_ACCOUNT.broken(
            name,
            "is missing, but a Ray cluster with enable_custom_service_account needs it. Give the "
            "account's e-mail address",
            rests_on=(enabled, name, f"{_RAY}.*"),
        )


def _ray_problems(ray: RaySpec, pools: tuple[ResourcePool, ...]) -> Iterator[Problem]:
    ids = [pool.id for pool in pools if pool.id]
    paths = tuple(f"resource_pools[{i}].id" for i in range(len(pools)))
    images = f"{_RAY}.resource_pool_images"
    if not ray.image_uri and not ray.resource_pool_images:
        yield RAY_IMAGE.broken(
            f"{_RAY}.image_uri",
            "is missing. Give one of Google's images for Ray, or an image for each pool in "
            "resource_pool_images",
            rests_on=(f"{_RAY}.image_uri", images),
        )
    elif not ray.image_uri:
        without = [
            f"resource_pools[{i}]" for i, pool in enumerate(pools) if pool.id not in ray.resource_pool_images
        ]
        if without:
            yield RAY_IMAGE.broken(
                images,
                f"has no image for {all_of(without)}. Give each pool an id, and an image for that id",
                rests_on=(f"{_RAY}.image_uri", f"{images}.*", *paths, "resource_pools"),
            )
    head = ray.head_node_resource_pool_id
    if head and head not in ids:
        hint = nearest(head, ids) or "give the id of a pool, or leave it out for the first one"
        yield RAY_HEAD.broken(
            f"{_RAY}.head_node_resource_pool_id",
            f"{shown(head)} is not the id of a pool; {hint}",
            rests_on=(f"{_RAY}.head_node_resource_pool_id", *paths, "resource_pools"),
        )
