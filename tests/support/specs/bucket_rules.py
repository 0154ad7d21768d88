"""For each rule of buckets, a bucket that keeps the rule and a change that breaks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.specs.rule_cases import case

BUCKET: Mapping[str, Any] = {"name": "my-bucket", "location": "us-central1"}
KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
RULE = {"action": {"type": "Delete"}, "condition": {"age": 30}}
ADDRESSES = {"mode": "Enabled", "public_network_source": {"allowed_ip_cidr_ranges": ["203.0.113.0/24"]}}
NETWORKS = {
    "mode": "Enabled",
    "vpc_network_sources": [
        {"network": "projects/p/global/networks/n", "allowed_ip_cidr_ranges": ["10.0.0.0/8"]}
    ],
}
CORS = {"origins": ["https://example.com"], "methods": ["GET"], "max_age_seconds": 60}
FIRST = "lifecycle_rules[0]"


def bucket(**more: Any) -> dict[str, Any]:
    return {**BUCKET, **more}


CASES = {
    "bucket-name": case(bucket(), {"name": "My Bucket"}, "name", "'My Bucket'", "for example my-bucket"),
    "bucket-location": case(
        bucket(), {"location": "mars"}, "location", "'mars'", "give the region of the jobs"
    ),
    "bucket-one-region": case(
        bucket(),
        {"location": "EU"},
        "location",
        "eu spans more than one",
        "Give the region of the jobs",
        level="warning",
    ),
    "bucket-storage-class": case(
        bucket(), {"storage_class": "NEARLIN"}, "storage_class", "'NEARLIN'", "did you mean NEARLINE?"
    ),
    "bucket-placement": case(
        bucket(location="US", custom_placement_config={"data_locations": ["us-central1", "us-east1"]}),
        {"custom_placement_config.data_locations": ["us-central1"]},
        "custom_placement_config.data_locations",
        "'us-central1'",
        "name two",
    ),
    "bucket-turbo-replication": case(
        bucket(location="NAM4", rpo="ASYNC_TURBO"),
        {"location": "us-central1"},
        "rpo",
        "ASYNC_TURBO in 'us-central1'",
        "Leave it out, or use NAM4",
    ),
    "bucket-autoclass": case(
        bucket(autoclass={"enabled": True, "terminal_storage_class": "ARCHIVE"}),
        {"autoclass.terminal_storage_class": "COLDLINE"},
        "autoclass.terminal_storage_class",
        "'COLDLINE'",
        "use NEARLINE or ARCHIVE",
    ),
    "bucket-retention-period": case(
        bucket(retention_policy={"retention_period": 3600}),
        {"retention_policy.retention_period": 0},
        "retention_policy.retention_period",
        "0 seconds",
        "or leave retention_policy out",
    ),
    "bucket-soft-delete": case(
        bucket(soft_delete_policy={"retention_duration_seconds": 0}),
        {"soft_delete_policy.retention_duration_seconds": 3600},
        "soft_delete_policy.retention_duration_seconds",
        "3600 seconds",
        "give 0 to turn it off",
    ),
    "bucket-key": case(
        bucket(encryption={"default_kms_key_name": KEY}),
        {"location": "europe-west4"},
        "encryption.default_kms_key_name",
        "the key is in us-central1",
        "Use a key in europe-west4",
    ),
    "bucket-folders": case(
        bucket(hierarchical_namespace=True),
        {"versioning": {"enabled": True}},
        "versioning.enabled",
        "true is not allowed with hierarchical_namespace",
        "Leave one of the two out",
    ),
    "bucket-release-holds": case(
        bucket(force_destroy=True, release_holds=True),
        {"force_destroy": False},
        "release_holds",
        "true has no effect",
        "Set both, or neither",
    ),
    "bucket-cors": case(
        bucket(cors=[CORS]), {"cors[0].origins": []}, "cors[0].origins", "is empty", "Give at least one"
    ),
    "bucket-cors-method": case(
        bucket(cors=[CORS]), {"cors[0].methods": ["GTE"]}, "cors[0].methods[0]", "'GTE'", "did you mean GET?"
    ),
    "bucket-cors-age": case(
        bucket(cors=[CORS]),
        {"cors[0].max_age_seconds": -1},
        "cors[0].max_age_seconds",
        "-1",
        "0 or more",
    ),
    "bucket-addresses": case(
        bucket(ip_filter=ADDRESSES),
        {"ip_filter.public_network_source.allowed_ip_cidr_ranges": ["203.0.113.7/24"]},
        "ip_filter.public_network_source.allowed_ip_cidr_ranges[0]",
        "'203.0.113.7/24'",
        "write it like 203.0.113.0/24",
    ),
    "bucket-network": case(
        bucket(ip_filter=NETWORKS),
        {"ip_filter.vpc_network_sources[0].network": "n"},
        "ip_filter.vpc_network_sources[0].network",
        "'n'",
        "write projects/PROJECT/global/networks/NETWORK",
    ),
    "bucket-log-bucket": case(
        bucket(logging={"log_bucket": "logs"}),
        {"logging.log_bucket": "gs://logs"},
        "logging.log_bucket",
        "'gs://logs'",
        "give the bucket's name alone",
    ),
    "lifecycle-rules": case(
        bucket(lifecycle_rules=[RULE]),
        {"lifecycle_rules": [RULE] * 101},
        "lifecycle_rules",
        "101 rules",
        "into one",
    ),
    "lifecycle-action": case(
        bucket(lifecycle_rules=[RULE]),
        {f"{FIRST}.action.type": "Remove"},
        f"{FIRST}.action.type",
        "'Remove'",
        "use Delete, SetStorageClass or AbortIncompleteMultipartUpload",
    ),
    "lifecycle-new-class": case(
        bucket(lifecycle_rules=[RULE]),
        {f"{FIRST}.action.storage_class": "ARCHIVE"},
        f"{FIRST}.action.storage_class",
        "does not go with Delete",
        "leave it out",
    ),
    "lifecycle-storage-class": case(
        bucket(lifecycle_rules=[RULE]),
        {f"{FIRST}.condition.matches_storage_classes": ["GOLD"]},
        f"{FIRST}.condition.matches_storage_classes[0]",
        "'GOLD'",
        "use STANDARD",
    ),
    "lifecycle-condition": case(
        bucket(lifecycle_rules=[RULE]),
        {f"{FIRST}.condition": {}},
        f"{FIRST}.condition",
        "is empty",
        "Give at least one",
    ),
    "lifecycle-number": case(
        bucket(lifecycle_rules=[RULE]),
        {f"{FIRST}.condition.age": -1},
        f"{FIRST}.condition.age",
        "-1",
        "0 or more",
    ),
    "lifecycle-date": case(
        bucket(lifecycle_rules=[RULE]),
        {f"{FIRST}.condition.created_before": "2026-02-30"},
        f"{FIRST}.condition.created_before",
        "'2026-02-30'",
        "write it as YYYY-MM-DD",
    ),
    "lifecycle-abort": case(
        bucket(lifecycle_rules=[{**RULE, "action": {"type": "AbortIncompleteMultipartUpload"}}]),
        {f"{FIRST}.condition.is_live": True},
        f"{FIRST}.condition.is_live",
        "does not go with AbortIncompleteMultipartUpload",
        "Leave it out",
    ),
    "lifecycle-autoclass": case(
        bucket(
            autoclass={"enabled": False},
            lifecycle_rules=[{**RULE, "action": {"type": "SetStorageClass", "storage_class": "ARCHIVE"}}],
        ),
        {"autoclass.enabled": True},
        f"{FIRST}.action.type",
        "SetStorageClass",
        "Leave it out, or set autoclass.enabled to false",
    ),
    "lifecycle-versions": case(
        bucket(
            versioning={"enabled": True}, lifecycle_rules=[{**RULE, "condition": {"num_newer_versions": 3}}]
        ),
        {"versioning": {"enabled": False}},
        f"{FIRST}.condition.num_newer_versions",
        "3 applies to noncurrent versions",
        'Set versioning={"enabled": True}',
        level="warning",
    ),
}
