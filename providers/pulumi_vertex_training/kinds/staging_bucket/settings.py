"""Messages of a bucket's settings, named as in the Cloud Storage JSON API ("Buckets", resource)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

INT64 = {"int64": True}
"""Metadata of fields that the API's JSON writes as strings of digits."""


@dataclass(frozen=True, kw_only=True)
class LifecycleAction:
    """Action of a lifecycle rule. Only SetStorageClass has a `storage_class`."""

    type: str
    storage_class: str | None = None


@dataclass(frozen=True, kw_only=True)
class LifecycleCondition:
    """Conditions of a lifecycle rule; all must hold. Ages and periods are in days, dates YYYY-MM-DD."""

    age: int | None = None
    created_before: str | None = None
    is_live: bool | None = None
    num_newer_versions: int | None = None
    matches_prefix: tuple[str, ...] = ()
    matches_suffix: tuple[str, ...] = ()
    matches_storage_class: tuple[str, ...] = ()
    custom_time_before: str | None = None
    days_since_custom_time: int | None = None
    days_since_noncurrent_time: int | None = None
    noncurrent_time_before: str | None = None


@dataclass(frozen=True, kw_only=True)
class LifecycleRule:
    """Rule of a bucket's lifecycle."""

    action: LifecycleAction
    condition: LifecycleCondition


@dataclass(frozen=True, kw_only=True)
class Autoclass:
    """Autoclass: objects move between storage classes as they are used.

    `terminal_storage_class` is the class of unused objects: NEARLINE (the service's default) or ARCHIVE.
    """

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"toggle_time", "terminal_storage_class_update_time"})

    enabled: bool
    terminal_storage_class: str | None = None


@dataclass(frozen=True, kw_only=True)
class CorsRule:
    """CORS rule: requests that pages of other origins may send. Browsers cache it `max_age_seconds` long."""

    origin: tuple[str, ...]
    method: tuple[str, ...]
    response_header: tuple[str, ...] = ()
    max_age_seconds: int | None = None


@dataclass(frozen=True, kw_only=True)
class RetentionPolicy:
    """Retention policy: objects younger than `retention_period` seconds cannot be deleted or replaced.

    `is_locked`: the period can be lengthened, but the policy can never be shortened or removed.
    """

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"effective_time"})

    retention_period: int = field(metadata=INT64)
    is_locked: bool = False


@dataclass(frozen=True, kw_only=True)
class SoftDeletePolicy:
    """Soft delete: seconds for which deleted objects can be restored; 0 for off, 7 days by default."""

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"effective_time"})

    retention_duration_seconds: int = field(metadata=INT64)


@dataclass(frozen=True, kw_only=True)
class EncryptionEnforcement:
    """Restriction of one kind of encryption for new objects."""

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"effective_time"})

    restriction_mode: Literal["NotRestricted", "FullyRestricted"]


@dataclass(frozen=True, kw_only=True)
class BucketEncryption:
    """Default encryption key of new objects, and the kinds of keys that they may use."""

    default_kms_key_name: str | None = None
    google_managed_encryption_enforcement_config: EncryptionEnforcement | None = None
    customer_managed_encryption_enforcement_config: EncryptionEnforcement | None = None
    customer_supplied_encryption_enforcement_config: EncryptionEnforcement | None = None


@dataclass(frozen=True, kw_only=True)
class BucketLogging:
    """Bucket for usage logs. The prefix defaults to the name of the logged bucket."""

    log_bucket: str
    log_object_prefix: str | None = None


@dataclass(frozen=True, kw_only=True)
class Website:
    """Objects served as a folder's index page and as the page for missing objects."""

    main_page_suffix: str | None = None
    not_found_page: str | None = None


@dataclass(frozen=True, kw_only=True)
class CustomPlacementConfig:
    """The two regions of a configurable dual-region."""

    data_locations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PublicNetworkSource:
    """Public IP ranges that may reach the bucket."""

    allowed_ip_cidr_ranges: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class VpcNetworkSource:
    """VPC network, and its IP ranges that may reach the bucket."""

    network: str
    allowed_ip_cidr_ranges: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class IpFilter:
    """IP filter: the networks that may reach the bucket."""

    mode: Literal["Enabled", "Disabled"]
    public_network_source: PublicNetworkSource | None = None
    vpc_network_sources: tuple[VpcNetworkSource, ...] = ()
    allow_cross_org_vpcs: bool | None = None
    allow_all_service_agent_access: bool | None = None
