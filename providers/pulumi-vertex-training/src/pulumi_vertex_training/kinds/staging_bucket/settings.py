"""Messages of a bucket's settings, named as in the Cloud Storage JSON API ("Buckets", resource)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

INT64 = {"int64": True}
"""Metadata of fields that the API's JSON writes as strings of digits."""


PLURALS: Mapping[str, str] = {
    "matches_prefixes": "matchesPrefix",
    "matches_suffixes": "matchesSuffix",
    "matches_storage_classes": "matchesStorageClass",
    "origins": "origin",
    "methods": "method",
    "response_headers": "responseHeader",
}
"""Fields whose names are plural, as in pulumi_gcp, with their names in the API."""


@dataclass(frozen=True, kw_only=True)
class BucketVersioning:
    """Versioning: a replaced or deleted object stays as a noncurrent version."""

    enabled: bool
    """Keep noncurrent versions of objects."""


@dataclass(frozen=True, kw_only=True)
class LifecycleAction:
    """Action of a lifecycle rule. Only SetStorageClass has a `storage_class`."""

    type: str
    """Delete, SetStorageClass or AbortIncompleteMultipartUpload."""
    storage_class: str | None = None
    """New storage class, only for SetStorageClass."""


@dataclass(frozen=True, kw_only=True)
class LifecycleCondition:
    """Conditions of a lifecycle rule; all must hold. Ages and periods are in days, dates YYYY-MM-DD."""

    age: int | None = None
    """Age of the object in days."""
    created_before: str | None = None
    """Date (YYYY-MM-DD) before which the object was created."""
    is_live: bool | None = None
    """True for live objects, False for noncurrent versions."""
    num_newer_versions: int | None = None
    """Number of newer versions that the object has."""
    matches_prefixes: tuple[str, ...] = ()
    """Prefixes of object names; one must match."""
    matches_suffixes: tuple[str, ...] = ()
    """Suffixes of object names; one must match."""
    matches_storage_classes: tuple[str, ...] = ()
    """Storage classes of the object; one must match."""
    custom_time_before: str | None = None
    """Date (YYYY-MM-DD) before the object's custom time."""
    days_since_custom_time: int | None = None
    """Days since the object's custom time."""
    days_since_noncurrent_time: int | None = None
    """Days since the version became noncurrent."""
    noncurrent_time_before: str | None = None
    """Date (YYYY-MM-DD) before which the version became noncurrent."""


@dataclass(frozen=True, kw_only=True)
class LifecycleRule:
    """Rule of a bucket's lifecycle."""

    action: LifecycleAction
    """Action on every object that meets the condition."""
    condition: LifecycleCondition
    """Conditions of the rule; all must hold."""


@dataclass(frozen=True, kw_only=True)
class Autoclass:
    """Autoclass: objects move between storage classes as they are used.

    `terminal_storage_class` is the class of unused objects: NEARLINE (the service's default) or ARCHIVE.
    """

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"toggle_time", "terminal_storage_class_update_time"})

    enabled: bool
    """Move objects between storage classes as they are used."""
    terminal_storage_class: str | None = None
    """Storage class of objects that nobody reads: NEARLINE (the service's default) or ARCHIVE."""


@dataclass(frozen=True, kw_only=True)
class CorsRule:
    """CORS rule: requests that pages of other origins may send. Browsers cache it `max_age_seconds` long."""

    origins: tuple[str, ...]
    """Origins whose pages may send requests; "*" for all."""
    methods: tuple[str, ...]
    """HTTP methods that are allowed; "*" for all."""
    response_headers: tuple[str, ...] = ()
    """Response headers that pages may read."""
    max_age_seconds: int | None = None
    """Seconds for which browsers cache the rule."""


@dataclass(frozen=True, kw_only=True)
class RetentionPolicy:
    """Retention policy: objects younger than `retention_period` seconds cannot be deleted or replaced.

    `is_locked`: the period can be lengthened, but the policy can never be shortened or removed.
    """

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"effective_time"})

    retention_period: int = field(metadata=INT64)
    """Age in seconds below which an object cannot be deleted or replaced."""
    is_locked: bool = False
    """Lock the policy. This is permanent: you can lengthen the period of a locked policy, but never shorten
    or remove it.
    """


@dataclass(frozen=True, kw_only=True)
class SoftDeletePolicy:
    """Soft delete: seconds for which deleted objects can be restored; 0 for off, 7 days by default."""

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"effective_time"})

    retention_duration_seconds: int = field(metadata=INT64)
    """Seconds for which deleted objects can be restored: 0, or 7 to 90 days."""


@dataclass(frozen=True, kw_only=True)
class EncryptionEnforcement:
    """Restriction of one kind of encryption for new objects."""

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"effective_time"})

    restriction_mode: Literal["NotRestricted", "FullyRestricted"]
    """NotRestricted or FullyRestricted."""


@dataclass(frozen=True, kw_only=True)
class BucketEncryption:
    """Default encryption key of new objects, and the kinds of keys that they may use."""

    default_kms_key_name: str | None = None
    """Full name of the key of new objects."""
    google_managed_encryption_enforcement_config: EncryptionEnforcement | None = None
    """Restriction of keys that Google manages."""
    customer_managed_encryption_enforcement_config: EncryptionEnforcement | None = None
    """Restriction of keys in Cloud KMS."""
    customer_supplied_encryption_enforcement_config: EncryptionEnforcement | None = None
    """Restriction of keys that come with a request."""


@dataclass(frozen=True, kw_only=True)
class BucketLogging:
    """Bucket for usage logs. The prefix defaults to the name of the logged bucket."""

    log_bucket: str
    """Name of the bucket that gets the logs."""
    log_object_prefix: str | None = None
    """Prefix of the log objects. Default: the name of the logged bucket."""


@dataclass(frozen=True, kw_only=True)
class Website:
    """Objects served as a folder's index page and as the page for missing objects."""

    main_page_suffix: str | None = None
    """Object that is served for a folder, such as "index.html"."""
    not_found_page: str | None = None
    """Object that is served for a missing object, such as "404.html"."""


@dataclass(frozen=True, kw_only=True)
class CustomPlacementConfig:
    """The two regions of a configurable dual-region."""

    data_locations: tuple[str, ...]
    """The two regions, such as US-EAST1 and US-WEST1."""


@dataclass(frozen=True, kw_only=True)
class PublicNetworkSource:
    """Public IP ranges that may reach the bucket."""

    allowed_ip_cidr_ranges: tuple[str, ...]
    """Public IP ranges that may reach the bucket, such as 203.0.113.0/24."""


@dataclass(frozen=True, kw_only=True)
class VpcNetworkSource:
    """VPC network, and its IP ranges that may reach the bucket."""

    network: str
    """VPC network, projects/PROJECT/global/networks/NETWORK."""
    allowed_ip_cidr_ranges: tuple[str, ...]
    """IP ranges of the network that may reach the bucket."""


@dataclass(frozen=True, kw_only=True)
class IpFilter:
    """IP filter: the networks that may reach the bucket."""

    mode: Literal["Enabled", "Disabled"]
    """Enabled or Disabled."""
    public_network_source: PublicNetworkSource | None = None
    """Public networks that may reach the bucket."""
    vpc_network_sources: tuple[VpcNetworkSource, ...] = ()
    """VPC networks that may reach the bucket."""
    allow_cross_org_vpcs: bool | None = None
    """Allow VPC networks of other organizations."""
    allow_all_service_agent_access: bool | None = None
    """Allow Google's service agents from any network."""
