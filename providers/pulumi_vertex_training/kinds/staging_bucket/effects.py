"""What a change of each field does to a bucket that exists: the field table of its kind.

Source: Cloud Storage JSON API, "Buckets" (which properties are writable, and when).
"""

from __future__ import annotations

from types import MappingProxyType

from pulumi_vertex_training.kinds.staging_bucket.spec import BucketSpec
from vertex_training.fields.effects import Effect, FieldEffect, FieldTable

_IN_PLACE = FieldEffect(effect=Effect.UPDATE, reason="a bucket's settings can change in place")
_RULES = FieldEffect(effect=Effect.UPDATE, reason="a bucket's lifecycle rules can change in place")
_OURS = FieldEffect(effect=Effect.UPDATE, reason="it is kept by the provider, the bucket does not have it")
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
        "versioning": _IN_PLACE,
        "lifecycle_rules[].action.type": _RULES,
        "lifecycle_rules[].action.storage_class": _RULES,
        "lifecycle_rules[].condition.age": _RULES,
        "lifecycle_rules[].condition.created_before": _RULES,
        "lifecycle_rules[].condition.is_live": _RULES,
        "lifecycle_rules[].condition.num_newer_versions": _RULES,
        "lifecycle_rules[].condition.matches_prefix": _RULES,
        "lifecycle_rules[].condition.matches_suffix": _RULES,
        "lifecycle_rules[].condition.matches_storage_class": _RULES,
        "lifecycle_rules[].condition.custom_time_before": _RULES,
        "lifecycle_rules[].condition.days_since_custom_time": _RULES,
        "lifecycle_rules[].condition.days_since_noncurrent_time": _RULES,
        "lifecycle_rules[].condition.noncurrent_time_before": _RULES,
        "force_destroy": _OURS,
        "release_holds": _OURS,
        "autoclass.enabled": _IN_PLACE,
        "autoclass.terminal_storage_class": _IN_PLACE,
        "cors[].origin": _IN_PLACE,
        "cors[].method": _IN_PLACE,
        "cors[].response_header": _IN_PLACE,
        "cors[].max_age_seconds": _IN_PLACE,
        "custom_placement_config.data_locations": FieldEffect(
            effect=Effect.REPLACE, reason="a bucket cannot move to other regions"
        ),
        "default_event_based_hold": _IN_PLACE,
        "enable_object_retention": FieldEffect(
            effect=Effect.REPLACE,
            reason="retention of single objects is a bucket's from its creation on, or not at all",
        ),
        "encryption.default_kms_key_name": _IN_PLACE,
        "encryption.google_managed_encryption_enforcement_config.restriction_mode": _IN_PLACE,
        "encryption.customer_managed_encryption_enforcement_config.restriction_mode": _IN_PLACE,
        "encryption.customer_supplied_encryption_enforcement_config.restriction_mode": _IN_PLACE,
        "hierarchical_namespace": FieldEffect(
            effect=Effect.REPLACE, reason="a bucket has folders from its creation on, or not at all"
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
            effect=Effect.UPDATE, reason="a lock can be set in place, and is never taken off"
        ),
        "rpo": _IN_PLACE,
        "soft_delete_policy.retention_duration_seconds": _IN_PLACE,
        "website.main_page_suffix": _IN_PLACE,
        "website.not_found_page": _IN_PLACE,
        **dict.fromkeys(sorted(BucketSpec.SERVER_OWNED), _SERVICE),
        **dict.fromkeys(_SERVER_BELOW, _SERVICE),
    }
)
