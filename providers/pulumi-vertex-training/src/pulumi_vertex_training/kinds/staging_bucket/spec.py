"""The spec of a staging bucket, its normal form, and the effect of a change of each field.

Source of the effects: Cloud Storage JSON API, "Buckets" (which properties are writable, and when).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import ClassVar, Literal, TypeVar

from pulumi_vertex_training.kinds.staging_bucket.settings import (
    Autoclass,
    BucketEncryption,
    BucketLogging,
    BucketVersioning,
    CorsRule,
    CustomPlacementConfig,
    EncryptionEnforcement,
    IpFilter,
    LifecycleAction,
    LifecycleCondition,
    LifecycleRule,
    RetentionPolicy,
    SoftDeletePolicy,
    Website,
)
from vertex_training.fields.effects import Effect, FieldEffect, FieldTable

__all__ = [
    "Bucket",
    "BucketSpec",
    "LifecycleAction",
    "LifecycleCondition",
    "LifecycleRule",
    "comparable",
    "normalise",
]

SOFT_DELETE_DEFAULT = 7 * 24 * 60 * 60
"""Seconds of soft delete in a bucket without a policy (Cloud Storage documentation, "Soft delete")."""

TERMINAL_DEFAULT = "NEARLINE"
"""Terminal storage class of Autoclass by default (Cloud Storage documentation, "Autoclass")."""


_NO_VERSIONS = BucketVersioning(enabled=False)


@dataclass(frozen=True, kw_only=True)
class BucketSpec:
    """A bucket for packages, data and results of training jobs.

    The fields are the API's. `requester_pays` is
    `billing.requesterPays`. A field that is None or empty has the service's default. `location` is the region
    of the jobs.

    The API has no `force_destroy` and `release_holds`. `force_destroy` deletes the objects of the bucket with
    it; `release_holds` also deletes objects that are on hold.
    """

    UNSUPPORTED: ClassVar[frozenset[str]] = frozenset({"acl", "default_object_acl"})
    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset(
        {
            "etag",
            "generation",
            "hard_delete_time",
            "id",
            "kind",
            "location_type",
            "metageneration",
            "owner",
            "project_number",
            "satisfies_pzi",
            "satisfies_pzs",
            "self_link",
            "soft_delete_time",
            "time_created",
            "updated",
        }
    )

    name: str
    """Name of the bucket, globally unique on Google Cloud. Default: see docs/guides/programs/previews.md#ids.
    """
    location: str
    """Region of the bucket. Default: the stack's location."""
    storage_class: str = "STANDARD"
    """Storage class of new objects."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the bucket."""
    uniform_bucket_level_access: bool = True
    """Grant access by IAM only, without access lists of objects."""
    public_access_prevention: Literal["inherited", "enforced"] = "enforced"
    """`enforced` or `inherited`."""
    versioning: BucketVersioning = _NO_VERSIONS
    """Keep noncurrent versions of objects: `{"enabled": True}`."""
    lifecycle_rules: tuple[LifecycleRule, ...] = ()
    """Lifecycle rules, such as `{"action": {"type": "Delete"}, "condition": {"age": 30}}`."""
    force_destroy: bool = False
    """Delete the objects together with the bucket. By default, a bucket that is not empty is not deleted. The
    value of the last deployment counts.
    """
    release_holds: bool = False
    """With `force_destroy`, release temporary and event-based holds before deleting. By default, a bucket
    with held objects is not deleted.
    """
    autoclass: Autoclass | None = None
    """Move objects between storage classes as they are used."""
    cors: tuple[CorsRule, ...] = ()
    """Requests that pages of other origins may send."""
    custom_placement_config: CustomPlacementConfig | None = None
    """The two regions of a configurable dual-region."""
    default_event_based_hold: bool = False
    """Put new objects on hold until the hold is released."""
    enable_object_retention: bool = False
    """Allow retention of single objects."""
    encryption: BucketEncryption | None = None
    """Default encryption key, and the kinds of keys that are allowed."""
    hierarchical_namespace: bool = False
    """Give the bucket real folders."""
    ip_filter: IpFilter | None = None
    """Networks that may reach the bucket."""
    logging: BucketLogging | None = None
    """Bucket for usage logs."""
    requester_pays: bool = False
    """Bill requests to the requester."""
    retention_policy: RetentionPolicy | None = None
    """Minimum age of objects to be deleted. Locking it is permanent."""
    rpo: Literal["DEFAULT", "ASYNC_TURBO"] | None = None
    """`ASYNC_TURBO` for turbo replication of a dual-region, or `DEFAULT`."""
    soft_delete_policy: SoftDeletePolicy | None = None
    """Time for which deleted objects can be restored. The service's default is 7 days."""
    website: Website | None = None
    """Pages of a static website."""


Bucket = TypeVar("Bucket", bound=BucketSpec)


_IN_PLACE = FieldEffect(effect=Effect.UPDATE, reason="a bucket's settings can change in place")
_RULES = FieldEffect(effect=Effect.UPDATE, reason="a bucket's lifecycle rules can change in place")
_OURS = FieldEffect(effect=Effect.UPDATE, reason="only the provider uses it; the bucket does not have it")
_SERVICE = FieldEffect(effect=Effect.SERVER, reason="only the service sets it")

_SERVER_BELOW = (
    "autoclass.toggle_time",
    "autoclass.terminal_storage_class_update_time",
    "retention_policy.effective_time",
    "soft_delete_policy.effective_time",
    "encryption.google_managed_encryption_enforcement_config.effective_time",
    "encryption.customer_managed_encryption_enforcement_config.effective_time",
    "encryption.customer_supplied_encryption_enforcement_config.effective_time",
)

EFFECTS: FieldTable = MappingProxyType(
    {
        "name": FieldEffect(effect=Effect.REPLACE, reason="a bucket cannot be renamed"),
        "location": FieldEffect(effect=Effect.REPLACE, reason="a bucket cannot move to another location"),
        "storage_class": _IN_PLACE,
        "labels": _IN_PLACE,
        "uniform_bucket_level_access": _IN_PLACE,
        "public_access_prevention": _IN_PLACE,
        "versioning.enabled": _IN_PLACE,
        "lifecycle_rules[].action.type": _RULES,
        "lifecycle_rules[].action.storage_class": _RULES,
        "lifecycle_rules[].condition.age": _RULES,
        "lifecycle_rules[].condition.created_before": _RULES,
        "lifecycle_rules[].condition.is_live": _RULES,
        "lifecycle_rules[].condition.num_newer_versions": _RULES,
        "lifecycle_rules[].condition.matches_prefixes": _RULES,
        "lifecycle_rules[].condition.matches_suffixes": _RULES,
        "lifecycle_rules[].condition.matches_storage_classes": _RULES,
        "lifecycle_rules[].condition.custom_time_before": _RULES,
        "lifecycle_rules[].condition.days_since_custom_time": _RULES,
        "lifecycle_rules[].condition.days_since_noncurrent_time": _RULES,
        "lifecycle_rules[].condition.noncurrent_time_before": _RULES,
        "force_destroy": _OURS,
        "release_holds": _OURS,
        "autoclass.enabled": _IN_PLACE,
        "autoclass.terminal_storage_class": _IN_PLACE,
        "cors[].origins": _IN_PLACE,
        "cors[].methods": _IN_PLACE,
        "cors[].response_headers": _IN_PLACE,
        "cors[].max_age_seconds": _IN_PLACE,
        "custom_placement_config.data_locations": FieldEffect(
            effect=Effect.REPLACE, reason="a bucket cannot move to other regions"
        ),
        "default_event_based_hold": _IN_PLACE,
        "enable_object_retention": FieldEffect(
            effect=Effect.REPLACE,
            reason="retention of single objects can only be set when a bucket is created",
        ),
        "encryption.default_kms_key_name": _IN_PLACE,
        "encryption.google_managed_encryption_enforcement_config.restriction_mode": _IN_PLACE,
        "encryption.customer_managed_encryption_enforcement_config.restriction_mode": _IN_PLACE,
        "encryption.customer_supplied_encryption_enforcement_config.restriction_mode": _IN_PLACE,
        "hierarchical_namespace": FieldEffect(
            effect=Effect.REPLACE, reason="a hierarchical namespace can only be set when a bucket is created"
        ),
        "ip_filter.mode": _IN_PLACE,
        "ip_filter.public_network_source.allowed_ip_cidr_ranges": _IN_PLACE,
        "ip_filter.vpc_network_sources[].network": _IN_PLACE,
        "ip_filter.vpc_network_sources[].allowed_ip_cidr_ranges": _IN_PLACE,
        "ip_filter.allow_cross_org_vpcs": _IN_PLACE,
        "ip_filter.allow_all_service_agent_access": _IN_PLACE,
        "logging.log_bucket": _IN_PLACE,
        "logging.log_object_prefix": _IN_PLACE,
        "requester_pays": _IN_PLACE,
        "retention_policy.retention_period": _IN_PLACE,
        "retention_policy.is_locked": FieldEffect(
            effect=Effect.UPDATE, reason="a lock can be set in place, and never removed"
        ),
        "rpo": _IN_PLACE,
        "soft_delete_policy.retention_duration_seconds": _IN_PLACE,
        "website.main_page_suffix": _IN_PLACE,
        "website.not_found_page": _IN_PLACE,
        **dict.fromkeys(sorted(BucketSpec.SERVER_OWNED), _SERVICE),
        **dict.fromkeys(_SERVER_BELOW, _SERVICE),
    }
)


def normalise(spec: Bucket) -> Bucket:
    """Return the normal form: locations in lower case, storage classes in upper case."""
    autoclass, placement = spec.autoclass, spec.custom_placement_config
    if autoclass and autoclass.terminal_storage_class:
        autoclass = replace(autoclass, terminal_storage_class=autoclass.terminal_storage_class.upper())
    if placement:
        regions = sorted(region.lower() for region in placement.data_locations)
        placement = replace(placement, data_locations=tuple(regions))
    return replace(
        spec,
        location=spec.location.lower(),
        storage_class=spec.storage_class.upper() or "STANDARD",
        lifecycle_rules=tuple(_normal_rule(rule) for rule in spec.lifecycle_rules),
        autoclass=autoclass,
        custom_placement_config=placement,
        cors=tuple(
            replace(rule, methods=tuple(method.upper() for method in rule.methods)) for rule in spec.cors
        ),
    )


def comparable(spec: Bucket) -> Bucket:
    """Return the normal form without the service's defaults, for comparing two specs.

    A spec that declares a default and one that leaves it out describe the same bucket.
    """
    normal = normalise(spec)
    autoclass, soft, logging = normal.autoclass, normal.soft_delete_policy, normal.logging
    if autoclass and not autoclass.enabled:
        autoclass = None
    elif autoclass and autoclass.terminal_storage_class == TERMINAL_DEFAULT:
        autoclass = replace(autoclass, terminal_storage_class=None)
    if logging and logging.log_object_prefix in ("", normal.name):
        logging = replace(logging, log_object_prefix=None)
    if soft and soft.retention_duration_seconds == SOFT_DELETE_DEFAULT:
        soft = None
    return replace(
        normal,
        autoclass=autoclass,
        encryption=_encryption(normal.encryption),
        ip_filter=_ip_filter(normal.ip_filter),
        logging=logging if logging and logging.log_bucket else None,
        rpo=None if normal.rpo == "DEFAULT" else normal.rpo,
        soft_delete_policy=soft,
        website=_website(normal.website),
    )


def _normal_rule(rule: LifecycleRule) -> LifecycleRule:
    classes = tuple(name.upper() for name in rule.condition.matches_storage_classes)
    target = rule.action.storage_class
    return LifecycleRule(
        action=replace(rule.action, storage_class=target.upper() if target else None),
        condition=replace(rule.condition, matches_storage_classes=classes),
    )


def _encryption(encryption: BucketEncryption | None) -> BucketEncryption | None:
    if encryption is None:
        return None
    plain = BucketEncryption(
        default_kms_key_name=encryption.default_kms_key_name or None,
        google_managed_encryption_enforcement_config=_restriction(
            encryption.google_managed_encryption_enforcement_config
        ),
        customer_managed_encryption_enforcement_config=_restriction(
            encryption.customer_managed_encryption_enforcement_config
        ),
        customer_supplied_encryption_enforcement_config=_restriction(
            encryption.customer_supplied_encryption_enforcement_config
        ),
    )
    return None if plain == BucketEncryption() else plain


def _restriction(enforcement: EncryptionEnforcement | None) -> EncryptionEnforcement | None:
    restricts = enforcement and enforcement.restriction_mode == "FullyRestricted"
    return enforcement if restricts else None


def _ip_filter(ip_filter: IpFilter | None) -> IpFilter | None:
    if ip_filter is None:
        return None
    source = ip_filter.public_network_source
    plain = replace(
        ip_filter,
        public_network_source=source if source and source.allowed_ip_cidr_ranges else None,
        allow_cross_org_vpcs=ip_filter.allow_cross_org_vpcs or None,
        allow_all_service_agent_access=ip_filter.allow_all_service_agent_access or None,
    )
    return None if plain == IpFilter(mode="Disabled") else plain


def _website(website: Website | None) -> Website | None:
    if website is None:
        return None
    plain = Website(
        main_page_suffix=website.main_page_suffix or None, not_found_page=website.not_found_page or None
    )
    return None if plain == Website() else plain
