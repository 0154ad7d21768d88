"""Random buckets, valid and invalid, with every field."""

from __future__ import annotations

from hypothesis import strategies as st

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
    PublicNetworkSource,
    RetentionPolicy,
    SoftDeletePolicy,
    VpcNetworkSource,
    Website,
)
from pulumi_vertex_training.kinds.staging_bucket.spec import BucketSpec

days = st.none() | st.integers(0, 9)
dates = st.none() | st.just("2026-01-31")
prefixes = st.lists(st.sampled_from(["aiplatform-", "logs/"]), max_size=2).map(tuple)
words = st.lists(st.sampled_from(["a", "b"]), max_size=2).map(tuple)
restrictions = st.none() | st.builds(
    EncryptionEnforcement, restriction_mode=st.sampled_from(["NotRestricted", "FullyRestricted"])
)
conditions = st.builds(
    LifecycleCondition,
    age=days,
    created_before=dates,
    is_live=st.none() | st.booleans(),
    num_newer_versions=days,
    matches_prefixes=prefixes,
    matches_suffixes=prefixes,
    matches_storage_classes=st.lists(st.sampled_from(["STANDARD", "nearline"]), max_size=2).map(tuple),
    custom_time_before=dates,
    days_since_custom_time=days,
    days_since_noncurrent_time=days,
    noncurrent_time_before=dates,
)
rules = st.builds(
    LifecycleRule,
    action=st.builds(
        LifecycleAction,
        type=st.sampled_from(["Delete", "SetStorageClass"]),
        storage_class=st.sampled_from([None, "ARCHIVE", "coldline"]),
    ),
    condition=conditions,
)
buckets = st.builds(
    BucketSpec,
    name=st.sampled_from(["my-bucket", "other"]),
    location=st.sampled_from(["us-central1", "US-CENTRAL1", "EU"]),
    storage_class=st.sampled_from(["STANDARD", "standard", "NEARLINE"]),
    labels=st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=3),
    uniform_bucket_level_access=st.booleans(),
    public_access_prevention=st.sampled_from(["inherited", "enforced"]),
    versioning=st.builds(BucketVersioning, enabled=st.booleans()),
    lifecycle_rules=st.lists(rules, max_size=2).map(tuple),
    force_destroy=st.booleans(),
    release_holds=st.booleans(),
    autoclass=st.none()
    | st.builds(
        Autoclass,
        enabled=st.booleans(),
        terminal_storage_class=st.sampled_from([None, "NEARLINE", "archive"]),
    ),
    cors=st.lists(
        st.builds(
            CorsRule,
            origins=words,
            methods=st.lists(st.sampled_from(["GET", "put"]), max_size=2).map(tuple),
            response_headers=words,
            max_age_seconds=days,
        ),
        max_size=2,
    ).map(tuple),
    custom_placement_config=st.none()
    | st.builds(
        CustomPlacementConfig,
        data_locations=st.permutations(["us-central1", "US-EAST1"]).map(tuple),
    ),
    default_event_based_hold=st.booleans(),
    enable_object_retention=st.booleans(),
    encryption=st.none()
    | st.builds(
        BucketEncryption,
        default_kms_key_name=st.sampled_from([None, "projects/p/locations/l/keyRings/r/cryptoKeys/k"]),
        google_managed_encryption_enforcement_config=restrictions,
        customer_managed_encryption_enforcement_config=restrictions,
        customer_supplied_encryption_enforcement_config=restrictions,
    ),
    hierarchical_namespace=st.booleans(),
    ip_filter=st.none()
    | st.builds(
        IpFilter,
        mode=st.sampled_from(["Enabled", "Disabled"]),
        public_network_source=st.none() | st.builds(PublicNetworkSource, allowed_ip_cidr_ranges=words),
        vpc_network_sources=st.lists(
            st.builds(VpcNetworkSource, network=st.just("n"), allowed_ip_cidr_ranges=words), max_size=2
        ).map(tuple),
        allow_cross_org_vpcs=st.none() | st.booleans(),
        allow_all_service_agent_access=st.none() | st.booleans(),
    ),
    logging=st.none()
    | st.builds(
        BucketLogging,
        log_bucket=st.just("logs"),
        log_object_prefix=st.sampled_from([None, "usage", "my-bucket"]),
    ),
    requester_pays=st.booleans(),
    retention_policy=st.none()
    | st.builds(RetentionPolicy, retention_period=st.integers(1, 9), is_locked=st.booleans()),
    rpo=st.sampled_from([None, "DEFAULT", "ASYNC_TURBO"]),
    soft_delete_policy=st.none()
    | st.builds(SoftDeletePolicy, retention_duration_seconds=st.sampled_from([0, 604800, 864000])),
    website=st.none()
    | st.builds(
        Website,
        main_page_suffix=st.sampled_from([None, "index.html"]),
        not_found_page=st.sampled_from([None, "404.html"]),
    ),
)
